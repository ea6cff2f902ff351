//! The launcher: owns an application whose executors run a command of the user's.
//!
//! It registers the application with a Master, follows what becomes of each executor, says why there are fewer than
//! asked, and ends the application when its executors have ended as was waited for ([`Until`]) or when the user wants
//! it. It is over when the Master says that nothing of it is left.

mod check;
mod config;
mod effect;
mod event;
mod note;
#[cfg(test)]
mod tests;
mod turns;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use firesteel_placement::{Cores, Shortfall, shortfall};

use self::turns::Turns;
use crate::applicant::registration::{Order, Registered, Registration, Remark, Search};
use crate::applicant::starvation::{Asked, Starvation};
use crate::ids::{AppId, ExecutorId, PeerId, ProfileId};
use crate::machine::{Machine, Violation};
use crate::messages::{
    ApplicationDescription, ApplicationEnd, DriverToMaster, ExecutorState, MasterToDriver,
};
use crate::time::Timestamp;

pub use crate::applicant::Patience;
pub use config::{Config, Until};
pub use effect::{Effect, Outcome};
pub use event::Event;
pub use note::{ExecutorEnd, Note};

/// How long the end of the executors is waited for. A Worker kills after its grace, and a Master takes a Worker for
/// lost after a minute; both are over by then.
const PATIENCE: Duration = Duration::from_secs(90);

/// A launcher.
#[derive(Clone, Debug)]
pub struct Launcher {
    registration: Registration,
    starvation: Starvation,
    /// The reason that the user was told last.
    said: Vec<(ProfileId, Shortfall)>,
    until: Until,
    turns: Turns,
    /// Executors that have not ended.
    executors: BTreeMap<ExecutorId, Executor>,
    /// Connections that were told to close and have not ended.
    closing: BTreeSet<PeerId>,
    phase: Phase,
    effects: Vec<Effect>,
}

#[derive(Clone, Debug)]
struct Executor {
    host: String,
    cores: Cores,
    launched: Timestamp,
    /// Since when its process runs.
    running: Option<Timestamp>,
}

/// ```text
///  RUNNING --met, asked, or removed by the Master--> ENDING --executors gone, Master lost, or time--> DONE
///     `---------------- no Master, refused, or nobody to ask -----------------------------------------^
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
enum Phase {
    Running,
    Ending {
        outcome: Outcome,
        /// When the executors are no longer waited for.
        give_up: Timestamp,
    },
    Done,
}

/// Why a launcher wants to be woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// No Master has taken the application in time.
    RegistrationTimeout,
    /// The Masters are tried again.
    RegistrationRound,
    /// There have been fewer executors than asked for a while.
    Starvation,
    /// The executors' end has been waited for long enough.
    Patience,
}

impl Launcher {
    /// A launcher that has not started.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let Config { masters, description, until, registration_timeout, starvation_timeout, seed } = config;
        let search = Search { masters, timeout: registration_timeout, seed };
        let description = ApplicationDescription { relaunch: until.relaunch(), ..description };
        Self {
            registration: Registration::new(search, description),
            starvation: Starvation::new(starvation_timeout),
            said: Vec::new(),
            until,
            turns: Turns::default(),
            executors: BTreeMap::new(),
            closing: BTreeSet::new(),
            phase: Phase::Running,
            effects: Vec::new(),
        }
    }

    /// Whether the application is over: [`Effect::Done`] was given.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.phase == Phase::Done
    }
}

impl Machine for Launcher {
    type Event = Event;
    type Effect = Effect;
    type Reason = Reason;

    fn apply(&mut self, now: Timestamp, event: Event) -> Vec<Effect> {
        if self.phase == Phase::Done {
            return Vec::new();
        }
        match event {
            Event::Start => {
                let orders = self.registration.start(now);
                self.follow(orders);
            }
            Event::Connected { peer, master } => {
                let orders = self.registration.on_connected(peer, master);
                self.follow(orders);
            }
            Event::ConnectFailed { master, error } => {
                let orders = self.registration.on_connect_failed(master, error);
                self.follow(orders);
            }
            Event::Received { peer, message } => self.on_message(now, peer, message),
            Event::Disconnected { peer } => self.on_disconnected(now, peer),
            Event::End => self.end(now, Outcome::Asked),
            Event::Deadline => self.on_deadline(now),
        }
        self.settle(now);
        std::mem::take(&mut self.effects)
    }

    fn next_deadline(&self) -> Option<(Timestamp, Reason)> {
        match &self.phase {
            Phase::Running => {
                let deadlines = [
                    self.registration.give_up().map(|at| (at, Reason::RegistrationTimeout)),
                    self.registration.next_round().map(|at| (at, Reason::RegistrationRound)),
                    self.starvation.deadline().map(|at| (at, Reason::Starvation)),
                ];
                deadlines.into_iter().flatten().min()
            }
            Phase::Ending { give_up, .. } => Some((*give_up, Reason::Patience)),
            Phase::Done => None,
        }
    }

