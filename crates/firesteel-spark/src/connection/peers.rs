//! Who is on a connection: its drivers and Workers, and the names by which their messages find them.

use std::collections::{BTreeMap, VecDeque};
use std::ops::{Index, IndexMut};
use std::sync::Arc;

use firesteel_protocol::ids::WorkerId;

use super::drivers::Driver;
use super::questions::Held;
use super::workers::SparkWorker;
use crate::dialect::Dialect;
use crate::envelope::Address;

/// The number of a peer on its connection, counted from 0. It stays the peer's until the connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PeerNumber(pub usize);

/// A driver or a Worker. One that is both is a stranger who plays games, and is heard as either.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) dialect: Arc<Dialect>,
    /// How it calls the Master.
    pub(super) master: Address,
    /// Its registration, while the serial version ids of its classes are being asked.
    pub(super) held: Option<Held>,
    /// Its requests that are not answered yet, oldest first.
    pub(super) owed: VecDeque<i64>,
    /// The application that it is told it has, until it ends it.
    pub(super) application: Option<String>,
    /// What it is at the Master as a driver. `None` if its application has ended, or it has none.
    pub(super) driver: Option<Driver>,
    /// What it has registered as a Worker.
    pub(super) worker: Option<SparkWorker>,
}

/// The drivers and Workers of a connection.
#[derive(Debug, Default)]
pub(super) struct Peers {
    rows: Vec<Peer>,
    /// By what they call themselves: address and endpoint.
    names: BTreeMap<(Address, String), PeerNumber>,
    /// The driver that has each application.
    applications: BTreeMap<String, PeerNumber>,
    /// The peer that is each Worker: the last one that registered so.
    workers: BTreeMap<WorkerId, PeerNumber>,
    /// The Worker that runs each executor, by application and number: it is not told to launch it once more.
    executors: BTreeMap<(String, i32), PeerNumber>,
}

impl Index<PeerNumber> for Peers {
    type Output = Peer;

    fn index(&self, PeerNumber(number): PeerNumber) -> &Peer {
        &self.rows[number]
    }
}

impl IndexMut<PeerNumber> for Peers {
    fn index_mut(&mut self, PeerNumber(number): PeerNumber) -> &mut Peer {
        &mut self.rows[number]
    }
}

impl Peers {
    /// The peer that calls itself so: one that is known, or a new one. `None` if there are as many as this.
    pub(super) fn named(&mut self, dialect: &Dialect, master: Address, most: usize) -> Option<PeerNumber> {
        let name = (dialect.reference.address.clone(), dialect.reference.name.clone());
        if let Some(known) = self.names.get(&name) {
            return Some(*known);
        }
        let number = PeerNumber(self.rows.len());
        if number.0 >= most {
            return None;
        }
        let dialect = Arc::new(dialect.clone());
        let (held, owed, application, driver, worker) = (None, VecDeque::new(), None, None, None);
        self.rows.push(Peer { dialect, master, held, owed, application, driver, worker });
        self.names.insert(name, number);
        Some(number)
    }

    /// The peer at this address whose endpoint has this name.
    pub(super) fn at(&self, address: Address, endpoint: &str) -> Option<PeerNumber> {
        self.names.get(&(address, endpoint.to_owned())).copied()
    }

    pub(super) fn of_application(&self, app: &str) -> Option<PeerNumber> {
        self.applications.get(app).copied()
    }

    pub(super) fn of_worker(&self, worker: &str) -> Option<PeerNumber> {
        self.workers.get(&WorkerId::new(worker)).copied()
    }

    /// A driver has an application, and no longer the one before.
    pub(super) fn give(&mut self, peer: PeerNumber, app: &str) {
        if let Some(before) = self[peer].application.replace(app.to_owned())
            && before != app
        {
            self.applications.remove(&before);
        }
        if let Some(other) = self.applications.insert(app.to_owned(), peer).filter(|other| *other != peer) {
            self[other].application = None;
        }
    }

    /// A driver has ended its application.
    pub(super) fn take_application(&mut self, app: &str) {
        if let Some(peer) = self.applications.remove(app) {
            self[peer].application = None;
        }
    }

    /// A peer has registered as a Worker, whatever it was before.
    pub(super) fn employ(&mut self, peer: PeerNumber, worker: SparkWorker) {
        let id = worker.id.clone();
        if let Some(before) = self[peer].worker.replace(worker)
            && self.workers.get(&before.id) == Some(&peer)
        {
            self.workers.remove(&before.id);
        }
        self.workers.insert(id, peer);
    }

    /// The Worker on this connection that was told to launch an executor, or said that it runs it.
    pub(super) fn runs(&self, executor: &(String, i32)) -> Option<PeerNumber> {
        self.executors.get(executor).copied()
    }

    /// A Worker runs an executor, unless another one says so.
    pub(super) fn run(&mut self, executor: (String, i32), peer: PeerNumber) {
        self.executors.entry(executor).or_insert(peer);
    }

    /// The number of executors that run.
    pub(super) fn executors(&self) -> usize {
        self.executors.len()
    }

    /// A Worker runs an executor no more.
    pub(super) fn stop(&mut self, executor: &(String, i32), peer: PeerNumber) {
        if self.runs(executor) == Some(peer) {
            self.executors.remove(executor);
        }
    }

    /// A Worker runs none of an application's executors any more, or their ends are of no more interest.
    pub(super) fn stop_all(&mut self, app: &str, peer: PeerNumber) {
        let of_app = (app.to_owned(), i32::MIN)..=(app.to_owned(), i32::MAX);
        let there = self.executors.range(of_app).filter(|(_, on)| **on == peer);
        for key in there.map(|(key, _)| key.clone()).collect::<Vec<_>>() {
            self.executors.remove(&key);
        }
    }

    /// The connection has ended: nobody is at the Master by it.
    pub(super) fn driven_out(&mut self) {
        for row in &mut self.rows {
            row.driver = None;
            if let Some(worker) = &mut row.worker {
                worker.seat = None;
            }
        }
    }

    /// All of them, in the order of their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = (PeerNumber, &Peer)> {
        self.rows.iter().enumerate().map(|(number, row)| (PeerNumber(number), row))
    }

    /// Whether each name finds a row that has it, and each row is found. The name that is wrong, if not.
    pub(super) fn wrong_name(&self) -> Option<String> {
        for (name, peer) in &self.names {
            let reference = self.rows.get(peer.0).map(|row| &row.dialect.reference);
            if reference.is_none_or(|found| (&found.address, &found.name) != (&name.0, &name.1)) {
                return Some(format!("{} at {}", name.1, name.0));
            }
        }
        for (app, peer) in &self.applications {
            if self.rows.get(peer.0).is_none_or(|row| row.application.as_ref() != Some(app)) {
                return Some(app.clone());
            }
        }
        for (worker, peer) in &self.workers {
            let id = self.rows.get(peer.0).and_then(|row| row.worker.as_ref()).map(|worker| &worker.id);
            if id != Some(worker) {
                return Some(worker.to_string());
            }
        }
        let applications = self.rows.iter().filter(|row| row.application.is_some()).count();
        let lost = self.names.len() != self.rows.len() || applications != self.applications.len();
        let workless = self.executors.iter().find(|(_, peer)| self.rows.get(peer.0).is_none());
        workless.map(|((app, number), _)| format!("{app}/{number}")).or(lost.then(|| "none".to_owned()))
    }
}
