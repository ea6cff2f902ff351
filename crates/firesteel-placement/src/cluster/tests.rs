//! A cluster decides the same as the functions that it calls, and gives back what it took.

use std::collections::BTreeMap;
use std::time::Duration;

use quickcheck::{Arbitrary, Gen, QuickCheck};

use super::*;
use crate::index::{Index, Slot};
use crate::place::place;
use crate::policy::{Candidate, ClusterTotal, Expression, Measure, fill, fill_by_rest, spread_held};
use crate::{Amount, Cores, ExecutorLimit, ExecutorSize, MiB, Policy, Resources, Rule};

/// The Workers of a small cluster, and the demand.
#[derive(Clone, Debug)]
struct Case {
    order: WorkerOrder,
    /// Cores, memory and gpus of each Worker.
    workers: Vec<(u8, u8, u8)>,
    demands: Vec<Demand>,
}

impl Arbitrary for Case {
    fn arbitrary(g: &mut Gen) -> Self {
        let below = |g: &mut Gen, end: u8| u8::arbitrary(g) % end;
        let count = below(g, 9);
        let workers = (0..count).map(|_| (below(g, 20), below(g, 20), below(g, 4))).collect();
        let demand = |g: &mut Gen| {
            let gpus = [None, None, Some("1"), Some("2"), Some("0.5")];
            let gpus = *g.choose(&gpus).expect("there are some");
            let amount: Option<Amount> = gpus.map(|gpus| gpus.parse().expect("it is an amount"));
            Demand {
                size: match below(g, 5) {
                    0 => ExecutorSize::OnePerWorker,
                    cores => ExecutorSize::Fixed(Cores(i64::from(cores))),
                },
                memory: MiB(i64::from(below(g, 6))),
                resources: amount.into_iter().map(|amount| ("gpu".to_owned(), amount)).collect(),
                cores_left: Cores(i64::from(below(g, 60))),
                limit: match below(g, 3) {
                    0 => ExecutorLimit::Unlimited,
                    _ => ExecutorLimit::AtMost(u64::from(below(g, 12))),
                },
                held: u64::from(below(g, 3)),
            }
        };
        let demands = (0..=below(g, 6)).map(|_| demand(g)).collect();
        Self { order: *g.choose(&WorkerOrder::ALL).expect("there are some"), workers, demands }
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        let Self { order, workers, demands } = self.clone();
        let fewer_workers =
            self.workers.shrink().map(move |workers| Self { order, workers, demands: demands.clone() });
        let less = (0..self.demands.len()).map(move |at| (at, workers.clone()));
        let demands = self.demands.clone();
        let fewer_demands = less.map(move |(at, workers)| {
            let mut demands = demands.clone();
            demands.remove(at);
            Self { order, workers, demands }
        });
        Box::new(fewer_workers.chain(fewer_demands))
    }
}

impl Case {
    /// The cluster. Every two Workers share a host.
    fn cluster(&self) -> Cluster {
        let mut cluster = Cluster::new(self.order);
        for (n, (cores, memory, gpus)) in self.workers.iter().enumerate() {
            let mut worker = Worker::new(format!("w{n}"), Cores(i64::from(*cores)), MiB(i64::from(*memory)));
            worker.host = format!("h{}", n / 2);
            (0..*gpus).for_each(|gpu| worker.resources.insert("gpu", gpu.to_string()));
            cluster.add(worker);
        }
        cluster
    }
}

/// The free amounts of a Worker, as a tuple.
type Free = (String, Cores, MiB, Resources);

fn free(cluster: &Cluster) -> Vec<Free> {
    let own =
        |offer: Offer<'_>| (offer.worker.to_owned(), offer.cores, offer.memory, offer.resources.clone());
    cluster.free().map(own).collect()
}

/// The Worker and the cores of each executor.
type Placed = Vec<(String, i64)>;

fn placed(placement: &Placement) -> Placed {
    placement.executors().map(|executor| (executor.worker.to_owned(), executor.cores.0)).collect()
}

