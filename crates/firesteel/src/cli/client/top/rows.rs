//! The rows of the three tables, and their sort orders.

use std::collections::BTreeMap;

use firesteel_placement::{Cores, MiB};
use firesteel_protocol::ids::ExecutorId;
use firesteel_protocol::messages::{
    ApplicationView, ClusterTotals, ExecutorView, MasterView, Usage, WorkerView,
};

use crate::cli::table::{clean, duration};
use firesteel_daemons::wording::application::live_state;
use firesteel_daemons::wording::usage;
use firesteel_daemons::wording::worker::state_in_words;
use firesteel_host::plain;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TableKind {
    Workers,
    Applications,
    Executors,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// Key of the row, which stays the same across updates.
    pub(super) key: String,
    /// The id of the application to which the row belongs, if any.
    pub(super) app: Option<String>,
    pub(super) cells: Vec<String>,
}

impl TableKind {
    pub(super) const ALL: [Self; 3] = [Self::Workers, Self::Applications, Self::Executors];

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Workers => "Workers",
            Self::Applications => "Applications",
            Self::Executors => "Executors",
        }
    }

    pub(super) fn next(self) -> Self {
        match self {
            Self::Workers => Self::Applications,
            Self::Applications => Self::Executors,
            Self::Executors => Self::Workers,
        }
    }

    pub(super) fn previous(self) -> Self {
        self.next().next()
    }

    /// The columns, the most important ones first, since a narrow screen cuts off the last columns.
    pub(super) fn header(self) -> &'static [&'static str] {
        match self {
            Self::Workers => &["WORKER", "STATE", "CORES", "MEMORY", "HEARTBEAT", "CPU", "RAM", "DISK"],
            Self::Applications => {
                &["APPLICATION", "NAME", "STATE", "CORES", "EXECUTORS", "USER", "SUBMITTED"]
            }
            Self::Executors => &["EXECUTOR", "STATE", "CORES", "MEMORY", "HOST", "LAUNCHED", "CPU", "RAM"],
        }
    }

    /// The columns by which the table can be sorted.
    pub(super) fn orders(self) -> &'static [&'static str] {
        match self {
            Self::Workers => &["WORKER", "CORES", "MEMORY"],
            Self::Applications => &["APPLICATION", "CORES", "NAME"],
            Self::Executors => &["EXECUTOR", "HOST", "CORES"],
        }
    }

    /// The rows in this sort order. Amounts are sorted from largest to smallest.
    pub(super) fn rows(self, view: &MasterView, order: usize) -> Vec<Row> {
        match self {
            Self::Workers => workers(view, order),
            Self::Applications => applications(view, order),
            Self::Executors => executors(view, order),
        }
    }
}

fn workers(view: &MasterView, order: usize) -> Vec<Row> {
    let mut workers: Vec<&WorkerView> = view.workers.iter().collect();
    match order {
        1 => workers.sort_by_key(|worker| std::cmp::Reverse(worker.cores_used)),
        2 => workers.sort_by_key(|worker| std::cmp::Reverse(worker.memory_used)),
        _ => {}
    }
    let row = |worker: &WorkerView| Row {
        key: worker.id.to_string(),
        app: None,
        cells: vec![
            worker.id.to_string(),
            state_in_words(worker, view.now),
            cores_bar(worker.cores_used, worker.cores),
            memory_bar(worker.memory_used, worker.memory),
            format!("{} ago", duration(view.now.since(worker.last_heartbeat))),
        ]
        .into_iter()
        .chain(usage::of_machine(worker.report.as_ref().map(|timed| &timed.report)))
        .collect(),
    };
    workers.into_iter().map(row).collect()
}

