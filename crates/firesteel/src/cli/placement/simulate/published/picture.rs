//! The outcome as curves: the allocated share over the requested share.

use firesteel_sim::picture::axis::{Axis, Scale};
use firesteel_sim::picture::chart::{Chart, Series};
use firesteel_sim::picture::ticks;
use firesteel_sim::published::Curve;

use super::super::picture::page::Page;
use super::report::{Report, Spread, WorkloadReport, allocated};
use super::text::heading;

/// Where the curves begin, in per cent: before, almost everything is allocated.
const FROM: usize = 70;
/// Where the curves end, in per cent.
const TO: usize = 130;

/// The picture as an SVG document: a chart for each workload.
pub(super) fn draw(report: &Report) -> String {
    let mut page = Page::new("GPUs that a policy manages to allocate", &heading(report));
    let mut curves: Vec<(String, String)> = Vec::new();
    for rule in report.rules() {
        let ends: Vec<f64> =
            report.of(rule).filter_map(|curves| Some(Spread::of(&allocated(curves, TO))?.mean)).collect();
        let end = Spread::of(&ends).map_or_else(String::new, |end| format!("{:.2} % in the end", end.mean));
        curves.push((rule.to_string(), end));
    }
    page.legend(&curves);
    for workload in &report.workloads {
        page.chart(&chart(workload));
    }
    page.document()
}

fn chart(workload: &WorkloadReport) -> Chart {
    let series: Vec<Series> = workload
        .runs
        .iter()
        .map(|(rule, curves)| Series { points: points(curves), words: rule.to_string() })
        .collect();
    let least = series.iter().flat_map(|one| &one.points).map(|(_, share)| *share).fold(1.0, f64::min);
    let axis = |title: &str, from: f64, to: f64| Axis {
        title: title.to_owned(),
        scale: Scale::Even,
        from,
        to,
        ticks: ticks::shares(from, to),
    };
    Chart {
        title: workload.name.clone(),
        x: axis("requested, share of all GPUs", FROM as f64 / 100.0, TO as f64 / 100.0),
        y: axis("allocated, share of all GPUs", (least * 20.0).floor() / 20.0, 1.0),
        series,
    }
}

/// For each requested per cent of the cluster: the mean over the seeds.
fn points(curves: &[Curve]) -> Vec<(f64, f64)> {
    let at = |asked: usize| Some((asked as f64 / 100.0, Spread::of(&allocated(curves, asked))?.mean / 100.0));
    (FROM..=TO).filter_map(at).collect()
}
