//! What is free on each Worker, and what each executor holds.

use std::collections::BTreeMap;

use firesteel_core::ids::ExecutorKey;

use super::workload::Size;

/// Free capacity by Worker, and held capacity by executor.
#[derive(Debug)]
pub(super) struct Allocations {
    free: Vec<Size>,
    held: BTreeMap<ExecutorKey, (usize, Size)>,
    used: [f64; 3],
}

impl Allocations {
    pub(super) fn new(workers: &[Size]) -> Self {
        Self { free: workers.to_vec(), held: BTreeMap::new(), used: [0.0; 3] }
    }

    pub(super) fn take(&mut self, executor: ExecutorKey, worker: usize, size: Size) {
        let free = &mut self.free[worker];
        free.cores -= size.cores;
        free.memory -= size.memory;
        free.gpus = free.gpus.saturating_sub(size.gpus);
        self.used.iter_mut().zip(size.amounts()).for_each(|(used, amount)| *used += amount);
        self.held.insert(executor, (worker, size));
    }

    pub(super) fn give_back(&mut self, executor: &ExecutorKey) {
        let Some((worker, size)) = self.held.remove(executor) else { return };
        let free = &mut self.free[worker];
        free.cores += size.cores;
        free.memory += size.memory;
        free.gpus += size.gpus;
        self.used.iter_mut().zip(size.amounts()).for_each(|(used, amount)| *used -= amount);
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
