//! Laws of every placement.

use std::collections::BTreeMap;

use firesteel_placement::advanced::offers::{OfferPlacement, assign, place, place_ranked};
use firesteel_placement::{Cores, Demand, ExecutorSize, MiB, Offer, Strategy};

use super::reference;
use super::reference::case::{Case, Crowd, Translated};
use crate::suites::laws::{ensure, hold};

#[test]
fn the_closed_form_equals_the_core_by_core_rule() {
    hold("the_closed_form_equals", 200_000, |case: &Case| {
        let expected = reference::assign(&case.ask, &case.workers, case.spread_out);
        let translated = case.translate();
        let assignment = assign(&translated.demand, &translated.offers(), translated.strategy);
        let cores: Vec<_> = assignment.cores().iter().map(|cores| cores.0).collect();
        ensure!(cores == expected, "the rule gives {expected:?}, the closed form {cores:?}");
        Ok(())
    });
}

#[test]
fn a_placement_equals_filtering_sorting_and_dealing() {
    hold("a_placement_equals", 200_000, |case: &Case| {
        let expected = reference::place(&case.ask, &case.workers, case.order, case.spread_out);
        let placed = launched(&placed(&case.translate()));
        ensure!(placed == expected, "the rule launches {expected:?}, place {placed:?}");
        Ok(())
    });
}