    fn check(&self) -> Result<(), Violation> {
        check::check(self)
    }
}

impl Launcher {
    fn on_message(&mut self, now: Timestamp, peer: PeerId, message: MasterToDriver) {
        if !self.registration.is_master(peer) {
            return self.unexpected(peer);
        }
        match message {
            MasterToDriver::RegisteredApplication { app, master_url: _, max_cores } => {
                self.on_registered(now, peer, app, max_cores);
            }
            MasterToDriver::ApplicationRemoved(end) => self.on_removed(now, end),
            // Only the Master that has the application has anything else to say.
            _ if self.registration.master().is_none_or(|(master, _)| master != peer) => self.unexpected(peer),
            MasterToDriver::ExecutorAdded { executor, profile: _, worker, host, cores, memory } => {
                let row = Executor { host: host.clone(), cores, launched: now, running: None };
                if self.executors.insert(executor, row).is_none() {
                    self.note(Note::ExecutorLaunched { executor, worker, host, cores, memory });
                }
            }
            MasterToDriver::ExecutorUpdated { executor, state, lost_host: _ } => {
                self.on_executor_updated(now, executor, state);
            }
            MasterToDriver::WorkerRemoved { worker, host, reason } => {
                self.note(Note::WorkerRemoved { worker, host, reason });
            }
            MasterToDriver::ExecutorsGone { app } => {
                if self.registration.app() == Some(&app) {
                    self.executors.clear();
                    self.finish();
                }
            }
            MasterToDriver::Shortfalls(shortfalls) => self.on_shortfalls(shortfalls),
            // Answers to what a launcher never asks.
            MasterToDriver::ExecutorsRequested { .. } | MasterToDriver::ExecutorsKilled { .. } => {}
        }
    }

    fn on_registered(&mut self, now: Timestamp, peer: PeerId, app: AppId, max_cores: Cores) {
        let (meaning, orders) = self.registration.on_registered(peer, app);
        self.follow(orders);
        match meaning {
            Registered::Ignored => return,
            Registered::First | Registered::Resumed => {}
            Registered::Anew => {
                for executor in self.executors.keys().copied().collect::<Vec<_>>() {
                    self.lose(now, executor, ExecutorEnd::ApplicationReplaced);
                }
            }
        }
        self.turns.set_maximum(max_cores);
        self.request_shortfall(Asked::AtOnce);
    }

    fn on_removed(&mut self, now: Timestamp, end: ApplicationEnd) {
        // Nothing was ever started of an application that is refused, and nobody speaks of it again.
        let refused = matches!(end, ApplicationEnd::Refused { .. }) || self.registration.master().is_none();
        if self.phase == Phase::Running {
            self.phase = Phase::Ending { outcome: Outcome::Removed(end), give_up: now + PATIENCE };
        }
        if refused {
            self.finish();
        }
    }

    fn on_executor_updated(&mut self, now: Timestamp, executor: ExecutorId, state: ExecutorState) {
        let Some(row) = self.executors.get_mut(&executor) else { return };
        match state {
            ExecutorState::Launching => {}
            ExecutorState::Running => {
                if row.running.is_none() {
                    row.running = Some(now);
                    let (host, after) = (row.host.clone(), now.since(row.launched));
                    self.note(Note::ExecutorRunning { executor, host, after });
                }
            }
            ExecutorState::Killed(_)
            | ExecutorState::Failed(_)
            | ExecutorState::Lost(_)
            | ExecutorState::Exited(_) => {
                let cores = row.cores;
                self.lose(now, executor, ExecutorEnd::Told(state.clone()));
                let held = self.executors.len() as u64;
                if self.phase == Phase::Running && self.until.relaunch().is_turn(&state) {
                    self.turns.take(self.registration.description_mut(), &state, cores, held);
                }
            }
        }
    }

    /// An executor is over.
    fn lose(&mut self, now: Timestamp, executor: ExecutorId, end: ExecutorEnd) {
        let Some(Executor { host, running, .. }) = self.executors.remove(&executor) else { return };
        let ran = running.map(|since| now.since(since));
        self.note(Note::ExecutorEnded { executor, host, end, ran });
    }

    fn on_disconnected(&mut self, now: Timestamp, peer: PeerId) {
        self.closing.remove(&peer);
        let had_master = self.registration.master().is_some();
        let Some(orders) = self.registration.on_disconnected(now, peer) else { return };
        self.follow(orders);
        // Whoever could have said that the executors are gone is gone itself.
        if had_master && self.registration.master().is_none() && self.phase != Phase::Running {
            self.finish();
        }
    }