/// The decision of the rule's own function on these offers.
fn directly(
    rule: &Rule,
    strategy: Strategy,
    order: WorkerOrder,
    cluster: &Cluster,
    demand: &Demand,
) -> Placed {
    let offers: Vec<Offer<'_>> = cluster.free().collect();
    if *rule == Rule::Policy(Policy::Spark) {
        let placement = place(demand, offers, order, strategy);
        return placement
            .executors()
            .map(|executor| (executor.worker.to_owned(), executor.cores.0))
            .collect();
    }
    let mut total = ClusterTotal::default();
    cluster.total().for_each(|offer| total.add(&offer));
    let mut index = Index::new(order);
    let mut candidates = Vec::new();
    for offer in &offers {
        let slot = index.insert(offer.worker, offer.cores, offer.memory, offer.resources);
        let number: usize = offer.worker[1..].parse().expect("it is a number");
        let host = ["h0", "h1", "h2", "h3", "h4"][number / 2];
        candidates.push(Candidate { slot, offer: *offer, host, rank: () });
    }
    let totals: Vec<Offer<'_>> = cluster.total().collect();
    let total_of = |slot: Slot| Some(totals[slot.index()]);
    let shares = match rule {
        Rule::Policy(Policy::BestFit) => fill(Measure::LeftOver, demand, candidates, &total),
        Rule::Policy(Policy::LeastFragmentation) => fill(Measure::Unusable, demand, candidates, &total),
        Rule::Policy(Policy::SpreadHeld) => spread_held(demand, candidates, order, |_| 0, |_| 0),
        Rule::Policy(Policy::Lifetimes) => {
            let in_use = |slot: Slot| {
                let (free, total) = (offers[slot.index()], totals[slot.index()]);
                (free != total).then_some(Duration::ZERO)
            };
            fill_by_rest(demand, candidates, &total, in_use, None)
        }
        Rule::Expression(expression) => {
            let formula = crate::policy::Formula { expression, whole: &total_of };
            fill(Measure::Expression(formula), demand, candidates, &total)
        }
        Rule::Policy(Policy::Spark | Policy::LearnedFragmentation) => {
            unreachable!("it is decided above or learns")
        }
    };
    let names: BTreeMap<Slot, &str> = index.iter().map(|(id, slot)| (slot, *id)).collect();
    let each = |share: &crate::index::Share| {
        std::iter::repeat_n((names[&share.slot].to_owned(), share.cores.0), share.executors as usize)
    };
    shares.iter().flat_map(each).collect()
}

fn rules() -> Vec<(Rule, Strategy)> {
    let expression: Expression = "left.cores - total.memory + placed".parse().expect("it can be read");
    let policies = Policy::ALL.into_iter().filter(|policy| *policy != Policy::LearnedFragmentation);
    let rules = policies.map(Rule::Policy).chain([Rule::Expression(expression)]);
    let spread = rules.map(|rule| (rule, Strategy::SpreadOut));
    spread.chain([(Rule::default(), Strategy::Consolidate)]).collect()
}

fn by_door(cluster: &mut Cluster, rule: &Rule, strategy: Strategy, demand: &Demand) -> Placement {
    match rule {
        Rule::Policy(Policy::Spark) => cluster.place(demand, &strategy),
        Rule::Policy(_) | Rule::Expression(_) => cluster.place(demand, rule),
    }
}

#[test]
fn the_door_decides_what_the_function_of_each_rule_decides() {
    fn law(case: Case) {
        for (rule, strategy) in rules() {
            let mut cluster = case.cluster();
            let mut live = Vec::new();
            for (n, demand) in case.demands.iter().enumerate() {
                let expected = directly(&rule, strategy, case.order, &cluster, demand);
                let placement = by_door(&mut cluster, &rule, strategy, demand);
                assert_eq!(placed(&placement), expected, "{rule} by {strategy:?}");
                assert_eq!(cluster.check(), Ok(()), "{rule}");
                live.push(placement);
                // Some executors end in between, so that later ones find Workers whose free amounts have risen again.
                if n % 2 == 1 {
                    cluster.give_back(live.swap_remove(0));
                }
            }
        }
    }
    QuickCheck::new().tests(400).quickcheck(law as fn(Case));
}

#[test]
fn what_is_given_back_is_free_again_and_what_is_placed_is_not() {
    fn law(case: Case) {
        let all =
            rules().into_iter().chain([(Rule::Policy(Policy::LearnedFragmentation), Strategy::SpreadOut)]);
        for (rule, strategy) in all {
            let mut cluster = case.cluster();
            let before = free(&cluster);
            let cores = |cluster: &Cluster| cluster.free().map(|offer| offer.cores).sum::<Cores>();
            let mut live = Vec::new();
            for demand in &case.demands {
                let free = cores(&cluster);
                let placement = by_door(&mut cluster, &rule, strategy, demand);
                assert_eq!(cores(&cluster), free - placement.cores(), "{rule}");
                assert_eq!(placement.executors().count() as u64, placement.len());
                live.push(placement);
            }
            // Half of the placements are given back as a whole, the others executor by executor.
            for (n, placement) in live.into_iter().enumerate() {
                match n % 2 {
                    0 => cluster.give_back(placement),
                    _ => placement.split().into_iter().rev().for_each(|one| cluster.give_back(one)),
                }
                assert_eq!(cluster.check(), Ok(()), "{rule}");
            }
            assert_eq!(free(&cluster), before, "{rule}");
        }
    }
    QuickCheck::new().tests(400).quickcheck(law as fn(Case));
}

