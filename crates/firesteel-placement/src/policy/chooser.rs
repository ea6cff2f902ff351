//! The choice of Workers by any rule. Only this module knows which function decides for which rule.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use super::{
    Candidate, Changes, DemandModel, DemandStatistics, Expression, Formula, Measure, PlacementCache, Policy,
    Rule, Workers, fill, fill_by_rest, spread_held,
};
use crate::index::{Share, Slot};
use crate::place::place_ranked;
use crate::{Cores, Demand, Offer, Strategy};

/// Chooses Workers by any rule, and remembers facts that make this fast. Without them the decisions would be the same,
/// except for what [`Policy::LearnedFragmentation`] has learned.
#[derive(Debug, Default)]
pub struct Chooser {
    /// The heaps of Workers that policies keep between placements.
    cache: PlacementCache,
    /// The demands of applications so far, for policies that learn.
    seen: DemandStatistics,
}

/// A rule that computes a score for each Worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measured<'e> {
    BestFit,
    LeastFragmentation,
    LearnedFragmentation,
    Expression(&'e Expression),
}

impl Chooser {
    /// The Workers for the executors of a demand, in the order in which the executors are launched. `strategy` is used
    /// by [`Policy::Spark`].
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

    /// Counts executors that an application asks for, for policies that learn.
    pub fn see(&mut self, demand: &Demand, executors: u64) {
        self.seen.add(demand, executors);
    }

    /// Receives the Workers that changed, if the owner of the Workers took the list of changes for its own use.
    pub fn hear(&mut self, changes: &Changes) {
        match changes {
            Changes::All => self.cache.clear(),
            Changes::These(slots) => slots.iter().for_each(|slot| self.cache.changed(*slot)),
        }
    }

    /// Decides by rank, and among Workers of the same rank by the measure. If all Workers are alike to the application,
    /// it looks only at Workers that changed since the last executor of the same kind was placed.
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
    /// The rule's measure with this demand model. `total_of` returns the total amounts of a Worker.
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

/// Decides by a measure, and looks at every Worker.
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

/// Decides by rank, and puts late Workers last. If no Worker is late and all are alike to the application, the decision
/// is Spark's. The measures of other policies ignore lateness.
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

/// The same decision as `as_spark`, found by looking at every Worker.
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

/// The Worker and the cores of each executor.
fn executors(shares: &[Share]) -> Vec<(Slot, Cores)> {
    let each = |share: &Share| std::iter::repeat_n((share.slot, share.cores), share.executors as usize);
    shares.iter().flat_map(each).collect()
}

/// Spreads the application's executors, including those that it already holds. Among Workers whose hosts have the same
/// number of its executors, Workers of a lower rank come first.
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
    // If there are as many hosts without the application's executors as executors are wanted, each host takes one. No
    // later Worker matters then.
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

/// The Workers that may be chosen: all Workers that are not excluded.
fn candidates<W: Workers>(workers: &W) -> impl Iterator<Item = Candidate<'_, W::Rank>> {
    let admitted = workers.index().slots().filter(|slot| !workers.excludes(*slot));
    admitted.filter_map(|slot| candidate(workers, slot))
}

fn candidate<W: Workers>(workers: &W, slot: Slot) -> Option<Candidate<'_, W::Rank>> {
    let offer = workers.offer(slot)?;
    Some(Candidate { slot, offer, host: workers.host(slot), rank: workers.rank(slot) })
}
