//! The obstacles to starting anything, and the checks for them.

use std::time::Duration;

use firesteel_protocol::machine::{Violation, ensure};
use firesteel_protocol::messages::DiskSpace;
use firesteel_protocol::process::StartFailure;
use firesteel_protocol::time::Timestamp;

use super::drivers::Drivers;
use super::executors::Executors;
use super::process::Process;
use crate::{Reason, StartTried};

/// The longest pause between two checks while no process can be started, in multiples of the configured pause.
const LONGEST_PAUSE: u32 = 16;

/// The obstacles that keep the Worker from starting anything.
#[derive(Debug, Default)]
pub(crate) struct Obstacles {
    phase: Phase,
    /// Why nothing can be written in the work directory, according to the last check.
    directory: Option<String>,
    /// Why no process can be started, according to the last start or check.
    processes: Option<String>,
    /// The number of failed starts since the last process that ran.
    shortages: u32,
    /// The space on the work directory's disk, as measured last.
    space: Option<DiskSpace>,
    /// The text of the measurement that found the disk too full. `None`: the disk is not too full.
    too_full: Option<String>,
    /// Processes that could not be started, with the failures. They are reported after the running check.
    failed: Vec<(Process, StartFailure)>,
    /// Whether the Worker has ever reported an obstacle. A Master to which it returns may still believe in the
    /// obstacle.
    was_reported: bool,
}

/// The phases of the checks.
///
/// ```text
///         Start             deadline, or a doubt
///  IDLE ---------> PLANNED ----------------------> TRYING
///                     ^                               |
///                     +--------- StartTried ----------+
/// ```
#[derive(Debug, Default)]
enum Phase {
    #[default]
    Idle,
    /// The daemon tries to write, and also to start a process if that has failed before.
    Trying { process: bool },
    /// The next check is planned for this time.
    Planned { at: Timestamp },
}

impl Obstacles {
    pub(crate) fn next_deadline(&self) -> Option<(Timestamp, Reason)> {
        match self.phase {
            Phase::Planned { at } => Some((at, Reason::StartTry)),
            Phase::Idle | Phase::Trying { .. } => None,
        }
    }

    /// The space on the disk, as measured last.
    pub(crate) fn space(&self) -> Option<DiskSpace> {
        self.space
    }

    /// Why nothing new can be started. `None` if there is no obstacle.
    pub(crate) fn reason(&self) -> Option<&String> {
        self.directory.as_ref().or(self.too_full.as_ref()).or(self.processes.as_ref())
    }

    /// Why nothing new can be started, to report it to a Master.
    pub(crate) fn report(&mut self) -> Option<String> {
        let reason = self.reason().cloned();
        self.was_reported |= reason.is_some();
        reason
    }

    pub(crate) fn was_reported(&self) -> bool {
        self.was_reported
    }

    /// Whether the Worker could not write in its work directory at the last check.
    pub(crate) fn is_of_the_directory(&self) -> bool {
        self.directory.is_some()
    }

    /// Plans the next check, if the settings ask for checks. The pause doubles if starts fail again and
    /// again, without a process that ran in between.
    pub(crate) fn plan(&mut self, now: Timestamp, pause: Option<Duration>) {
        self.phase = match pause {
            Some(pause) => Phase::Planned { at: now + self.longer(pause) },
            None => Phase::Idle,
        };
    }

    fn longer(&self, pause: Duration) -> Duration {
        let doublings = self.shortages.saturating_sub(1).min(LONGEST_PAUSE.ilog2());
        if self.processes.is_some() { pause.saturating_mul(1 << doublings) } else { pause }
    }

    pub(crate) fn is_due(&self, now: Timestamp) -> bool {
        matches!(self.phase, Phase::Planned { at } if at <= now)
    }

    /// Begins a check, unless one is running. Returns whether to also try to start a process.
    pub(crate) fn begin(&mut self) -> Option<bool> {
        if matches!(self.phase, Phase::Trying { .. }) {
            return None;
        }
        let process = self.processes.is_some();
        self.phase = Phase::Trying { process };
        Some(process)
    }

