//! The rows of `firesteel history`: ended applications and cluster drivers.

use firesteel_placement::MiB;
use serde::{Deserialize, Serialize};

use super::{ApplicationView, DriverView, LossReason, Usage};
use crate::ids::ExecutorId;
use crate::time::Timestamp;

/// The maximum number of an application's executors that the history remembers: those with the highest numbers.
pub const MOST_PAST_EXECUTORS: usize = 100;

/// An application or a cluster driver that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PastRow {
    Application(Box<PastApplication>),
    Driver {
        /// The driver's number in the order of submission.
        number: u64,
        view: Box<DriverView>,
        /// The usage of the driver's last process, if it was measured.
        used: Option<Used>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastApplication {
    /// The application's number in the order of registration.
    pub number: u64,
    /// The application with at most [`MOST_PAST_EXECUTORS`] of its executors.
    pub view: ApplicationView,
    /// What the executors used, for the executors that were measured.
    pub used: Vec<(ExecutorId, Used)>,
}

/// What a process and all its descendants used, until the end or the last measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Used {
    /// The processor time, user and system, in milliseconds.
    pub cpu_millis: u64,
    /// The highest measured memory in RAM, in bytes. 0 if the process ended before the first measurement.
    pub peak_memory: u64,
    /// The limit for which the Worker or the kernel ended them. `None`: they ended for another reason, or the Worker is
    /// of an earlier release.
    #[serde(default)]
    pub exceeded: Option<ExceededLimit>,
}

/// A limit of its Worker that a process exceeded together with its descendants: what the Worker allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, crate::Kind, crate::Display)]
pub enum ExceededLimit {
    #[display("it used more memory than its Worker allows: {}", MiB((*mib).into()))]
    Memory { mib: u32 },
    /// The kernel ended a process, because all together needed more memory than their control group allows.
    #[display("the kernel ended it, because it needed more memory than its Worker allows: {}", MiB((*mib).into()))]
    MemoryOfGroup { mib: u32 },
    #[display("it had more threads than its Worker allows: {count}")]
    Threads { count: u32 },
    /// The directory with the output, and the part of the application's scratch directories.
    #[display("it used more disk than its Worker allows: {}", MiB((*mib).into()))]
    Disk { mib: u32 },
}

impl From<Usage> for Used {
    fn from(Usage { cpu_millis, peak_memory, .. }: Usage) -> Self {
        Self { cpu_millis, peak_memory, exceeded: None }
    }
}

impl Used {
    /// Why the process was ended, if it exceeded a limit.
    #[must_use]
    pub fn loss(self) -> Option<LossReason> {
        let peak = MiB(i64::try_from(self.peak_memory >> 20).unwrap_or(i64::MAX));
        let why = match self.exceeded? {
            exceeded @ ExceededLimit::Memory { .. } => format!("{exceeded}; it used {peak}"),
            exceeded => exceeded.to_string(),
        };
        Some(LossReason::OverLimit { why })
    }
}

/// The position of a row in the history. Rows are in the order in which applications and drivers ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct HistoryCursor {
    pub ended: Timestamp,
    pub what: PastNumber,
}

/// The number of an application or of a cluster driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum PastNumber {
    Application(u64),
    Driver(u64),
}

impl Default for PastNumber {
    fn default() -> Self {
        Self::Application(0)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryPage {
    /// The Master's time when it answered.
    pub now: Timestamp,
    /// The rows, in the order in which applications and drivers ended.
    pub rows: Vec<PastRow>,
    /// The position from which to ask next, if there are more rows.
    pub next: Option<HistoryCursor>,
}

impl PastRow {
    #[must_use]
    pub fn cursor(&self) -> HistoryCursor {
        let (ended, what) = match self {
            Self::Application(past) => (past.view.ended, PastNumber::Application(past.number)),
            Self::Driver { number, view, .. } => (view.ended, PastNumber::Driver(*number)),
        };
        HistoryCursor { ended: ended.unwrap_or_default(), what }
    }
}

impl PastApplication {
    /// What all the application's executors used together, with the highest memory peak of any executor. `None`:
    /// nothing was measured.
    #[must_use]
    pub fn used(&self) -> Option<Used> {
        let add = |all: Used, one: Used| Used {
            cpu_millis: all.cpu_millis.saturating_add(one.cpu_millis),
            peak_memory: all.peak_memory.max(one.peak_memory),
            exceeded: None,
        };
        self.used.iter().map(|(_, used)| *used).reduce(add)
    }
}
