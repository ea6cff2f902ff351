//! The cluster drivers of this Worker: their starts, restarts and ends.
//!
//! Source: Spark Worker, 4.0.1 (`DriverRunner`).

use firesteel_protocol::ids::{DriverId, is_sound};
use firesteel_protocol::messages::{DriverError, DriverLaunch, DriverReport, DriverState, WorkerToMaster};
use firesteel_protocol::process::{ExitStatus, NotStarted, Signal, StartFailure, StartStep};
use firesteel_protocol::time::Timestamp;

use super::effect::send;
use super::tables::{DriverExited, DriverSignalled, Process, Restarts, ShutdownPhase};
use super::{Effect, Note, Worker};

impl Worker {
    /// Starts a cluster driver for the Master. If the order is repeated for a known cluster driver, the Worker only
    /// repeats its answer.
    pub(super) fn on_launch_driver(&mut self, launch: DriverLaunch) {
        let DriverLaunch { driver, description, resources } = launch;
        if let Some(report) = self.drivers.report(&driver) {
            self.effects.note(Note::DriverLaunchRepeated { driver });
            return self.tell_of_driver(report);
        }
        if !is_sound(driver.as_str()) {
            let error = format!("{:?} cannot be the name of a directory", driver.as_str());
            let failure = StartFailure { step: StartStep::Directory, error };
            return self.report_driver_end(driver, DriverState::Error(DriverError::NotStarted(failure)));
        }
        if self.shutdown != ShutdownPhase::Serving {
            return self.report_driver_end(driver, DriverState::Submitted);
        }
        self.drivers.add(driver.clone(), description, resources);
        self.start(&driver);
        self.tell_of_driver(DriverReport::new(driver, DriverState::Running));
    }

    fn start(&mut self, driver: &DriverId) {
        self.effects.push(Effect::StartDriver(self.drivers.plan(driver, &self.config)));
    }

    pub(super) fn on_kill_driver(&mut self, now: Timestamp, driver: &DriverId) {
        if self.drivers.lives(driver) {
            self.effects.note(Note::DriverKillAsked { driver: driver.clone() });
            self.signal_driver(now, driver, Signal::Terminate);
        } else {
            self.effects.note(Note::DriverKillUnknown { driver: driver.clone() });
        }
    }

    pub(super) fn on_driver_started(&mut self, now: Timestamp, driver: DriverId, pid: u32) {
        let Some((starts, signal)) = self.drivers.started(now, &driver, pid) else {
            return self.effects.note(Note::UnknownDriverRunner { driver });
        };
        self.effects.note(Note::DriverStarted { driver: driver.clone(), pid, starts });
        self.usage.forget_driver(&driver);
        self.tell_of_restarts(now, &driver);
        self.usage.measure_soon(now);
        self.obstacles.forget_shortages();
        if let Some(signal) = signal {
            self.signal_driver(now, &driver, signal);
        }
    }

    /// Handles a cluster driver's process that could not be started.
    pub(super) fn on_driver_failed(&mut self, now: Timestamp, driver: DriverId, why: NotStarted) {
        if self.drivers.is_starting(&driver) {
            self.on_not_started(now, Process::Driver(driver), why);
        } else {
            self.effects.note(Note::UnknownDriverRunner { driver });
        }
    }

    /// Reports the final failure to start a cluster driver's process. If this Worker can start nothing, the Master
    /// gives the cluster driver to another Worker. Source: Spark Worker, 4.0.1. In Spark, the start is not tried again.
    pub(super) fn on_driver_start_failed(&mut self, driver: DriverId, failure: StartFailure, is_ours: bool) {
        let state = if self.drivers.remove_unstarted(&driver) {
            DriverState::Killed(None)
        } else if is_ours {
            DriverState::Submitted
        } else {
            DriverState::Error(DriverError::NotStarted(failure))
        };
        self.report_driver_end(driver, state);
    }

    /// Handles the end of a cluster driver's process. Exit code 0 is success, even if the driver was asked to end.
    pub(super) fn on_driver_exited(&mut self, now: Timestamp, driver: DriverId, status: ExitStatus) {
        match self.drivers.exited(now, &driver, status, self.shutdown) {
            None => self.effects.note(Note::UnknownDriverRunner { driver }),
            Some(DriverExited::Pauses(pause)) => {
                self.effects.note(Note::DriverPauses { driver: driver.clone(), status, pause });
                self.tell_of_restarts(now, &driver);
            }
            Some(DriverExited::Ended(state)) => self.report_driver_end(driver, state),
        }
    }

    /// Starts supervised cluster drivers again whose pause is over, and kills cluster drivers whose grace period is
    /// over.
    pub(super) fn attend_drivers(&mut self, now: Timestamp) {
        for driver in self.drivers.due(now) {
            if self.drivers.end_pause(&driver) {
                self.start(&driver);
            } else {
                self.effects.note(Note::DriverGraceOver { driver: driver.clone() });
                self.signal_driver(now, &driver, Signal::Kill);
            }
        }
    }

    /// Ends all live cluster drivers. A cluster driver that is being started ends right after its start.
    pub(super) fn signal_all_drivers(&mut self, now: Timestamp, signal: Signal) {
        let all: Vec<DriverId> = self.drivers.ids().cloned().collect();
        for driver in &all {
            self.signal_driver(now, driver, signal);
        }
    }

    /// Gives up supervised cluster drivers that pause, because the Worker leaves. The Master has them started
    /// elsewhere.
    pub(super) fn give_up_pauses(&mut self) {
        for (driver, last) in self.drivers.take_pausing() {
            self.report_driver_end(driver, DriverState::Killed(Some(last)));
        }
    }

    /// Moves a cluster driver towards its end. A signal has no effect if an earlier one was at least as strong.
    fn signal_driver(&mut self, now: Timestamp, driver: &DriverId, signal: Signal) {
        match self.drivers.signal(driver, signal, now + self.config.driver_kill_grace) {
            DriverSignalled::Process => {
                self.effects.push(Effect::SignalDriver { driver: driver.clone(), signal });
            }
            DriverSignalled::Noted => {}
            DriverSignalled::Ended(last) => {
                self.report_driver_end(driver.clone(), DriverState::Killed(Some(last)));
            }
        }
    }

    /// Logs an end and reports it to the Master. Keeps the end until a Master confirms it.
    fn report_driver_end(&mut self, driver: DriverId, state: DriverState) {
        self.effects.note(Note::DriverEnded { driver: driver.clone(), state: state.clone() });
        let used = self.usage.take_used_by_driver(&driver);
        self.tell_of_driver(DriverReport { driver: driver.clone(), state: state.clone(), used });
        self.drivers.keep_end(driver, state, used);
    }

    /// Reports to the Master how often each cluster driver was started again.
    pub(super) fn tell_of_all_restarts(&mut self, now: Timestamp) {
        let drivers: Vec<DriverId> = self.drivers.ids().cloned().collect();
        drivers.iter().for_each(|driver| self.tell_of_restarts(now, driver));
    }

    fn tell_of_restarts(&mut self, now: Timestamp, driver: &DriverId) {
        let Some(Restarts { restarts, last, pause_millis }) = self.drivers.restarts(now, driver) else {
            return;
        };
        let Some(peer) = self.registration.master() else { return };
        let message =
            WorkerToMaster::DriverRestarted { driver: driver.clone(), restarts, last, pause_millis };
        self.effects.push(send(peer, message));
    }

    fn tell_of_driver(&mut self, report: DriverReport) {
        if let Some(peer) = self.registration.master() {
            self.effects.push(send(peer, WorkerToMaster::DriverStateChanged(report)));
        }
    }
}
