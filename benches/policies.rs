//! How many executors per second does each policy place, compared with Spark's rule? What does the cache of best fit
//! earn? And what does the door cost through which all policies go?
//!
//! The Workers, an eighth of them with gpus, are kept about 85 % full with applications of ten shapes. Each application
//! is placed and committed; then the oldest applications end until 15 % is free again. Each rule has its own cluster,
//! and all clusters see the same applications, by turns. Each figure is the median over the rounds. The time is that of
//! all of it: the decision, the index and the books of what is free on each Worker and who has which address.
//!
//! The first table goes through [`Cluster`]. The second one places the same applications by best fit without the cache:
//! [`fill`] over every Worker, and over the Workers with room that the index finds. The third one compares [`Cluster`]
//! with the functions behind it, called directly by an owner of the Workers that can do nothing else.

#![allow(clippy::disallowed_types, clippy::disallowed_methods, clippy::disallowed_macros, reason = "a bench")]

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use firesteel_placement::advanced::index::{Index, Share, Slot};
use firesteel_placement::advanced::policy::{Candidate, ClusterTotal, Measure, PlacementCache, fill};
use firesteel_placement::{
    Amount, Cluster, Cores, Demand, ExecutorSize, MiB, Offer, Placement, Policy, Resources, Rule, Strategy,
    Worker, WorkerOrder,
};

const WORKERS: usize = 10_000;
/// Sizes of the cluster in the second table.
const SIZES: [usize; 3] = [100, 1_000, 10_000];
const CORES: i64 = 64;
const MEMORY: i64 = 262_144;
const ROUNDS: usize = 15;
/// The most Workers, rounds and placements of a run that only tests (`-- --test`): debug builds compare each decision
/// with a look at all Workers.
const IN_TEST: (usize, usize, usize) = (200, 2, 20);
const PLACEMENTS: usize = 2_000;
/// Placements per round of the second table, where some of them look at every Worker.
const FEW_PLACEMENTS: usize = 50;
/// The formula of best fit, with a field of every kind that costs something.
const EXPRESSION: &str = "max(left.cores / cluster.cores, left.memory / cluster.memory, left.gpu / cluster.gpu) + left.gpu.whole * 0";
/// Cores, memory, gpus and number of executors.
const SHAPES: [(i64, i64, u64, i64); 10] = [
    (1, 2048, 0, 16),
    (2, 4096, 0, 16),
    (2, 16_384, 0, 16),
    (4, 8192, 1, 8),
    (4, 16_384, 0, 32),
    (8, 16_384, 1, 4),
    (8, 65_536, 0, 2),
    (16, 32_768, 2, 8),
    (1, 1024, 0, 64),
    (2, 8192, 0, 1),
];

/// How Workers are chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Way {
    /// Through [`Cluster`].
    Door(Rule),
    /// Spark's rule by the index, called directly.
    Index,
    /// Best fit by the cache, called directly.
    Cache,
    /// Best fit over all Workers.
    AllWorkers,
    /// Best fit over the Workers with room that the index finds.
    WorkersWithRoom,
}

/// A cluster with what runs on it.
trait Bench {
    /// Places an application. Returns the number of its executors and of their cores.
    fn place(&mut self, demand: &Demand) -> (u64, i64);

    /// Ends the oldest application. Returns the cores of its executors.
    fn end(&mut self) -> i64;
}

/// Each Worker: its id, and its resources.
fn workers(count: usize) -> impl Iterator<Item = (String, Resources)> {
    (0..count).map(|n| {
        let gpus = (0..if n % 8 == 0 { 8 } else { 0 }).map(|gpu: u32| gpu.to_string());
        let resources = Resources::from_iter([("gpu", gpus.collect::<Vec<_>>())]);
        (format!("worker-20261120212235-10.0.{}.{}-7078", n / 250, n % 250), resources)
    })
}

/// The door.
struct ByDoor {
    rule: Rule,
    cluster: Cluster,
    live: VecDeque<Placement>,
}

impl ByDoor {
    fn new(rule: Rule, count: usize) -> Self {
        let mut cluster = Cluster::new(WorkerOrder::CoresFreeDesc);
        for (id, resources) in workers(count) {
            cluster.add(Worker { resources, ..Worker::new(id, Cores(CORES), MiB(MEMORY)) });
        }
        Self { rule, cluster, live: VecDeque::new() }
    }
}

impl Bench for ByDoor {
    fn place(&mut self, demand: &Demand) -> (u64, i64) {
        let placement = self.cluster.place(demand, &self.rule);
        let placed = (placement.len(), placement.cores().0);
        self.live.push_back(placement);
        placed
    }

    fn end(&mut self) -> i64 {
        let placement = self.live.pop_front().expect("something runs");
        let cores = placement.cores().0;
        self.cluster.give_back(placement);
        cores
    }
}

