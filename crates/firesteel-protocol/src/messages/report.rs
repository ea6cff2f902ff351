//! A Worker's report about itself: the URL of its HTTP server, and usage.

use serde::{Deserialize, Serialize};

use super::{LossReason, WorkerState};
use crate::ids::{DriverId, ExecutorKey, WorkerId};
use crate::process::short_if_any;
use crate::time::Timestamp;

/// A Worker's report about itself. The Worker sends it after each registration, and then every few seconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerReport {
    pub worker: WorkerId,
    /// The URL at which the Worker serves HTTP. `None`: it does not serve HTTP.
    #[serde(deserialize_with = "short_if_any")]
    pub web_address: Option<String>,
    /// The URL at which the Worker's Master serves HTTP, if the Worker knows it.
    #[serde(deserialize_with = "short_if_any")]
    pub master_web_address: Option<String>,
    /// The usage of the Worker's machine, once it was measured.
    pub machine: Option<MachineUsage>,
    /// The space on the disk of the work directory, once it was measured.
    pub disk: Option<DiskSpace>,
    /// The usage of the Worker's executors. Executors without a measurement are left out.
    pub executors: Vec<(ExecutorKey, Usage)>,
    /// The usage of the Worker's cluster drivers. Drivers without a measurement are left out.
    pub drivers: Vec<(DriverId, Usage)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// The processor time since the process started, user and system, in milliseconds.
    pub cpu_millis: u64,
    /// The processor use since the previous measurement, in thousandths of a core.
    pub millicores: u64,
    /// The memory in RAM, in bytes. Memory that several processes share counts once for each of them.
    pub memory: u64,
    /// The highest memory in RAM of all measurements, in bytes.
    pub peak_memory: u64,
}

/// What all processes on a machine use together, and the machine's size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineUsage {
    /// The number of the machine's processors.
    pub cores: u64,
    /// The processor use since the previous measurement, in thousandths of a core.
    pub millicores: u64,
    pub memory: u64,
    /// The memory that programs can still allocate, in bytes.
    pub memory_available: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskSpace {
    /// The total space in bytes, without the space that is reserved for the system.
    pub total: u64,
    /// The free space in bytes.
    pub available: u64,
}

/// What is unusual about a Worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WorkerRemark {
    /// The Worker has missed two heartbeats.
    Late,
    /// The Worker runs executors or cluster drivers of another Master, and gets no new ones until these end.
    Foreign {
        executors: u64,
        drivers: u64,
        /// When the Master ends the foreign executors and drivers.
        until: Timestamp,
    },
    /// The Worker is lost, or has left in order.
    Gone(Departure),
}

/// When a Worker was lost or has left, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Departure {
    pub at: Timestamp,
    pub cause: DepartureCause,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, crate::Display)]
pub enum DepartureCause {
    #[display("it was asked to leave")]
    Asked,
    /// The Worker was stopped and left in order.
    #[display("it was stopped")]
    Stopped,
    Lost(LossReason),
}

impl DepartureCause {
    /// The state of a Worker that left or was lost for this reason.
    #[must_use]
    pub fn state(&self) -> WorkerState {
        match self {
            Self::Asked | Self::Stopped => WorkerState::Left,
            Self::Lost(_) => WorkerState::Dead,
        }
    }

    /// The reason for the loss of the Worker's executors.
    #[must_use]
    pub fn loss(&self) -> LossReason {
        match self {
            Self::Asked | Self::Stopped => LossReason::Disconnected,
            Self::Lost(reason) => reason.clone(),
        }
    }
}

impl WorkerRemark {
    /// The remark's name, for programs.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Late => "LATE",
            Self::Foreign { .. } => "FOREIGN",
            Self::Gone(departure) if departure.cause.state() == WorkerState::Left => "LEFT",
            Self::Gone(_) => "LOST",
        }
    }
}

impl WorkerRemark {
    #[must_use]
    pub fn departure(&self) -> Option<&Departure> {
        match self {
            Self::Gone(departure) => Some(departure),
            Self::Late | Self::Foreign { .. } => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimedReport {
    /// The Master's time when the report came.
    pub received: Timestamp,
    pub report: WorkerReport,
}

impl DiskSpace {
    /// The used space in percent, rounded down. 0 if the disk has no space at all.
    #[must_use]
    pub fn used_percent(self) -> u64 {
        let used = u128::from(self.total.saturating_sub(self.available)) * 100;
        u64::try_from(used.checked_div(u128::from(self.total)).unwrap_or(0)).unwrap_or(100)
    }
}

impl WorkerReport {
    /// The usage of all the Worker's executors together.
    #[must_use]
    pub fn of_executors(&self) -> Usage {
        sum(self.executors.iter().map(|(_, usage)| *usage))
    }
}

/// The sum of several usages. The memory peaks are added even if they were at different times.
pub fn sum(usages: impl Iterator<Item = Usage>) -> Usage {
    usages.fold(Usage::default(), |all, one| Usage {
        cpu_millis: all.cpu_millis.saturating_add(one.cpu_millis),
        millicores: all.millicores.saturating_add(one.millicores),
        memory: all.memory.saturating_add(one.memory),
        peak_memory: all.peak_memory.saturating_add(one.peak_memory),
    })
}

/// Whether a text from a peer is the URL of an HTTP server, and can be shown as a link.
#[must_use]
pub fn is_web_address(text: &str) -> bool {
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    let sound = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/[]%".contains(&byte);
    rest.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(sound))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_used_part_of_a_disk_is_rounded_down() {
        for (total, available, percent) in [
            (0, 0, 0),
            (100, 100, 0),
            (100, 1, 99),
            (1000, 1, 99),
            (3, 0, 100),
            (u64::MAX, 0, 100),
            (1, 5, 0),
        ] {
            assert_eq!(DiskSpace { total, available }.used_percent(), percent, "{available} of {total}");
        }
    }

    #[test]
    fn only_a_url_can_be_a_link() {
        for (text, is) in [
            ("http://node-1:8081/", true),
            ("https://[::1]:8081", true),
            ("http://", false),
            ("javascript:alert(1)", false),
            ("http://a\"><script>", false),
            ("http://a b", false),
            ("", false),
        ] {
            assert_eq!(is_web_address(text), is, "{text}");
        }
    }
}
