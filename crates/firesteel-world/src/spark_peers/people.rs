//! Honest peers of Spark: drivers, Workers and clients, as a Master sees them.

use std::collections::{BTreeMap, BTreeSet};

use firesteel_sim::dice::Dice;
use firesteel_spark::frame::Frame;

use super::forge::{self, PeerIdentity, Read, ReportTime, tells};

/// The serial version id of the resource profiles of Spark 4.1.
const PROFILE_OF_4_1: i64 = -2_517_983_430_696_660_228;

/// How long a driver waits for an answer to its registration before it registers again, in milliseconds.
const PATIENCE: u64 = 20_000;

/// An honest peer of Spark.
#[derive(Debug)]
pub(super) struct Person {
    pub(super) identity: PeerIdentity,
    pub(super) name: String,
    pub(super) role: Role,
    /// The number of the peer's connection. `None` if it has no connection.
    pub(super) line: Option<u64>,
    /// The peer's former connection, if that is still open. A Worker reports over both.
    earlier: Option<u64>,
    /// The peer's unanswered requests, each with its connection.
    pub(super) asked: BTreeMap<i64, u64>,
    next_request: i64,
    /// Since when the peer has been waiting for a Master.
    since: u64,
}

/// The kind of a peer, and its progress.
#[derive(Debug)]
pub(super) enum Role {
    Driver(DriverState),
    Worker { is_registered: bool, running: BTreeSet<(String, i32)> },
    Client(Step),
}

/// The progress of a driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DriverState {
    /// The driver has sent its registration.
    Waits,
    /// The driver has registered as this application.
    Has(String),
    /// The driver has ended its application, or lost it.
    Over,
}

/// The progress of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The client has not submitted a driver yet, or its submission was lost.
    Begins,
    Submitted(String),
    /// The client has received the state of its driver.
    Done,
}

#[derive(Debug)]
pub(super) enum Act {
    Connect,
    Send(Frame),
    /// The peer sends a frame over this connection, which need not be its latest one.
    SendBy(u64, Frame),
    /// The peer ends its connection.
    Hang,
}

impl Person {
    pub(super) fn new(number: usize, name: String, release: usize, role: Role) -> Self {
        let identity = PeerIdentity { release, host: format!("10.0.0.{}", number + 1) };
        let next_request = i64::try_from(number + 1).expect("it is small") * 1_000_000;
        Self {
            identity,
            name,
            role,
            line: None,
            earlier: None,
            asked: BTreeMap::new(),
            next_request,
            since: 0,
        }
    }

    /// The number for a new request of the peer, which now waits for an answer.
    fn ask(&mut self) -> i64 {
        self.next_request += 1;
        if let Some(line) = self.line {
            self.asked.insert(self.next_request, line);
        }
        self.next_request
    }

    /// The peer's connection has ended, so that its requests stay unanswered.
    pub(super) fn lose(&mut self, line: u64, now: u64, is_master_down: bool) {
        self.asked.retain(|_, asked| *asked != line);
        if self.earlier == Some(line) {
            self.earlier = None;
        }
        if self.line != Some(line) {
            return;
        }
        self.line = None;
        self.since = now;
        match &mut self.role {
            // A driver does not register again: a restarted Master calls it.
            Role::Driver(DriverState::Has(_)) if is_master_down => {}
            Role::Driver(state @ DriverState::Has(_)) => *state = DriverState::Over,
            Role::Driver(_) => {}
            Role::Worker { is_registered, .. } => *is_registered = false,
            Role::Client(_) => {}
        }
    }

    /// The peer has opened a connection. Returns its first messages.
    pub(super) fn begin(&mut self, line: u64, now: u64) -> Vec<Act> {
        self.earlier = self.line.replace(line);
        self.since = now;
        let mut acts = Vec::new();
        let id = self.ask();
        acts.push(Act::Send(self.identity.asks_for_master(id)));
        acts.extend(self.register());
        acts
    }

