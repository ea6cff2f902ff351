//! The launcher owns an application whose executors run a command of the user.
//!
//! The launcher registers the application with a Master, follows each executor, and reports why there are fewer
//! executors than requested. It ends the application when the executors have ended as the settings require ([`Until`]),
//! or when the user asks for it. The application is over when the Master reports that no executor is left.

mod check;
mod config;
mod effect;
mod event;
mod final_ends;
mod note;
mod peers;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use firesteel_placement::advanced::words::counted;
use firesteel_placement::{Cores, Shortfall};
use firesteel_protocol::ids::{ExecutorId, ProfileId};
use firesteel_protocol::machine::{Effects, Machine, Violation};
use firesteel_protocol::master_search::Due;
use firesteel_protocol::messages::{DriverToMaster, ExecutorState, Outcome};
use firesteel_protocol::time::Timestamp;

use self::final_ends::FinalEnds;
use crate::applicant::peers::Closing;
use crate::applicant::registration::{Registration, Search};
use crate::applicant::starvation::{Asked, Starvation};

pub use crate::applicant::ConnectTimeout;
pub use config::{Config, Until};
pub use effect::{Effect, Ending};
pub use event::Event;
pub use note::{ExecutorEnd, Note};

/// How long the launcher waits for executors to end. Within this time, a Worker kills them after its grace period, or a
/// Master declares a silent Worker lost after a minute.
const PATIENCE: Duration = Duration::from_secs(90);

#[derive(Clone, Debug)]
pub struct Launcher {
    registration: Registration,
    starvation: Starvation,
    /// The shortfalls in the last note to the user.
    said: Vec<(ProfileId, Shortfall)>,
    until: Until,
    final_ends: FinalEnds,
    /// The executors that have not ended.
    executors: BTreeMap<ExecutorId, Executor>,
    closing: Closing,
    phase: Phase,
    effects: Effects<Effect>,
}

#[derive(Clone, Debug)]
struct Executor {
    host: String,
    cores: Cores,
    launched: Timestamp,
    /// When the executor's process started. `None` if no process runs.
    running: Option<Timestamp>,
}

/// The phases of a launcher.
///
/// ```text
///  RUNNING --met, asked, or removed by the Master--> ENDING --executors gone, Master lost, or time--> DONE
///     `---------------- no Master to ask, or refused ------------------------------------------------^
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
enum Phase {
    Running,
    Ending {
        ending: Ending,
        /// When the launcher stops waiting for its executors.
        give_up: Timestamp,
    },
    Done,
}

/// Why the launcher set its next deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The search for a Master continues, or has taken too long.
    Registration(Due),
    /// There have been too few executors for some time.
    Starvation,
    /// The executors have not ended in time.
    ConnectTimeout,
}

impl Launcher {
    #[must_use]
    pub fn new(config: Config) -> Self {
        let Config { masters, description, until, registration_timeout, starvation_timeout, seed } = config;
        let search = Search { masters, timeout: registration_timeout, seed };
        let mut description = description;
        description.relaunch = until.relaunch();
        Self {
            registration: Registration::new(search, description),
            starvation: Starvation::new(starvation_timeout),
            said: Vec::new(),
            until,
            final_ends: FinalEnds::default(),
            executors: BTreeMap::new(),
            closing: Closing::default(),
            phase: Phase::Running,
            effects: Effects::default(),
        }
    }

    /// Whether the application has ended: [`Effect::Done`] was returned.
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
                let orders = self.registration.search.start(now);
                self.follow(now, orders);
            }
            // Only the Master that has the application can report that its executors have ended.
            Event::Connected { peer, .. } if self.waits_for_its_master() => self.close(peer),
            Event::Connected { peer, master, leadership } => {
                let orders = self.registration.search.on_connected(now, peer, master, leadership);
                self.follow(now, orders);
            }
            Event::ConnectFailed { master, error } => {
                let orders = self.registration.search.on_connect_failed(now, master, error);
                self.follow(now, orders);
            }
            Event::Received { peer, message } => self.on_message(now, peer, message),
            Event::Disconnected { peer } => self.on_disconnected(now, peer),
            Event::MastersMoved { masters } => {
                let orders = self.registration.search.move_to(now, &masters);
                self.follow(now, orders);
            }
            Event::Removed { end } => self.on_cluster_removed(now, end),
            Event::End => self.end(now, Ending::Asked),
            Event::Deadline => self.on_deadline(now),
        }
        self.settle(now);
        self.effects.take()
    }

    fn next_deadline(&self) -> Option<(Timestamp, Reason)> {
        match &self.phase {
            Phase::Running => {
                let deadlines = [
                    self.registration.search.next_deadline().map(|(at, due)| (at, Reason::Registration(due))),
                    self.starvation.deadline().map(|at| (at, Reason::Starvation)),
                ];
                deadlines.into_iter().flatten().min()
            }
            Phase::Ending { give_up, .. } => Some((*give_up, Reason::ConnectTimeout)),
            Phase::Done => None,
        }
    }

    fn check(&self) -> Result<(), Violation> {
        check::check(self)
    }
}

