//! Random placements in the reference's types, and their translation into the crate's.

use std::collections::BTreeMap;

use firesteel_placement::{
    Cores, Demand, ExecutorLimit, ExecutorSize, MiB, Offer, Resources, Strategy, WorkerOrder,
};
use quickcheck::{Arbitrary, Gen};

use super::{Ask, ORDERS, Order, Worker};

#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    pub ask: Ask,
    pub workers: Vec<Worker>,
    pub order: Order,
    pub spread_out: bool,
}

/// The same case in the crate's types. Owns the addresses that offers borrow.
pub struct Translated {
    pub demand: Demand,
    pub order: WorkerOrder,
    pub strategy: Strategy,
    workers: Vec<(Worker, Resources)>,
}

impl Case {
    pub fn translate(&self) -> Translated {
        Translated {
            demand: demand(&self.ask),
            order: worker_order(self.order),
            strategy: if self.spread_out { Strategy::SpreadOut } else { Strategy::Consolidate },
            workers: self.workers.iter().map(|worker| (worker.clone(), addresses(worker))).collect(),
        }
    }
}

impl Translated {
    pub fn offers(&self) -> Vec<Offer<'_>> {
        let mut offers = Vec::new();
        for (worker, resources) in &self.workers {
            let (cores, memory) = (Cores(worker.cores), MiB(worker.memory));
            offers.push(Offer { worker: &worker.id, cores, memory, resources });
        }
        offers
    }
}

pub fn worker_order(order: Order) -> WorkerOrder {
    match order {
        Order::MostCores => WorkerOrder::CoresFreeDesc,
        Order::FewestCores => WorkerOrder::CoresFreeAsc,
        Order::MostMemory => WorkerOrder::MemoryFreeDesc,
        Order::LeastMemory => WorkerOrder::MemoryFreeAsc,
        Order::Id => WorkerOrder::WorkerId,
    }
}

pub fn demand(ask: &Ask) -> Demand {
    Demand {
        size: ask.cores.map_or(ExecutorSize::OnePerWorker, |cores| ExecutorSize::Fixed(Cores(cores))),
        memory: MiB(ask.memory),
        resources: ask.resources.iter().map(|(name, count)| (name.clone(), (*count).into())).collect(),
        cores_left: Cores(ask.cores_left),
        limit: ask.limit.map_or(ExecutorLimit::Unlimited, ExecutorLimit::AtMost),
        held: ask.held,
    }
}

pub fn addresses(worker: &Worker) -> Resources {
    let addresses = |count: u64| (0..count).map(|address| address.to_string());
    worker.resources.iter().map(|(name, &count)| (name.clone(), addresses(count))).collect()
}

/// A placement over many workers, often for few executors.
#[derive(Clone, Debug)]
pub struct Crowd(pub Case);

impl Case {
    /// Few different amounts, so that there are many ties; ids of different lengths, not in order; sometimes negative
    /// amounts and resources.
    pub fn with_workers(g: &mut Gen, count: usize) -> Self {
        let most_cores = pick(g, &[2, 4, 10, 16]);
        let odd = pick(g, &[false, false, false, true]);
        let with_resources = bool::arbitrary(g);
        let worker = |i: usize| {
            let cores = below(g, most_cores + 1);
            let memory = pick(g, &[256, 512, 512, 1024, 1000, 4096]);
            Worker {
                id: format!("w{}", i * 7 % 1009),
                cores: if odd { pick(g, &[cores, cores, -3, 0]) } else { cores },
                memory: if odd { pick(g, &[memory, memory, -100, 0]) } else { memory },
                resources: resources(g, with_resources, &[0, 1, 2, 5]),
            }
        };
        let workers = (0..count).map(worker).collect();
        let (cores_left, limit) = (below(g, 40), below(g, 9) as u64);
        let ask = Ask {
            cores: pick(g, &[None, Some(1), Some(2), Some(3), Some(5)]),
            memory: pick(g, &[0, 100, 128, 256, 500, 1024]),
            resources: resources(g, with_resources, &[0, 1, 1, 2]),
            cores_left: pick(g, &[i64::from(i32::MAX), cores_left, cores_left, cores_left - 4]),
            limit: pick(g, &[None, Some(limit)]),
            held: pick(g, &[0, 0, 1, 3]),
        };
        Case { ask, workers, order: pick(g, &ORDERS), spread_out: bool::arbitrary(g) }
    }
}

impl Arbitrary for Crowd {
    fn arbitrary(g: &mut Gen) -> Self {
        let count = 60 + usize::arbitrary(g) % 200;
        let mut case = Case::with_workers(g, count);
        if bool::arbitrary(g) {
            case.workers.sort_by(|a, b| a.id.cmp(&b.id));
        }
        Self(case)
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        Box::new(self.0.shrink().map(Self))
    }
}

impl Arbitrary for Case {
    fn arbitrary(g: &mut Gen) -> Self {
        let count = pick(g, &[0, 1, 2, 2, 3, 3, 4, 5, 6, 8, 11]);
        Self::with_workers(g, count)
    }

    /// Fewer workers, then fewer features, then smaller numbers. No step may undo another.
    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        const SIMPLER: [fn(&mut Case); 8] = [
            |case| case.ask.resources.clear(),
            |case| case.workers.iter_mut().for_each(|worker| worker.resources.clear()),
            |case| case.ask.memory = 0,
            |case| case.ask.limit = None,
            |case| case.ask.held = 0,
            |case| case.ask.cores_left = i64::from(i32::MAX),
            |case| case.ask.cores_left = smaller(case.ask.cores_left),
            |case| case.workers.iter_mut().for_each(|worker| worker.cores = smaller(worker.cores)),
        ];
        let (whole, other) = (self.clone(), self.clone());
        let count = self.workers.len();
        // First halves, then quarters, then single workers, so that a large case shrinks in few steps.
        let sizes = [count.div_ceil(2), count.div_ceil(4), 1].into_iter().filter(|&size| size > 0);
        let spans = sizes.flat_map(move |size| {
            (0..count).step_by(size).map(move |start| start..(start + size).min(count))
        });
        let fewer = spans.map(move |gone| {
            let mut case = whole.clone();
            case.workers.drain(gone);
            case
        });
        let simpler = SIMPLER.into_iter().filter_map(move |simplify| {
            let mut case = other.clone();
            simplify(&mut case);
            (case != other).then_some(case)
        });
        Box::new(fewer.chain(simpler))
    }
}

fn resources(g: &mut Gen, any: bool, amounts: &[u64]) -> BTreeMap<String, u64> {
    let mut resources = BTreeMap::new();
    for name in ["fpga", "gpu"] {
        let amount = pick(g, amounts);
        if any && pick(g, &[true, true, false]) {
            resources.insert(name.to_owned(), amount);
        }
    }
    resources
}

/// A smaller number, unless it stands for no limit.
fn smaller(number: i64) -> i64 {
    if number < i64::from(i32::MAX) { number * 3 / 4 } else { number }
}

pub fn below(g: &mut Gen, end: i64) -> i64 {
    i64::from(u16::arbitrary(g)) % end
}

pub fn pick<T: Clone>(g: &mut Gen, choices: &[T]) -> T {
    g.choose(choices).expect("there is something to choose").clone()
}
