//! The baselines of the index: two ways to place without it.
//!
//! Both use plain numbers: a worker is its position in the order of ids. So no text is compared, and only the
//! algorithm's own data is allocated. Neither includes the overhead of a JVM.

use std::cmp::Reverse;

/// The free amounts of a Worker.
#[derive(Clone, Copy, Debug)]
pub struct Worker {
    pub cores: i64,
    pub memory: i64,
}

/// The request of one application.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    pub cores: i64,
    pub memory: i64,
    pub executors: u64,
}

/// Workers with their numbers of executors.
pub type Placed = Vec<(usize, u64)>;

impl Ask {
    fn fits(&self, worker: &Worker) -> bool {
        worker.cores >= self.cores && worker.memory >= self.memory
    }
}

/// The usable workers, most free cores first; ties are ordered by greatest id.
fn usable(workers: &[Worker], ask: &Ask) -> Vec<usize> {
    let mut usable: Vec<usize> = (0..workers.len()).filter(|&n| ask.fits(&workers[n])).collect();
    usable.sort_unstable_by_key(|&n| Reverse((workers[n].cores, n)));
    usable
}

/// A: Spark's algorithm, unchanged. It repeatedly checks whether a worker can take one more executor, and each time
/// adds up all executors for the limit.
///
/// Source: Spark Master, 4.0.1 (`scheduleExecutorsOnWorkers`), spread out.
pub fn as_spark(workers: &[Worker], ask: &Ask) -> Placed {
    let usable = usable(workers, ask);
    let mut executors = vec![0_u64; usable.len()];
    let mut assigned = vec![0_i64; usable.len()];
    let free: i64 = usable.iter().map(|&n| workers[n].cores).sum();
    let mut to_assign = free.min(i64::from(i32::MAX));
    let can = |i: usize, to_assign: i64, assigned: &[i64], executors: &[u64]| {
        let worker = workers[usable[i]];
        let keep_scheduling = to_assign >= ask.cores;
        let enough_cores = worker.cores - assigned[i] >= ask.cores;
        let enough_memory = worker.memory - executors[i] as i64 * ask.memory >= ask.memory;
        let under_limit = executors.iter().sum::<u64>() < ask.executors;
        keep_scheduling && enough_cores && enough_memory && under_limit
    };
    let mut free: Vec<usize> =
        (0..usable.len()).filter(|&i| can(i, to_assign, &assigned, &executors)).collect();
    while !free.is_empty() {
        for &i in &free {
            if can(i, to_assign, &assigned, &executors) {
                to_assign -= ask.cores;
                assigned[i] += ask.cores;
                executors[i] += 1;
            }
        }
        free.retain(|&i| can(i, to_assign, &assigned, &executors));
    }
    usable.into_iter().zip(executors).filter(|(_, executors)| *executors > 0).collect()
}

/// B: the best plain version. It sorts, deals in rounds with a running sum, and stops when everything is dealt.
pub fn round_robin(workers: &[Worker], ask: &Ask) -> Placed {
    let usable = usable(workers, ask);
    let mut executors = vec![0_u64; usable.len()];
    let mut left = ask.executors;
    let mut free: Vec<usize> = (0..usable.len()).collect();
    while left > 0 && !free.is_empty() {
        free.retain(|&i| {
            if left == 0 {
                return false;
            }
            left -= 1;
            executors[i] += 1;
            let (worker, dealt) = (workers[usable[i]], executors[i] as i64);
            worker.cores >= (dealt + 1) * ask.cores && worker.memory >= (dealt + 1) * ask.memory
        });
    }
    usable.into_iter().zip(executors).filter(|(_, executors)| *executors > 0).collect()
}

pub fn commit(workers: &mut [Worker], ask: &Ask, placed: &Placed) {
    for &(n, executors) in placed {
        workers[n].cores -= executors as i64 * ask.cores;
        workers[n].memory -= executors as i64 * ask.memory;
    }
}

pub fn release(workers: &mut [Worker], ask: &Ask, placed: &Placed) {
    for &(n, executors) in placed {
        workers[n].cores += executors as i64 * ask.cores;
        workers[n].memory += executors as i64 * ask.memory;
    }
}