    fn on_deadline(&mut self, now: Timestamp) {
        match &self.phase {
            Phase::Ending { give_up, .. } if *give_up <= now => self.finish(),
            Phase::Ending { .. } | Phase::Done => {}
            Phase::Running if self.registration.give_up().is_some_and(|at| at <= now) => {
                self.end(now, Outcome::NoMaster { errors: self.registration.errors() });
            }
            Phase::Running => {
                let orders = self.registration.run_rounds(now);
                self.follow(orders);
                if self.starvation.due(now).is_some() {
                    self.request_shortfall(Asked::Starving);
                }
            }
        }
    }

    fn request_shortfall(&mut self, why: Asked) {
        let Some(app) = self.registration.app().cloned() else { return };
        if let Some((peer, _)) = self.registration.master() {
            self.starvation.asked(why);
            let message = DriverToMaster::RequestShortfall { app };
            self.effects.push(Effect::Send { peer, message });
        }
    }

    /// At once only what can never be is worth a word.
    fn on_shortfalls(&mut self, shortfalls: Vec<(ProfileId, Shortfall)>) {
        let told = match self.starvation.answered() {
            Asked::Nothing => return,
            Asked::Starving => shortfalls,
            Asked::AtOnce => {
                let never =
                    |(_, short): &(_, Shortfall)| matches!(short.reason, shortfall::Reason::TooSmall { .. });
                shortfalls.into_iter().filter(never).collect()
            }
        };
        if !told.is_empty() && told != self.said {
            self.said.clone_from(&told);
            self.note(Note::FewerThanAsked { held: self.executors.len(), shortfalls: told });
        }
    }

    /// What follows from the tables, once, at the end of every event.
    fn settle(&mut self, now: Timestamp) {
        if self.phase != Phase::Running {
            return;
        }
        if let Some(code) = self.met() {
            return self.end(now, Outcome::Met { code });
        }
        let (wants, asked) = (self.wants_more(), self.turns.is_bounded(self.registration.description()));
        match self.registration.app() {
            Some(_) if wants && (asked || self.executors.is_empty()) => self.starvation.hungry(now),
            Some(_) => {
                self.starvation.fed();
                self.said.clear();
            }
            None => {}
        }
    }

    /// The code to end with, if the executors have ended as is waited for.
    fn met(&self) -> Option<i32> {
        match self.until {
            Until::Any => self.turns.first(),
            Until::All if self.executors.is_empty() && !self.wants_more() => self.turns.greatest(),
            Until::All | Until::Never => None,
        }
    }

    /// Whether more executors are to come than there are.
    fn wants_more(&self) -> bool {
        let cores = self.executors.values().map(|executor| executor.cores).sum();
        self.turns.want_more(self.registration.description(), cores, self.executors.len() as u64)
    }

    /// The application is to end. Its executors are waited for as long as somebody can speak of them.
    fn end(&mut self, now: Timestamp, outcome: Outcome) {
        if self.phase != Phase::Running {
            return;
        }
        self.phase = Phase::Ending { outcome, give_up: now + PATIENCE };
        let master = self.registration.master().map(|(peer, _)| peer);
        let (Some(peer), Some(app)) = (master, self.registration.app().cloned()) else {
            return self.finish();
        };
        if !self.executors.is_empty() {
            self.note(Note::Ending { executors: self.executors.len() });
        }
        self.effects.push(Effect::Send { peer, message: DriverToMaster::UnregisterApplication { app } });
    }

    /// Nothing is waited for any more.
    fn finish(&mut self) {
        match std::mem::replace(&mut self.phase, Phase::Done) {
            Phase::Ending { outcome, .. } => {
                if !self.executors.is_empty() {
                    self.note(Note::LeftBehind { executors: self.executors.len() });
                }
                self.effects.push(Effect::Done(outcome));
            }
            // A Master that says that all are gone before it is asked to end them is none to believe.
            running @ (Phase::Running | Phase::Done) => self.phase = running,
        }
    }

    /// Does what the registration wants done.
    fn follow(&mut self, orders: Vec<Order>) {
        for order in orders {
            match order {
                Order::Connect(master) => self.effects.push(Effect::Connect { master }),
                Order::Register(peer, message) => self.effects.push(Effect::Send { peer, message }),
                Order::Close(peer) => self.close(peer),
                Order::Remark(remark) => self.note(match remark {
                    Remark::Unreachable { master, error, patience } => {
                        Note::MasterUnreachable { master, error, patience }
                    }
                    Remark::Registered { app, master } => Note::Registered { app, master },
                    Remark::Lost { master } => Note::MasterLost { master },
                }),
            }
        }
    }

    /// A connection spoke out of turn. What comes from one that is being closed is of no interest.
    fn unexpected(&mut self, peer: PeerId) {
        if !self.closing.contains(&peer) {
            self.note(Note::UnexpectedMessage { peer });
            self.close(peer);
        }
    }

    fn close(&mut self, peer: PeerId) {
        self.closing.insert(peer);
        self.effects.push(Effect::Close { peer });
    }

    fn note(&mut self, note: Note) {
        self.effects.push(Effect::Note(note));
    }
}
