//! What is told of several seeds together.

use std::time::Duration;

use firesteel_sim::replay::{Outcome, Shares, SizeClass, Waits};

use super::runs::Run;

/// The waits of all runs together.
pub(super) fn together(runs: &[Run<Outcome>], which: impl Fn(&Outcome) -> &Waits) -> Waits {
    Waits::together(&runs.iter().map(|run| which(&run.outcome)).collect::<Vec<_>>())
}

/// The waits of a class of sizes, of all runs together.
pub(super) fn of_class(runs: &[Run<Outcome>], class: SizeClass) -> Waits {
    together(runs, |outcome| {
        let found = outcome.by_size.iter().find(|(of, _)| *of == class);
        &found.expect("every class is there").1
    })
}

/// What was used, or stranded, on average over time and runs.
pub(super) fn shares(runs: &[Run<Outcome>], which: fn(&Outcome) -> &Vec<Shares>) -> Shares {
    Shares::mean(&runs.iter().map(|run| Shares::mean(which(&run.outcome))).collect::<Vec<_>>())
}

/// The mean of something.
pub(super) fn mean<T>(runs: &[Run<T>], of: impl Fn(&T) -> f64) -> f64 {
    runs.iter().map(|run| of(&run.outcome)).sum::<f64>() / runs.len().max(1) as f64
}

/// How many executors the Master placed in each second that it took.
pub(super) fn rate<T>(runs: &[Run<T>], executors: impl Fn(&T) -> u64) -> f64 {
    let taken: Duration = runs.iter().map(|run| run.master).sum();
    let placed: u64 = runs.iter().map(|run| executors(&run.outcome)).sum();
    if taken.is_zero() { 0.0 } else { placed as f64 / taken.as_secs_f64() }
}
