//! Figures that are computed over several seeds.

use std::time::Duration;

use firesteel_sim::replay::{Fill, Outcome, Shares, SizeClass, Waits};

use super::runs::Run;

pub(super) fn merged(runs: &[Run<Outcome>], which: impl Fn(&Outcome) -> &Waits) -> Waits {
    Waits::merged(&runs.iter().map(|run| which(&run.outcome)).collect::<Vec<_>>())
}

pub(super) fn of_class(runs: &[Run<Outcome>], class: SizeClass) -> Waits {
    merged(runs, |outcome| {
        let found = outcome.by_size.iter().find(|(of, _)| *of == class);
        &found.expect("every class is there").1
    })
}

/// The shares in use, or stranded, averaged over time and runs.
pub(super) fn shares(runs: &[Run<Outcome>], which: fn(&Outcome) -> &Vec<Shares>) -> Shares {
    Shares::mean(&runs.iter().map(|run| Shares::mean(which(&run.outcome))).collect::<Vec<_>>())
}

/// The smallest, the median and the largest value of all runs.
pub(super) fn spread<T>(runs: &[Run<T>], of: impl Fn(&T) -> f64) -> [f64; 3] {
    let mut all: Vec<f64> = runs.iter().map(|run| of(&run.outcome)).collect();
    all.sort_by(f64::total_cmp);
    let median = f64::midpoint(all[(all.len() - 1) / 2], all[all.len() / 2]);
    [all[0], median, all[all.len() - 1]]
}

/// The mean share of Workers without executors, over time and runs.
pub(super) fn idle(runs: &[Run<Outcome>]) -> f64 {
    mean(runs, mean_idle)
}

/// The mean share of Workers without executors over the time of one replay.
pub(super) fn mean_idle(outcome: &Outcome) -> f64 {
    outcome.idle.iter().sum::<f64>() / outcome.idle.len().max(1) as f64
}

pub(super) fn mean<T>(runs: &[Run<T>], of: impl Fn(&T) -> f64) -> f64 {
    runs.iter().map(|run| of(&run.outcome)).sum::<f64>() / runs.len().max(1) as f64
}

/// Number of executors that the Master placed per second of its own time.
pub(super) fn rate<T>(runs: &[Run<T>], executors: impl Fn(&T) -> u64) -> f64 {
    let taken: Duration = runs.iter().map(|run| run.master).sum();
    let placed: u64 = runs.iter().map(|run| executors(&run.outcome)).sum();
    if taken.is_zero() { 0.0 } else { placed as f64 / taken.as_secs_f64() }
}

/// The part of the cluster that is not allocated at the moment when the share `asked` of the cluster is requested.
pub(super) fn missing_at(fill: &Fill, asked: f64) -> f64 {
    let step = fill.steps.iter().rev().find(|step| step.asked <= asked + 1e-9);
    step.map_or(0.0, |step| (step.asked - step.given).max(0.0))
}
