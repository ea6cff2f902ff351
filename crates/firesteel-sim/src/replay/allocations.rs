//! The free capacity of each Worker, and the used capacity of each executor.

use std::collections::BTreeMap;

use firesteel_placement::{Cores, Demand, ExecutorSize, MiB, Offer, Resources};
use firesteel_protocol::Timestamp;
use firesteel_protocol::ids::ExecutorKey;

use super::stage::GPU;
use super::workload::Size;
use crate::trace::Models;

/// Free capacity by Worker, and used capacity by executor.
#[derive(Debug)]
pub(super) struct Allocations {
    free: Vec<Held>,
    /// For each executor: its Worker, its capacity, and its launch time.
    held: BTreeMap<ExecutorKey, (usize, Held, Timestamp)>,
    /// The number of executors on each Worker.
    on: Vec<u32>,
    idle: usize,
    used: [f64; 3],
}

/// The capacity of an executor, or the free capacity of a Worker.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) cores: Cores,
    pub(super) memory: MiB,
    pub(super) gpus: Resources,
}

impl Held {
    /// The cores, the memory in MiB, and the GPUs, as numbers.
    fn amounts(&self) -> [f64; 3] {
        [self.cores.0 as f64, self.memory.0 as f64, self.gpus.quantity(GPU).as_f64()]
    }

    fn fits(&self, demand: &Demand) -> bool {
        let offer = Offer { worker: "", cores: self.cores, memory: self.memory, resources: &self.gpus };
        offer.fits(demand)
    }
}

/// The GPUs of a Worker of this size, numbered from 0.
pub(super) fn gpus(size: Size) -> Resources {
    let addresses = (0..size.gpus.addresses()).map(|address| address.to_string());
    let name = resource(size.models);
    if size.gpus.is_none() {
        Resources::default()
    } else {
        Resources::from_iter([(name.as_str(), addresses)])
    }
}

/// The name of the resource for GPUs of these models. Each model is a kind of the resource, named by the model's
/// number.
pub(super) fn resource(models: Models) -> String {
    match models {
        Models::ANY => GPU.to_owned(),
        models => {
            let kinds: Vec<String> = models.numbers().map(|number| number.to_string()).collect();
            format!("{GPU}:{}", kinds.join("|"))
        }
    }
}

impl Allocations {
    pub(super) fn new(workers: &[Size]) -> Self {
        let free = |size: &Size| Held { cores: size.cores, memory: size.memory, gpus: gpus(*size) };
        Self {
            free: workers.iter().map(free).collect(),
            held: BTreeMap::new(),
            on: vec![0; workers.len()],
            idle: workers.len(),
            used: [0.0; 3],
        }
    }

    pub(super) fn take(&mut self, executor: ExecutorKey, worker: usize, held: Held, now: Timestamp) {
        let free = &mut self.free[worker];
        free.cores -= held.cores;
        free.memory -= held.memory;
        free.gpus = free.gpus.without(&held.gpus);
        self.used.iter_mut().zip(held.amounts()).for_each(|(used, amount)| *used += amount);
        if self.on[worker] == 0 {
            self.idle -= 1;
        }
        self.on[worker] += 1;
        self.held.insert(executor, (worker, held, now));
    }

    /// Frees the capacity of an executor that has ended. Returns the executor's launch time, if the executor was known.
    pub(super) fn give_back(&mut self, executor: &ExecutorKey) -> Option<Timestamp> {
        let (worker, held, launched) = self.held.remove(executor)?;
        self.on[worker] -= 1;
        if self.on[worker] == 0 {
            self.idle += 1;
        }
        let free = &mut self.free[worker];
        free.cores += held.cores;
        free.memory += held.memory;
        free.gpus.add(&held.gpus);
        self.used.iter_mut().zip(held.amounts()).for_each(|(used, amount)| *used -= amount);
        Some(launched)
    }

    pub(super) fn on(&self, worker: usize) -> Vec<ExecutorKey> {
        let here = self.held.iter().filter(|(_, (on, ..))| *on == worker);
        here.map(|(executor, _)| executor.clone()).collect()
    }

    pub(super) fn idle(&self) -> usize {
        self.idle
    }

    /// The sums over all executors: cores, MiB and GPUs.
    pub(super) fn used(&self) -> [f64; 3] {
        self.used
    }

    pub(super) fn executors(&self) -> usize {
        self.held.len()
    }

    /// Free cores, MiB and GPUs on Workers where the next executor does not fit. Each size of executor is weighted by
    /// its share of all requests.
    pub(super) fn stranded(&self, requests: &[(Size, f64)]) -> [f64; 3] {
        let demands: Vec<(Demand, f64)> =
            requests.iter().map(|(size, part)| (demand(*size), *part)).collect();
        let mut stranded = [0.0; 3];
        for free in &self.free {
            let useless: f64 =
                demands.iter().filter(|(demand, _)| !free.fits(demand)).map(|(_, part)| part).sum();
            stranded
                .iter_mut()
                .zip(free.amounts())
                .for_each(|(stranded, free)| *stranded += free.max(0.0) * useless);
        }
        stranded
    }
}

/// The request for one executor of this size.
fn demand(size: Size) -> Demand {
    let resources = [(resource(size.models), size.gpus)].into();
    Demand { size: ExecutorSize::Fixed(size.cores), memory: size.memory, resources, ..Demand::default() }
}
