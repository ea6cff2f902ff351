//! The choice of Workers for an application's executors, by its policy.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use firesteel_placement::Rule;
use firesteel_placement::advanced::index::{Share, Slot};
use firesteel_placement::advanced::locality::Locality;
use firesteel_placement::advanced::offers::place_ranked;
use firesteel_placement::advanced::policy::{Candidate, fill, fill_by_rest, spread_held};
use firesteel_placement::{Cores, Demand, Offer, Policy};
use firesteel_protocol::ids::WorkerId;

use crate::config::Config;
use crate::scheduler::lifetimes::Rest;
use crate::scheduler::measured::Measured;
use crate::scheduler::memory::Memory;
use crate::tables::applications::application::Application;
use crate::tables::applications::wishes::Wishes;
use crate::tables::workers::row::WorkerRow;
use crate::tables::workers::table::WorkerTable;

/// A Worker's rank for an application: the least comes first. Without wishes all Workers have the same rank.
type Rank = Option<(Locality, Reverse<u64>)>;

/// The Workers for an application's executors, in the order in which these are launched.
pub(super) fn choose(
    config: &Config,
    (workers, memory): (&mut WorkerTable, &mut Memory),
    application: &Application,
    demand: &Demand,
    rest: &Rest,
) -> Vec<Share> {
    match config.rule_for(application.description.policy) {
        Rule::Expression(expression) => {
            by_measure(Measured::Expression(&expression), (workers, memory), application, demand)
        }
        Rule::Policy(Policy::Spark) => as_spark(config, workers, application, demand),
        Rule::Policy(Policy::BestFit) => {
            by_measure(Measured::BestFit, (workers, memory), application, demand)
        }
        Rule::Policy(Policy::LeastFragmentation) => {
            by_measure(Measured::LeastFragmentation, (workers, memory), application, demand)
        }
        Rule::Policy(Policy::LearnedFragmentation) => {
            by_measure(Measured::LearnedFragmentation, (workers, memory), application, demand)
        }
        Rule::Policy(Policy::SpreadHeld) => over_held(config, workers, application, demand),
        Rule::Policy(Policy::Lifetimes) => {
            let on = |slot: Slot| rest.on.get(&slot).copied();
            fill_by_rest(demand, candidates(workers, application), workers.whole(), on, rest.own)
        }
    }
}

/// Whether all these Workers are alike to an application: it prefers none and shuns none.
pub(super) fn is_indifferent(application: &Application, workers: &WorkerTable) -> bool {
    application.wishes.is_empty()
        && application.exclusions.is_empty()
        && workers.all_admit(application.label.as_ref())
}

/// Workers near preferred hosts come first, and late ones last. If none is late and all are alike to the application, the decision
/// is Spark's. The measures of other policies do not look at who is late.
fn as_spark(
    config: &Config,
    workers: &WorkerTable,
    application: &Application,
    demand: &Demand,
) -> Vec<Share> {
    if is_indifferent(application, workers) && workers.late().is_empty() {
        return workers.place(demand, config.strategy);
    }
    let (near, late) = (near(workers, &application.wishes), late(workers, &application.wishes));
    let shuns = |slot| application.shuns(slot, workers.row(slot));
    let shares = workers.place_ranked(demand, config.strategy, (&near, &late), shuns);
    debug_assert_eq!(
        executors(&shares),
        executors(&near_of_all(config, workers, application, demand)),
        "who is near is known without a look at all others"
    );
    shares
}

/// The Workers that come before all others, by rank.
fn near(workers: &WorkerTable, wishes: &Wishes) -> Vec<Vec<Slot>> {
    let mut ranks: BTreeMap<_, Vec<Slot>> = BTreeMap::new();
    for host in wishes.near() {
        let prompt = workers.on_host(host).filter(|slot| !workers.late().contains(slot));
        ranks.entry(wishes.rank(host)).or_default().extend(prompt);
    }
    // Workers of this rank come with all others.
    ranks.remove(&(Locality::Any, Reverse(0)));
    ranks.into_values().collect()
}

/// The Workers that come after all others, by rank.
fn late(workers: &WorkerTable, wishes: &Wishes) -> Vec<Vec<Slot>> {
    let mut ranks: BTreeMap<_, Vec<Slot>> = BTreeMap::new();
    for slot in workers.late() {
        ranks.entry(wishes.rank(&workers.row(*slot).description.host)).or_default().push(*slot);
    }
    ranks.into_values().collect()
}

