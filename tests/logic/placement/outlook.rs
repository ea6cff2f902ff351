//! The changes that would let the next executor fit.

use firesteel_placement::advanced::offers::place;
use firesteel_placement::explain::outlook::{Bound, Fit, Outlook, Remedy, outlook};
use firesteel_placement::explain::shortfall::shortfall;
use firesteel_placement::explain::shortfall::{Amounts, Reason};
use firesteel_placement::{
    Cores, Demand, ExecutorLimit, ExecutorSize, MiB, Offer, Quantity, Resources, Strategy, WorkerOrder,
};

use super::reference::case::Case;
use crate::suites::laws::{ensure, hold};

/// The amounts of a worker, from which offers borrow.
#[derive(Clone)]
struct Amount {
    id: String,
    cores: Cores,
    memory: MiB,
    resources: Resources,
}

fn amounts(offers: &[Offer<'_>]) -> Vec<Amount> {
    // Separate ids, since a remedy changes one worker.
    let own = |(number, offer): (usize, &Offer<'_>)| Amount {
        id: format!("w{number:03}"),
        cores: offer.cores,
        memory: offer.memory,
        resources: offer.resources.clone(),
    };
    offers.iter().enumerate().map(own).collect()
}

fn offers(amounts: &[Amount]) -> Vec<Offer<'_>> {
    let mut offers = Vec::new();
    for Amount { id, cores, memory, resources } in amounts {
        offers.push(Offer { worker: id, cores: *cores, memory: *memory, resources });
    }
    offers
}

fn fits(demand: &Demand, free: &[Amount]) -> bool {
    !place(demand, offers(free), WorkerOrder::WorkerId, Strategy::SpreadOut).is_empty()
}

/// The whole amounts of workers. Every third worker has some in use.
fn whole(free: &[Amount]) -> Vec<Amount> {
    let mut whole = free.to_vec();
    for (number, worker) in whole.iter_mut().enumerate() {
        worker.cores += Cores([0, 4, 16][number % 3]);
        worker.memory += MiB([0, 1024, 65_536][number % 3]);
        for address in 0..[0, 0, 4][number % 3] {
            worker.resources.insert("gpu", format!("used-{address}"));
            worker.resources.insert("fpga", format!("used-{address}"));
        }
    }
    whole
}

/// The same change, reduced by one unit of each amount in turn.
fn one_less(remedy: &Remedy) -> Vec<Remedy> {
    match remedy.clone() {
        Remedy::Freed { worker, more } => {
            let mut all = Vec::new();
            let mut add = |more| all.push(Remedy::Freed { worker: worker.clone(), more });
            if more.cores > Cores::ZERO {
                add(Amounts { cores: more.cores - Cores(1), ..more.clone() });
            }
            if more.memory > MiB::ZERO {
                add(Amounts { memory: more.memory - MiB(1), ..more.clone() });
            }
            for (name, amount) in &more.resources {
                let mut less = more.clone();
                less.resources.insert(name.clone(), amount.less(Quantity::whole(1)));
                add(less);
            }
            all
        }
        Remedy::ExecutorCores(cores) => vec![Remedy::ExecutorCores(cores + Cores(1))],
        Remedy::ExecutorMemory(memory) => vec![Remedy::ExecutorMemory(memory + MiB(1))],
        Remedy::ExecutorResource { name, amount } => {
            vec![Remedy::ExecutorResource { name, amount: (amount.addresses() + 1).into() }]
        }
        Remedy::ExecutorCoresAndMemory(cores, memory) => vec![
            Remedy::ExecutorCoresAndMemory(cores + Cores(1), memory),
            Remedy::ExecutorCoresAndMemory(cores, memory + MiB(1)),
        ],
    }
}

/// Whether an executor fits once the demand or the worker is changed so.
fn fits_with(remedy: &Remedy, demand: &Demand, free: &[Amount]) -> bool {
    let mut free = free.to_vec();
    if let Remedy::Freed { worker, more } = remedy {
        let on = free.iter_mut().find(|it| it.id == *worker).expect("it names a worker");
        on.cores += more.cores;
        on.memory += more.memory;
        for (name, amount) in &more.resources {
            for address in 0..amount.thousandths() / 1000 {
                on.resources.insert(name, format!("freed-{address}"));
            }
        }
    }
    fits(&remedy.applied(demand), &free)
}

fn one_less_of(bound: Bound) -> Bound {
    match bound {
        Bound::MoreCores(cores) => Bound::MoreCores(cores - Cores(1)),
        Bound::Limit(limit) => Bound::Limit(limit - 1),
    }
}

