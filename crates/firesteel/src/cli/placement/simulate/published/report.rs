//! The outcome of all runs.

use std::collections::BTreeMap;

use firesteel_sim::published::Curve;
use firesteel_sim::published::figures::Figures;

use super::rule::Rule;

pub(super) struct Report {
    pub(super) seeds: u64,
    pub(super) workloads: Vec<WorkloadReport>,
    /// The published results by workload and policy.
    pub(super) figures: BTreeMap<(String, String), Figures>,
}

pub(super) struct WorkloadReport {
    pub(super) name: String,
    /// The curve of each seed, by policy.
    pub(super) runs: Vec<(Rule, Vec<Curve>)>,
}

/// The requested shares at which the allocated share is shown, in per cent.
pub(super) const AT: [usize; 3] = [90, 100, 130];

/// The mean of some values, and their standard deviation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    pub(super) mean: f64,
    pub(super) deviation: f64,
}

impl Spread {
    /// The spread of these values; `None` without values. The deviation of a single value is 0.
    pub(super) fn of(values: &[f64]) -> Option<Self> {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = (squares / (count - 1.0).max(1.0)).sqrt();
        (!values.is_empty()).then_some(Self { mean, deviation })
    }
}

/// The allocated share of each seed when `asked` per cent were requested. Seeds without such an arrival are left out.
pub(super) fn allocated(curves: &[Curve], asked: usize) -> Vec<f64> {
    curves.iter().filter_map(|curve| curve.at(asked)).collect()
}

/// The requested share at the first failure of each seed; the whole request if nothing failed.
pub(super) fn first_failures(curves: &[Curve]) -> Vec<f64> {
    curves.iter().map(|curve| curve.first_failure().unwrap_or(130.0)).collect()
}

impl Report {
    pub(super) fn published(&self, workload: &str, rule: &Rule, asked: usize) -> Option<Spread> {
        let figures = self.figures.get(&(workload.to_owned(), rule.name().into_owned()))?;
        Spread::of(figures.allocated.get(&asked)?)
    }

    /// The policies, in order.
    pub(super) fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.workloads.first().into_iter().flat_map(|workload| workload.runs.iter().map(|(rule, _)| rule))
    }

    /// The curves of all seeds of all workloads of one policy.
    pub(super) fn of<'a>(&'a self, rule: &'a Rule) -> impl Iterator<Item = &'a [Curve]> {
        let runs = self.workloads.iter().flat_map(|workload| &workload.runs);
        runs.filter(move |(of, _)| of == rule).map(|(_, curves)| curves.as_slice())
    }
}
