//! The stages of a process that this Worker was ordered to run. They are the same for executors and cluster drivers.

use firesteel_protocol::process::Signal;
use firesteel_protocol::time::Timestamp;

/// The stages of a process, from the order to start it until it has ended.
///
/// ```text
///             started               asked to end              grace over
///  STARTING ------------> RUNNING --------------> ENDING ------------> DYING
///     | asked to end                                 ^
///     +------------> STOPPING -------------------------+
///                              started
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProcessStage {
    Starting,
    /// The process will get this signal as soon as it has started.
    Stopping(Signal),
    Running {
        pid: u32,
        since: Timestamp,
    },
    Ending {
        pid: u32,
        kill_at: Timestamp,
    },
    Dying {
        pid: u32,
    },
}

impl ProcessStage {
    pub(crate) fn pid(self) -> Option<u32> {
        match self {
            Self::Starting | Self::Stopping(_) => None,
            Self::Running { pid, .. } | Self::Ending { pid, .. } | Self::Dying { pid } => Some(pid),
        }
    }

    pub(crate) fn is_unwanted(self) -> bool {
        match self {
            Self::Starting | Self::Running { .. } => false,
            Self::Stopping(_) | Self::Ending { .. } | Self::Dying { .. } => true,
        }
    }

    /// The end of the process's grace period, if it has one.
    pub(crate) fn kill_at(self) -> Option<Timestamp> {
        match self {
            Self::Ending { kill_at, .. } => Some(kill_at),
            Self::Starting | Self::Stopping(_) | Self::Running { .. } | Self::Dying { .. } => None,
        }
    }

    /// Records that the process has started. Returns the stage, and the signal that waited for the start. `None` if the
    /// process was not being started.
    pub(crate) fn started(self, now: Timestamp, pid: u32) -> Option<(Self, Option<Signal>)> {
        let waiting = match self {
            Self::Starting => None,
            Self::Stopping(signal) => Some(signal),
            Self::Running { .. } | Self::Ending { .. } | Self::Dying { .. } => return None,
        };
        Some((Self::Running { pid, since: now }, waiting))
    }

    /// Applies a signal. `kill_at` is when to kill the process if it has not ended. A signal has no effect if an
    /// earlier one was at least as strong. Returns the stage, and whether the process gets the signal now.
    pub(crate) fn signalled(self, signal: Signal, kill_at: Timestamp) -> (Self, bool) {
        let stage = match (self, signal) {
            (Self::Starting, signal) => Self::Stopping(signal),
            (Self::Stopping(before), signal) => Self::Stopping(before.max(signal)),
            (Self::Running { pid, .. }, Signal::Terminate) => Self::Ending { pid, kill_at },
            (Self::Running { pid, .. } | Self::Ending { pid, .. }, Signal::Kill) => Self::Dying { pid },
            (same @ Self::Ending { .. }, Signal::Terminate) | (same @ Self::Dying { .. }, _) => same,
        };
        (stage, stage != self && stage.pid().is_some())
    }
}