    fn register(&mut self) -> Option<Act> {
        match &mut self.role {
            Role::Driver(state) => {
                *state = DriverState::Waits;
                Some(Act::Send(self.identity.registers(&self.name)))
            }
            Role::Worker { .. } => Some(Act::Send(self.identity.registers_worker(&self.name))),
            Role::Client(_) => None,
        }
    }

    /// A Master has called the peer over a connection.
    pub(super) fn answer_call(&mut self, line: u64) {
        self.line = Some(line);
    }

    /// A random action of the peer. In a calm world the peer only stays registered.
    pub(super) fn wake(&mut self, now: u64, is_calm: bool, dice: &mut Dice) -> Vec<Act> {
        match &self.role {
            Role::Driver(_) => self.wake_driver(now, is_calm, dice),
            Role::Worker { .. } => self.wake_worker(is_calm, dice),
            Role::Client(_) => self.wake_client(dice),
        }
    }

    fn wake_driver(&mut self, now: u64, is_calm: bool, dice: &mut Dice) -> Vec<Act> {
        let Role::Driver(state) = &mut self.role else { return Vec::new() };
        match (state.clone(), self.line) {
            (DriverState::Has(_), None) if now > self.since + 90_000 => {
                *state = DriverState::Over;
                Vec::new()
            }
            (DriverState::Has(_), None) => Vec::new(),
            (DriverState::Over, Some(_)) => vec![Act::Hang],
            (DriverState::Over | DriverState::Waits, None) => vec![Act::Connect],
            (DriverState::Waits, Some(_)) if now > self.since + PATIENCE => {
                self.since = now;
                self.register().into_iter().collect()
            }
            (DriverState::Waits, Some(_)) => Vec::new(),
            (DriverState::Has(app), Some(_)) => {
                let id = self.ask();
                let which = dice.index(6).expect("there are six");
                match dice.below(if is_calm { 6 } else { 9 }) {
                    0..=3 => vec![Act::Send(self.identity.asks_for_executors(&app, which, id))],
                    4 | 5 => vec![Act::Send(self.identity.ends_executors(&app, id))],
                    6 => {
                        self.asked.remove(&id);
                        self.role = Role::Driver(DriverState::Over);
                        vec![Act::Send(self.identity.says_goodbye(&app)), Act::Hang]
                    }
                    _ => vec![Act::Send(self.identity.asks_for_master(id))],
                }
            }
        }
    }

    fn wake_worker(&mut self, is_calm: bool, dice: &mut Dice) -> Vec<Act> {
        let Role::Worker { is_registered, running } = &mut self.role else { return Vec::new() };
        if self.line.is_none() {
            return vec![Act::Connect];
        }
        if !*is_registered {
            return self.register().into_iter().collect();
        }
        if !is_calm && dice.one_in(20) {
            // It considers its connection lost.
            return vec![Act::Connect];
        }
        let ended = if dice.one_in(4) { running.pop_first() } else { None };
        let beat = self.identity.beats(&self.name);
        let mut acts = match self.earlier {
            Some(earlier) => vec![Act::SendBy(earlier, beat)],
            None => vec![Act::Send(beat)],
        };
        if let Some((app, executor)) = ended {
            let id = self.ask();
            acts.push(Act::Send(self.identity.reports_ended(&app, executor, id)));
        }
        acts
    }

    fn wake_client(&mut self, dice: &mut Dice) -> Vec<Act> {
        let Role::Client(step) = &self.role else { return Vec::new() };
        let step = step.clone();
        if self.line.is_none() {
            return if step == Step::Done { Vec::new() } else { vec![Act::Connect] };
        }
        if !self.asked.is_empty() {
            return Vec::new();
        }
        let id = self.ask();
        vec![match step {
            Step::Begins => Act::Send(self.identity.submits(id)),
            Step::Submitted(driver) if dice.one_in(2) => Act::Send(self.identity.asks_for_state(&driver, id)),
            Step::Submitted(driver) => {
                self.role = Role::Client(Step::Done);
                Act::Send(self.identity.asks_for_end(&driver, id))
            }
            Step::Done => {
                self.asked.remove(&id);
                Act::Hang
            }
        }]
    }

