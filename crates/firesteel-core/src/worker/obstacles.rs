//! What keeps the Worker from starting executors and cluster drivers: it cannot write in its work directory, its disk is too
//! full, the machine is short of processes, or the Worker's own program cannot be started.
//!
//! The shell tries whether it can, from time to time. If a start fails for a reason that may be the disk's, it tries at once, and
//! the failure is reported after the answer, so that the Master knows whom to blame. If a start fails for a reason that is
//! certainly the machine's, the Master is told before it hears of the failure.

use std::time::Duration;

use super::drivers::Drivers;
use super::executors::Executors;
use super::machine::{Reason, Worker, send};
use super::usage::is_too_full;
use super::{Effect, Note, StartTried};
use crate::ids::{DriverId, ExecutorKey, PeerId};
use crate::machine::{Violation, ensure};
use crate::messages::{DiskSpace, WorkerToMaster};
use crate::process::{Fault, NotStarted, StartFailure};
use crate::time::Timestamp;

/// The longest pause before the next try, in pauses of the settings, if processes could not be started again and again.
const LONGEST_PAUSE: u32 = 16;

/// What keeps the Worker from starting anything.
#[derive(Debug, Default)]
pub(super) struct Obstacles {
    phase: Phase,
    /// Why nothing can be written in the work directory, as the last try showed.
    directory: Option<String>,
    /// Why no process can be started, as the last start or try showed.
    processes: Option<String>,
    /// The number of times that processes could not be started, since the last one that ran.
    shortages: u32,
    /// The space on the work directory's disk, as measured last.
    space: Option<DiskSpace>,
    /// Why the disk is too full, in the words of the measurement that found it so. `None`: it is not.
    too_full: Option<String>,
    /// Processes that could not be started, and are reported after the try that goes on.
    failed: Vec<(Process, StartFailure)>,
}

/// A process that the Worker was told to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Process {
    /// An executor.
    Executor(ExecutorKey),
    /// A cluster driver.
    Driver(DriverId),
}

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
    /// The shell tries to write, and to start a process if that is what could not be done.
    Trying { process: bool },
    /// The next try is planned for this time.
    Planned { at: Timestamp },
}

impl Obstacles {
    pub(super) fn next_deadline(&self) -> Option<(Timestamp, Reason)> {
        match self.phase {
            Phase::Planned { at } => Some((at, Reason::StartTry)),
            Phase::Idle | Phase::Trying { .. } => None,
        }
    }

    /// The space on the disk, as measured last.
    pub(super) fn space(&self) -> Option<DiskSpace> {
        self.space
    }

    /// Why nothing new is to be started.
    fn reason(&self) -> Option<&String> {
        self.directory.as_ref().or(self.too_full.as_ref()).or(self.processes.as_ref())
    }

    /// Takes in the space on the disk. Once it is too full, it stays so until it is some percent below the limit.
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

    pub(super) fn check(&self, executors: &Executors, drivers: &Drivers) -> Result<(), Violation> {
        let is_tried = self.failed.is_empty() || matches!(self.phase, Phase::Trying { .. });
        ensure!("worker", is_tried, "{:?} wait for a try that nobody makes", self.failed);
        let lives = |process: &Process| match process {
            Process::Executor(executor) => executors.lives(executor),
            Process::Driver(driver) => drivers.lives(driver),
        };
        let over = self.failed.iter().find(|(process, _)| !lives(process));
        ensure!("worker", over.is_none(), "{over:?} is over, and would be reported once more");
        let is_tried = self.processes.is_none() || !matches!(self.phase, Phase::Idle);
        ensure!("worker", is_tried, "it starts nothing, and never tries to");
        Ok(())
    }
}

impl Worker {
    /// Plans the next try, if the settings want any.
    pub(super) fn plan_try(&mut self, now: Timestamp) {
        self.obstacles.phase = match self.config.try_pause {
            Some(pause) => Phase::Planned { at: now + self.try_pause(pause) },
            None => Phase::Idle,
        };
    }

    /// The pause before the next try. It grows while processes can be started for a moment only.
    fn try_pause(&self, pause: Duration) -> Duration {
        let Obstacles { processes, shortages, .. } = &self.obstacles;
        let doublings = shortages.saturating_sub(1).min(LONGEST_PAUSE.ilog2());
        if processes.is_some() { pause.saturating_mul(1 << doublings) } else { pause }
    }

