//! The outcome as tables.

use firesteel_placement::words::counted;
use firesteel_sim::published::Curve;

use super::super::super::table::table;
use super::report::{AT, Report, Spread, WorkloadReport, allocated, first_failures};
use super::rule::Rule;

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
        let published = report.published(&workload.name, *rule, 130);
        row(rule, AT.map(|asked| Spread::of(&allocated(curves, asked))), published, &first_failures(curves))
    };
    let header = header(&workload.name).map(str::to_owned);
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    table(&header, workload.runs.iter().map(row).collect())
}

/// The means of all workloads, which count alike.
fn means(report: &Report) -> String {
    let of = |rule: Rule| {
        let mean = |value: &dyn Fn(&[Curve]) -> Option<Spread>| {
            let means: Vec<f64> = report.of(rule).filter_map(|curves| Some(value(curves)?.mean)).collect();
            Spread::of(&means)
        };
        let at = AT.map(|asked| mean(&|curves| Spread::of(&allocated(curves, asked))));
        let published: Vec<f64> = report
            .workloads
            .iter()
            .filter_map(|workload| Some(report.published(&workload.name, rule, 130)?.mean))
            .collect();
        let failures: Vec<f64> =
            report.of(rule).filter_map(|curves| Some(Spread::of(&first_failures(curves))?.mean)).collect();
        let mean_only =
            |spread: Option<Spread>| spread.map(|Spread { mean, .. }| Spread { mean, deviation: f64::NAN });
        row(&rule, at.map(mean_only), mean_only(Spread::of(&published)), &failures)
    };
    table(&header("MEAN"), report.rules().map(of).collect())
}

fn row(rule: &Rule, at: [Option<Spread>; 3], published: Option<Spread>, failures: &[f64]) -> Vec<String> {
    let mut row = vec![rule.to_string()];
    row.extend(at.map(words));
    row.push(words(published));
    row.push(Spread::of(failures).map_or_else(|| "-".to_owned(), |failure| format!("{:.1}", failure.mean)));
    row
}

/// `95.39 ± 0.08`. Without a number for the deviation, the mean alone.
fn words(spread: Option<Spread>) -> String {
    match spread {
        None => "-".to_owned(),
        Some(Spread { mean, deviation }) if deviation.is_nan() => format!("{mean:.2}"),
        Some(Spread { mean, deviation }) => format!("{mean:.2} ± {deviation:.2}"),
    }
}
