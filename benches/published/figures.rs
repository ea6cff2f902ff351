//! The published results of other policies.

use std::collections::BTreeMap;
use std::io::Read;

use csv::{ReaderBuilder, Trim};
use serde::Deserialize;

/// The published shares of one policy on one workload.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Figures {
    /// By the share that was asked for, in per cent: the allocated share of each seed, in per cent.
    pub(crate) allocated: BTreeMap<usize, Vec<f64>>,
}

#[derive(Deserialize)]
struct Row {
    workload: String,
    policy: String,
    allocated_at_80: f64,
    allocated_at_90: f64,
    allocated_at_95: f64,
    allocated_at_100: f64,
    allocated_at_105: f64,
    allocated_at_110: f64,
    allocated_at_120: f64,
    allocated_at_130: f64,
}

/// Reads the published results by workload and policy, in their spelling (`default`, `FGD`).
///
/// # Errors
/// The first line that cannot be used.
pub(crate) fn read(table: impl Read) -> Result<BTreeMap<(String, String), Figures>, csv::Error> {
    let mut all: BTreeMap<(String, String), Figures> = BTreeMap::new();
    let mut rows = ReaderBuilder::new().trim(Trim::All).from_reader(table);
    for row in rows.deserialize() {
        let row: Row = row?;
        let values = [
            (80, row.allocated_at_80),
            (90, row.allocated_at_90),
            (95, row.allocated_at_95),
            (100, row.allocated_at_100),
            (105, row.allocated_at_105),
            (110, row.allocated_at_110),
            (120, row.allocated_at_120),
            (130, row.allocated_at_130),
        ];
        let figures = all.entry((row.workload, row.policy)).or_default();
        for (asked, value) in values {
            figures.allocated.entry(asked).or_default().push(value);
        }
    }
    Ok(all)
}