    /// The peer receives a frame, already read, over a connection.
    pub(super) fn hear(&mut self, line: u64, frame: &Frame, read: &Read) -> Vec<Act> {
        match frame {
            Frame::Request { id, .. } => vec![Act::SendBy(line, self.answer(*id, frame))],
            Frame::Response { id, .. } => {
                self.asked.remove(id);
                if let (Role::Client(step @ Step::Begins), "SubmitDriverResponse") =
                    (&mut self.role, &*read.class)
                {
                    *step = read.driver.clone().map_or(Step::Done, Step::Submitted);
                }
                Vec::new()
            }
            Frame::Failure { id, .. } => {
                self.asked.remove(id);
                Vec::new()
            }
            Frame::OneWay { .. } => self.heed(line, read),
        }
    }

    /// Answers a question about the peer's classes.
    fn answer(&self, id: i64, question: &Frame) -> Frame {
        match &self.role {
            Role::Client(_) => self.identity.fails(id),
            Role::Driver(_) | Role::Worker { .. } => {
                let (_, object) = forge::opened(question).expect("a question has an envelope");
                tells(id, &object, PROFILE_OF_4_1)
            }
        }
    }

    /// Reacts to a message of the Master.
    fn heed(&mut self, line: u64, read: &Read) -> Vec<Act> {
        let app = read.app.clone().unwrap_or_default();
        match (&mut self.role, read.class.as_str()) {
            (Role::Driver(state), "RegisteredApplication") => {
                if *state == DriverState::Waits {
                    *state = DriverState::Has(app);
                }
                Vec::new()
            }
            (Role::Driver(state), "ApplicationRemoved") => {
                *state = DriverState::Over;
                Vec::new()
            }
            (Role::Driver(DriverState::Has(app)), "MasterChanged") => {
                let acknowledged = self.identity.acknowledges(app);
                self.line = Some(line);
                vec![Act::Send(acknowledged)]
            }
            (Role::Worker { is_registered, running }, "MasterChanged") => {
                self.line = Some(line);
                *is_registered = true;
                let executors: Vec<_> = running.iter().cloned().collect();
                vec![Act::Send(self.identity.lists(ReportTime::Called, &self.name, &executors, &[]))]
            }
            (Role::Worker { is_registered, running }, "RegisteredWorker") => {
                *is_registered = true;
                let executors: Vec<_> = running.iter().cloned().collect();
                vec![Act::Send(self.identity.lists(ReportTime::Registered, &self.name, &executors, &[]))]
            }
            (Role::Worker { is_registered, .. }, "ReconnectWorker" | "RegisterWorkerFailed") => {
                *is_registered = false;
                Vec::new()
            }
            (Role::Worker { running, .. }, "LaunchExecutor") => {
                let executor = read.executor.unwrap_or_default();
                running.insert((app.clone(), executor));
                let id = self.ask();
                vec![Act::Send(self.identity.reports_running(&app, executor, id))]
            }
            (Role::Worker { running, .. }, "KillExecutor") => {
                let executor = read.executor.unwrap_or_default();
                if !running.remove(&(app.clone(), executor)) {
                    return Vec::new();
                }
                let id = self.ask();
                vec![Act::Send(self.identity.reports_ended(&app, executor, id))]
            }
            _ => Vec::new(),
        }
    }

    /// Describes an error in the peer's state. `None` if there is no error.
    pub(super) fn complaint(&self) -> Option<String> {
        let name = &self.name;
        if !self.asked.is_empty() && !matches!(self.role, Role::Client(Step::Begins)) {
            return Some(format!("{name} has requests that are not answered: {:?}", self.asked));
        }
        match &self.role {
            Role::Driver(DriverState::Has(_)) if self.line.is_some() => None,
            Role::Driver(state) => Some(format!("{name} has no application: {state:?}, {:?}", self.line)),
            Role::Worker { is_registered: true, .. } => None,
            Role::Worker { .. } => Some(format!("{name} is not registered")),
            Role::Client(Step::Done) => None,
            Role::Client(step) => Some(format!("{name} does not come to an end: {step:?}")),
        }
    }
}
