//! The columns of a picture, and the rows of Workers, which all columns share.

use std::collections::BTreeMap;

use firesteel_placement::Cores;
use firesteel_placement::advanced::words::none_or;
use firesteel_protocol::ids::WorkerId;
use firesteel_sim::draft::{Cells, GroupKey, WorkerOutcome};

use super::super::Decided;
use super::super::text::stranded;
use super::{EACH, MOST_ROWS};

/// The cluster in one state.
pub(super) struct Column<'a> {
    pub(super) heading: &'a str,
    pub(super) below: String,
    pub(super) workers: &'a [WorkerOutcome],
    /// The decision that led to this state. `None` for the state before the plan.
    pub(super) decided: Option<&'a Decided>,
}

/// Workers that are equal in all columns.
pub(super) struct Row {
    /// The index of the first Worker in the row.
    pub(super) first: usize,
    pub(super) count: usize,
}

impl<'a> Column<'a> {
    /// The cluster before anything is decided.
    pub(super) fn before(workers: &'a [WorkerOutcome]) -> Self {
        let used = workers.iter().map(|worker| worker.cores - worker.cores_free).sum();
        let all = workers.iter().map(|worker| worker.cores).sum();
        let below = below(used, all);
        Self { heading: "before", below, workers, decided: None }
    }

    /// The cluster after a set-up has decided.
    pub(super) fn of(decided: &'a Decided) -> Self {
        let metrics = &decided.metrics;
        let mut below = below(metrics.cores_used, metrics.cores);
        if let Some(stranded) = stranded(metrics) {
            below += &format!("; stranded: {stranded}");
        }
        Self { heading: &decided.name, below, workers: &decided.outcome.workers, decided: Some(decided) }
    }
}

/// The text below a column: `12 of 208 cores used`.
fn below(used: Cores, all: Cores) -> String {
    format!("{} of {} used", used.0, none_or(all.0, "core"))
}

/// The rows to draw, and the number of Workers that are left out. If there are too many rows, the rarest kinds of
/// Workers are left out.
pub(super) fn rows<'a>(columns: &'a [Column<'a>], states: &BTreeMap<&WorkerId, String>) -> (Vec<Row>, usize) {
    let workers = columns.first().map_or(0, |column| column.workers.len());
    if workers <= EACH {
        return ((0..workers).map(|first| Row { first, count: 1 }).collect(), 0);
    }
    type Kind<'a, 'b> = (Vec<(GroupKey<'a>, &'a Cells)>, Option<&'b String>);
    let mut kinds: BTreeMap<Kind<'a, '_>, Row> = BTreeMap::new();
    for first in 0..workers {
        let state = columns.first().and_then(|column| states.get(&column.workers[first].id));
        let of = |column: &'a Column<'a>| {
            let worker = &column.workers[first];
            (worker.group_key(), &worker.cells)
        };
        kinds.entry((columns.iter().map(of).collect(), state)).or_insert(Row { first, count: 0 }).count += 1;
    }
    let mut rows: Vec<Row> = kinds.into_values().collect();
    rows.sort_by_key(|row| (std::cmp::Reverse(row.count), row.first));
    let others = rows.iter().skip(MOST_ROWS).map(|row| row.count).sum();
    rows.truncate(MOST_ROWS);
    rows.sort_by_key(|row| row.first);
    (rows, others)
}
