//! Independent cases, on as many threads as the machine has cores.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Computes every case. The results are in the order of the cases.
pub(super) fn each<C: Sync, T: Send>(cases: &[C], one: impl Fn(&C) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<Option<T>>> = Mutex::new(cases.iter().map(|_| None).collect());
    let threads = thread::available_parallelism().map_or(1, usize::from).min(cases.len());
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(case) = cases.get(at) else { break };
                    let result = one(case);
                    done.lock().expect("no case panics while it holds this")[at] = Some(result);
                }
            });
        }
    });
    let done = done.into_inner().expect("no case panics while it holds this");
    done.into_iter().map(|result| result.expect("every case was computed")).collect()
}
