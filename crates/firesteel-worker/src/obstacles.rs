//! What keeps the Worker from starting executors and cluster drivers: it cannot write in its work directory, its disk is too
//! full, the machine is short of processes, or the Worker's own program cannot be started.
//!
//! The shell tries whether it can, from time to time. If a start fails for a reason that may be the disk's, it tries at once, and
//! the failure is reported after the answer, so that the Master knows whom to blame. If a start fails for a reason that is
//! certainly the machine's, the Master is told before it hears of the failure.

use firesteel_protocol::ids::PeerId;
use firesteel_protocol::messages::WorkerToMaster;
use firesteel_protocol::process::{Fault, NotStarted, StartFailure};
use firesteel_protocol::time::Timestamp;

use super::effect::send;
use super::tables::Process;
use super::{Effect, Note, StartTried, Worker};

impl Worker {
    /// Plans the next try, if the settings want any.
    pub(super) fn plan_try(&mut self, now: Timestamp) {
        self.obstacles.plan(now, self.config.try_pause);
    }

    /// Tries whether anything can be started, unless that is going on.
    fn try_to_start(&mut self) {
        if let Some(process) = self.obstacles.begin() {
            self.effects.push(Effect::TryToStart { process });
        }
    }

    pub(super) fn try_to_start_if_due(&mut self, now: Timestamp) {
        if self.obstacles.is_due(now) {
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
                if !is_tried || self.obstacles.is_of_the_directory() || !failure.may_be_of_the_disk() =>
            {
                self.report_not_started(process, failure);
            }
            Fault::Shortage | Fault::OwnProgram | Fault::LostFiles | Fault::Command => {
                if let Process::Executor(executor) = &process {
                    self.executors.no_longer_waits(executor);
                }
                self.obstacles.keep_failed(process, failure);
                self.try_to_start();
            }
        }
    }

    /// The machine could not start a process. What keeps it from that lasts until a try starts one.
    fn meet_obstacle(&mut self, now: Timestamp, failure: &StartFailure) {
        let before = self.obstacles.reason().cloned();
        if self.obstacles.meet(now, failure, self.config.try_pause) {
            self.tell_of_change(before.as_ref());
        }
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
        let before = self.obstacles.reason().cloned();
        self.obstacles.tried(tried, self.config.max_disk_percent);
        self.plan_try(now);
        self.tell_of_change(before.as_ref());
        for (process, failure) in self.obstacles.take_failed() {
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
