//! Virtual time, and what is to happen in it.

use std::collections::BTreeMap;

/// Virtual time in milliseconds, and what is to happen in it.
#[derive(Clone, Debug)]
pub(crate) struct Queue<H> {
    now: u64,
    rows: BTreeMap<(u64, u64), H>,
    sequence: u64,
}

impl<H> Queue<H> {
    /// Nothing is to happen.
    pub(crate) fn starting_at(now: u64) -> Self {
        Self { now, rows: BTreeMap::new(), sequence: 0 }
    }

    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    /// Time goes on.
    pub(crate) fn pass(&mut self, millis: u64) {
        self.now += millis;
    }

    /// Something is to happen then, after all that was to happen then before.
    pub(crate) fn put(&mut self, at: u64, happening: H) {
        self.sequence += 1;
        self.rows.insert((at.max(self.now), self.sequence), happening);
    }

    /// Goes on to what happens next: a happening of the queue, or the machine's deadline if that is not later.
    pub(crate) fn next(&mut self, deadline: Option<u64>) -> Next<H> {
        let head = self.rows.keys().next().copied();
        match (deadline, head) {
            (Some(at), head) if head.is_none_or(|(first, _)| at <= first) => {
                self.now = self.now.max(at);
                Next::Deadline
            }
            (_, Some(head)) => {
                self.now = self.now.max(head.0);
                Next::Happening(self.rows.remove(&head).expect("it is the first"))
            }
            (_, None) => Next::Nothing,
        }
    }
}

/// What happens next.
#[derive(Clone, Debug)]
pub(crate) enum Next<H> {
    /// Something of the queue.
    Happening(H),
    /// The machine's deadline.
    Deadline,
    /// Nothing will ever happen again.
    Nothing,
}