#[test]
fn a_rule_of_ones_own_with_the_score_of_an_expression_decides_what_the_expression_decides() {
    fn law(case: Case) {
        // The rules have no ties on these values, because an expression and a score break ties differently: by what is
        // left over, and by the id.
        let expression: Expression = "left.cores * 100 + placed * 10000".parse().expect("it can be read");
        let own = by_score(|worker| (worker.cores_left().0 * 100 + worker.placed as i64 * 10_000) as f64);
        let workers = case.workers.iter().zip(1..).map(|((_, memory, gpus), n)| (n * 2, *memory, *gpus));
        let case = Case { workers: workers.collect(), ..case.clone() };
        for demand in &case.demands {
            let (mut one, mut other) = (case.cluster(), case.cluster());
            let (by_expression, by_score) = (one.place(demand, &expression), other.place(demand, &own));
            assert_eq!(placed(&by_expression), placed(&by_score));
        }
    }
    QuickCheck::new().tests(400).quickcheck(law as fn(Case));
}

fn four_cores(executors: i64) -> Demand {
    let size = ExecutorSize::Fixed(Cores(4));
    Demand { size, memory: MiB(1), cores_left: Cores(4 * executors), ..Demand::default() }
}

fn cluster_of(workers: u8) -> Cluster {
    let workers = (0..workers).map(|_| (8, 8, 0)).collect();
    Case { order: WorkerOrder::CoresFreeDesc, workers, demands: Vec::new() }.cluster()
}

#[test]
fn executors_on_a_worker_that_was_removed_are_not_given_back_to_another_one() {
    let mut cluster = cluster_of(2);
    let placement = cluster.place(&four_cores(4), &Strategy::SpreadOut);
    assert!(cluster.remove("w0") && !cluster.remove("w0"));
    cluster.add(Worker::new("w0", Cores(8), MiB(8)));
    cluster.give_back(placement);
    assert_eq!(cluster.free().map(|offer| offer.cores.0).collect::<Vec<_>>(), [8, 8]);
    assert_eq!(cluster.check(), Ok(()));
    cluster.add(Worker::new("w1", Cores(2), MiB(8)));
    assert_eq!(cluster.len(), 2, "a Worker with the same id is replaced");
}

#[test]
fn spread_held_counts_what_was_placed_under_the_same_name_until_it_is_given_back() {
    let mut cluster = cluster_of(6);
    let demand = four_cores(1);
    let on = |placement: &Placement| placed(placement).remove(0).0;
    let first = cluster.place(Request::from(&demand).application("a"), &Policy::SpreadHeld);
    let second = cluster.place(Request::from(&demand).application("a"), &Policy::SpreadHeld);
    assert_eq!([on(&first), on(&second)], ["w5", "w3"], "w4 is on the host of w5");
    let other = cluster.place(Request::from(&demand).application("b"), &Policy::SpreadHeld);
    assert_eq!(on(&other), "w4", "the first of those with most free cores");
    cluster.give_back(first);
    cluster.give_back(other);
    let third = cluster.place(Request::from(&demand).application("a"), &Policy::SpreadHeld);
    assert_eq!(on(&third), "w5");
}

#[test]
fn lifetimes_puts_executors_where_others_run_for_as_long() {
    let mut cluster = cluster_of(3);
    let seconds = Duration::from_secs;
    let demand = four_cores(1);
    let place = |cluster: &mut Cluster, at, runs_for| {
        let request = Request::from(&demand).at(seconds(at)).runs_for(seconds(runs_for));
        cluster.place(request, &Policy::Lifetimes)
    };
    let short = place(&mut cluster, 0, 100);
    let full = cluster.place(&demand, &Strategy::SpreadOut);
    let long = place(&mut cluster, 10, 5_000);
    assert_eq!(placed(&short), [("w0".to_owned(), 4)]);
    assert_eq!(placed(&long), [("w0".to_owned(), 4)], "it is in use for the longest time");
    assert_eq!(placed(&full), [("w2".to_owned(), 4)]);
    cluster.give_back(short);
    let next = place(&mut cluster, 20, 4_000);
    assert_eq!(placed(&next), [("w0".to_owned(), 4)], "one runs there for 4,990 s");
}

#[test]
fn an_explanation_says_what_is_missing_and_what_would_help() {
    let mut cluster = cluster_of(2);
    let demand = Demand { size: ExecutorSize::Fixed(Cores(9)), cores_left: Cores(9), ..Demand::default() };
    let explanation = cluster.explain(&demand);
    let missing = explanation.shortfall.expect("no Worker has 9 cores");
    assert_eq!(missing.missing, crate::explain::shortfall::Missing::Executors { missing: 1, of: 1 });
    let outlook = explanation.outlook.expect("executors have cores");
    assert!(matches!(outlook.fit, crate::explain::outlook::Fit::Never(_)), "{outlook:?}");
    let change = explanation.advice.first().expect("a smaller executor fits").change;
    let placement = cluster.place(&change.applied(&demand), &Policy::Spark);
    assert!(!placement.is_empty());
    assert_eq!(cluster.explain(&four_cores(1)).shortfall, None);
}
