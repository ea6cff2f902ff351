//! The starts, ends and crashes of Masters, and their calls to waiting peers.

use std::time::Duration;

use firesteel_master::{Config, Durability, Master};
use firesteel_spark::OrderForms;
use firesteel_spark::connection::{Called, Channel, Connection, Directory, Event, PeerEnd};

use super::line::{OutgoingItem, Party};
use super::run::{ScheduledEvent, World, machine};

impl World {
    /// A Master begins with the records of the former Master, and calls the peers that wait for it.
    pub(super) fn begin_master(&mut self) {
        self.generation += 1;
        let config = Config {
            worker_timeout: Duration::from_secs(20),
            recovery_timeout: Duration::from_secs(15),
            first_application: 1_000 * self.generation,
            durability: Durability::Durable,
            ..Config::default()
        };
        let records = std::mem::take(&mut self.records);
        match Master::recover(config, self.now(), records) {
            Ok(master) => {
                self.records = master.image();
                let drivers = master.to_call().into_iter().map(Called::Driver);
                let workers = master.workers_to_call().into_iter().map(Box::new).map(Called::Worker);
                for called in drivers.chain(workers).collect::<Vec<_>>() {
                    self.later(1, 2_000, ScheduledEvent::Call(called));
                }
                self.directory = Directory::default();
                self.tokens.clear();
                self.forms = OrderForms::default();
                self.master = Some(master);
                self.trace(|| "a Master begins".to_owned());
            }
            Err(error) => self.outcome.violation = Some(format!("the Master cannot be recovered: {error}")),
        }
    }

    /// The Master ends in order, or crashes.
    pub(super) fn restart(&mut self) {
        if self.is_calm || self.master.take().is_none() {
            return;
        }
        if self.dice.one_in(2) {
            self.trace(|| "the Master crashes".to_owned());
            self.ledger.crash();
            self.peers.clear();
            for line in self.open_lines() {
                self.drop_line(line);
            }
            return self.later(500, 8_000, ScheduledEvent::MasterBegins);
        }
        self.trace(|| "the Master ends".to_owned());
        for line in self.open_lines() {
            let channels: Vec<Channel> = self.lines[&line].channels.keys().copied().collect();
            for channel in channels {
                self.post(line, channel, OutgoingItem::End(PeerEnd::InOrder));
            }
            self.tell(line, Event::MasterEnds);
        }
        self.later(50, 3_000, ScheduledEvent::MasterGone);
    }

    /// The process at this side of a connection has ended.
    fn drop_line(&mut self, number: u64) {
        let Some(line) = self.lines.get_mut(&number) else { return };
        line.is_closed = true;
        line.channels.clear();
        line.to_master.lose();
        self.end_there(number);
    }

    /// A Master calls a peer that waits for it.
    pub(super) fn call(&mut self, called: Called) {
        if self.master.is_none() {
            return;
        }
        let Ok((connection, address)) = Connection::calling(called.clone(), None) else { return };
        let Some(number) = self.people.iter().position(|person| person.identity.host == address.host) else {
            return;
        };
        if self.strikes(2) {
            return self.later(1_000, 1_500, ScheduledEvent::Call(called));
        }
        let host = machine(number);
        let line = self.add_line(connection, host, Party::Person(number), Some(&called));
        self.trace(|| format!("connection {line}: the Master calls {}", called.name()));
        self.people[number].answer_call(line);
    }
}
