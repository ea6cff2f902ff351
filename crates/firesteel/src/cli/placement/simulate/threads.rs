//! Runs independent cases on as many threads as the machine has cores.

use std::thread;

use firesteel_host::parallel;

/// Computes every case. The results are in the order of the cases.
pub(super) fn each<C: Sync, T: Send>(cases: &[C], one: impl Fn(&C) -> T + Sync) -> Vec<T> {
    parallel::each(cases, thread::available_parallelism().map_or(1, usize::from), one)
}
