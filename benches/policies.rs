//! At what rate are placements decided under each policy, beside Spark's rule through the index?
//!
//! 10,000 workers, an eighth of them with gpus, are kept about 85 % full of applications of many shapes: one comes, is
//! placed and committed, and the oldest ones go until there is room again. Each policy has a cluster of its own, and all see
//! the same applications. They take turns; each line is the median over rounds.

#![allow(clippy::disallowed_types, clippy::disallowed_methods, clippy::disallowed_macros, reason = "a bench")]

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use firesteel_placement::index::{Index, Share, Slot};
use firesteel_placement::policy::{Candidate, Favourites, Measure, Whole, spread_held};
use firesteel_placement::{
    Cores, Demand, ExecutorSize, MiB, Offer, Policy, Resources, Strategy, WorkerOrder,
};

const WORKERS: usize = 10_000;
const CORES: i64 = 64;
const MEMORY: i64 = 262_144;
const ROUNDS: usize = 15;
const PLACEMENTS: usize = 2_000;
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

/// A cluster, and what runs on it.
struct Cluster {
    policy: Policy,
    index: Index<String>,
    slots: Vec<Slot>,
    ids: Vec<String>,
    free: Vec<(Cores, MiB, Resources)>,
    whole: Whole,
    favourites: Favourites,
    live: VecDeque<Live>,
    used: i64,
}

impl Cluster {
    fn new(policy: Policy) -> Self {
        let (index, whole) = (Index::new(WorkerOrder::CoresFreeDesc), Whole::default());
        let (favourites, live) = (Favourites::default(), VecDeque::new());
        let (slots, ids, free) = (Vec::new(), Vec::new(), Vec::new());
        let mut cluster = Self { policy, index, slots, ids, free, whole, favourites, live, used: 0 };
        for n in 0..WORKERS {
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
        let Self { slots, ids, free, .. } = self;
        let offer = |slot: Slot| {
            let (cores, memory, ref resources) = free[slot.index()];
            Some(Offer { worker: &ids[slot.index()], cores, memory, resources })
        };
        let measure = match self.policy {
            Policy::Spark => return self.index.place(demand, Strategy::SpreadOut),
            Policy::SpreadHeld => {
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
            Policy::BestFit => Measure::LeftOver,
            Policy::LeastFragmentation => Measure::Unusable,
        };
        let workers = || slots.iter().filter_map(|slot| Some((*slot, offer(*slot)?)));
        self.favourites.place(measure, demand, &self.whole, workers, offer)
    }

    /// Places an application, and tells how many executors it got and how many nanoseconds that took.
    fn register(&mut self, demand: Demand) -> (u64, u64) {
        let start = Instant::now();
        let shares = self.decide(&demand);
        self.index.take(&demand, &shares);
        shares.iter().for_each(|share| self.favourites.changed(share.slot));
        let mut time = start.elapsed();
        let mut held = Vec::new();
        for Share { slot, executors, cores } in &shares {
            let (free, memory, resources) = &mut self.free[slot.index()];
            let count = *executors as i64;
            *free -= Cores(cores.0 * count);
            *memory -= MiB(demand.memory.0 * count);
            self.used += cores.0 * count;
            let all: BTreeMap<_, _> =
                demand.resources.iter().map(|(name, n)| (name.clone(), n * executors)).collect();
            held.push((slot.index(), resources.take(&all).expect("it has room")));
        }
        let executors = shares.iter().map(|share| share.executors).sum();
        self.live.push_back((demand, shares, held));
        while self.used > CORES * WORKERS as i64 * 85 / 100 {
            time += self.end();
        }
        (executors, u64::try_from(time.as_nanos()).expect("it is short"))
    }

    /// The oldest application goes.
    fn end(&mut self) -> std::time::Duration {
        let (demand, shares, held) = self.live.pop_front().expect("something runs");
        for (at, resources) in held {
            self.free[at].2.give_back(resources);
        }
        for Share { slot, executors, cores } in &shares {
            let (free, memory, _) = &mut self.free[slot.index()];
            *free += Cores(cores.0 * *executors as i64);
            *memory += MiB(demand.memory.0 * *executors as i64);
            self.used -= cores.0 * *executors as i64;
        }
        let start = Instant::now();
        self.index.give_back(&demand, &shares);
        shares.iter().for_each(|share| self.favourites.changed(share.slot));
        start.elapsed()
    }
}

fn demand(n: usize) -> Demand {
    let n = (n as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    let (cores, memory, gpus, executors) = SHAPES[n as usize % SHAPES.len()];
    Demand {
        size: ExecutorSize::Fixed(Cores(cores)),
        memory: MiB(memory),
        resources: if gpus > 0 { [("gpu".to_owned(), gpus)].into() } else { BTreeMap::new() },
        cores_left: Cores(cores * executors),
        ..Demand::default()
    }
}

fn main() {
    let mut clusters = Policy::ALL.map(Cluster::new);
    let mut applications = 0;
    // Until they are full, and once more.
    while clusters.iter().any(|cluster| cluster.used < CORES * WORKERS as i64 * 80 / 100) {
        for cluster in &mut clusters {
            cluster.register(demand(applications));
        }
        applications += 1;
    }
    let mut rates = Policy::ALL.map(|_| Vec::new());
    for _ in 0..ROUNDS {
        for (cluster, rates) in clusters.iter_mut().zip(&mut rates) {
            let (mut executors, mut nanos) = (0, 0);
            for n in 0..PLACEMENTS {
                let (placed, time) = cluster.register(demand(applications + n));
                executors += placed;
                nanos += time;
            }
            assert!(executors > 0, "{} places something", cluster.policy);
            rates.push(executors as f64 * 1000.0 / nanos as f64);
        }
        applications += PLACEMENTS;
    }
    let median = |rates: &mut Vec<f64>| {
        rates.sort_by(f64::total_cmp);
        rates[rates.len() / 2]
    };
    let medians = rates.each_mut().map(median);
    println!("{:24} {:>22} {:>10}", "policy", "million executors/s", "of spark");
    for (policy, rate) in Policy::ALL.into_iter().zip(medians) {
        println!("{policy:24} {rate:>22.2} {:>8.0} %", 100.0 * rate / medians[0]);
    }
}
