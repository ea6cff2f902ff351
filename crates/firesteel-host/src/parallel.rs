//! Runs independent cases on several threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Computes every case on at most this number of threads, including the caller's. The results are in the order of the
/// cases. If the system provides fewer threads, these threads compute all cases.
///
/// # Panics
/// A case panics.
pub fn each<C: Sync, T: Send>(cases: &[C], threads: usize, one: impl Fn(&C) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<Option<T>>> = Mutex::new(cases.iter().map(|_| None).collect());
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(case) = cases.get(at) else { break };
            let result = one(case);
            done.lock().expect("no case panics while it holds this")[at] = Some(result);
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads.min(cases.len()) {
            if thread::Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
    let done = done.into_inner().expect("no case panics while it holds this");
    done.into_iter().map(|result| result.expect("every case was computed")).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_cases_whichever_thread_computes_them() {
        assert_eq!(each(&[3, 1, 2], 8, |case| case * 10), [30, 10, 20]);
        assert_eq!(each(&[3, 1, 2], 0, |case| case * 10), [30, 10, 20]);
        assert!(each(&[] as &[u8], 4, |case| *case).is_empty());
    }

    #[test]
    fn as_many_cases_as_threads_are_computed_at_once() {
        let all = Barrier::new(3);
        assert_eq!(each(&[1, 2, 3], 3, |case| (all.wait(), *case).1), [1, 2, 3]);
    }
}