/// The same, found by looking at every Worker.
fn near_of_all(
    config: &Config,
    workers: &WorkerTable,
    application: &Application,
    demand: &Demand,
) -> Vec<Share> {
    let rows: BTreeMap<&str, &WorkerRow> =
        workers.iter().map(|row| (row.description.id.as_str(), row)).collect();
    let rank = |offer: &Offer<'_>| {
        let row = rows[offer.worker];
        (row.is_late, application.wishes.rank(&row.description.host))
    };
    let welcome = workers.slots().filter(|(slot, row)| !application.shuns(*slot, row));
    let offers = welcome.map(|(slot, row)| workers.open_offer(slot, row));
    let placement = place_ranked(demand, offers, config.worker_order, config.strategy, rank);
    let one = |executor: firesteel_placement::advanced::offers::OfferExecutor<'_>| {
        let slot = workers.slot(&WorkerId::new(executor.worker))?;
        Some(Share::new(slot, 1, executor.cores))
    };
    placement.executors().filter_map(one).collect()
}

/// One entry for each executor.
fn executors(shares: &[Share]) -> Vec<(Slot, Cores)> {
    let each = |share: &Share| std::iter::repeat_n((share.slot, share.cores), share.executors as usize);
    shares.iter().flat_map(each).collect()
}

/// Workers near preferred hosts come first; the measure decides among Workers of the same rank. If all Workers are
/// alike to the application, only Workers that changed since the last executor of the same kind are looked at.
fn by_measure(
    policy: Measured<'_>,
    (workers, memory): (&mut WorkerTable, &mut Memory),
    application: &Application,
    demand: &Demand,
) -> Vec<Share> {
    let of_all = |workers: &WorkerTable, memory: &Memory| {
        let whole = |slot| workers.whole_offer(slot);
        let measure = policy.measure(memory.lesson(), &whole);
        fill(measure, demand, candidates(workers, application), workers.whole())
    };
    if !is_indifferent(application, workers) {
        return of_all(workers, memory);
    }
    let shares = memory.place_by(policy, workers, demand);
    debug_assert_eq!(
        shares,
        of_all(workers, memory),
        "the best of those that are kept in order are the best of all"
    );
    shares
}

/// Spreads over the executors that the application holds. Among Workers on whose hosts the same number of its
/// executors run, those near preferred hosts come first.
fn over_held(
    config: &Config,
    workers: &WorkerTable,
    application: &Application,
    demand: &Demand,
) -> Vec<Share> {
    let mut on_worker: BTreeMap<Slot, u64> = BTreeMap::new();
    let mut on_host: BTreeMap<&str, u64> = BTreeMap::new();
    for executor in application.executors.values() {
        *on_worker.entry(executor.slot).or_default() += 1;
        *on_host.entry(workers.row(executor.slot).description.host.as_str()).or_default() += 1;
    }
    let held = |slot: Slot| on_worker.get(&slot).copied().unwrap_or(0);
    let held_on_host = |host: &str| on_host.get(host).copied().unwrap_or(0);
    let spread = |candidates: &mut dyn Iterator<Item = Candidate<'_, Rank>>| {
        spread_held(demand, candidates, config.worker_order, held, held_on_host)
    };
    if !is_indifferent(application, workers) {
        return spread(&mut candidates(workers, application));
    }
    // If as many hosts without its executors are found as executors are wanted, each takes one: no later
    // Worker matters.
    let mut hosts: BTreeSet<&str> = BTreeSet::new();
    let mut found: Vec<Candidate<'_, Rank>> = Vec::new();
    workers.walk(demand, |slot| {
        let row = workers.row(slot);
        let host = row.description.host.as_str();
        if !on_host.contains_key(host) {
            hosts.insert(host);
        }
        found.push(Candidate { slot, offer: workers.open_offer(slot, row), host, rank: None });
        match hosts.len() as u64 >= demand.most_workers() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    let shares = spread(&mut found.into_iter());
    debug_assert_eq!(
        shares,
        spread(&mut candidates(workers, application)),
        "no Worker after those that were found matters"
    );
    shares
}

/// The Workers that may be chosen for an application: those that it does not shun.
fn candidates<'a>(
    workers: &'a WorkerTable,
    application: &'a Application,
) -> impl Iterator<Item = Candidate<'a, Rank>> {
    let wishes = &application.wishes;
    let welcome = workers.slots().filter(|(slot, row)| !application.shuns(*slot, row));
    welcome.map(|(slot, row)| {
        let host = row.description.host.as_str();
        let rank = (!wishes.is_empty()).then(|| wishes.rank(host));
        Candidate { slot, offer: workers.open_offer(slot, row), host, rank }
    })
}