#[test]
fn each_change_lets_the_next_executor_fit_and_one_unit_less_does_not() {
    hold("each_change_lets_the_next_executor_fit", 100_000, |case: &Case| {
        let translated = case.translate();
        let demand = &translated.demand;
        let free = amounts(&translated.offers());
        let whole = whole(&free);
        let Some(Outlook { bounds, fit, .. }) = outlook(demand, &offers(&free), &offers(&whole)) else {
            ensure!(demand.size.step() <= Cores::ZERO, "nothing is said of {demand:?}");
            return Ok(());
        };
        let raised = bounds.iter().fold(demand.clone(), |demand, bound| bound.raised(&demand));
        ensure!(raised.allows_one_more(), "{bounds:?} are not enough");
        for (number, bound) in bounds.iter().enumerate() {
            let others =
                bounds.iter().enumerate().filter(|(other, _)| *other != number).map(|(_, bound)| *bound);
            let less =
                others.chain([one_less_of(*bound)]).fold(demand.clone(), |demand, it| it.raised(&demand));
            ensure!(!less.allows_one_more(), "less than {bound:?} would do");
        }
        let remedies = match fit {
            Fit::Now => {
                ensure!(fits(&raised, &free), "there is no room");
                return Ok(());
            }
            Fit::Later(remedies) => remedies,
            Fit::Never(remedies) => {
                let freed = remedies.iter().any(|remedy| matches!(remedy, Remedy::Freed { .. }));
                ensure!(!freed, "what can never be needs no freeing: {remedies:?}");
                remedies
            }
        };
        ensure!(!fits(&raised, &free), "there is room");
        for remedy in &remedies {
            ensure!(fits_with(remedy, &raised, &free), "{remedy:?} is not enough");
            for less in one_less(remedy) {
                ensure!(!fits_with(&less, &raised, &free), "{remedy:?}, and {less:?} would do");
            }
        }
        Ok(())
    });
}

#[test]
fn it_never_fits_exactly_if_it_does_not_fit_an_empty_cluster() {
    hold("it_never_fits_exactly", 100_000, |case: &Case| {
        let translated = case.translate();
        let demand = &translated.demand;
        let free = amounts(&translated.offers());
        let whole = whole(&free);
        let Some(outlook) = outlook(demand, &offers(&free), &offers(&whole)) else { return Ok(()) };
        let raised = outlook.bounds.iter().fold(demand.clone(), |demand, bound| bound.raised(&demand));
        let never = matches!(outlook.fit, Fit::Never(_));
        ensure!(never != fits(&raised, &whole), "never: {never}, but the empty cluster says otherwise");
        // The sentence agrees if it mentions Workers at all.
        let short = shortfall(demand, &offers(&free), &offers(&whole));
        match short.map(|short| short.reason) {
            Some(Reason::TooSmall { .. } | Reason::NoWorkers) => ensure!(never, "too small, but not never"),
            Some(Reason::Busy { .. }) => ensure!(!never, "busy, but never"),
            Some(Reason::LimitReached { .. } | Reason::TooFewCoresLeft { .. }) | None => {}
            Some(Reason::NotGranted { .. }) => ensure!(false, "whose grant is waited for?"),
            Some(
                Reason::GangTooLarge { .. }
                | Reason::GangWaits { .. }
                | Reason::KeptForAnother
                | Reason::Avoided { .. }
                | Reason::Paused { .. }
                | Reason::Excluded { .. }
                | Reason::Impaired { .. }
                | Reason::Held { .. }
                | Reason::Labelled { .. }
                | Reason::UserLimit { .. },
            ) => {
                return Err("a placement knows of no turns".to_owned());
            }
        }
        Ok(())
    });
}

#[test]
fn workers_are_turned_down_for_what_they_lack_and_by_how_much() {
    let worker = |id: &str, cores, memory| Amount {
        id: id.to_owned(),
        cores: Cores(cores),
        memory: MiB(memory),
        resources: Resources::default(),
    };
    let free = [worker("a", 6, 1024), worker("b", 2, 8192), worker("c", 8, 3072)];
    let whole = [worker("a", 16, 65_536), worker("b", 16, 65_536), worker("c", 16, 65_536)];
    let demand = Demand { size: ExecutorSize::Fixed(Cores(8)), memory: MiB(4096), ..Demand::default() };
    let found = outlook(&demand, &offers(&free), &offers(&whole)).expect("the demand makes sense");
    let told: Vec<_> = found
        .turned_down
        .iter()
        .map(|it| (format!("{:?}", it.lack), it.workers, it.nearest, it.farthest))
        .collect();
    let row = |lack: &str, least, most| (lack.to_owned(), 2, Quantity::whole(least), Quantity::whole(most));
    assert_eq!(told, [row("Cores", 2, 6), row("Memory", 1024, 3072)]);
    let more = Amounts { memory: MiB(1024), ..Amounts::default() };
    let nearest = Remedy::Freed { worker: "c".to_owned(), more };
    let smaller = [Remedy::ExecutorCores(Cores(2)), Remedy::ExecutorMemory(MiB(3072))];
    assert_eq!(found.fit, Fit::Later([vec![nearest], smaller.to_vec()].concat()));
    assert_eq!(found.bounds, []);

    let full = Demand { limit: ExecutorLimit::AtMost(1), held: 1, cores_left: Cores(3), ..demand };
    let found = outlook(&full, &offers(&free), &offers(&whole)).expect("the demand makes sense");
    assert_eq!(found.bounds, [Bound::MoreCores(Cores(5)), Bound::Limit(2)]);
}
