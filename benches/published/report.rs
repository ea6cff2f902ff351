//! The outcome of all runs.

use std::collections::BTreeMap;

use crate::curve::Curve;
use crate::figures::Figures;
use crate::rule::Rule;

/// The outcome of the experiment.
pub(crate) struct Report {
    /// Number of seeds.
    pub(crate) seeds: u64,
    /// The workloads, by name.
    pub(crate) workloads: Vec<WorkloadReport>,
    /// The published results by workload and policy.
    pub(crate) figures: BTreeMap<(String, String), Figures>,
}

/// The outcome for one workload.
pub(crate) struct WorkloadReport {
    /// Its name.
    pub(crate) name: String,
    /// The curve of each seed, by policy.
    pub(crate) runs: Vec<(Rule, Vec<Curve>)>,
}

/// The shares that have been asked for where the allocated share is shown, in per cent.
pub(crate) const AT: [usize; 3] = [90, 100, 130];

/// The mean of some values, and their standard deviation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) mean: f64,
    pub(crate) deviation: f64,
}

impl Spread {
    /// Of these values. The deviation of a single value is 0.
    pub(crate) fn of(values: &[f64]) -> Option<Self> {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = (squares / (count - 1.0).max(1.0)).sqrt();
        (!values.is_empty()).then_some(Self { mean, deviation })
    }
}

/// The allocated share of each seed after `asked` per cent were asked for. A seed may have no such arrival.
pub(crate) fn allocated(curves: &[Curve], asked: usize) -> Vec<f64> {
    curves.iter().filter_map(|curve| curve.at(asked)).collect()
}

/// The share that had been asked for at the first failure of each seed; all of it if there was none.
pub(crate) fn first_failures(curves: &[Curve]) -> Vec<f64> {
    curves.iter().map(|curve| curve.first_failure().unwrap_or(130.0)).collect()
}

impl Report {
    /// The published result of a policy, after this share was asked for.
    pub(crate) fn published(&self, workload: &str, rule: &Rule, asked: usize) -> Option<Spread> {
        let figures = self.figures.get(&(workload.to_owned(), rule.name().into_owned()))?;
        Spread::of(figures.allocated.get(&asked)?)
    }

    /// The policies, in order.
    pub(crate) fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.workloads.first().into_iter().flat_map(|workload| workload.runs.iter().map(|(rule, _)| rule))
    }

    /// The curves of all seeds of all workloads of one policy.
    pub(crate) fn of<'a>(&'a self, rule: &'a Rule) -> impl Iterator<Item = &'a [Curve]> {
        let runs = self.workloads.iter().flat_map(|workload| &workload.runs);
        runs.filter(move |(of, _)| of == rule).map(|(_, curves)| curves.as_slice())
    }
}
