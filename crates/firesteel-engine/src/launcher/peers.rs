//! Messages from Masters, and the launcher's connections to them.

use firesteel_placement::Cores;
use firesteel_protocol::ids::{AppId, ExecutorId, PeerId};
use firesteel_protocol::master_search::Order;
use firesteel_protocol::messages::{ApplicationEnd, MasterToDriver, StateMark};
use firesteel_protocol::time::Timestamp;

use super::{Effect, Ending, Executor, ExecutorEnd, Launcher, Note, PATIENCE, Phase};
use crate::applicant::peers::Step;
use crate::applicant::registration::Registered;
use crate::applicant::starvation::Asked;

impl Launcher {
    pub(super) fn on_message(&mut self, now: Timestamp, peer: PeerId, message: MasterToDriver) {
        if !self.registration.may_say(peer, &message) {
            return self.unexpected(peer);
        }
        match message {
            MasterToDriver::RegisteredApplication { app, master_url: _, max_cores, first_executor, mark } => {
                self.on_registered(now, peer, (app, mark), max_cores, first_executor);
            }
            MasterToDriver::ApplicationRemoved(end) => self.on_removed(now, end),
            MasterToDriver::ExecutorAdded { executor, profile: _, worker, host, cores, memory, port: _ } => {
                // After a reconnection the Master repeats its messages about live and ended executors.
                if !self.registration.has_seen(executor) {
                    let row = Executor { host: host.clone(), cores, launched: now, running: None };
                    self.registration.see(executor);
                    self.executors.insert(executor, row);
                    self.effects.note(Note::ExecutorLaunched { executor, worker, host, cores, memory });
                }
            }
            MasterToDriver::ExecutorUpdated { executor, state, lost_host: _ } => {
                self.on_executor_updated(now, executor, state);
            }
            MasterToDriver::WorkerRemoved { worker, host, reason } => {
                self.effects.note(Note::WorkerRemoved { worker, host, reason });
            }
            MasterToDriver::ExecutorsGone { app } => {
                if self.registration.app() == Some(&app) {
                    self.executors.clear();
                    self.finish();
                }
            }
            MasterToDriver::Shortfalls(shortfalls) => self.on_shortfalls(shortfalls),
            // Answers to requests that a launcher never makes.
            MasterToDriver::ExecutorsRequested { .. } | MasterToDriver::ExecutorsKilled { .. } => {}
            // A launcher assigns its executors no tasks.
            MasterToDriver::ExecutorLeaving { .. } => {}
        }
    }

    fn on_registered(
        &mut self,
        now: Timestamp,
        peer: PeerId,
        (app, mark): (AppId, Option<StateMark>),
        max_cores: Cores,
        first_executor: ExecutorId,
    ) {
        // The Master that has the application may answer twice.
        let Some((meaning, master, orders)) = self.registration.on_registered(peer, app.clone(), mark) else {
            return;
        };
        self.follow(now, orders);
        self.effects.note(Note::Registered { app, master });
        let mut gone: Vec<ExecutorId> = self.executors.keys().copied().collect();
        match meaning {
            Registered::First => gone.clear(),
            Registered::Resumed => gone.retain(|executor| *executor < first_executor),
            Registered::Anew => {}
        }
        match meaning {
            Registered::First | Registered::Anew => self.final_ends.set_maximum(max_cores),
            // The Master reports the original maximum. The cores of ended executors are already subtracted.
            Registered::Resumed => {}
        }
        for executor in gone {
            self.lose(now, executor, ExecutorEnd::ApplicationReplaced);
        }
        self.request_shortfall(Asked::AtOnce);
    }

    fn on_removed(&mut self, now: Timestamp, end: ApplicationEnd) {
        // A refused application never had executors, and nothing more will be reported about it.
        let refused = end.is_refusal() || self.registration.master().is_none();
        if self.phase == Phase::Running {
            self.phase = Phase::Ending { ending: Ending::Removed(end), give_up: now + PATIENCE };
        }
        if refused {
            self.finish();
        }
    }

    /// The cluster has ended. Nobody can report the ends of executors any more.
    pub(super) fn on_cluster_removed(&mut self, now: Timestamp, end: ApplicationEnd) {
        self.executors.clear();
        self.on_removed(now, end);
        self.finish();
    }

    /// Whether the launcher is ending the application, and a Master has the application.
    pub(super) fn waits_for_its_master(&self) -> bool {
        self.phase != Phase::Running && self.registration.master().is_some()
    }

    pub(super) fn on_disconnected(&mut self, now: Timestamp, peer: PeerId) {
        self.closing.forget(peer);
        let had_master = self.registration.master().is_some();
        // The launcher may have closed this connection itself.
        let Some(orders) = self.registration.search.on_disconnected(now, peer) else { return };
        self.follow(now, orders);
        // Only that Master could have reported that the executors have ended.
        if had_master && self.registration.master().is_none() && self.phase != Phase::Running {
            self.finish();
        }
    }

    /// Performs the orders of the registration.
    pub(super) fn follow(&mut self, now: Timestamp, orders: Vec<Order<()>>) {
        let Self { registration, executors, closing, effects, .. } = self;
        let living = || executors.keys().copied();
        if let Some(errors) = registration.follow(orders, living, closing, effects) {
            self.end(now, Ending::NoMaster { errors });
        }
    }

    /// Closes a connection after a message that is not valid now. Messages of connections that are already closing are
    /// ignored.
    pub(super) fn unexpected(&mut self, peer: PeerId) {
        self.closing.unexpected(peer, &mut self.effects);
    }

    pub(super) fn close(&mut self, peer: PeerId) {
        self.closing.close(peer, &mut self.effects);
    }
}

impl From<Step> for Effect {
    fn from(step: Step) -> Self {
        let note = match step {
            Step::Connect { master } => return Self::Connect { master },
            Step::Ask { peer, message } => return Self::Send { peer, message },
            Step::Close { peer } => return Self::Close { peer },
            Step::MasterLost { master } => Note::MasterLost { master },
            Step::MasterUnreachable { master, error, patience } => {
                Note::MasterUnreachable { master, error, patience }
            }
            Step::LeaderConflict(dispute) => Note::LeaderConflict(dispute),
            Step::UnexpectedMessage { peer } => Note::UnexpectedMessage { peer },
        };
        Self::Note(note)
    }
}
