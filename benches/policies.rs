//! How many executors per second does each policy place, compared with Spark's rule through the index? And what does
//! the cache of best fit earn?
//!
//! The Workers, an eighth of them with gpus, are kept about 85 % full with applications of ten shapes. Each application
//! is placed and committed; then the oldest applications end until 15 % is free again. Each policy has its own cluster,
//! and all clusters see the same applications, by turns. Each figure is the median over the rounds.
//!
//! The second table places the same applications by best fit without the cache: [`fill`] over every Worker, and over
//! the Workers with room that the index finds.

#![allow(clippy::disallowed_types, clippy::disallowed_methods, clippy::disallowed_macros, reason = "a bench")]

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use firesteel_placement::Expression;
use firesteel_placement::advanced::index::{Index, Share, Slot};
use firesteel_placement::advanced::policy::{
    Candidate, ClusterTotal, Formula, Measure, PlacementCache, SeenDemands, fill, fill_by_rest, spread_held,
};
use firesteel_placement::{
    Amount, Cores, Demand, ExecutorSize, MiB, Offer, Policy, Resources, Strategy, WorkerOrder,
};

const WORKERS: usize = 10_000;
/// Sizes of the cluster in the second table.
const SIZES: [usize; 3] = [100, 1_000, 10_000];
const CORES: i64 = 64;
const MEMORY: i64 = 262_144;
const ROUNDS: usize = 15;
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

/// What an application asked for and got, with the addresses that it has of each worker.
type Live = (Demand, Vec<Share>, Vec<(usize, Resources)>);

/// How Workers are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    Policy(Policy),
    /// An expression that says about what best fit does.
    Expression,
    /// Best fit over all Workers.
    AllWorkers,
    /// Best fit over the Workers with room that the index finds.
    WorkersWithRoom,
}

/// A cluster, and what runs on it.
struct Cluster {
    rule: Rule,
    expression: Expression,
    index: Index<String>,
    slots: Vec<Slot>,
    ids: Vec<String>,
    free: Vec<(Cores, MiB, Resources)>,
    whole: ClusterTotal,
    cache: PlacementCache,
    seen: SeenDemands,
    live: VecDeque<Live>,
    used: i64,
}

impl Cluster {
    fn new(rule: Rule, workers: usize) -> Self {
        let (index, whole) = (Index::new(WorkerOrder::CoresFreeDesc), ClusterTotal::default());
        let (cache, seen, live) = (PlacementCache::default(), SeenDemands::default(), VecDeque::new());
        let (slots, ids, free) = (Vec::new(), Vec::new(), Vec::new());
        let expression = EXPRESSION.parse().expect("it can be read");
        let mut cluster =
            Self { rule, expression, index, slots, ids, free, whole, cache, seen, live, used: 0 };
        for n in 0..workers {
            let id = format!("worker-20261120212235-10.0.{}.{}-7078", n / 250, n % 250);
            let gpus = (0..if n % 8 == 0 { 8 } else { 0 }).map(|gpu: u32| gpu.to_string());
            let resources = Resources::from_iter([("gpu", gpus.collect::<Vec<_>>())]);
            let (cores, memory) = (Cores(CORES), MiB(MEMORY));
            let slot = cluster.index.insert(id.clone(), cores, memory, &resources);
            assert_eq!(slot.index(), n, "slots are given in turn");
            cluster.whole.add(&Offer { worker: &id, cores, memory, resources: &resources });
            cluster.slots.push(slot);
            cluster.ids.push(id);
            cluster.free.push((cores, memory, resources));
        }
        cluster
    }

    fn decide(&mut self, demand: &Demand) -> Vec<Share> {
        self.seen.add(demand, demand.most_executors());
        if self.seen.is_lesson_due() && self.rule == Rule::Policy(Policy::LearnedFragmentation) {
            self.learn();
        }
        let Self { slots, ids, free, seen, expression, .. } = self;
        let lesson = seen.lesson();
        let offer = |slot: Slot| {
            let (cores, memory, ref resources) = free[slot.index()];
            Some(Offer { worker: &ids[slot.index()], cores, memory, resources })
        };
        let candidate = |slot| offer(slot).map(|offer| Candidate { slot, offer, host: "", rank: () });
        let whole = |_: Slot| {
            Some(Offer { worker: "", cores: Cores(CORES), memory: MiB(MEMORY), resources: Resources::NONE })
        };
        let measure = match self.rule {
            Rule::AllWorkers => {
                let all = slots.iter().filter_map(|slot| candidate(*slot));
                return fill(Measure::LeftOver, demand, all, &self.whole);
            }
            Rule::WorkersWithRoom => {
                let mut found = Vec::new();
                self.index.walk(demand, |slot| {
                    found.extend(candidate(slot));
                    std::ops::ControlFlow::Continue(())
                });
                return fill(Measure::LeftOver, demand, found, &self.whole);
            }
            Rule::Policy(Policy::Spark) => return self.index.place(demand, Strategy::SpreadOut),
            Rule::Policy(Policy::SpreadHeld) => {
                // As a Master does for an application that holds nothing.
                let mut found = Vec::new();
                self.index.walk(demand, |slot| {
                    let host = ids[slot.index()].as_str();
                    found.extend(offer(slot).map(|offer| Candidate { slot, offer, host, rank: () }));
                    match found.len() as u64 >= demand.most_workers() {
                        true => std::ops::ControlFlow::Break(()),
                        false => std::ops::ControlFlow::Continue(()),
                    }
                });
                return spread_held(demand, found, self.index.order(), |_| 0, |_| 0);
            }
            Rule::Policy(Policy::Lifetimes) => {
                let all = slots.iter().filter_map(|slot| candidate(*slot));
                // As a Master does if nothing is known of how long executors run: every Worker is in use.
                return fill_by_rest(demand, all, &self.whole, |_| Some(Duration::ZERO), None);
            }
            Rule::Policy(Policy::BestFit) => Measure::LeftOver,
            Rule::Policy(Policy::LeastFragmentation) => Measure::Unusable,
            Rule::Policy(Policy::LearnedFragmentation) => Measure::Learned(lesson),
            Rule::Expression => Measure::Expression(Formula { expression, whole: &whole }),
        };
        let plain = |slot| self.index.plain(slot);
        self.cache.place(measure, demand, &self.whole, slots.iter().copied(), plain, offer)
    }

