//! Obstacles: reasons why the Worker cannot start executors and cluster drivers. For example, it cannot write in its
//! work directory, its disk is too full, the machine has too few processes, or the Worker's own program cannot be
//! started.
//!
//! The daemon checks for obstacles from time to time. If a start fails and the disk may be the cause, it checks at
//! once, and the failure is reported after the check. So the Master knows the cause. If a start fails and the machine
//! is certainly the cause, the Master gets a message about the obstacle before the report of the failure.

use firesteel_protocol::ids::PeerId;
use firesteel_protocol::messages::WorkerToMaster;
use firesteel_protocol::process::{Fault, NotStarted, StartFailure};
use firesteel_protocol::time::Timestamp;

use super::effect::send;
use super::tables::Process;
use super::{Effect, Note, StartTried, Worker};

impl Worker {
    /// Plans the next check, if the settings ask for checks.
    pub(super) fn plan_try(&mut self, now: Timestamp) {
        self.obstacles.plan(now, self.config.try_pause);
    }

    /// Begins a check whether anything can be started, unless one is running.
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

    /// Handles a process that could not be started. If the machine is at fault, the Master gets a message about this
    /// first. If the disk may be at fault, the failure is reported after a check.
    pub(super) fn on_not_started(&mut self, now: Timestamp, process: Process, why: NotStarted) {
        let NotStarted { failure, fault } = why;
        let is_tried = self.config.try_pause.is_some();
        match fault {
            Fault::Shortage | Fault::OwnProgram if is_tried => {
                self.record_obstacle(now, &failure);
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

    /// Handles a failed start for which the machine is at fault. The obstacle lasts until a check starts a process.
    fn record_obstacle(&mut self, now: Timestamp, failure: &StartFailure) {
        let before = self.obstacles.reason().cloned();
        if self.obstacles.record(now, failure, self.config.try_pause) {
            self.tell_of_change(before.as_ref());
        }
    }

    fn report_not_started(&mut self, process: Process, failure: StartFailure) {
        match process {
            Process::Executor(executor) => self.on_start_failed(executor, failure),
            Process::Driver(driver) => {
                let is_ours = self.obstacles.reason().is_some();
                self.on_driver_start_failed(driver, failure, is_ours);
            }
        }
    }

    /// Handles the result of a check: the daemon has tried to write in the work directory, and perhaps to start a
    /// process.
    pub(super) fn on_start_tried(&mut self, now: Timestamp, tried: StartTried) {
        let before = self.obstacles.reason().cloned();
        self.obstacles.tried(tried, self.config.max_disk_percent);
        self.plan_try(now);
        self.tell_of_change(before.as_ref());
        for (process, failure) in self.obstacles.take_failed() {
            self.report_not_started(process, failure);
        }
    }

    /// Reports the obstacle to starting anything, if it has changed.
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

    /// Reports an obstacle, or that it is over, to a Master that has just registered this Worker, if the Master may
    /// believe something else.
    pub(super) fn tell_of_obstacle_if_new(&mut self, peer: PeerId, is_known: bool) {
        if is_known || self.obstacles.reason().is_some() || self.obstacles.was_reported() {
            self.tell_of_obstacle(peer);
        }
    }

    fn tell_of_obstacle(&mut self, peer: PeerId) {
        let (worker, error) = (self.config.description.id.clone(), self.obstacles.report());
        self.effects.push(send(peer, WorkerToMaster::StartsChecked { worker, error }));
    }
}