impl Launcher {
    fn on_executor_updated(&mut self, now: Timestamp, executor: ExecutorId, state: ExecutorState) {
        // The Master may report on an executor that has ended.
        let Some(row) = self.executors.get_mut(&executor) else { return };
        match state {
            ExecutorState::Launching => {}
            ExecutorState::Running => {
                if row.running.is_none() {
                    row.running = Some(now);
                    let (host, after) = (row.host.clone(), now.since(row.launched));
                    self.effects.note(Note::ExecutorRunning { executor, host, after });
                }
            }
            ExecutorState::Killed(_)
            | ExecutorState::Failed(_)
            | ExecutorState::Lost(_)
            | ExecutorState::Exited(_) => {
                let cores = row.cores;
                self.lose(now, executor, ExecutorEnd::Reported(state.clone()));
                let held = self.executors.len() as u64;
                if self.phase == Phase::Running && self.until.relaunch().is_final(&state) {
                    self.final_ends.add(self.registration.description_mut(), &state, cores, held);
                }
            }
        }
    }

    fn lose(&mut self, now: Timestamp, executor: ExecutorId, end: ExecutorEnd) {
        let row = self.executors.remove(&executor).expect("it was found live");
        let Executor { host, running, .. } = row;
        let ran = running.map(|since| now.since(since));
        self.effects.note(Note::ExecutorEnded { executor, host, end, ran });
    }

    fn on_deadline(&mut self, now: Timestamp) {
        match &self.phase {
            Phase::Ending { give_up, .. } if *give_up <= now => self.finish(),
            Phase::Ending { .. } | Phase::Done => {}
            Phase::Running => {
                let orders = self.registration.search.on_deadline(now);
                self.follow(now, orders);
                if self.starvation.due(now).is_some() {
                    self.request_shortfall(Asked::Starving);
                }
            }
        }
    }

    fn request_shortfall(&mut self, why: Asked) {
        // Without a Master, nobody can be asked.
        if let (Some((peer, _)), Some(app)) = (self.registration.master(), self.registration.app().cloned()) {
            self.starvation.asked(why);
            let message = DriverToMaster::RequestShortfall { app };
            self.effects.push(Effect::Send { peer, message });
        }
    }

    /// Shows shortfalls to the user: all of them, or only permanent ones if nothing was missing for long.
    fn on_shortfalls(&mut self, shortfalls: Vec<(ProfileId, Shortfall)>) {
        let told = match self.starvation.answered() {
            Asked::Nothing => return,
            Asked::Starving => shortfalls,
            Asked::AtOnce => {
                let never = |(_, short): &(_, Shortfall)| short.reason.lasts();
                shortfalls.into_iter().filter(never).collect()
            }
        };
        if !told.is_empty() && told != self.said {
            self.said.clone_from(&told);
            self.effects.note(Note::FewerThanAsked { held: self.executors.len(), shortfalls: told });
        }
    }

    /// Brings everything up to date at the end of each event.
    fn settle(&mut self, now: Timestamp) {
        if self.phase != Phase::Running {
            return;
        }
        if let Some(code) = self.met() {
            return self.end(now, Ending::Met { code });
        }
        let (wants, asked) = (self.wants_more(), self.final_ends.is_bounded(self.registration.description()));
        match self.registration.app() {
            Some(_) if wants && (asked || self.executors.is_empty()) => self.starvation.hungry(now),
            Some(_) => {
                self.starvation.fed();
                self.said.clear();
            }
            None => {}
        }
    }

    /// The exit code, once the executors have ended as the settings require.
    fn met(&self) -> Option<i32> {
        match self.until {
            Until::Any => self.final_ends.first(),
            Until::All if self.executors.is_empty() && !self.wants_more() => self.final_ends.greatest(),
            Until::All | Until::Never => None,
        }
    }

    /// Whether the application wants more executors than it has.
    fn wants_more(&self) -> bool {
        let cores = self.executors.values().map(|executor| executor.cores).sum();
        self.final_ends.want_more(self.registration.description(), cores, self.executors.len() as u64)
    }

    /// Begins to end the application. The launcher waits for its executors if there is a Master to report their ends.
    fn end(&mut self, now: Timestamp, ending: Ending) {
        if self.phase != Phase::Running {
            return;
        }
        let outcome = self.outcome(&ending);
        self.phase = Phase::Ending { ending, give_up: now + PATIENCE };
        let master = self.registration.master().map(|(peer, _)| peer);
        let (Some(peer), Some(app)) = (master, self.registration.app().cloned()) else {
            return self.finish();
        };
        if !self.executors.is_empty() {
            self.effects.note(Note::Ending { executors: self.executors.len() });
        }
        let message = DriverToMaster::UnregisterApplication { app, outcome };
        self.effects.push(Effect::Send { peer, message });
    }

    /// The result of the application, for the Master. `None` for an application that was to run until its user ends it.
    fn outcome(&self, ending: &Ending) -> Option<Outcome> {
        match (ending, self.until) {
            (Ending::Met { code: 0 }, _) => Some(Outcome::Succeeded),
            (Ending::Met { code }, _) => Some(Outcome::failed(format!("exit code {code}"))),
            (Ending::Asked, Until::Any | Until::All) => {
                Some(Outcome::cancelled(match self.executors.len() {
                    0 => "no executor was running".to_owned(),
                    running => format!("{} had not ended", counted(running, "executor")),
                }))
            }
            (Ending::Asked, Until::Never) | (Ending::Removed(_) | Ending::NoMaster { .. }, _) => None,
        }
    }

    /// Ends the application without waiting any longer.
    fn finish(&mut self) {
        match std::mem::replace(&mut self.phase, Phase::Done) {
            Phase::Ending { ending, .. } => {
                if !self.executors.is_empty() {
                    self.effects.note(Note::LeftBehind { executors: self.executors.len() });
                }
                self.effects.push(Effect::Done(ending));
            }
            // A Master that reports this before it was asked to end the executors is ignored.
            running @ (Phase::Running | Phase::Done) => self.phase = running,
        }
    }
}
