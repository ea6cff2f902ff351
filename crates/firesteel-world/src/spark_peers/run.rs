//! One run: from the first connection, through faults and hostile peers, until everything has recovered.

use std::collections::BTreeMap;

use firesteel_master::{Event as MasterEvent, Master, Record};
use firesteel_protocol::ids::{PeerId, WorkerId};
use firesteel_protocol::secret::Secret;
use firesteel_protocol::{Machine, Timestamp};
use firesteel_sim::dice::Dice;
use firesteel_spark::OrderForms;
use firesteel_spark::connection::{Called, Channel, Connection, Directory, Event, Limits, PeerEnd};
use firesteel_spark::frame::Frame;

use super::all_kinds;
use super::forge;
use super::ledger::Ledger;
use super::line::{Arrival, Line, OutgoingItem, Party};
use super::people::{Act, DriverState, Person, Role, Step};
use super::sabotage::SparkSabotage;
use super::scenario::Scenario;
use super::strangers::{Stranger, Victims};
use crate::Outcome;
use crate::queue::{Next, Queue};

/// How long after the last fault everything must have recovered, in virtual milliseconds.
const HEALED_AFTER: u64 = 300_000;

/// Runs a world with correct connections.
#[must_use]
pub fn run(scenario: Scenario) -> Outcome {
    World::new(scenario, None).run()
}

/// Runs a world whose connections have this bug.
#[must_use]
pub fn run_sabotaged(scenario: Scenario, sabotage: SparkSabotage) -> Outcome {
    World::new(scenario, Some(sabotage)).run()
}

#[derive(Clone, Debug)]
pub(super) enum ScheduledEvent {
    /// An honest or a hostile peer acts.
    Wake(Party),
    /// The next frame arrives at the Master's end of a connection, or at the other end.
    ArriveHere(u64),
    ArriveThere(u64),
    /// The next event of a connection arrives at the Master, or the next message on a channel.
    ArriveMaster(u64),
    ArriveChannel(u64, Channel),
    /// A fault occurs.
    Mischief,
    /// A step of a restart: the Master ends or crashes, its connections learn of it, or the next Master begins.
    Restart,
    MasterGone,
    MasterBegins,
    /// The Master calls a peer that waits for it.
    Call(Called),
}

pub(super) struct World {
    pub(super) scenario: Scenario,
    pub(super) dice: Dice,
    pub(super) queue: Queue<ScheduledEvent>,
    pub(super) master: Option<Master>,
    pub(super) generation: u64,
    pub(super) records: Vec<Record>,
    pub(super) directory: Directory,
    /// The token and the peer of each Worker in the directory.
    pub(super) tokens: BTreeMap<WorkerId, (Secret, PeerId)>,
    pub(super) forms: OrderForms,
    pub(super) lines: BTreeMap<u64, Line>,
    next_line: u64,
    pub(super) next_peer: u64,
    pub(super) peers: BTreeMap<PeerId, (u64, Channel)>,
    pub(super) people: Vec<Person>,
    strangers: Vec<Stranger>,
    pub(super) is_calm: bool,
    pub(super) ledger: Ledger,
    pub(super) sabotage: Option<SparkSabotage>,
    pub(super) outcome: Outcome,
}

impl World {
    fn new(scenario: Scenario, sabotage: Option<SparkSabotage>) -> Self {
        let mut dice = Dice::new(scenario.seed ^ 0x5EA7);
        let (drivers, workers, clients) = (&scenario.drivers, &scenario.workers, &scenario.clients);
        let roles = (drivers.iter().map(|release| ("driver", *release)))
            .chain(workers.iter().map(|release| ("worker", *release)))
            .chain(clients.iter().map(|release| ("client", *release)));
        let person = |(number, (kind, release)): (usize, (&str, usize))| {
            let role = match kind {
                "driver" => Role::Driver(DriverState::Over),
                "worker" => Role::Worker { is_registered: false, running: Default::default() },
                _ => Role::Client(Step::Begins),
            };
            Person::new(number, format!("{kind}-{number}"), release, role)
        };
        let people = roles.enumerate().map(person).collect();
        let strangers = (0..scenario.strangers).map(|number| Stranger::new(number, &mut dice)).collect();
        Self {
            queue: Queue::starting_at(1_000_000),
            master: None,
            generation: 0,
            records: Vec::new(),
            directory: Directory::default(),
            tokens: BTreeMap::new(),
            forms: OrderForms::default(),
            lines: BTreeMap::new(),
            next_line: 0,
            next_peer: 0,
            peers: BTreeMap::new(),
            people,
            strangers,
            is_calm: false,
            ledger: Ledger::default(),
            sabotage,
            outcome: Outcome::of(&all_kinds()),
            dice,
            scenario,
        }
    }