    /// Records that the machine could not start a process. The obstacle lasts until a check starts a process. Returns
    /// whether the obstacle is new.
    pub(crate) fn record(&mut self, now: Timestamp, failure: &StartFailure, pause: Option<Duration>) -> bool {
        if self.processes.is_some() {
            return false;
        }
        self.processes = Some(failure.to_string());
        self.shortages = self.shortages.saturating_add(1);
        if !matches!(self.phase, Phase::Trying { .. }) {
            self.plan(now, pause);
        }
        true
    }

    /// Resets the count of failed starts, because a process has started.
    pub(crate) fn forget_shortages(&mut self) {
        self.shortages = 0;
    }

    /// Keeps a process that could not be started, to report it after the running check.
    pub(crate) fn keep_failed(&mut self, process: Process, failure: StartFailure) {
        self.failed.push((process, failure));
    }

    /// Removes and returns the failures that waited for the check, which is over.
    pub(crate) fn take_failed(&mut self) -> Vec<(Process, StartFailure)> {
        std::mem::take(&mut self.failed)
    }

    /// Records the result of a check: the daemon has tried to write in the work directory, and perhaps to start a
    /// process.
    pub(crate) fn tried(&mut self, tried: StartTried, most_percent: u64) {
        let StartTried { directory, process, space } = tried;
        self.directory = directory;
        self.take_in(space, most_percent);
        if matches!(self.phase, Phase::Trying { process: true }) {
            self.processes = process;
        }
    }

    /// Records the space on the disk. A disk that was too full counts as too full until its used space is some percent
    /// below the limit.
    fn take_in(&mut self, space: Option<DiskSpace>, most_percent: u64) {
        self.space = space;
        let was = self.too_full.take();
        self.too_full = space.filter(|space| is_too_full(*space, most_percent, was.is_some())).map(|space| {
            let now = || {
                format!(
                    "{} % of its disk is used (firesteel.worker.maxDiskUsage: {most_percent})",
                    space.used_percent()
                )
            };
            was.unwrap_or_else(now)
        });
    }

    pub(crate) fn check(&self, executors: &Executors, drivers: &Drivers) -> Result<(), Violation> {
        let is_tried = self.failed.is_empty() || matches!(self.phase, Phase::Trying { .. });
        ensure!("worker", is_tried, "{:?} wait for a try that nobody makes", self.failed);
        let lives = |process: &Process| match process {
            Process::Executor(executor) => executors.lives(executor),
            Process::Driver(driver) => drivers.lives(driver),
        };
        let over = self.failed.iter().find(|(process, _)| !lives(process));
        ensure!(
            "worker",
            over.is_none(),
            "a process of {over:?} is no longer listed as alive, but its failed start would still be reported"
        );
        let is_tried = self.processes.is_none() || !matches!(self.phase, Phase::Idle);
        ensure!("worker", is_tried, "it starts nothing, and never tries to");
        Ok(())
    }
}

/// Whether a disk is too full for anything new. `was` is whether the disk was too full before.
fn is_too_full(space: DiskSpace, most_percent: u64, was: bool) -> bool {
    /// The used space of a disk that was too full must fall below the limit by this many percent.
    const SLACK: u64 = 3;
    let used = space.used_percent();
    if was { used > most_percent.saturating_sub(SLACK) } else { used > most_percent }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_full_until_it_is_some_percent_below_the_limit() {
        let mut full = false;
        for (used, expected) in
            [(90, false), (95, false), (96, true), (95, true), (93, true), (92, false), (95, false)]
        {
            full = is_too_full(DiskSpace { total: 100, available: 100 - used }, 95, full);
            assert_eq!(full, expected, "{used} %");
        }
        assert!(!is_too_full(DiskSpace { total: 100, available: 0 }, 100, false), "a limit of 100 % is none");
    }
}
