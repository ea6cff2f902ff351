//! The choice of Workers by any rule: the one place that knows which rule is decided how.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use super::{
    Candidate, Changes, DemandModel, DemandStatistics, Expression, Formula, Measure, PlacementCache, Policy,
    Rule, Workers, fill, fill_by_rest, spread_held,
};
use crate::index::{Share, Slot};
use crate::place::place_ranked;
use crate::{Cores, Demand, Offer, Strategy};

/// Chooses Workers by any rule, and remembers what makes that fast. Decisions are the same without what it remembers,
/// except for what [`Policy::LearnedFragmentation`] has learned.
#[derive(Debug, Default)]
pub struct Chooser {
    /// The heaps of Workers that policies keep between placements.
    cache: PlacementCache,
    /// What applications have asked for, for policies that learn.
    seen: DemandStatistics,
}

/// A rule by which Workers are measured one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measured<'e> {
    BestFit,
    LeastFragmentation,
    LearnedFragmentation,
    Expression(&'e Expression),
}

impl Chooser {
    /// The Workers for the executors of a demand, in the order in which these are launched. `strategy` is that of
    /// [`Policy::Spark`].
    pub fn choose<W: Workers>(
        &mut self,
        rule: &Rule,
        strategy: Strategy,
        demand: &Demand,
        workers: &mut W,
    ) -> Vec<Share> {
        let measured = match rule {
            Rule::Policy(Policy::Spark) => return as_spark(strategy, demand, workers),
            Rule::Policy(Policy::SpreadHeld) => return over_held(demand, workers),
            Rule::Policy(Policy::Lifetimes) => return by_rest(demand, workers),
            Rule::Policy(Policy::BestFit) => Measured::BestFit,
            Rule::Policy(Policy::LeastFragmentation) => Measured::LeastFragmentation,
            Rule::Policy(Policy::LearnedFragmentation) => Measured::LearnedFragmentation,
            Rule::Expression(expression) => Measured::Expression(expression),
        };
        self.by_measure(measured, demand, workers)
    }

    /// Counts executors that an application asks for.
    pub fn see(&mut self, demand: &Demand, executors: u64) {
        self.seen.add(demand, executors);
    }

    /// Hears of Workers that changed, if the owner of the Workers took them for a purpose of its own.
    pub fn hear(&mut self, changes: &Changes) {
        match changes {
            Changes::All => self.cache.clear(),
            Changes::These(slots) => slots.iter().for_each(|slot| self.cache.changed(*slot)),
        }
    }

    /// Workers of a lower rank come first; the measure decides among Workers of the same rank. If all Workers are alike
    /// to the application, only Workers that changed since the last executor of the same kind are looked at.
    fn by_measure<W: Workers>(
        &mut self,
        measured: Measured<'_>,
        demand: &Demand,
        workers: &mut W,
    ) -> Vec<Share> {
        if !workers.are_alike() {
            return of_all(measured, self.seen.demand_model(), demand, &*workers);
        }
        self.hear(&workers.take_changes());
        let workers = &*workers;
        if measured == Measured::LearnedFragmentation && self.seen.is_demand_model_due() {
            self.seen.learn(workers.free());
            self.cache.clear();
        }
        let total_of = |slot| workers.total_offer(slot);
        let measure = measured.measure(self.seen.demand_model(), &total_of);
        let (plain, offer) = (|slot| workers.index().plain(slot), |slot| workers.offer(slot));
        let slots = workers.index().slots();
        let shares = self.cache.place(measure, demand, workers.total(), slots, plain, offer);
        debug_assert_eq!(
            shares,
            of_all(measured, self.seen.demand_model(), demand, workers),
            "the best of those that are kept in order are the best of all"
        );
        shares
    }
}

impl<'e> Measured<'e> {
    /// Its measure, if this demand model was learned last. `total_of` has the total amounts of a Worker.
    fn measure(
        self,
        demand_model: &'e DemandModel,
        total_of: &'e dyn Fn(Slot) -> Option<Offer<'e>>,
    ) -> Measure<'e> {
        match self {
            Self::BestFit => Measure::LeftOver,
            Self::LeastFragmentation => Measure::Unusable,
            Self::LearnedFragmentation => Measure::Learned(demand_model),
            Self::Expression(expression) => Measure::Expression(Formula { expression, whole: total_of }),
        }
    }
}

/// By a measure, with a look at every Worker.
fn of_all<W: Workers>(
    measured: Measured<'_>,
    demand_model: &DemandModel,
    demand: &Demand,
    workers: &W,
) -> Vec<Share> {
    let total_of = |slot| workers.total_offer(slot);
    fill(measured.measure(demand_model, &total_of), demand, candidates(workers), workers.total())
}