    fn run(mut self) -> Outcome {
        let start = self.queue.now();
        self.begin_master();
        for number in 0..self.people.len() {
            self.later(0, 3_000, ScheduledEvent::Wake(Party::Person(number)));
        }
        for number in 0..self.strangers.len() {
            self.later(0, 3_000, ScheduledEvent::Wake(Party::Stranger(number)));
        }
        for _ in 0..self.scenario.restarts {
            self.later(5_000, self.scenario.until, ScheduledEvent::Restart);
        }
        self.later(500, 3_000, ScheduledEvent::Mischief);
        while self.outcome.violation.is_none() {
            if !self.is_calm && self.queue.now() >= start + self.scenario.until {
                self.is_calm = true;
                self.send_strangers_away();
            }
            if self.is_calm && self.queue.now() > start + self.scenario.until + HEALED_AFTER {
                let complaint = self.complaint().unwrap_or_else(|| "somebody still waits".to_owned());
                self.outcome.violation =
                    Some(format!("not all is well long after the last fault: {complaint}"));
            }
            if self.is_calm && self.complaint().is_none() {
                break;
            }
            self.step();
        }
        self.outcome
    }

    /// Describes an error in the world. `None` if there is no error.
    fn complaint(&self) -> Option<String> {
        if self.master.is_none() {
            return Some("there is no Master".to_owned());
        }
        self.people.iter().find_map(Person::complaint)
    }

