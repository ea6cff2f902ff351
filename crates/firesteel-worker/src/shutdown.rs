//! The shutdown: from the first request to stop, until every executor has ended and the Master knows this.

use std::time::Duration;

use firesteel_protocol::messages::WorkerToMaster;
use firesteel_protocol::process::Signal;
use firesteel_protocol::time::Timestamp;

use super::effect::send;
use super::tables::ShutdownPhase;
use super::{Effect, Exit, Note, Worker};

/// How long killed executors may take to disappear. A busy machine needs this time, even if the grace period was short.
const GONE_WITHIN: Duration = Duration::from_secs(10);

impl Worker {
    /// Handles the Master's request that the Worker should leave. A repeated request only changes the time limit.
    pub(super) fn on_decommission_worker(&mut self, now: Timestamp, within: Option<Duration>) {
        if !self.shutdown.wants_master() {
            return;
        }
        self.effects.note(Note::AskedToLeave { executors: self.executors.live(), within });
        self.shutdown = ShutdownPhase::Draining { until: within.map(|within| now + within) };
        self.give_up_pauses();
        self.tell_of_leaving();
    }

    /// Reports to the Master that this Worker will end.
    pub(super) fn tell_of_leaving(&mut self) {
        if let Some(peer) = self.registration.master() {
            let worker = self.config.description.id.clone();
            self.effects.push(send(peer, WorkerToMaster::WorkerDecommissioning { worker }));
        }
    }

    pub(super) fn on_shutdown(&mut self, now: Timestamp) {
        let executors = self.executors.live();
        match self.shutdown {
            ShutdownPhase::Serving | ShutdownPhase::Draining { .. } => {
                self.effects.note(Note::ShuttingDown { executors });
                let grace = self.config.kill_grace.max(self.config.driver_kill_grace);
                self.shutdown = ShutdownPhase::Ending { give_up: now + grace + GONE_WITHIN };
                self.tell_of_leaving();
                self.stop_looking();
                self.signal_all(now, Signal::Terminate);
                self.signal_all_drivers(now, Signal::Terminate);
            }
            ShutdownPhase::Ending { .. } => {
                self.effects.note(Note::ShutdownForced { executors });
                self.shutdown = ShutdownPhase::Killing { give_up: now + GONE_WITHIN };
                self.signal_all(now, Signal::Kill);
                self.signal_all_drivers(now, Signal::Kill);
            }
            ShutdownPhase::Killing { .. } => {
                self.effects.note(Note::ShutdownForced { executors });
                self.exit(Exit::Shutdown);
            }
            ShutdownPhase::Over => {}
        }
    }

    pub(super) fn give_up_if_overdue(&mut self, now: Timestamp) {
        match self.shutdown {
            ShutdownPhase::Draining { until: Some(until) } if until <= now => self.on_shutdown(now),
            ShutdownPhase::Ending { give_up } | ShutdownPhase::Killing { give_up } if give_up <= now => {
                self.effects.note(Note::LeftBehind { executors: self.executors.live() });
                self.exit(Exit::Shutdown);
            }
            ShutdownPhase::Serving
            | ShutdownPhase::Draining { .. }
            | ShutdownPhase::Ending { .. }
            | ShutdownPhase::Killing { .. }
            | ShutdownPhase::Over => {}
        }
    }

    /// Ends the daemon if it is leaving or shutting down, and no executor or cluster driver is left.
    pub(super) fn exit_if_done(&mut self) {
        match self.shutdown {
            ShutdownPhase::Draining { .. } | ShutdownPhase::Ending { .. } | ShutdownPhase::Killing { .. }
                if self.executors.live() + self.drivers.live() == 0 =>
            {
                self.exit(Exit::Shutdown);
            }
            ShutdownPhase::Serving
            | ShutdownPhase::Draining { .. }
            | ShutdownPhase::Ending { .. }
            | ShutdownPhase::Killing { .. }
            | ShutdownPhase::Over => {}
        }
    }

    /// Closes all connections to Masters, removes the files of applications, and ends the daemon.
    pub(super) fn exit(&mut self, exit: Exit) {
        self.shutdown = ShutdownPhase::Over;
        self.leave_masters();
        self.remove_all_files();
        self.effects.push(Effect::Exit(exit));
    }
}