    fn learn(&mut self) {
        let Self { ids, free, seen, .. } = self;
        let offers = ids.iter().zip(free).map(|(id, (cores, memory, resources))| Offer {
            worker: id,
            cores: *cores,
            memory: *memory,
            resources,
        });
        seen.learn(offers);
        self.cache.clear();
    }

    /// Places an application, and tells how many executors it got and how many nanoseconds that took.
    fn register(&mut self, demand: Demand) -> (u64, u64) {
        let start = Instant::now();
        let shares = self.decide(&demand);
        self.index.take(&demand, &shares);
        shares.iter().for_each(|share| self.cache.changed(share.slot));
        let mut time = start.elapsed();
        let mut held = Vec::new();
        for Share { slot, executors, cores, .. } in &shares {
            let (free, memory, resources) = &mut self.free[slot.index()];
            let count = *executors as i64;
            *free -= Cores(cores.0 * count);
            *memory -= MiB(demand.memory.0 * count);
            self.used += cores.0 * count;
            let all: BTreeMap<_, _> = (demand.resources.iter())
                .map(|(name, each)| (name.clone(), Amount::Whole(each.addresses() * executors)))
                .collect();
            held.push((slot.index(), resources.take(&all).expect("it has room")));
        }
        let executors = shares.iter().map(|share| share.executors).sum();
        self.live.push_back((demand, shares, held));
        while self.used > self.cores() * 85 / 100 {
            time += self.end();
        }
        (executors, u64::try_from(time.as_nanos()).expect("it is short"))
    }

    fn cores(&self) -> i64 {
        CORES * self.slots.len() as i64
    }

    /// The oldest application goes.
    fn end(&mut self) -> std::time::Duration {
        let (demand, shares, held) = self.live.pop_front().expect("something runs");
        for (at, resources) in held {
            self.free[at].2.give_back(resources);
        }
        for Share { slot, executors, cores, .. } in &shares {
            let (free, memory, _) = &mut self.free[slot.index()];
            *free += Cores(cores.0 * *executors as i64);
            *memory += MiB(demand.memory.0 * *executors as i64);
            self.used -= cores.0 * *executors as i64;
        }
        let start = Instant::now();
        self.index.give_back(&demand, &shares);
        shares.iter().for_each(|share| self.cache.changed(share.slot));
        start.elapsed()
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
}

fn policies() {
    let named = Policy::ALL.map(|policy| (policy.name(), Rule::Policy(policy)));
    let rules: Vec<(&str, Rule)> = named.into_iter().chain([("expr:..", Rule::Expression)]).collect();
    let mut clusters: Vec<_> = rules.iter().map(|(_, rule)| Cluster::new(*rule, WORKERS)).collect();
    let rates = rates(&mut clusters, PLACEMENTS);
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
        let rules = [Rule::Policy(Policy::BestFit), Rule::AllWorkers, Rule::WorkersWithRoom];
        let mut clusters = rules.map(|rule| Cluster::new(rule, workers));
        let rates = rates(&mut clusters, FEW_PLACEMENTS);
        let [of_all, of_some] = [1, 2].map(|at| rates[0] / rates[at]);
        println!("{workers:>8} {:>22.2} {of_all:>13.1}x {of_some:>19.1}x", rates[0]);
    }
}

/// Million executors per second for each cluster.
fn rates(clusters: &mut [Cluster], placements: usize) -> Vec<f64> {
    let mut applications = 0;
    // Until they are full.
    while clusters.iter().any(|cluster| cluster.used < cluster.cores() * 80 / 100) {
        for cluster in &mut *clusters {
            cluster.register(demand(applications));
        }
        applications += 1;
    }
    let mut rates = vec![Vec::new(); clusters.len()];
    for _ in 0..ROUNDS {
        for (cluster, rates) in clusters.iter_mut().zip(&mut rates) {
            let (mut executors, mut nanos) = (0, 0);
            for n in 0..placements {
                let (placed, time) = cluster.register(demand(applications + n));
                executors += placed;
                nanos += time;
            }
            assert!(executors > 0, "{:?} places something", cluster.rule);
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