    pub(super) fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.queue.now())
    }

    /// Decides at random whether a fault occurs.
    pub(super) fn strikes(&mut self, rarer: u64) -> bool {
        !self.is_calm && self.dice.one_in(self.scenario.faults * rarer)
    }

    pub(super) fn later(&mut self, first: u64, last: u64, scheduled: ScheduledEvent) {
        let at = self.queue.now() + self.dice.between(first, last.max(first));
        self.queue.put(at, scheduled);
    }

    /// The arrival time of an item that is sent now.
    pub(super) fn delayed(&mut self) -> u64 {
        let slow = if self.strikes(3) { 4_000 } else { 40 };
        self.queue.now() + self.dice.between(1, slow)
    }

    pub(super) fn trace(&mut self, line: impl FnOnce() -> String) {
        let now = self.queue.now();
        self.outcome.trace.push(format!("{now} {}", line()));
    }

    pub(super) fn verdict(&mut self, verdict: Result<(), String>) {
        if let Err(sentence) = verdict {
            self.outcome.violation.get_or_insert(sentence);
        }
    }

    fn step(&mut self) {
        let master = self.master.as_ref().and_then(|master| master.next_deadline());
        let lines = self.lines.values().filter(|line| !line.is_closed);
        let line = lines.filter_map(|line| line.connection.next_deadline()).map(|(at, _)| at).min();
        let due = master.map(|(at, _)| at).into_iter().chain(line).min();
        match self.queue.next(due.map(Timestamp::millis)) {
            Next::ScheduledEvent(scheduled) => self.happen(scheduled),
            Next::Deadline => self.wake_machines(),
            Next::Nothing => self.outcome.violation = Some("nothing will ever happen again".to_owned()),
        }
    }

    /// Wakes the machines whose deadlines have come.
    fn wake_machines(&mut self) {
        let now = self.now();
        let is_due = |at: Option<Timestamp>| at.is_some_and(|at| at <= now);
        if is_due(self.master.as_ref().and_then(|master| master.next_deadline()).map(|(at, _)| at)) {
            self.tell_master(MasterEvent::Deadline { heard_until: now });
        }
        let due = self
            .lines
            .iter()
            .filter(|(_, line)| !line.is_closed && is_due(line.connection.next_deadline().map(|(at, _)| at)));
        for line in due.map(|(number, _)| *number).collect::<Vec<_>>() {
            self.tell(line, Event::Deadline);
        }
    }

    fn happen(&mut self, scheduled: ScheduledEvent) {
        match scheduled {
            ScheduledEvent::Wake(Party::Person(number)) => self.wake_person(number),
            ScheduledEvent::Wake(Party::Stranger(number)) => self.wake_stranger(number),
            ScheduledEvent::ArriveHere(line) => self.arrive_here(line),
            ScheduledEvent::ArriveThere(line) => self.arrive_there(line),
            ScheduledEvent::ArriveMaster(line) => {
                if let Some(event) = self.lines.get_mut(&line).and_then(|line| line.to_master.arrive()) {
                    self.tell_master(event);
                }
            }
            ScheduledEvent::ArriveChannel(line, channel) => self.arrive_at_channel(line, channel),
            ScheduledEvent::Mischief => self.mischief(),
            ScheduledEvent::Restart => self.restart(),
            ScheduledEvent::MasterGone => {
                for line in self.open_lines() {
                    self.tell(line, Event::MasterGone);
                }
                self.later(500, 8_000, ScheduledEvent::MasterBegins);
            }
            ScheduledEvent::MasterBegins => self.begin_master(),
            ScheduledEvent::Call(called) => self.call(called),
        }
    }

    pub(super) fn open_lines(&self) -> Vec<u64> {
        self.lines.iter().filter(|(_, line)| !line.is_closed).map(|(number, _)| *number).collect()
    }

    /// The other side notices that the Master's side has ended the connection.
    pub(super) fn end_there(&mut self, number: u64) {
        let at = self.delayed();
        let Some(line) = self.lines.get_mut(&number) else { return };
        let at = line.there.send(Arrival::End, at);
        self.queue.put(at, ScheduledEvent::ArriveThere(number));
    }

    pub(super) fn add_line(
        &mut self,
        connection: Connection,
        host: String,
        party: Party,
        called: Option<&Called>,
    ) -> u64 {
        let number = self.next_line;
        self.next_line += 1;
        let limits = if called.is_some() { Limits::default() } else { self.scenario.limits };
        self.ledger.open(number, &host, limits, called);
        let remote = host.parse().expect("an address");
        self.lines.insert(number, Line::new(connection, host, party));
        self.tell(number, Event::Opened { remote });
        number
    }

    /// A peer opens a connection, or joins a connection of its machine. `None` if there is no Master.
    fn connect(&mut self, party: Party, host: String, shares: bool) -> Option<u64> {
        self.master.as_ref()?;
        if shares {
            let shared = self.lines.iter_mut().find(|(_, line)| {
                let is_usable = !line.is_closed && !line.is_left && line.host == host;
                is_usable && matches!(line.parties[..], [Party::Person(_), ..])
            });
            if let Some((number, line)) = shared {
                if !line.parties.contains(&party) {
                    line.parties.push(party);
                }
                return Some(*number);
            }
        }
        Some(self.add_line(party.connection(self.next_line, self.scenario.limits), host, party, None))
    }

    fn wake_person(&mut self, number: usize) {
        let now = self.queue.now();
        let acts = self.people[number].wake(now, self.is_calm, &mut self.dice);
        self.act(number, acts);
        self.later(1_000, 5_000, ScheduledEvent::Wake(Party::Person(number)));
    }

    fn act(&mut self, number: usize, acts: Vec<Act>) {
        for act in acts {
            match act {
                Act::Connect => {
                    let shares = self.dice.one_in(self.scenario.sharing);
                    let Some(line) = self.connect(Party::Person(number), machine(number), shares) else {
                        continue;
                    };
                    let name = self.people[number].name.clone();
                    self.trace(|| format!("connection {line}: {name} comes"));
                    let acts = self.people[number].begin(line, self.queue.now());
                    self.act(number, acts);
                }
                Act::Send(frame) => {
                    if let Some(line) = self.people[number].line {
                        self.send_here(line, frame);
                    }
                }
                Act::SendBy(line, frame) => self.send_here(line, frame),
                Act::Hang => {
                    if let Some(line) = self.people[number].line {
                        self.hang(line, Party::Person(number));
                    }
                }
            }
        }
    }

    pub(super) fn send_here(&mut self, number: u64, frame: Frame) {
        let at = self.delayed();
        let Some(line) = self.lines.get_mut(&number).filter(|line| !line.is_left) else { return };
        let at = line.here.send(Arrival::Frame(frame), at);
        self.queue.put(at, ScheduledEvent::ArriveHere(number));
    }

    /// A peer at the other end leaves. The last peer that leaves ends the connection.
    fn hang(&mut self, number: u64, party: Party) {
        self.forget(number, party);
        let at = self.delayed();
        let Some(line) = self.lines.get_mut(&number) else { return };
        line.parties.retain(|there| *there != party);
        if line.parties.is_empty() && !line.is_left {
            line.is_left = true;
            let at = line.here.send(Arrival::End, at);
            self.queue.put(at, ScheduledEvent::ArriveHere(number));
        }
    }

    /// A party loses its connection.
    fn forget(&mut self, line: u64, party: Party) {
        let (now, is_down) = (self.queue.now(), self.master.is_none());
        match party {
            Party::Person(number) => self.people[number].lose(line, now, is_down),
            Party::Stranger(number) => self.strangers[number].line = None,
        }
    }

    fn wake_stranger(&mut self, number: usize) {
        if self.is_calm {
            return;
        }
        self.later(200, 4_000, ScheduledEvent::Wake(Party::Stranger(number)));
        let Some(line) = self.strangers[number].line else {
            let host = self.strangers[number].host();
            self.strangers[number].line = self.connect(Party::Stranger(number), host, false);
            return;
        };
        if self.strangers[number].is_mute {
            return;
        }
        if self.dice.one_in(25) {
            return self.hang(line, Party::Stranger(number));
        }
        let (apps, workers, drivers) = self.names();
        let victims = Victims { apps: &apps, workers: &workers, drivers: &drivers };
        let (word, frames) = self.strangers[number].act(&mut self.dice, &victims);
        self.trace(|| format!("connection {line}: stranger {number} will {word}"));
        for frame in frames {
            self.send_here(line, frame);
        }
    }

    /// The names of the honest peers: applications, Workers with their hosts, and cluster drivers.
    fn names(&self) -> (Vec<String>, Vec<(String, String)>, Vec<String>) {
        let (mut apps, mut workers, mut drivers) = (Vec::new(), Vec::new(), Vec::new());
        for person in &self.people {
            match &person.role {
                Role::Driver(DriverState::Has(app)) => apps.push(app.clone()),
                Role::Worker { .. } => workers.push((person.name.clone(), person.identity.host.clone())),
                Role::Client(Step::Submitted(driver)) => drivers.push(driver.clone()),
                Role::Driver(_) | Role::Client(_) => {}
            }
        }
        (apps, workers, drivers)
    }

    fn send_strangers_away(&mut self) {
        for number in 0..self.strangers.len() {
            if let Some(line) = self.strangers[number].line {
                self.hang(line, Party::Stranger(number));
            }
        }
    }

    /// A connection breaks, or the Master disconnects a peer that reads too slowly.
    fn mischief(&mut self) {
        if self.is_calm {
            return;
        }
        self.later(500, 5_000, ScheduledEvent::Mischief);
        let open = self.open_lines();
        let Some(at) = self.dice.index(open.len()).filter(|_| self.scenario.faults > 0) else { return };
        let number = open[at];
        match self.dice.below(8) {
            0 => self.break_line(number),
            1 => {
                let channels: Vec<Channel> = self.lines[&number].channels.keys().copied().collect();
                if let Some(channel) = self.dice.index(channels.len()).map(|at| channels[at]) {
                    let dismissal = *self.dice.pick(&[PeerEnd::AtOnce, PeerEnd::InOrder]);
                    self.post(number, channel, OutgoingItem::End(dismissal));
                }
            }
            _ => {}
        }
    }

    fn break_line(&mut self, number: u64) {
        let Some(line) = self.lines.get_mut(&number) else { return };
        line.here.lose();
        line.there.lose();
        self.tell(number, Event::Closed { error: Some("connection reset by peer".to_owned()) });
        self.end_there(number);
    }

    fn arrive_here(&mut self, number: u64) {
        let Some(line) = self.lines.get_mut(&number).filter(|line| !line.is_closed) else { return };
        match line.here.arrive() {
            Some(Arrival::Frame(frame)) => self.tell(number, Event::Received(frame)),
            Some(Arrival::End) => {
                self.tell(number, Event::Closed { error: None });
                self.end_there(number);
            }
            None => {}
        }
    }

    fn arrive_there(&mut self, number: u64) {
        let Some(line) = self.lines.get_mut(&number) else { return };
        let Some(arrival) = line.there.arrive() else { return };
        let parties = line.parties.clone();
        match arrival {
            Arrival::End => {
                self.lines.get_mut(&number).into_iter().for_each(|line| line.is_left = true);
                for party in parties {
                    self.forget(number, party);
                }
            }
            Arrival::Frame(frame) => {
                let read = forge::read(&frame);
                for party in parties {
                    match party {
                        Party::Stranger(stranger) => self.strangers[stranger].hear(&frame),
                        Party::Person(person) if self.is_for(person, &frame, &read) => {
                            let acts = self.people[person].hear(number, &frame, &read);
                            self.act(person, acts);
                        }
                        Party::Person(_) => {}
                    }
                }
            }
        }
    }

    /// Whether a frame is addressed to this peer. Several peers may share one connection.
    fn is_for(&self, number: usize, frame: &Frame, read: &forge::Read) -> bool {
        let person = &self.people[number];
        match frame {
            Frame::Response { id, .. } | Frame::Failure { id, .. } => person.asked.contains_key(id),
            Frame::Request { .. } | Frame::OneWay { .. } => {
                read.to.as_ref().is_some_and(|to| to.host == person.identity.host)
            }
        }
    }

    fn arrive_at_channel(&mut self, number: u64, channel: Channel) {
        let Some(line) = self.lines.get_mut(&number).filter(|line| !line.is_closed) else { return };
        let Some(item) = line.channels.get_mut(&channel).and_then(|queue| queue.outgoing.arrive()) else {
            return;
        };
        let event = match item {
            OutgoingItem::Message(message) => Event::Outgoing { channel, message: *message },
            OutgoingItem::End(dismissal) => Event::Dismissed { channel, dismissal },
        };
        self.tell(number, event);
    }
}

/// The machine of an honest peer.
pub(super) fn machine(number: usize) -> String {
    format!("10.0.0.{}", 1 + number % 2)
}