    /// Tries whether anything can be started, unless that is going on.
    fn try_to_start(&mut self) {
        if !matches!(self.obstacles.phase, Phase::Trying { .. }) {
            let process = self.obstacles.processes.is_some();
            self.obstacles.phase = Phase::Trying { process };
            self.effects.push(Effect::TryToStart { process });
        }
    }

    pub(super) fn try_to_start_if_due(&mut self, now: Timestamp) {
        if matches!(self.obstacles.phase, Phase::Planned { at } if at <= now) {
            self.try_to_start();
        }
    }

    /// A process could not be started. If the machine is at fault, the Master is told so first; if the disk may be the reason,
    /// the failure is reported after a try.
    pub(super) fn on_not_started(&mut self, now: Timestamp, process: Process, why: NotStarted) {
        let NotStarted { failure, fault } = why;
        let is_tried = self.config.try_pause.is_some();
        match fault {
            Fault::Shortage | Fault::OwnProgram if is_tried => {
                self.meet_obstacle(now, &failure);
                self.report_not_started(process, failure);
            }
            Fault::Shortage | Fault::OwnProgram | Fault::LostFiles | Fault::Command
                if !is_tried || self.obstacles.directory.is_some() || !failure.may_be_of_the_disk() =>
            {
                self.report_not_started(process, failure);
            }
            Fault::Shortage | Fault::OwnProgram | Fault::LostFiles | Fault::Command => {
                if let Process::Executor(executor) = &process {
                    self.executors.no_longer_waits(executor);
                }
                self.obstacles.failed.push((process, failure));
                self.try_to_start();
            }
        }
    }

    /// The machine could not start a process. What keeps it from that lasts until a try starts one.
    fn meet_obstacle(&mut self, now: Timestamp, failure: &StartFailure) {
        if self.obstacles.processes.is_some() {
            return;
        }
        let before = self.obstacles.reason().cloned();
        self.obstacles.processes = Some(failure.to_string());
        self.obstacles.shortages = self.obstacles.shortages.saturating_add(1);
        if !matches!(self.obstacles.phase, Phase::Trying { .. }) {
            self.plan_try(now);
        }
        self.tell_of_change(before.as_ref());
    }

    /// A process has started.
    pub(super) fn forget_shortages(&mut self) {
        self.obstacles.shortages = 0;
    }

    /// A process could not be started, and nothing more is to be found out about that.
    fn report_not_started(&mut self, process: Process, failure: StartFailure) {
        match process {
            Process::Executor(executor) => self.on_start_failed(executor, failure),
            Process::Driver(driver) => {
                let is_ours = self.obstacles.reason().is_some();
                self.on_driver_start_failed(driver, failure, is_ours);
            }
        }
    }

    /// The shell has tried to write in the work directory, and to start a process if it was asked to.
    pub(super) fn on_start_tried(&mut self, now: Timestamp, tried: StartTried) {
        let StartTried { directory, process, space } = tried;
        let before = self.obstacles.reason().cloned();
        self.obstacles.directory = directory;
        self.obstacles.take_in(space, self.config.max_disk_percent);
        if matches!(self.obstacles.phase, Phase::Trying { process: true }) {
            self.obstacles.processes = process;
        }
        self.plan_try(now);
        self.tell_of_change(before.as_ref());
        for (process, failure) in std::mem::take(&mut self.obstacles.failed) {
            self.report_not_started(process, failure);
        }
    }

    /// Tells of what keeps the Worker from starting anything, if that is not what it was.
    fn tell_of_change(&mut self, before: Option<&String>) {
        let reason = self.obstacles.reason().cloned();
        if reason.as_ref() == before {
            return;
        }
        self.effects.note(match reason {
            Some(error) => Note::CannotStart { error },
            None => Note::CanStartAgain,
        });
        if let Some(peer) = self.registration.master() {
            self.tell_of_obstacle(peer);
        }
    }

    /// Tells a Master that has just registered this Worker what it may not know.
    pub(super) fn tell_of_obstacle_if_new(&mut self, peer: PeerId, is_known: bool) {
        if is_known || self.obstacles.reason().is_some() {
            self.tell_of_obstacle(peer);
        }
    }

    fn tell_of_obstacle(&mut self, peer: PeerId) {
        let (worker, error) = (self.config.description.id.clone(), self.obstacles.reason().cloned());
        self.effects.push(send(peer, WorkerToMaster::StartsChecked { worker, error }));
    }
}
