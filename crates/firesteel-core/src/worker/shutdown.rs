//! The shutdown of the daemon.

use std::time::Duration;

use super::machine::{Worker, send};
use super::{Effect, Exit, Note};
use crate::messages::WorkerToMaster;
use crate::process::Signal;
use crate::time::Timestamp;

/// How long killed executors may take to end. A busy machine needs this time, however short the grace was.
const GONE_WITHIN: Duration = Duration::from_secs(10);

/// Whether the daemon runs or is shutting down.
///
/// ```text
///            Shutdown           Shutdown              Shutdown, or give_up
///  SERVING -----------> ENDING ----------> KILLING -----------------------> OVER
///   |  |               ^   +--- all executors have ended, or give_up -------^ ^ ^
///   |  | asked to      | Shutdown, or the time is over                        | |
///   |  | leave         |                                                      | |
///   |  +---------> DRAINING --- all executors have ended ---------------------+ |
///   +------------- no Master, or refused ---------------------------------------+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShutdownPhase {
    /// The Worker runs and takes executors.
    Serving,
    /// The Worker takes no more executors, and ends with the last that it has. Those that still run then are ended at
    /// `until`.
    Draining { until: Option<Timestamp> },
    /// The Master was told, and every executor was asked to end. At `give_up` all have been killed for
    /// [`GONE_WITHIN`], and the daemon ends even if one is left.
    Ending { give_up: Timestamp },
    /// The daemon was asked twice: every executor was killed.
    Killing { give_up: Timestamp },
    /// The shell was told to end the daemon. Events no longer matter.
    Over,
}

impl ShutdownPhase {
    /// Whether the Worker looks for a Master if it has none.
    pub(super) fn wants_master(self) -> bool {
        match self {
            Self::Serving | Self::Draining { .. } => true,
            Self::Ending { .. } | Self::Killing { .. } | Self::Over => false,
        }
    }
}

impl Worker {
    /// The Master asks the Worker to leave. When it asks again, only the time counts.
    pub(super) fn on_decommission_worker(&mut self, now: Timestamp, within: Option<Duration>) {
        if !self.shutdown.wants_master() {
            return;
        }
        self.effects.note(Note::AskedToLeave { executors: self.executors.live(), within });
        self.shutdown = ShutdownPhase::Draining { until: within.map(|within| now + within) };
        self.give_up_pauses();
        self.tell_of_leaving();
    }

    /// Tells the Master that this Worker will end.
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

    /// Ends the daemon if it is leaving or shutting down and neither an executor nor a cluster driver is left.
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
