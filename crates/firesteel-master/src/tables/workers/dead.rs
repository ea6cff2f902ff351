//! The lost Workers that the Master remembers for a while.

use std::collections::VecDeque;

use firesteel_protocol::ids::WorkerId;
use firesteel_protocol::messages::WorkerView;
use firesteel_protocol::time::Timestamp;

/// The maximum number of lost Workers that the Master remembers.
const MOST: usize = 1000;

/// The lost Workers that the Master remembers, in the order in which they were lost.
#[derive(Debug, Default)]
pub(super) struct DeadWorkers(VecDeque<DeadWorker>);

#[derive(Debug)]
struct DeadWorker {
    view: WorkerView,
    forgotten_at: Timestamp,
}

impl DeadWorkers {
    /// Remembers a lost Worker until this time. A full table drops the Worker that was lost first.
    pub(super) fn add(&mut self, view: WorkerView, forgotten_at: Timestamp) {
        self.0.retain(|dead| dead.view.id != view.id);
        if self.0.len() >= MOST {
            self.0.pop_front();
        }
        self.0.push_back(DeadWorker { view, forgotten_at });
    }

    /// Forgets Workers whose time is over.
    pub(super) fn forget(&mut self, now: Timestamp) {
        self.0.retain(|dead| dead.forgotten_at > now);
    }

    /// Forgets the Workers with this id or this address.
    pub(super) fn forget_same(&mut self, id: &WorkerId, (host, port): (&str, u16)) {
        let is_another =
            |dead: &WorkerView| dead.id != *id && (dead.host.as_str(), dead.port) != (host, port);
        self.0.retain(|dead| is_another(&dead.view));
    }

    /// The Workers that are still remembered at this time, each with the time when it is forgotten.
    pub(super) fn at(&self, now: Timestamp) -> impl Iterator<Item = (&WorkerView, Timestamp)> {
        let remembered = self.0.iter().filter(move |dead| dead.forgotten_at > now);
        remembered.map(|dead| (&dead.view, dead.forgotten_at))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &WorkerView> {
        self.0.iter().map(|dead| &dead.view)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_consistent(&self) -> bool {
        self.0.len() <= MOST
    }
}
