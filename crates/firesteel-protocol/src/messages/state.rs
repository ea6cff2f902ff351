//! A Master's state in pages, so that no answer is long and none keeps the Master busy.
//!
//! The state is a list of rows in the order of their places: the Workers by id, the applications in the order of
//! registration, the cluster drivers in the order of submission, and the live executors by application and number. A
//! place belongs to one row for ever. So a client that asks for all pages gets each row exactly once, if the row exists
//! all the time.

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
    /// The cluster driver with this number, live or ended. They are numbered in the order of their submission.
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
    /// The Master's time when it made the page.
    pub now: Timestamp,
    /// The Master itself, on the page with the beginning of the state. Other pages leave it out.
    pub head: Option<StateHead>,
    /// The rows, in the order of their places.
    pub rows: Vec<StateRow>,
    /// The place to ask from next, if there are more rows.
    pub next: Option<StateCursor>,
}

/// The part of a Master's state that describes the Master itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateHead {
    /// The Master's URL, `spark://host:port`.
    pub url: String,
    /// The URL at which the Master serves HTTP, if it does.
    pub web_address: Option<String>,
    pub scheduling: SchedulingSettings,
    /// The room that is reserved, in the order of serving.
    pub reserved: Vec<ReservedRoom>,
    /// How long messages of Workers and drivers waited lately before the Master handled them, in milliseconds.
    pub lag_millis: u64,
    /// The number of rows at the time of the page.
    pub totals: StateTotals,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateTotals {
    /// The number of Workers, alive or dead.
    pub workers: u64,
    pub applications: u64,
    /// The number of ended applications that are remembered.
    pub completed: u64,
    /// The number of cluster drivers, live or ended, that are remembered.
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

/// A step in reading a state.
#[derive(Clone, Debug)]
pub enum Step {
    Row(StateRow),
    /// A place without a row. Looking there takes time, too.
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
    /// Makes a page from the first of these steps. `head` belongs to a page with the beginning of the state.
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
    /// Pages without a limit, for answers that are not sent.
    pub const UNBOUNDED: Self = Self { rows: usize::MAX, bytes: usize::MAX };
}

/// A page takes less than a millisecond to make and to encode.
impl Default for PageSize {
    fn default() -> Self {
        Self { rows: 512, bytes: 128 << 10 }
    }
}

/// Splits off a page: as many rows as fit, but at least one. Also returns the first row that is left.
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