/// What an application asked for and got, with the addresses that it has of each Worker.
type Live = (Demand, Vec<Share>, Vec<(usize, Resources)>);

/// An owner of Workers that calls the functions behind the door.
struct Directly {
    way: Way,
    index: Index<String>,
    slots: Vec<Slot>,
    ids: Vec<String>,
    free: Vec<(Cores, MiB, Resources)>,
    total: ClusterTotal,
    cache: PlacementCache,
    live: VecDeque<Live>,
}

impl Directly {
    fn new(way: Way, count: usize) -> Self {
        let (mut index, mut total) = (Index::new(WorkerOrder::CoresFreeDesc), ClusterTotal::default());
        let (mut slots, mut ids, mut free) = (Vec::new(), Vec::new(), Vec::new());
        for (id, resources) in workers(count) {
            let (cores, memory) = (Cores(CORES), MiB(MEMORY));
            let slot = index.insert(id.clone(), cores, memory, &resources);
            assert_eq!(slot.index(), slots.len(), "slots are given in turn");
            total.add(&Offer { worker: &id, cores, memory, resources: &resources });
            slots.push(slot);
            ids.push(id);
            free.push((cores, memory, resources));
        }
        Self { way, index, slots, ids, free, total, cache: PlacementCache::default(), live: VecDeque::new() }
    }

    fn decide(&mut self, demand: &Demand) -> Vec<Share> {
        let Self { index, slots, ids, free, total, cache, .. } = self;
        let offer = |slot: Slot| {
            let (cores, memory, ref resources) = free[slot.index()];
            Some(Offer { worker: &ids[slot.index()], cores, memory, resources })
        };
        let candidate = |slot| offer(slot).map(|offer| Candidate { slot, offer, host: "", rank: () });
        match self.way {
            Way::Index => index.place(demand, Strategy::SpreadOut),
            Way::Cache => {
                let plain = |slot| index.plain(slot);
                cache.place(Measure::LeftOver, demand, total, slots.iter().copied(), plain, offer)
            }
            Way::AllWorkers => {
                let all = slots.iter().filter_map(|slot| candidate(*slot));
                fill(Measure::LeftOver, demand, all, total)
            }
            Way::WorkersWithRoom => {
                let mut found = Vec::new();
                index.walk(demand, |slot| {
                    found.extend(candidate(slot));
                    std::ops::ControlFlow::Continue(())
                });
                fill(Measure::LeftOver, demand, found, total)
            }
            Way::Door(_) => unreachable!("the door is not called directly"),
        }
    }
}

impl Bench for Directly {
    fn place(&mut self, demand: &Demand) -> (u64, i64) {
        let shares = self.decide(demand);
        self.index.take(demand, &shares);
        let mut held = Vec::new();
        let (mut placed, mut taken) = (0, 0);
        for Share { slot, executors, cores, .. } in &shares {
            self.cache.changed(*slot);
            let (free, memory, resources) = &mut self.free[slot.index()];
            let count = *executors as i64;
            *free -= Cores(cores.0 * count);
            *memory -= MiB(demand.memory.0 * count);
            (placed, taken) = (placed + executors, taken + cores.0 * count);
            let all: BTreeMap<_, _> = (demand.resources.iter())
                .map(|(name, each)| (name.clone(), Amount::Whole(each.addresses() * executors)))
                .collect();
            held.push((slot.index(), resources.take(&all).expect("it has room")));
        }
        self.live.push_back((demand.clone(), shares, held));
        (placed, taken)
    }

    fn end(&mut self) -> i64 {
        let (demand, shares, held) = self.live.pop_front().expect("something runs");
        for (at, resources) in held {
            self.free[at].2.give_back(resources);
        }
        let mut given_back = 0;
        for Share { slot, executors, cores, .. } in &shares {
            let (free, memory, _) = &mut self.free[slot.index()];
            *free += Cores(cores.0 * *executors as i64);
            *memory += MiB(demand.memory.0 * *executors as i64);
            given_back += cores.0 * *executors as i64;
            self.cache.changed(*slot);
        }
        self.index.give_back(&demand, &shares);
        given_back
    }
}

/// A cluster that is kept full.
struct Full {
    bench: Box<dyn Bench>,
    cores: i64,
    used: i64,
}

impl Full {
    fn new(way: &Way, workers: usize) -> Self {
        let bench: Box<dyn Bench> = match way {
            Way::Door(rule) => Box::new(ByDoor::new(rule.clone(), workers)),
            Way::Index | Way::Cache | Way::AllWorkers | Way::WorkersWithRoom => {
                Box::new(Directly::new(way.clone(), workers))
            }
        };
        Self { bench, cores: CORES * workers as i64, used: 0 }
    }

