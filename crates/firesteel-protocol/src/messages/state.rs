//! A Master's state in pages, so that no answer is long and none keeps the Master busy.
//!
//! The state is a list of rows, and each row has a fixed place. The order is: Workers by id, applications in the order
//! of registration, cluster drivers in the order of submission, live executors by application and number. A place is
//! never reused for another row. So a client that asks for all pages gets each row exactly once, if the row exists
//! during all that time.

use serde::{Deserialize, Serialize};

use super::{ApplicationView, DriverView, ExecutorView, ReservedRoom, WorkerView};
use crate::ids::{ExecutorId, WorkerId};
use crate::scheduling::SchedulingSettings;
use crate::time::Timestamp;
use crate::wire;

/// The position of a row in a Master's state.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum StateCursor {
    /// The Worker with this id, alive or dead.
    Worker(WorkerId),
    /// The application with this number, live or ended. Applications are numbered in the order of registration.
    Application(u64),
    /// The cluster driver with this number, live or ended. Drivers are numbered in the order of submission.
    Driver(u64),
    Executor {
        application: u64,
        executor: ExecutorId,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StateRow {
    Worker(Box<WorkerView>),
    /// An application, live or ended, without its executors.
    Application {
        number: u64,
        view: Box<ApplicationView>,
    },
    Driver {
        number: u64,
        view: Box<DriverView>,
    },
    Executor {
        application: u64,
        view: ExecutorView,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatePage {
    /// The Master's time when it made this page.
    pub now: Timestamp,
    /// The description of the Master itself. Only the first page has it.
    pub head: Option<StateHead>,
    /// The rows, in the order of their places.
    pub rows: Vec<StateRow>,
    /// The place from which to ask next, if there are more rows.
    pub next: Option<StateCursor>,
}

/// The part of a Master's state that describes the Master itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateHead {
    /// The Master's URL, `spark://host:port`.
    pub url: String,
    /// The URL at which the Master serves HTTP. `None`: it does not serve HTTP.
    pub web_address: Option<String>,
    pub scheduling: SchedulingSettings,
    /// The reserved resources, in the order in which the applications are served.
    pub reserved: Vec<ReservedRoom>,
    /// How long messages of Workers and drivers waited lately before the Master handled them, in milliseconds.
    pub lag_millis: u64,
    /// The number of rows when the Master made the page.
    pub totals: StateTotals,
    /// Whether other machines can connect to the Master without a secret.
    #[serde(default)]
    pub is_exposed: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateTotals {
    /// The number of Workers, alive or dead.
    pub workers: u64,
    pub applications: u64,
    /// The number of ended applications that the Master remembers.
    pub completed: u64,
    /// The number of cluster drivers, live or ended, that the Master remembers.
    pub drivers: u64,
    pub executors: u64,
}

/// The maximum size of one page of an answer. A row that is longer than a page gets a page of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageSize {
    pub rows: usize,
    /// The maximum length of all rows together, in bytes on the wire.
    pub bytes: usize,
}

/// One step of reading a state: a row, or a place without a row.
#[derive(Clone, Debug)]
pub enum Step {
    Row(StateRow),
    /// A place that has no row. To look there takes time, too.
    Nothing(StateCursor),
}

impl StateCursor {
    /// The place before all rows.
    #[must_use]
    pub fn beginning() -> Self {
        Self::Worker(WorkerId::new(""))
    }
}

impl StateRow {
    #[must_use]
    pub fn cursor(&self) -> StateCursor {
        match self {
            Self::Worker(view) => StateCursor::Worker(view.id.clone()),
            Self::Application { number, .. } => StateCursor::Application(*number),
            Self::Driver { number, .. } => StateCursor::Driver(*number),
            Self::Executor { application, view } => {
                StateCursor::Executor { application: *application, executor: view.id }
            }
        }
    }
}

impl StatePage {
    /// Makes a page from as many of these steps as fit. `head` belongs to the page with the beginning of the state.
    pub fn of(
        now: Timestamp,
        head: Option<StateHead>,
        size: PageSize,
        all: impl Iterator<Item = Step>,
    ) -> Self {
        let (steps, next) = cut(size, all, Step::length);
        let rows = steps.into_iter().filter_map(Step::into_row).collect();
        Self { now, head, rows, next: next.map(|step| step.cursor()) }
    }
}

impl Step {
    fn length(&self) -> usize {
        match self {
            Self::Row(row) => wire::length(row),
            Self::Nothing(_) => 0,
        }
    }

    fn into_row(self) -> Option<StateRow> {
        match self {
            Self::Row(row) => Some(row),
            Self::Nothing(_) => None,
        }
    }

    fn cursor(&self) -> StateCursor {
        match self {
            Self::Row(row) => row.cursor(),
            Self::Nothing(cursor) => cursor.clone(),
        }
    }
}

impl PageSize {
    /// Pages without a limit, for answers that are not sent over a connection.
    pub const UNBOUNDED: Self = Self { rows: usize::MAX, bytes: usize::MAX };
}

/// These limits keep the time to make and encode a page under one millisecond.
impl Default for PageSize {
    fn default() -> Self {
        Self { rows: 512, bytes: 128 << 10 }
    }
}

/// Splits off a page: as many rows as fit, but at least one. Also returns the first row that did not fit.
pub fn page<T: Serialize>(size: PageSize, all: impl Iterator<Item = T>) -> (Vec<T>, Option<T>) {
    cut(size, all, wire::length)
}

fn cut<T>(size: PageSize, all: impl Iterator<Item = T>, length: impl Fn(&T) -> usize) -> (Vec<T>, Option<T>) {
    let (mut items, mut bytes) = (Vec::new(), 0);
    for item in all {
        bytes += length(&item);
        if !items.is_empty() && (items.len() >= size.rows || bytes > size.bytes) {
            return (items, Some(item));
        }
        items.push(item);
    }
    (items, None)
}
