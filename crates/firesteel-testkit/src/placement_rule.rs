//! Spark's placement rule in its simplest form: one core, or one executor, at a time. The code is slow and obvious. It
//! shares neither types nor code with the crate under test.
//!
//! Source: Spark Master, 4.0.1, except for its 32-bit sums.

use std::collections::BTreeMap;

/// A Worker with its free resources.
#[derive(Clone, Debug, PartialEq)]
pub struct Worker {
    /// The Worker's id, which some orders compare.
    pub id: String,
    /// The Worker's free cores.
    pub cores: i64,
    /// The Worker's free memory in MiB.
    pub memory: i64,
    /// Free addresses by resource.
    pub resources: BTreeMap<String, u64>,
}

/// The request of an application.
#[derive(Clone, Debug, PartialEq)]
pub struct Ask {
    /// Cores of an executor, if set.
    pub cores: Option<i64>,
    /// Memory of an executor in MiB.
    pub memory: i64,
    /// Addresses of an executor by resource.
    pub resources: BTreeMap<String, u64>,
    /// Cores that the application may still get.
    pub cores_left: i64,
    /// The maximum number of executors of the application, if there is a limit.
    pub limit: Option<u64>,
    /// The number of executors that the application already has.
    pub held: u64,
}

/// The order in which Workers are used. Equal Workers are ordered by id, in the same direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order {
    /// The most free cores first.
    MostCores,
    /// The fewest free cores first.
    FewestCores,
    /// The most free memory first.
    MostMemory,
    /// The least free memory first.
    LeastMemory,
    /// The least id first.
    Id,
}

/// All orders.
pub const ORDERS: [Order; 5] =
    [Order::MostCores, Order::FewestCores, Order::MostMemory, Order::LeastMemory, Order::Id];

/// The executors to launch, in order, each as the Worker's id and the number of cores.
pub fn place(ask: &Ask, workers: &[Worker], order: Order, spread_out: bool) -> Vec<(String, i64)> {
    let step = ask.cores.unwrap_or(1);
    if step <= 0 || ask.cores_left < step {
        return Vec::new();
    }
    let mut usable: Vec<Worker> = workers.iter().filter(|worker| has_room(ask, worker)).cloned().collect();
    usable.sort_by(|a, b| {
        let by_cores = a.cores.cmp(&b.cores);
        let by_memory = a.memory.cmp(&b.memory);
        let by_id = a.id.cmp(&b.id);
        match order {
            Order::MostCores => by_cores.then(by_id).reverse(),
            Order::FewestCores => by_cores.then(by_id),
            Order::MostMemory => by_memory.then(by_id).reverse(),
            Order::LeastMemory => by_memory.then(by_id),
            Order::Id => by_id,
        }
    });
    let mut launched = Vec::new();
    for (worker, cores) in usable.iter().zip(assign(ask, &usable, spread_out)) {
        match ask.cores {
            Some(each) => launched.extend((0..cores / each).map(|_| (worker.id.clone(), each))),
            None if cores > 0 => launched.push((worker.id.clone(), cores)),
            None => {}
        }
    }
    launched
}

fn has_room(ask: &Ask, worker: &Worker) -> bool {
    let free = |name: &str| worker.resources.get(name).copied().unwrap_or(0);
    worker.memory >= ask.memory
        && worker.cores >= ask.cores.unwrap_or(1)
        && ask.resources.iter().all(|(name, &amount)| free(name) >= amount)
}

/// The cores from each Worker, taken in the given order.
pub fn assign(ask: &Ask, workers: &[Worker], spread_out: bool) -> Vec<i64> {
    let step = ask.cores.unwrap_or(1);
    let mut assigned = vec![0; workers.len()];
    let mut executors = vec![0; workers.len()];
    let mut to_assign = i128::from(ask.cores_left).min(workers.iter().map(|w| i128::from(w.cores)).sum());
    if step <= 0 {
        return assigned;
    }

    let can = |i: usize, to_assign: i128, assigned: &[i64], executors: &[u64]| {
        let worker = &workers[i];
        let cores = to_assign >= i128::from(step) && worker.cores - assigned[i] >= step;
        let new_executor = ask.cores.is_some() || executors[i] == 0;
        if !cores || !new_executor {
            return cores;
        }
        let memory = worker.memory - executors[i] as i64 * ask.memory >= ask.memory;
        let resources = ask.resources.iter().all(|(name, &amount)| {
            worker.resources.get(name).copied().unwrap_or(0) >= (executors[i] + 1) * amount
        });
        let limit = ask.limit.is_none_or(|limit| executors.iter().sum::<u64>() + ask.held < limit);
        memory && resources && limit
    };

    let mut free: Vec<usize> =
        (0..workers.len()).filter(|&i| can(i, to_assign, &assigned, &executors)).collect();
    while !free.is_empty() {
        for &i in &free {
            while can(i, to_assign, &assigned, &executors) {
                to_assign -= i128::from(step);
                assigned[i] += step;
                executors[i] = if ask.cores.is_some() { executors[i] + 1 } else { 1 };
                if spread_out {
                    break;
                }
            }
        }
        free.retain(|&i| can(i, to_assign, &assigned, &executors));
    }
    assigned
}
