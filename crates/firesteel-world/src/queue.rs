//! Virtual time, and the queue of planned events.

use std::collections::BTreeMap;

/// Virtual time in milliseconds, and the planned events.
#[derive(Clone, Debug)]
pub(crate) struct Queue<H> {
    now: u64,
    rows: BTreeMap<(u64, u64), H>,
    sequence: u64,
}

impl<H> Queue<H> {
    /// An empty queue at this time.
    pub(crate) fn starting_at(now: u64) -> Self {
        Self { now, rows: BTreeMap::new(), sequence: 0 }
    }

    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    pub(crate) fn pass(&mut self, millis: u64) {
        self.now += millis;
    }

    /// Plans an event, after all other events that are already planned for the same time.
    pub(crate) fn put(&mut self, at: u64, scheduled: H) {
        self.sequence += 1;
        self.rows.insert((at.max(self.now), self.sequence), scheduled);
    }

    /// Advances to the next event of the queue, or to the machine's deadline if that is earlier.
    pub(crate) fn next(&mut self, deadline: Option<u64>) -> Next<H> {
        let head = self.rows.keys().next().copied();
        match (deadline, head) {
            (Some(at), head) if head.is_none_or(|(first, _)| at <= first) => {
                self.now = self.now.max(at);
                Next::Deadline
            }
            (_, Some(head)) => {
                self.now = self.now.max(head.0);
                Next::ScheduledEvent(self.rows.remove(&head).expect("it is the first"))
            }
            (_, None) => Next::Nothing,
        }
    }
}

/// The next event, or the machine's deadline.
#[derive(Clone, Debug)]
pub(crate) enum Next<H> {
    ScheduledEvent(H),
    Deadline,
    Nothing,
}