#[test]
fn ranks_go_before_the_worker_order_and_equal_ones_change_nothing() {
    hold("ranks_go_before", 50_000, |case: &Case| {
        let (case, ranked) = (case.translate(), |rank: fn(&Offer<'_>) -> bool| {
            let case = case.translate();
            launched(&place_ranked(&case.demand, case.offers(), case.order, case.strategy, rank))
        });
        ensure!(ranked(|_| false) == launched(&placed(&case)), "equal ranks change the placement");
        let even: fn(&Offer<'_>) -> bool = |offer| offer.worker.len() % 2 == 1;
        let parts = place_ranked(&case.demand, case.offers(), case.order, case.strategy, even);
        let order: Vec<bool> = parts.workers().map(|(worker, _)| worker.len() % 2 == 1).collect();
        ensure!(order.is_sorted(), "a greater rank goes first: {order:?}");
        Ok(())
    });
}

#[test]
fn a_placement_among_many_workers_equals_filtering_sorting_and_dealing() {
    hold("among_many_workers", 5_000, |Crowd(case): &Crowd| {
        let expected = reference::place(&case.ask, &case.workers, case.order, case.spread_out);
        let placed = launched(&placed(&case.translate()));
        ensure!(placed == expected, "the rule launches {expected:?}, place {placed:?}");
        Ok(())
    });
}

#[test]
fn a_placement_does_not_depend_on_the_order_in_which_offers_come() {
    hold("does_not_depend_on_the_order", 50_000, |case: &Case| {
        let translated = case.translate();
        let Translated { demand, order, strategy, .. } = &translated;
        let expected = launched(&placed(&translated));
        let mut offers = translated.offers();
        for turn in 0..offers.len() {
            offers.rotate_left(1);
            if turn % 2 == 0 {
                offers.reverse();
            }
            let placed = launched(&place(demand, offers.iter().copied(), *order, *strategy));
            ensure!(placed == expected, "{expected:?} became {placed:?} with offers as {offers:?}");
        }
        Ok(())
    });
}

#[test]
fn no_worker_gives_more_than_it_has() {
    hold("no_worker_gives_more", 50_000, |case: &Case| {
        let translated = case.translate();
        let Translated { demand, .. } = &translated;
        let placement = placed(&translated);
        let mut taken: BTreeMap<&str, (Cores, u64)> = BTreeMap::new();
        for executor in placement.executors() {
            let (cores, executors) = taken.entry(executor.worker).or_default();
            *cores += executor.cores;
            *executors += 1;
        }
        let by_worker: BTreeMap<_, _> = placement.workers().collect();
        let sums: BTreeMap<_, _> = taken.iter().map(|(&worker, &(cores, _))| (worker, cores)).collect();
        ensure!(by_worker == sums, "{by_worker:?} by worker, {sums:?} by executor");
        ensure!(placement.is_empty() == taken.is_empty(), "is it empty?");
        for offer in translated.offers() {
            let Some((cores, executors)) = taken.remove(offer.worker) else { continue };
            let memory = MiB(demand.memory.0 * executors as i64);
            ensure!(cores <= offer.cores && memory <= offer.memory, "{cores} and {memory} of {offer:?}");
            for (name, each) in &demand.resources {
                ensure!(
                    offer.resources.fit(name, *each).is_none_or(|fitting| executors <= fitting),
                    "{executors} times {name} of {offer:?}"
                );
            }
        }
        ensure!(taken.is_empty(), "launched on workers that there are not: {taken:?}");
        Ok(())
    });
}

#[test]
fn bounds_hold_and_nothing_that_they_allow_is_withheld() {
    hold("bounds_hold", 50_000, |case: &Case| {
        let translated = case.translate();
        let Translated { demand, .. } = &translated;
        let placement = placed(&translated);
        let executors = placement.executors().count() as u64;
        let cores: Cores = placement.executors().map(|executor| executor.cores).sum();
        ensure!(executors <= demand.executors_allowed(), "{executors} executors");
        ensure!(cores <= demand.cores_left.max(Cores::ZERO), "{cores} cores");

        let after =
            Demand { cores_left: demand.cores_left - cores, held: demand.held + executors, ..demand.clone() };
        for offer in translated.offers() {
            let on_it = || placement.executors().filter(|executor| executor.worker == offer.worker);
            let mut resources = offer.resources.clone();
            for _ in on_it() {
                ensure!(resources.take(&demand.resources).is_some(), "too few addresses on {offer:?}");
            }
            let rest = Offer {
                cores: offer.cores - on_it().map(|executor| executor.cores).sum(),
                memory: offer.memory - MiB(demand.memory.0 * on_it().count() as i64),
                resources: &resources,
                ..offer
            };
            ensure!(!after.allows_one_more() || !rest.fits(&after), "one more has room on {rest:?}");
        }
        Ok(())
    });
}

#[test]
fn spread_out_is_as_even_as_the_offers_allow() {
    hold("spread_out_is_as_even", 50_000, |case: &Case| {
        let Translated { demand, .. } = case.translate();
        let one_per_worker = demand.size == ExecutorSize::OnePerWorker;
        let alone = given_alone(case);
        let given = given(case, Strategy::SpreadOut);
        // Executors without a fixed size are spread evenly over the workers that may have one under the limit.
        let could_give_more: Vec<Cores> = (given.iter().zip(&alone))
            .filter(|&(&given, &alone)| given < alone && !(one_per_worker && given == Cores::ZERO))
            .map(|(&given, _)| given)
            .collect();
        let most = given.iter().copied().max().unwrap_or_default();
        ensure!(
            could_give_more.iter().all(|&given| given + demand.size.step() >= most),
            "{given:?} of {alone:?} is not even"
        );
        ensure!(could_give_more.is_sorted_by(|a, b| a >= b), "{given:?} of {alone:?} favours a later one");
        Ok(())
    });
}

#[test]
fn consolidate_fills_each_worker_before_the_next() {
    hold("consolidate_fills", 50_000, |case: &Case| {
        let alone = given_alone(case);
        let given = given(case, Strategy::Consolidate);
        let last = given.iter().rposition(|&cores| cores > Cores::ZERO).unwrap_or(0);
        ensure!(given[..last] == alone[..last], "{given:?} of {alone:?} leaves a gap");
        Ok(())
    });
}

fn placed<'a>(translated: &'a Translated) -> OfferPlacement<'a> {
    place(&translated.demand, translated.offers(), translated.order, translated.strategy)
}

fn launched(placement: &OfferPlacement<'_>) -> Vec<(String, i64)> {
    placement.executors().map(|executor| (executor.worker.to_owned(), executor.cores.0)).collect()
}

/// The cores from each worker with room, in the order of the case.
fn given(case: &Case, strategy: Strategy) -> Vec<Cores> {
    let translated = case.translate();
    assign(&translated.demand, &usable(&translated), strategy).cores().to_vec()
}

/// For each of these workers: the cores that it would give if it were the only one.
fn given_alone(case: &Case) -> Vec<Cores> {
    let translated = case.translate();
    let alone = |offer| assign(&translated.demand, &[offer], Strategy::Consolidate).cores()[0];
    usable(&translated).into_iter().map(alone).collect()
}

fn usable(translated: &Translated) -> Vec<Offer<'_>> {
    translated.offers().into_iter().filter(|offer| offer.fits(&translated.demand)).collect()
}
