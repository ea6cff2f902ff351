//! One run: Masters are killed and restarted, with the latest state or a wrong one, until the faults stop.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use firesteel_master::{Config, Effect, Event, Inbound, Master, Note, Outbound, Record};
use firesteel_protocol::ids::{ExecutorKey, PeerId};
use firesteel_protocol::messages::{
    DriverToMaster, ExecutorReport, ExecutorState, MasterToDriver, MasterToWorker, RunId, StateId, StateMark,
    WorkerToMaster,
};
use firesteel_protocol::process::ExitStatus;
use firesteel_protocol::{Machine, Timestamp};
use firesteel_sim::dice::Dice;

use super::peers::{Driver, WANTED, Worker};
use super::sabotage::StateSabotage;
use super::states::{OTHER_STATE, StateFault, config, other_state};
use crate::Outcome;
use crate::coverage::kinds;

const WORKERS: u64 = 3;
const DRIVERS: u64 = 2;
const STEPS: u64 = 600;
/// The run of the first Master, which becomes the identity of the state.
const OWN_STATE: StateId = StateId(1);
/// No two runs are near to each other, as with numbers that are drawn.
const STRIDE: u64 = 0x9E37_79B9_7F4A_7C15;
/// The time at which every world begins.
const BEGINNING: u64 = 1_767_225_600_000;

/// Runs the world of this seed.
#[must_use]
pub fn run(seed: u64) -> Outcome {
    World::new(seed, None).run()
}

