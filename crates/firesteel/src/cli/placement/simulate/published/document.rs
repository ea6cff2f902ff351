//! The outcome as JSON.

use firesteel_sim::published::Curve;
use serde_json::{Value, json};

use super::super::document;
use super::report::Report;

/// The outcome as one JSON value, with the whole curve of each seed.
pub(super) fn json(report: &Report) -> String {
    let seed = |(curve, seed): (&Curve, u64)| {
        let points: Vec<_> = curve.points().map(|(asked, allocated)| json!([asked, allocated])).collect();
        json!({ "seed": seed, "first_failure": curve.first_failure(), "allocated_by_asked": points })
    };
    let workloads = report.workloads.iter().map(|workload| {
        let policies: Vec<Value> = workload
            .runs
            .iter()
            .map(|(rule, curves)| {
                let published = report.published(&workload.name, rule, 130).map(|published| published.mean);
                let seeds: Vec<Value> = curves.iter().zip(1..).map(seed).collect();
                json!({ "policy": rule.name(), "published_at_130": published, "seeds": seeds })
            })
            .collect();
        json!({ "workload": workload.name, "policies": policies })
    });
    let workloads: Vec<Value> = workloads.collect();
    document::line(1, json!({ "kind": "published", "workloads": workloads }))
}
