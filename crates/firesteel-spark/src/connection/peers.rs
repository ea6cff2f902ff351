//! The drivers and Workers on a connection, and the names by which messages are matched to their senders.

use std::collections::{BTreeMap, VecDeque};
use std::ops::{Index, IndexMut};
use std::sync::Arc;

use firesteel_protocol::ids::WorkerId;

use super::drivers::Driver;
use super::questions::Held;
use super::workers::SparkWorker;
use crate::dialect::Dialect;
use crate::envelope::Address;

/// The number of a peer on its connection, counted from 0. It stays the same until the connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PeerNumber(pub usize);

/// A driver or a Worker. A hostile peer may register as both. Then its messages are accepted in both roles.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) dialect: Arc<Dialect>,
    /// The address that the peer uses for the Master.
    pub(super) master: Address,
    /// The peer's registration, as long as the serial version ids of its classes are being asked for.
    pub(super) held: Option<Held>,
    /// The peer's unanswered requests, oldest first.
    pub(super) pending: VecDeque<i64>,
    /// The peer's application, until the peer unregisters it.
    pub(super) application: Option<String>,
    /// The peer's state as a driver at the Master. `None` if its application has ended, or if it has no application.
    pub(super) driver: Option<Driver>,
    /// The peer's registration as a Worker.
    pub(super) worker: Option<SparkWorker>,
}

/// All drivers and Workers of a connection, with indexes.
#[derive(Debug, Default)]
pub(super) struct Peers {
    rows: Vec<Peer>,
    /// Peers by their own address and endpoint.
    names: BTreeMap<(Address, String), PeerNumber>,
    /// The driver of each application.
    applications: BTreeMap<String, PeerNumber>,
    /// The peer of each Worker: the last peer that registered as this Worker.
    workers: BTreeMap<WorkerId, PeerNumber>,
    /// The Worker that runs each executor, by application and number, so that no executor is launched twice.
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
    /// The peer that sent the reference in this dialect. Adds the peer if it is new. `None` if it is new and there
    /// already are `most` peers.
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
        let (held, pending, application, driver, worker) = (None, VecDeque::new(), None, None, None);
        self.rows.push(Peer { dialect, master, held, pending, application, driver, worker });
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

    /// Gives a driver an application, in place of its earlier application.
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

    /// Removes an application that its driver has unregistered.
    pub(super) fn take_application(&mut self, app: &str) {
        if let Some(peer) = self.applications.remove(app) {
            self[peer].application = None;
        }
    }

    /// Registers a peer as this Worker. Replaces the peer's earlier registration, and an earlier peer of this Worker.
    pub(super) fn employ(&mut self, peer: PeerNumber, worker: SparkWorker) {
        let id = worker.id.clone();
        if let Some(before) = self[peer].worker.replace(worker)
            && self.workers.get(&before.id) == Some(&peer)
        {
            self.workers.remove(&before.id);
        }
        self.workers.insert(id, peer);
    }

    /// The Worker on this connection that was ordered to launch an executor, or has reported the executor as running.
    pub(super) fn runs(&self, executor: &(String, i32)) -> Option<PeerNumber> {
        self.executors.get(executor).copied()
    }

    /// Records that a Worker runs an executor, unless another Worker runs it already.
    pub(super) fn run(&mut self, executor: (String, i32), peer: PeerNumber) {
        self.executors.entry(executor).or_insert(peer);
    }

    /// The number of executors that run on the connection's Workers.
    pub(super) fn executors(&self) -> usize {
        self.executors.len()
    }

    /// Records that a Worker no longer runs an executor.
    pub(super) fn stop(&mut self, executor: &(String, i32), peer: PeerNumber) {
        if self.runs(executor) == Some(peer) {
            self.executors.remove(executor);
        }
    }

    /// Forgets all of an application's executors on a Worker.
    pub(super) fn stop_all(&mut self, app: &str, peer: PeerNumber) {
        let of_app = (app.to_owned(), i32::MIN)..=(app.to_owned(), i32::MAX);
        let there = self.executors.range(of_app).filter(|(_, on)| **on == peer);
        for key in there.map(|(key, _)| key.clone()).collect::<Vec<_>>() {
            self.executors.remove(&key);
        }
    }

    /// Records that the connection has ended: no peer is left at the Master.
    pub(super) fn driven_out(&mut self) {
        for row in &mut self.rows {
            row.driver = None;
            if let Some(worker) = &mut row.worker {
                worker.channel = None;
            }
        }
    }

    /// All drivers and Workers, in the order of their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = (PeerNumber, &Peer)> {
        self.rows.iter().enumerate().map(|(number, row)| (PeerNumber(number), row))
    }

    /// Checks that each index entry leads to its row, and that each row has its index entries. Describes the first
    /// error.
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