    /// Places an application, and tells how many executors it got and how many nanoseconds all of it took.
    fn register(&mut self, demand: &Demand) -> (u64, u64) {
        let start = Instant::now();
        let (executors, cores) = self.bench.place(demand);
        self.used += cores;
        while self.used > self.cores * 85 / 100 {
            self.used -= self.bench.end();
        }
        (executors, u64::try_from(start.elapsed().as_nanos()).expect("it is short"))
    }
}

fn demand(n: usize) -> Demand {
    let n = (n as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    let (cores, memory, gpus, executors) = SHAPES[n as usize % SHAPES.len()];
    Demand {
        size: ExecutorSize::Fixed(Cores(cores)),
        memory: MiB(memory),
        resources: if gpus > 0 { [("gpu".to_owned(), Amount::Whole(gpus))].into() } else { BTreeMap::new() },
        cores_left: Cores(cores * executors),
        ..Demand::default()
    }
}

fn main() {
    policies();
    cache();
    door();
}

fn policies() {
    let named = Policy::ALL.map(|policy| (policy.name(), Rule::Policy(policy)));
    let expression = Rule::Expression(EXPRESSION.parse().expect("it can be read"));
    let rules: Vec<(&str, Rule)> = named.into_iter().chain([("expr:..", expression)]).collect();
    let ways: Vec<Way> = rules.iter().map(|(_, rule)| Way::Door(rule.clone())).collect();
    let rates = rates(&ways, WORKERS, PLACEMENTS);
    let best_fit = rules.iter().zip(&rates).find(|((name, _), _)| *name == Policy::BestFit.name());
    let best_fit = *best_fit.expect("it is one of them").1;
    println!("{:24} {:>22} {:>10} {:>12}", "policy", "million executors/s", "of spark", "of best-fit");
    for ((name, _), rate) in rules.iter().zip(&rates) {
        let [of_spark, of_best_fit] = [rates[0], best_fit].map(|base| 100.0 * rate / base);
        println!("{name:24} {rate:>22.2} {of_spark:>8.0} % {of_best_fit:>10.0} %");
    }
}

fn cache() {
    println!(
        "\n{:>8} {:>22} {:>14} {:>20}",
        "workers", "best-fit, million/s", "of all workers", "of workers with room"
    );
    for workers in SIZES {
        let ways = [Way::Cache, Way::AllWorkers, Way::WorkersWithRoom];
        let rates = rates(&ways, workers, FEW_PLACEMENTS);
        let [of_all, of_some] = [1, 2].map(|at| rates[0] / rates[at]);
        println!("{workers:>8} {:>22.2} {of_all:>13.1}x {of_some:>19.1}x", rates[0]);
    }
}

/// How long the door takes, if the functions behind it take 1.
fn door() {
    println!("\n{:>8} {:>24} {:>24}", "workers", "spark, door / directly", "best-fit, door / directly");
    for workers in SIZES {
        let by_door = [Policy::Spark, Policy::BestFit].map(|policy| Way::Door(policy.into()));
        let ways: Vec<Way> = by_door.into_iter().chain([Way::Index, Way::Cache]).collect();
        let rates = rates(&ways, workers, PLACEMENTS);
        let [spark, best_fit] = [0, 1].map(|at| rates[at + 2] / rates[at]);
        println!("{workers:>8} {spark:>24.2} {best_fit:>25.2}");
    }
}

/// Million executors per second for each way.
fn rates(ways: &[Way], workers: usize, placements: usize) -> Vec<f64> {
    let (workers, rounds, placements) = match std::env::args().any(|argument| argument == "--test") {
        true => (workers.min(IN_TEST.0), IN_TEST.1, placements.min(IN_TEST.2)),
        false => (workers, ROUNDS, placements),
    };
    let mut clusters: Vec<Full> = ways.iter().map(|way| Full::new(way, workers)).collect();
    let mut applications = 0;
    // Until they are full.
    while clusters.iter().any(|cluster| cluster.used < cluster.cores * 80 / 100) {
        for cluster in &mut clusters {
            cluster.register(&demand(applications));
        }
        applications += 1;
    }
    let mut rates = vec![Vec::new(); clusters.len()];
    for _ in 0..rounds {
        for ((cluster, rates), way) in clusters.iter_mut().zip(&mut rates).zip(ways) {
            let (mut executors, mut nanos) = (0, 0);
            for n in 0..placements {
                let (placed, time) = cluster.register(&demand(applications + n));
                executors += placed;
                nanos += time;
            }
            assert!(executors > 0, "{way:?} places something");
            rates.push(executors as f64 * 1000.0 / nanos as f64);
        }
        applications += placements;
    }
    let median = |rates: &mut Vec<f64>| {
        rates.sort_by(f64::total_cmp);
        rates[rates.len() / 2]
    };
    rates.iter_mut().map(median).collect()
}
