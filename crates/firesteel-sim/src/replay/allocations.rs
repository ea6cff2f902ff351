//! What is free on each Worker, and what each executor holds.

use std::collections::BTreeMap;

use firesteel_core::Timestamp;
use firesteel_core::ids::ExecutorKey;

use super::workload::Size;

/// Free capacity by Worker, and held capacity by executor.
#[derive(Debug)]
pub(super) struct Allocations {
    free: Vec<Size>,
    held: BTreeMap<ExecutorKey, (usize, Size, Timestamp)>,
    /// The number of executors on each Worker.
    on: Vec<u32>,
    /// The number of Workers without executors.
    idle: usize,
    used: [f64; 3],
}

impl Allocations {
    pub(super) fn new(workers: &[Size]) -> Self {
        Self {
            free: workers.to_vec(),
            held: BTreeMap::new(),
            on: vec![0; workers.len()],
            idle: workers.len(),
            used: [0.0; 3],
        }
    }

    pub(super) fn take(&mut self, executor: ExecutorKey, worker: usize, size: Size, now: Timestamp) {
        let free = &mut self.free[worker];
        free.cores -= size.cores;
        free.memory -= size.memory;
        free.gpus = free.gpus.saturating_sub(size.gpus);
        self.used.iter_mut().zip(size.amounts()).for_each(|(used, amount)| *used += amount);
        if self.on[worker] == 0 {
            self.idle -= 1;
        }
        self.on[worker] += 1;
        self.held.insert(executor, (worker, size, now));
    }

    /// An executor has ended. Returns when it was launched, if it was held.
    pub(super) fn give_back(&mut self, executor: &ExecutorKey) -> Option<Timestamp> {
        let (worker, size, launched) = self.held.remove(executor)?;
        self.on[worker] -= 1;
        if self.on[worker] == 0 {
            self.idle += 1;
        }
        let free = &mut self.free[worker];
        free.cores += size.cores;
        free.memory += size.memory;
        free.gpus += size.gpus;
        self.used.iter_mut().zip(size.amounts()).for_each(|(used, amount)| *used -= amount);
        Some(launched)
    }

    /// The executors on a Worker.
    pub(super) fn on(&self, worker: usize) -> Vec<ExecutorKey> {
        let here = self.held.iter().filter(|(_, (on, ..))| *on == worker);
        here.map(|(executor, _)| executor.clone()).collect()
    }

    /// The number of Workers without executors.
    pub(super) fn idle(&self) -> usize {
        self.idle
    }

    /// Cores, MiB and GPUs that all executors hold.
    pub(super) fn used(&self) -> [f64; 3] {
        self.used
    }

    /// Number of executors.
    pub(super) fn executors(&self) -> usize {
        self.held.len()
    }

    /// Free cores, MiB and GPUs on Workers without room for the next executor. Each request counts with its share of all
    /// requests.
    pub(super) fn stranded(&self, requests: &[(Size, f64)]) -> [f64; 3] {
        let mut stranded = [0.0; 3];
        for free in &self.free {
            let useless: f64 =
                requests.iter().filter(|(size, _)| size.fits(*free) == 0).map(|(_, part)| part).sum();
            stranded
                .iter_mut()
                .zip(free.amounts())
                .for_each(|(stranded, free)| *stranded += free.max(0.0) * useless);
        }
        stranded
    }
}
