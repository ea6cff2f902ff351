//! The outcome as tables.

use firesteel_placement::advanced::words::counted;
use firesteel_sim::published::Curve;

use super::report::{AT, Report, Spread, WorkloadReport, allocated, first_failures};
use super::rule::Rule;
use crate::cli::table::table;

/// What the columns mean.
pub(in super::super) const COLUMNS: &str = "\
AT N%: share of all GPUs that is allocated when requests have asked for N% of them, in per cent: the mean over the seeds,
and their standard deviation. PUBLISHED: the published value at 130%. FIRST FAILURE: how much had been asked for when the
first request found no node. MEAN: over all workloads.";

/// A table for each workload, and one of the means over all.
pub(super) fn tables(report: &Report) -> String {
    let mut text = heading(report) + "\n";
    for workload in &report.workloads {
        text += &format!("\n{}\n", of_workload(report, workload));
    }
    if report.workloads.len() > 1 {
        text += &format!("\n{}\n", means(report));
    }
    text + &format!("\n{COLUMNS}\n")
}

/// What was run, in one line.
pub(super) fn heading(report: &Report) -> String {
    let Report { seeds, workloads, .. } = report;
    format!(
        "{} of the published experiment, {}",
        counted(workloads.len(), "workload"),
        counted(*seeds, "seed")
    )
}

fn header(first: &str) -> [&str; 6] {
    [first, "AT 90%", "AT 100%", "AT 130%", "PUBLISHED", "FIRST FAILURE"]
}

fn of_workload(report: &Report, workload: &WorkloadReport) -> String {
    let row = |(rule, curves): &(Rule, Vec<Curve>)| {
        let mut row = vec![rule.to_string()];
        row.extend(AT.map(|asked| with_deviation(Spread::of(&allocated(curves, asked)))));
        row.push(with_deviation(report.published(&workload.name, rule, 130)));
        row.push(number(Spread::of(&first_failures(curves)), 1));
        row
    };
    table(&header(&workload.name), workload.runs.iter().map(row).collect())
}

/// The means of all workloads, which count alike.
fn means(report: &Report) -> String {
    let row = |rule: &Rule| {
        let mean = |of: &dyn Fn(&[Curve]) -> Vec<f64>| {
            let means = report.of(rule).filter_map(|curves| Some(Spread::of(&of(curves))?.mean));
            Spread::of(&means.collect::<Vec<_>>())
        };
        let published =
            report.workloads.iter().filter_map(|workload| report.published(&workload.name, rule, 130));
        let published: Vec<f64> = published.map(|published| published.mean).collect();
        let mut row = vec![rule.to_string()];
        row.extend(AT.map(|asked| number(mean(&|curves| allocated(curves, asked)), 2)));
        row.push(number(Spread::of(&published), 2));
        row.push(number(mean(&first_failures), 1));
        row
    };
    table(&header("MEAN"), report.rules().map(row).collect())
}

/// The mean and the deviation: `95.39 ± 0.08`.
fn with_deviation(spread: Option<Spread>) -> String {
    spread.map_or_else(|| "-".to_owned(), |Spread { mean, deviation }| format!("{mean:.2} ± {deviation:.2}"))
}

/// The mean with this number of decimals.
fn number(spread: Option<Spread>, decimals: usize) -> String {
    spread.map_or_else(|| "-".to_owned(), |Spread { mean, .. }| format!("{mean:.decimals$}"))
}
