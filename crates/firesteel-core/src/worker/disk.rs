//! Whether the Worker can write in its work directory, and whether there is room on its disk.
//!
//! The shell tries it from time to time, and at once when an executor cannot be started for a reason that may be the disk's.
//! Its failure is reported after the answer, so that the Master knows whom to blame.

use super::executors::Executors;
use super::machine::{Reason, Worker, send};
use super::usage::is_too_full;
use super::{Effect, Note};
use crate::ids::{ExecutorKey, PeerId};
use crate::machine::{Violation, ensure};
use crate::messages::{DiskSpace, WorkerToMaster};
use crate::process::StartFailure;
use crate::time::Timestamp;

/// What is known of the work directory.
#[derive(Debug, Default)]
pub(super) struct Disk {
    phase: Phase,
    /// Why nothing can be written there, as the last try showed.
    error: Option<String>,
    /// The space on its disk, as measured last.
    space: Option<DiskSpace>,
    /// Why it is too full, in the words of the measurement that found it so. `None`: it is not.
    too_full: Option<String>,
    /// Executors that could not be started, and are reported after the try that goes on.
    failed: Vec<(ExecutorKey, StartFailure)>,
}

/// ```text
///         Start             deadline, or a doubt
///  IDLE ---------> PLANNED ----------------------> TRYING
///                     ^                               |
///                     +------ WorkDirectoryTried -----+
/// ```
#[derive(Debug, Default)]
enum Phase {
    #[default]
    Idle,
    /// The shell tries to write.
    Trying,
    /// The next try is planned for this time.
    Planned { at: Timestamp },
}

impl Disk {
    pub(super) fn next_deadline(&self) -> Option<(Timestamp, Reason)> {
        match self.phase {
            Phase::Planned { at } => Some((at, Reason::WorkDirectoryTry)),
            Phase::Idle | Phase::Trying => None,
        }
    }

    /// The space on the disk, as measured last.
    pub(super) fn space(&self) -> Option<DiskSpace> {
        self.space
    }

    /// Why nothing new is to be started.
    fn reason(&self) -> Option<&String> {
        self.error.as_ref().or(self.too_full.as_ref())
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

    pub(super) fn check(&self, executors: &Executors) -> Result<(), Violation> {
        let is_tried = self.failed.is_empty() || matches!(self.phase, Phase::Trying);
        ensure!("worker", is_tried, "{:?} wait for a try that nobody makes", self.failed);
        let over = self.failed.iter().find(|(executor, _)| !executors.lives(executor));
        ensure!("worker", over.is_none(), "{over:?} is over, and would be reported once more");
        Ok(())
    }
}

impl Worker {
    /// Plans the next try, if the settings want any.
    pub(super) fn plan_work_directory_try(&mut self, now: Timestamp) {
        self.disk.phase = match self.config.work_directory_pause {
            Some(pause) => Phase::Planned { at: now + pause },
            None => Phase::Idle,
        };
    }

    /// Tries to write in the work directory, unless that is going on.
    fn try_work_directory(&mut self) {
        if !matches!(self.disk.phase, Phase::Trying) {
            self.disk.phase = Phase::Trying;
            self.effects.push(Effect::TryWorkDirectory);
        }
    }

    pub(super) fn try_work_directory_if_due(&mut self, now: Timestamp) {
        if matches!(self.disk.phase, Phase::Planned { at } if at <= now) {
            self.try_work_directory();
        }
    }

    /// An executor could not be started. If the disk may be the reason, it is reported after a try.
    pub(super) fn doubt_disk(&mut self, executor: ExecutorKey, failure: StartFailure) {
        let is_tried = self.config.work_directory_pause.is_some();
        if !is_tried || self.disk.error.is_some() || !failure.may_be_of_the_disk() {
            return self.on_start_failed(executor, failure);
        }
        self.executors.no_longer_waits(&executor);
        self.disk.failed.push((executor, failure));
        self.try_work_directory();
    }

    /// The shell has tried to write in the work directory.
    pub(super) fn on_work_directory_tried(
        &mut self,
        now: Timestamp,
        error: Option<String>,
        space: Option<DiskSpace>,
    ) {
        self.plan_work_directory_try(now);
        let before = self.disk.reason().cloned();
        self.disk.error = error;
        self.disk.take_in(space, self.config.max_disk_percent);
        let reason = self.disk.reason().cloned();
        if reason != before {
            self.effects.note(match reason {
                Some(error) => Note::CannotWrite { error },
                None => Note::CanWriteAgain,
            });
            if let Some(peer) = self.registration.master().map(|master| master.peer) {
                self.tell_of_work_directory(peer);
            }
        }
        for (executor, failure) in std::mem::take(&mut self.disk.failed) {
            self.on_start_failed(executor, failure);
        }
    }

    /// Tells a Master that has just registered this Worker what it may not know.
    pub(super) fn tell_of_work_directory_if_new(&mut self, peer: PeerId, is_known: bool) {
        if is_known || self.disk.reason().is_some() {
            self.tell_of_work_directory(peer);
        }
    }

    fn tell_of_work_directory(&mut self, peer: PeerId) {
        let (worker, error) = (self.config.description.id.clone(), self.disk.reason().cloned());
        self.effects.push(send(peer, WorkerToMaster::WorkDirectoryChecked { worker, error }));
    }
}