fn applications(view: &MasterView, order: usize) -> Vec<Row> {
    let all = ClusterTotals::of(view).cores;
    let mut applications: Vec<&ApplicationView> = view.applications.iter().collect();
    match order {
        1 => applications.sort_by_key(|app| std::cmp::Reverse(app.cores_granted)),
        2 => applications.sort_by(|one, other| one.name.cmp(&other.name)),
        _ => {}
    }
    let row = |app: &ApplicationView| Row {
        key: app.id.to_string(),
        app: Some(app.id.to_string()),
        cells: vec![
            app.id.to_string(),
            clean(&app.name),
            live_state(app, view.now),
            cores_bar(app.cores_granted, app.max_cores.unwrap_or(all)),
            app.executors_live.to_string(),
            clean(&app.user),
            format!("{} ago", duration(view.now.since(app.submitted))),
        ],
    };
    applications.into_iter().map(row).collect()
}

fn executors(view: &MasterView, order: usize) -> Vec<Row> {
    let mut executors: Vec<(&ApplicationView, &ExecutorView)> = view
        .applications
        .iter()
        .flat_map(|app| app.executors.iter().map(move |executor| (app, executor)))
        .collect();
    match order {
        1 => executors.sort_by(|(_, one), (_, other)| one.host.cmp(&other.host)),
        2 => executors.sort_by_key(|(_, executor)| std::cmp::Reverse(executor.cores)),
        _ => {}
    }
    let reports = view.workers.iter().filter_map(|worker| worker.report.as_ref());
    let reports = reports.flat_map(|timed| &timed.report.executors);
    let usages: BTreeMap<(&str, ExecutorId), Usage> =
        reports.map(|(key, usage)| ((key.app.as_str(), key.executor), *usage)).collect();
    let row = |(app, executor): (&ApplicationView, &ExecutorView)| Row {
        key: format!("{}/{}", app.id, executor.id),
        app: Some(app.id.to_string()),
        cells: vec![
            format!("{}/{}", app.id, executor.id),
            executor.state.name().to_owned(),
            executor.cores.0.to_string(),
            executor.memory.to_string(),
            clean(&executor.host),
            format!("{} ago", duration(view.now.since(executor.launched))),
        ]
        .into_iter()
        .chain(usage::of_processes(usages.get(&(app.id.as_str(), executor.id)).copied()))
        .collect(),
    };
    executors.into_iter().map(row).collect()
}

/// The cores as a bar: `█████░░░ 5/8`.
pub(super) fn cores_bar(used: Cores, all: Cores) -> String {
    format!("{} {}/{}", bar(used.0, all.0, Cells::of_terminal()), used.0, all.0)
}

/// The memory as a bar: `█████░░░ 5 GiB/8 GiB`.
pub(super) fn memory_bar(used: MiB, all: MiB) -> String {
    format!("{} {used}/{all}", bar(used.0, all.0, Cells::of_terminal()))
}

/// A full and an empty cell of a bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cells(&'static str, &'static str);

impl Cells {
    const BLOCKS: Self = Self("█", "░");
    const ASCII: Self = Self("#", ".");

    fn of_terminal() -> Self {
        if plain::draws_glyphs() { Self::BLOCKS } else { Self::ASCII }
    }
}

/// A bar of eight cells. Any use fills at least one cell. Only full use fills all cells.
fn bar(used: i64, all: i64, Cells(full, empty): Cells) -> String {
    const CELLS: i64 = 8;
    let filled = match (used.clamp(0, all.max(0)), all) {
        (0, _) | (_, ..=0) => 0,
        (used, all) if used == all => CELLS,
        (used, all) => (used.saturating_mul(CELLS) / all).clamp(1, CELLS - 1),
    };
    let filled = usize::try_from(filled).unwrap_or(0);
    full.repeat(filled) + &empty.repeat(8 - filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_full_or_empty_only_if_the_amount_is() {
        for (used, all, cells) in [
            (0, 8, "░░░░░░░░"),
            (1, 1_000, "█░░░░░░░"),
            (4, 8, "████░░░░"),
            (999, 1_000, "███████░"),
            (8, 8, "████████"),
            (9, 8, "████████"),
            (0, 0, "░░░░░░░░"),
            (5, -1, "░░░░░░░░"),
        ] {
            assert_eq!(bar(used, all, Cells::BLOCKS), cells, "{used} of {all}");
            let ascii = cells.replace('█', "#").replace('░', ".");
            assert_eq!(bar(used, all, Cells::ASCII), ascii, "{used} of {all}");
        }
    }
}
