//! The Master's Workers.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use firesteel_placement::Offer;

use super::capacity::{Amounts, Capacity};
use crate::address::Address;
use crate::ids::{ExecutorKey, PeerId, WorkerId};
use crate::messages::{WorkerDescription, WorkerState, WorkerView};
use crate::time::Timestamp;

/// How many lost Workers are remembered at most.
const DEAD_LIMIT: usize = 1000;

/// The Workers, living and dead.
#[derive(Debug, Default)]
pub(super) struct WorkerTable {
    rows: BTreeMap<WorkerId, WorkerRow>,
    by_peer: BTreeMap<PeerId, WorkerId>,
    by_address: BTreeMap<Address, WorkerId>,
    /// When to look at a Worker's heartbeat next: one entry each, never later than its time-out. A heartbeat
    /// does not touch it, so that it costs nothing here; the look moves the entry on.
    looks: BTreeSet<(Timestamp, WorkerId)>,
    dead: VecDeque<DeadWorker>,
}

/// A living Worker.
#[derive(Debug)]
pub(super) struct WorkerRow {
    pub(super) description: WorkerDescription,
    pub(super) peer: PeerId,
    pub(super) capacity: Capacity,
    pub(super) executors: BTreeSet<ExecutorKey>,
    pub(super) last_heartbeat: Timestamp,
    /// Its entry among the looks.
    look: Timestamp,
}

#[derive(Debug)]
struct DeadWorker {
    view: WorkerView,
    forgotten_at: Timestamp,
}

impl WorkerRow {
    pub(super) fn new(description: WorkerDescription, peer: PeerId, now: Timestamp) -> Self {
        let total = Amounts {
            cores: description.cores,
            memory: description.memory,
            resources: description.resources.clone(),
        };
        Self {
            description,
            peer,
            capacity: Capacity::new(total),
            executors: BTreeSet::new(),
            last_heartbeat: now,
            look: now,
        }
    }

    pub(super) fn address(&self) -> Address {
        Address::new(self.description.host.clone(), self.description.port)
    }

    pub(super) fn view(&self, state: WorkerState) -> WorkerView {
        let used = self.capacity.used();
        WorkerView {
            id: self.description.id.clone(),
            host: self.description.host.clone(),
            port: self.description.port,
            state,
            cores: self.description.cores,
            cores_used: used.cores,
            memory: self.description.memory,
            memory_used: used.memory,
            resources: self.description.resources.clone(),
            resources_used: used.resources,
            last_heartbeat: self.last_heartbeat,
        }
    }
}

impl WorkerTable {
    /// Adds a Worker whose id, connection and address are new. One that died at the same address is forgotten.
    pub(super) fn insert(&mut self, mut row: WorkerRow, timeout: Duration) {
        let (id, address) = (row.description.id.clone(), row.address());
        row.look = row.last_heartbeat + timeout;
        self.dead.retain(|dead| (&dead.view.host, dead.view.port) != (&address.host, address.port));
        self.by_peer.insert(row.peer, id.clone());
        self.by_address.insert(address, id.clone());
        self.looks.insert((row.look, id.clone()));
        self.rows.insert(id, row);
    }

    /// Takes a Worker out.
    pub(super) fn remove(&mut self, id: &WorkerId) -> Option<WorkerRow> {
        let (id, row) = self.rows.remove_entry(id)?;
        self.by_peer.remove(&row.peer);
        self.by_address.remove(&row.address());
        self.looks.remove(&(row.look, id));
        Some(row)
    }

    /// Remembers a Worker that was taken out, and forgets those whose time has come.
    pub(super) fn bury(&mut self, row: &WorkerRow, now: Timestamp, remember: Duration) {
        self.forget_dead(now);
        self.dead.retain(|dead| dead.view.id != row.description.id);
        if self.dead.len() >= DEAD_LIMIT {
            self.dead.pop_front();
        }
        let forgotten_at = row.last_heartbeat + remember;
        self.dead.push_back(DeadWorker { view: row.view(WorkerState::Dead), forgotten_at });
    }

    /// Forgets the dead Workers whose time has come. Whoever looks at them has it done first.
    pub(super) fn forget_dead(&mut self, now: Timestamp) {
        self.dead.retain(|dead| dead.forgotten_at > now);
    }

    /// Moves a Worker to another connection and returns the old one.
    pub(super) fn move_to(&mut self, id: &WorkerId, peer: PeerId) -> Option<PeerId> {
        let row = self.rows.get_mut(id)?;
        let old = std::mem::replace(&mut row.peer, peer);
        self.by_peer.remove(&old);
        self.by_peer.insert(peer, id.clone());
        Some(old)
    }

    pub(super) fn get(&self, id: &WorkerId) -> Option<&WorkerRow> {
        self.rows.get(id)
    }

    pub(super) fn get_mut(&mut self, id: &WorkerId) -> Option<&mut WorkerRow> {
        self.rows.get_mut(id)
    }

    pub(super) fn of_peer(&self, peer: PeerId) -> Option<&WorkerId> {
        self.by_peer.get(&peer)
    }

    pub(super) fn at_address(&self, address: &Address) -> Option<&WorkerId> {
        self.by_address.get(address)
    }

    /// The living Workers by id.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&WorkerId, &WorkerRow)> {
        self.rows.iter()
    }

    /// What the living Workers have free, by id.
    pub(super) fn offers(&self) -> impl Iterator<Item = Offer<'_>> {
        self.rows.iter().map(|(id, row)| row.capacity.offer(id.as_str()))
    }

    /// What the living Workers have in all, by id.
    pub(super) fn whole_offers(&self) -> impl Iterator<Item = Offer<'_>> {
        self.rows.iter().map(|(id, row)| row.capacity.whole_offer(id.as_str()))
    }

    /// When to look for silent Workers next.
    pub(super) fn next_look(&self) -> Option<Timestamp> {
        self.looks.first().map(|(time, _)| *time)
    }

    /// The next Worker that has been silent for the whole time-out, if there is one.
    pub(super) fn next_silent(&mut self, now: Timestamp, timeout: Duration) -> Option<WorkerId> {
        while self.next_look()? <= now {
            let (_, id) = self.looks.pop_first()?;
            let row = self.rows.get_mut(&id).expect("a look is taken out with its Worker");
            row.look = row.last_heartbeat + timeout;
            let due = row.look;
            self.looks.insert((due, id.clone()));
            if due <= now {
                return Some(id);
            }
        }
        None
    }

    /// The living by id, then the dead that are still remembered.
    pub(super) fn views(&self) -> Vec<WorkerView> {
        let living = self.rows.values().map(|row| row.view(WorkerState::Alive));
        living.chain(self.dead.iter().map(|dead| dead.view.clone())).collect()
    }

    /// Whether the indexes name the same Workers as the rows.
    pub(super) fn is_consistent(&self) -> bool {
        let looks = self.rows.iter().all(|(id, row)| self.looks.contains(&(row.look, id.clone())));
        let by_peer =
            self.by_peer.iter().all(|(peer, id)| self.rows.get(id).is_some_and(|r| r.peer == *peer));
        let by_address =
            self.by_address.iter().all(|(at, id)| self.rows.get(id).is_some_and(|r| r.address() == *at));
        let sizes = [self.by_peer.len(), self.by_address.len(), self.looks.len()];
        looks
            && by_peer
            && by_address
            && sizes.iter().all(|&size| size == self.rows.len())
            && self.dead.len() <= DEAD_LIMIT
    }
}