/// Packs executors that end at the same time.
fn by_rest<W: Workers>(demand: &Demand, workers: &W) -> Vec<Share> {
    let rest = workers.rest();
    let on = |slot: Slot| rest.on.get(&slot).copied();
    fill_by_rest(demand, candidates(workers), workers.total(), on, rest.own)
}

/// Workers of a lower rank come first, and late ones last. If none is late and all are alike to the application, the
/// decision is Spark's. The measures of other policies do not look at who is late.
fn as_spark<W: Workers>(strategy: Strategy, demand: &Demand, workers: &W) -> Vec<Share> {
    if workers.are_alike() && !workers.has_late() {
        return workers.index().place(demand, strategy);
    }
    let [nearest, furthest] = workers.ends();
    let excludes = |slot| workers.excludes(slot);
    let shares = workers.index().place_ranked(demand, strategy, (&nearest, &furthest), excludes);
    debug_assert_eq!(
        executors(&shares),
        executors(&ranked_of_all(strategy, demand, workers)),
        "who comes first and last is known without a look at all others"
    );
    shares
}

/// The same, found by looking at every Worker.
fn ranked_of_all<W: Workers>(strategy: Strategy, demand: &Demand, workers: &W) -> Vec<Share> {
    let admitted = || workers.index().slots().filter(|slot| !workers.excludes(*slot));
    let offers = || admitted().filter_map(|slot| Some((slot, workers.offer(slot)?)));
    let slots: BTreeMap<&str, Slot> = offers().map(|(slot, offer)| (offer.worker, slot)).collect();
    let rank = |offer: &Offer<'_>| {
        let slot = slots[offer.worker];
        (workers.is_late(slot), workers.rank(slot))
    };
    let order = workers.index().order();
    let placement = place_ranked(demand, offers().map(|(_, offer)| offer), order, strategy, rank);
    placement.executors().map(|executor| Share::new(slots[executor.worker], 1, executor.cores)).collect()
}

/// One entry for each executor.
fn executors(shares: &[Share]) -> Vec<(Slot, Cores)> {
    let each = |share: &Share| std::iter::repeat_n((share.slot, share.cores), share.executors as usize);
    shares.iter().flat_map(each).collect()
}

/// Spreads over the executors that the application holds. Among Workers on whose hosts the same number of its executors
/// run, those of a lower rank come first.
fn over_held<W: Workers>(demand: &Demand, workers: &W) -> Vec<Share> {
    let mut on_worker: BTreeMap<Slot, u64> = BTreeMap::new();
    let mut on_host: BTreeMap<&str, u64> = BTreeMap::new();
    for slot in workers.held() {
        *on_worker.entry(slot).or_default() += 1;
        *on_host.entry(workers.host(slot)).or_default() += 1;
    }
    let held = |slot: Slot| on_worker.get(&slot).copied().unwrap_or(0);
    let held_on_host = |host: &str| on_host.get(host).copied().unwrap_or(0);
    let order = workers.index().order();
    let spread = |candidates: &mut dyn Iterator<Item = Candidate<'_, W::Rank>>| {
        spread_held(demand, candidates, order, held, held_on_host)
    };
    if !workers.are_alike() {
        return spread(&mut candidates(workers));
    }
    // If as many hosts without its executors are found as executors are wanted, each takes one: no later
    // Worker matters.
    let mut hosts: BTreeSet<&str> = BTreeSet::new();
    let mut found: Vec<Candidate<'_, W::Rank>> = Vec::new();
    workers.index().walk(demand, |slot| {
        let host = workers.host(slot);
        if !on_host.contains_key(host) {
            hosts.insert(host);
        }
        found.extend(candidate(workers, slot));
        match hosts.len() as u64 >= demand.most_workers() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    let shares = spread(&mut found.into_iter());
    debug_assert_eq!(
        shares,
        spread(&mut candidates(workers)),
        "no Worker after those that were found matters"
    );
    shares
}

/// The Workers that may be chosen: those that are not excluded.
fn candidates<W: Workers>(workers: &W) -> impl Iterator<Item = Candidate<'_, W::Rank>> {
    let admitted = workers.index().slots().filter(|slot| !workers.excludes(*slot));
    admitted.filter_map(|slot| candidate(workers, slot))
}

fn candidate<W: Workers>(workers: &W, slot: Slot) -> Option<Candidate<'_, W::Rank>> {
    let offer = workers.offer(slot)?;
    Some(Candidate { slot, offer, host: workers.host(slot), rank: workers.rank(slot) })
}
