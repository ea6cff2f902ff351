//! The outcome as comma-separated values, with a line for each application of each run.

use firesteel_sim::replay::{CSV_HEADER, csv_rows};

use super::runs::{Report, Results};

/// The header, and a line for each application, policy and seed. Only replays have these lines.
pub(super) fn rows(report: &Report) -> String {
    let mut text = format!("{CSV_HEADER}\n");
    match &report.results {
        Results::Replays(all) => {
            for (setup, runs) in all {
                for ((run, workload), seed) in runs.iter().zip(&report.workloads).zip(1..) {
                    for row in csv_rows(&setup.name(), seed, &workload.applications, &run.outcome) {
                        text.push_str(&row);
                        text.push('\n');
                    }
                }
            }
        }
        Results::Fills(_) | Results::Compactions(_) => {}
    }
    text
}