/// Runs the world of this seed with a bug.
#[must_use]
pub fn run_sabotaged(seed: u64, sabotage: StateSabotage) -> Outcome {
    World::new(seed, Some(sabotage)).run()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Party {
    Worker(usize),
    Driver(usize),
}

struct World {
    dice: Dice,
    sabotage: Option<StateSabotage>,
    outcome: Outcome,
    now: Timestamp,
    master: Option<Master>,
    run: RunId,
    next_peer: u64,
    peers: BTreeMap<PeerId, Party>,
    /// The messages on their way, by connection.
    on_their_way: BTreeMap<PeerId, VecDeque<Outbound>>,
    workers: Vec<Worker>,
    drivers: Vec<Driver>,
    journal: Vec<Record>,
    /// The lengths of the journal after each batch.
    batches: Vec<usize>,
    copies: Vec<Vec<Record>>,
    other: Vec<Record>,
    is_of_other: bool,
    /// The time of the last record with which the present Master was started, if its state is not the latest.
    older_until: Option<Timestamp>,
    is_noted: bool,
    /// Whether a Master was started with a state that is not the latest one.
    was_older: bool,
    started: BTreeSet<ExecutorKey>,
}

impl World {
    fn new(seed: u64, sabotage: Option<StateSabotage>) -> Self {
        Self {
            dice: Dice::new(seed),
            sabotage,
            outcome: Outcome::of(&[kinds::<StateFault>()]),
            now: Timestamp::from_millis(BEGINNING),
            master: None,
            run: RunId(OWN_STATE.0.wrapping_sub(STRIDE)),
            next_peer: 0,
            peers: BTreeMap::new(),
            on_their_way: BTreeMap::new(),
            workers: (0..WORKERS).map(Worker::new).collect(),
            drivers: (0..DRIVERS).map(Driver::new).collect(),
            journal: Vec::new(),
            batches: Vec::new(),
            copies: Vec::new(),
            other: Vec::new(),
            is_of_other: false,
            older_until: None,
            is_noted: false,
            was_older: false,
            started: BTreeSet::new(),
        }
    }

    fn run(mut self) -> Outcome {
        self.other = other_state(self.now);
        self.start(StateFault::Latest);
        // All Workers are in every copy, and know the state, as in a cluster that has run for a while.
        for worker in 0..self.workers.len() {
            self.connect(Party::Worker(worker));
        }
        self.deliver_all();
        self.copies.push(self.journal.clone());
        for _ in 0..STEPS {
            if self.outcome.violation.is_some() {
                return self.outcome;
            }
            self.step();
        }
        self.heal();
        self.outcome
    }

    fn violate(&mut self, sentence: String) {
        self.outcome.violation.get_or_insert(sentence);
    }

    fn trace(&mut self, line: String) {
        self.outcome.trace.push(format!("{} {line}", self.now));
    }

    fn step(&mut self) {
        let millis = self.dice.between(1, 400);
        self.pass(millis);
        if self.master.is_none() {
            if self.dice.one_in(3) {
                let fault = match self.dice.below(8) {
                    0 | 1 => StateFault::OlderCopy,
                    2 | 3 => StateFault::Cut,
                    4 => StateFault::OtherCluster,
                    _ => StateFault::Latest,
                };
                self.start(fault);
            }
            return;
        }
        match self.dice.below(20) {
            0 => self.executor_exits(),
            1..4 => self.connect_any(),
            4 if self.dice.one_in(2) => self.copy(),
            5 if self.dice.one_in(2) => self.kill(),
            _ => self.deliver_any(),
        }
    }

    /// Lets time pass, and wakes the Master.
    fn pass(&mut self, millis: u64) {
        self.now = self.now + Duration::from_millis(millis);
        while let Some(master) = &self.master
            && master.next_deadline().is_some_and(|(due, _)| due <= self.now)
        {
            self.apply(Event::Deadline { heard_until: self.now });
        }
    }

    fn copy(&mut self) {
        if !self.is_of_other {
            self.copies.push(self.journal.clone());
        }
    }

    fn start(&mut self, fault: StateFault) {
        self.outcome.coverage.count(&fault);
        self.pass(1_000);
        self.is_of_other = fault == StateFault::OtherCluster;
        let latest = self.journal.clone();
        let records = match fault {
            StateFault::Latest => latest,
            StateFault::OlderCopy => self.dice.pick(&self.copies).clone(),
            StateFault::Cut => {
                let kept = self.dice.index(self.batches.len()).map_or(latest.len(), |at| self.batches[at]);
                latest[..kept].to_vec()
            }
            StateFault::OtherCluster => self.other.clone(),
        };
        let is_first = self.journal.is_empty();
        if self.sabotage != Some(StateSabotage::SameRun) || self.is_of_other || is_first {
            self.run.0 = self.run.0.wrapping_add(STRIDE);
        }
        let ends = records.iter().filter_map(|record| match record {
            Record::Time(time) => Some(*time),
            _ => None,
        });
        let is_older = matches!(fault, StateFault::OlderCopy | StateFault::Cut);
        self.older_until = if is_older { ends.max() } else { None };
        self.is_noted = false;
        self.trace(format!("a Master starts: {fault:?}"));
        self.was_older |= is_older;
        let config = Config { is_cut: fault == StateFault::Cut, ..config(self.run) };
        match Master::recover(config, self.now, records) {
            Ok(master) => {
                if !self.is_of_other {
                    self.journal = master.image();
                    self.batches = vec![self.journal.len()];
                }
                self.master = Some(master);
            }
            Err(error) => self.violate(format!("the Master cannot be recovered: {error}")),
        }
    }

    /// The Master is killed. Of what it has said to Workers, a part arrives. Drivers hear all of it: an executor that
    /// only a Worker knows of, which has not returned yet, is one of the limits in `docs/RECOVERY.md`.
    fn kill(&mut self) {
        self.trace("the Master is killed".to_owned());
        let peers: Vec<PeerId> = self.on_their_way.keys().copied().collect();
        self.master = None;
        for peer in peers {
            let is_driver = matches!(self.peers.get(&peer), Some(Party::Driver(_)));
            while (is_driver || self.dice.one_in(2)) && self.deliver(peer) {}
        }
        self.on_their_way.clear();
        self.peers.clear();
        self.workers.iter_mut().for_each(|worker| worker.peer = None);
        self.drivers.iter_mut().for_each(|driver| driver.peer = None);
    }

    fn connect_any(&mut self) {
        let away = |(at, peer): (usize, Option<PeerId>)| peer.is_none().then_some(at);
        let workers = self.workers.iter().map(|worker| worker.peer).enumerate().filter_map(away);
        let drivers = self.drivers.iter().map(|driver| driver.peer).enumerate().filter_map(away);
        let parties: Vec<Party> = workers.map(Party::Worker).chain(drivers.map(Party::Driver)).collect();
        if let Some(at) = self.dice.index(parties.len()) {
            self.connect(parties[at]);
        }
    }

    fn connect(&mut self, party: Party) {
        if self.master.is_none() {
            return;
        }
        self.next_peer += 1;
        let peer = PeerId(self.next_peer);
        self.peers.insert(peer, party);
        self.trace(format!("{party:?} connects"));
        let arrived = self.now;
        let own = if self.is_of_other { OTHER_STATE } else { OWN_STATE };
        match party {
            Party::Worker(at) => {
                let sabotage = self.sabotage;
                let worker = &mut self.workers[at];
                worker.peer = Some(peer);
                let mut seen = worker.seen.clone();
                seen.retain(|mark| match sabotage {
                    Some(StateSabotage::HideOtherStates) => mark.state == own,
                    Some(StateSabotage::HideOwnState) => mark.state != own,
                    Some(StateSabotage::ForgetMarks | StateSabotage::SameRun) | None => true,
                });
                let latest = worker.seen.iter().find(|mark| mark.state == own).copied();
                let message = Inbound::Worker(worker.registration(seen));
                self.apply(Event::Received { peer, arrived, message });
                let is_older = self.older_until.zip(latest).is_some_and(|(until, mark)| mark.at > until);
                if is_older && !self.is_noted && !self.is_of_other {
                    self.violate(format!(
                        "Worker {at} has seen more than the Master's state, and nobody says so"
                    ));
                }
            }
            Party::Driver(at) => {
                let driver = &mut self.drivers[at];
                driver.peer = Some(peer);
                let message = Inbound::Driver(driver.registration());
                self.apply(Event::Received { peer, arrived, message });
            }
        }
    }

    fn executor_exits(&mut self) {
        let Some(at) = self.dice.index(self.workers.len()) else { return };
        let running: Vec<ExecutorKey> = self.workers[at].live.iter().cloned().collect();
        if let Some(which) = self.dice.index(running.len()) {
            self.end(at, &running[which], ExecutorState::Exited(ExitStatus::Code(1)));
        }
    }

    fn end(&mut self, at: usize, executor: &ExecutorKey, state: ExecutorState) {
        self.trace(format!("Worker {at}: {executor} is {state}"));
        let worker = &mut self.workers[at];
        worker.live.remove(executor);
        worker.ended.insert(executor.clone(), state.clone());
        self.report(at, ExecutorReport::new(executor.clone(), state));
    }

    fn report(&mut self, at: usize, report: ExecutorReport) {
        if let (Some(peer), true) = (self.workers[at].peer, self.master.is_some()) {
            let message = Inbound::Worker(WorkerToMaster::ExecutorStateChanged(report));
            self.apply(Event::Received { peer, arrived: self.now, message });
        }
    }

    fn apply(&mut self, event: Event) {
        let Some(master) = &mut self.master else { return };
        self.outcome.events += 1;
        let effects = master.apply(self.now, event);
        if let Err(violation) = master.check() {
            self.violate(violation.to_string());
        }
        for effect in effects {
            let effect = match self.sabotage {
                Some(sabotage) => sabotage.effect(effect),
                None => effect,
            };
            match effect {
                Effect::Persist(records) if self.is_of_other => drop(records),
                Effect::Persist(records) => {
                    self.journal.extend(records);
                    self.batches.push(self.journal.len());
                }
                Effect::Send { peer, message } => {
                    self.on_their_way.entry(peer).or_default().push_back(message);
                }
                Effect::Close { peer } => self.close(peer),
                // A Worker that is away may still run, and nobody reads logs.
                Effect::Probe { .. } | Effect::ReadLog { .. } => {}
                Effect::Note(note) => {
                    self.trace(format!("({note})"));
                    if matches!(note, Note::StateIsOlder { .. }) {
                        self.is_noted = true;
                        if !self.was_older && !self.is_of_other {
                            self.violate(format!("the latest state is said to be older: {note}"));
                        }
                    }
                }
            }
        }
    }

    fn close(&mut self, peer: PeerId) {
        self.on_their_way.remove(&peer);
        match self.peers.remove(&peer) {
            Some(Party::Worker(at)) => self.workers[at].peer = None,
            Some(Party::Driver(at)) => self.drivers[at].peer = None,
            None => {}
        }
    }

    fn deliver_any(&mut self) {
        let peers: Vec<PeerId> = self.on_their_way.keys().copied().collect();
        if let Some(at) = self.dice.index(peers.len()) {
            self.deliver(peers[at]);
        }
    }

    fn deliver_all(&mut self) {
        while let Some(peer) = self.on_their_way.keys().next().copied() {
            while self.deliver(peer) {}
        }
    }

    /// Delivers the next message of a connection. Returns whether there was one.
    fn deliver(&mut self, peer: PeerId) -> bool {
        let Some(queue) = self.on_their_way.get_mut(&peer) else { return false };
        let Some(message) = queue.pop_front() else {
            self.on_their_way.remove(&peer);
            return false;
        };
        match (self.peers.get(&peer).copied(), message) {
            (Some(Party::Worker(at)), Outbound::Worker(message)) => self.tell_worker(at, message),
            (Some(Party::Driver(at)), Outbound::Driver(message)) => self.tell_driver(at, peer, message),
            (_, _) => {}
        }
        true
    }

    fn tell_worker(&mut self, at: usize, message: MasterToWorker) {
        let worker = &mut self.workers[at];
        match message {
            MasterToWorker::RegisteredWorker { mark, .. } => {
                StateMark::remember(mark, &mut worker.seen);
                worker.ended.clear();
            }
            MasterToWorker::RegisterWorkerFailed(refusal) => {
                self.trace(format!("Worker {at} is refused: {refusal}"));
                let peer = self.workers[at].peer;
                if let (Some(peer), true) = (peer, self.master.is_some()) {
                    self.close(peer);
                    self.apply(Event::Disconnected { peer });
                }
            }
            MasterToWorker::LaunchExecutor(launch) => {
                StateMark::remember(launch.mark, &mut worker.seen);
                let executor = launch.executor;
                if worker.live.contains(&executor) {
                    return;
                }
                worker.live.insert(executor.clone());
                self.trace(format!("Worker {at} starts {executor}"));
                if !self.started.insert(executor.clone()) {
                    self.violate(format!("executor {executor} is started twice"));
                }
                self.report(at, ExecutorReport::new(executor, ExecutorState::Running));
            }
            MasterToWorker::KillExecutor { executor } => {
                if !worker.live.contains(&executor) {
                    return;
                }
                if self.is_of_other {
                    self.violate(format!("{executor} is ended by the Master of another cluster's state"));
                }
                self.end(at, &executor, ExecutorState::Killed(None));
            }
            MasterToWorker::ExecutorEndNoted { executor } => {
                worker.ended.remove(&executor);
            }
            MasterToWorker::ReconnectWorker
            | MasterToWorker::ApplicationFinished { .. }
            | MasterToWorker::DecommissionWorker { .. }
            | MasterToWorker::LaunchDriver(_)
            | MasterToWorker::KillDriver { .. }
            | MasterToWorker::DriverEndNoted { .. } => {}
        }
    }

    fn tell_driver(&mut self, at: usize, peer: PeerId, message: MasterToDriver) {
        let driver = &mut self.drivers[at];
        match message {
            MasterToDriver::RegisteredApplication { app, mark, .. } => {
                driver.registered(app.clone(), mark);
                // The real driver asks this at once.
                let message = Inbound::Driver(DriverToMaster::RequestShortfall { app });
                self.apply(Event::Received { peer, arrived: self.now, message });
            }
            MasterToDriver::ExecutorAdded { executor, .. } => driver.add(executor),
            MasterToDriver::ExecutorUpdated { executor, state, .. } if state.is_finished() => {
                driver.live.remove(&executor);
            }
            MasterToDriver::ApplicationRemoved(end) => {
                self.violate(format!("the application of driver {at}, on {peer}, is removed: {end}"));
            }
            _ => {}
        }
    }

    /// The faults stop. A Master starts with the latest state, and all return.
    fn heal(&mut self) {
        if self.master.is_some() {
            self.kill();
        }
        self.start(StateFault::Latest);
        for _ in 0..400 {
            self.pass(1_000);
            let Some(_) = &self.master else { return };
            self.connect_any();
            self.deliver_all();
            self.ask_again();
        }
        for at in 0..self.drivers.len() {
            let driver = &self.drivers[at];
            let Some(app) = driver.app.clone() else {
                return self.violate(format!("driver {at} was never registered"));
            };
            let known: BTreeSet<ExecutorKey> = driver
                .live
                .iter()
                .map(|executor| ExecutorKey { app: app.clone(), executor: *executor })
                .collect();
            let live = self.workers.iter().flat_map(|worker| &worker.live);
            let live: BTreeSet<ExecutorKey> = live.filter(|executor| executor.app == app).cloned().collect();
            // A driver that was told of an end by a Master with an older state does not take the executor back.
            if live.len() as u64 != WANTED || !known.is_subset(&live) {
                self.violate(format!("driver {at} knows of {known:?}, and there run {live:?} of {WANTED}"));
            }
        }
    }

    /// A driver without an answer asks again on another connection.
    fn ask_again(&mut self) {
        let Some(master) = &self.master else { return };
        let is_known = |driver: &Driver| {
            let app = driver.app.as_ref();
            app.is_some_and(|app| master.view().applications.iter().any(|row| row.id == *app))
        };
        let waiting: Vec<PeerId> =
            self.drivers.iter().filter(|driver| !is_known(driver)).filter_map(|driver| driver.peer).collect();
        for peer in waiting {
            self.close(peer);
            self.apply(Event::Disconnected { peer });
        }
    }
}
