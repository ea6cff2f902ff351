//! The Workers that have sent no heartbeat in time.

use std::time::Duration;

use firesteel_placement::advanced::index::Slot;
use firesteel_protocol::ids::WorkerId;
use firesteel_protocol::last_seen::LastSeen;
use firesteel_protocol::time::Timestamp;

use super::table::WorkerTable;

/// The maximum number of outdated entries that one heartbeat updates. A heartbeat makes at most one entry outdated, so
/// two are enough, and no heartbeat takes long.
const MOVED: usize = 2;

/// The meaning of a Worker's silence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Silence {
    /// The Worker has missed two heartbeats.
    Late {
        worker: WorkerId,
        last_seen: Timestamp,
    },
    Over(WorkerId),
}

impl WorkerTable {
    /// When to check for overdue heartbeats next.
    pub(crate) fn next_look(&self) -> Option<Timestamp> {
        self.looks.first().map(|(time, _)| *time)
    }

    /// Records that a Worker sent a heartbeat at this time. Outdated entries are updated shortly before their deadline,
    /// so that a Master is not called for Workers that all report. Returns whether the Worker was late.
    pub(crate) fn hear(&mut self, slot: Slot, at: Timestamp, timeout: Duration) -> bool {
        let row = self.row_mut(slot);
        row.last_heartbeat = LastSeen::at(at);
        let was_late = std::mem::take(&mut row.is_late);
        if was_late {
            self.late.remove(&slot);
            let row = self.row(slot);
            let next = row.next_look(timeout);
            self.look_again(slot, next);
        }
        let soon = at + timeout / 4;
        for _ in 0..MOVED {
            let Some(&(look, first)) = self.looks.first().filter(|(look, _)| *look <= soon) else { break };
            let next = self.row(first).next_look(timeout);
            if next <= look {
                break;
            }
            self.look_again(first, next);
        }
        was_late
    }

    /// The next Worker with an overdue heartbeat, if there is one. All messages that arrived before `heard_until` have
    /// been handled.
    pub(crate) fn next_silent(
        &mut self,
        now: Timestamp,
        heard_until: Timestamp,
        timeout: Duration,
    ) -> Option<Silence> {
        while let Some(&(_, slot)) = self.looks.first().filter(|(time, _)| *time <= now) {
            let row = self.row(slot);
            let silent_at = row.last_heartbeat.silent_at(timeout);
            if silent_at <= heard_until {
                return Some(Silence::Over(row.description.id.clone()));
            }
            let next = row.next_look(timeout);
            if !row.is_late && next <= heard_until {
                let (worker, last_seen) = (row.description.id.clone(), row.last_heartbeat.time());
                self.row_mut(slot).is_late = true;
                self.late.insert(slot);
                self.look_again(slot, now + silent_at.since(heard_until));
                return Some(Silence::Late { worker, last_seen });
            }
            self.look_again(slot, now + next.since(heard_until));
        }
        None
    }

    /// Starts the timeout again for every overdue Worker that was not excused since its last heartbeat. Returns the
    /// number of these Workers.
    pub(crate) fn excuse_silent(&mut self, now: Timestamp, timeout: Duration) -> usize {
        let is_due = |(time, _): &&(Timestamp, Slot)| *time <= now;
        let overdue: Vec<Slot> = self.looks.iter().take_while(is_due).map(|(_, slot)| *slot).collect();
        let mut excused = 0;
        for slot in overdue {
            let row = self.row_mut(slot);
            let silent_at = row.last_heartbeat.silent_at(timeout);
            if silent_at > now {
                self.look_again(slot, silent_at.min(now + timeout / 4));
                continue;
            }
            if !row.last_heartbeat.excuse(now) {
                continue;
            }
            let next = row.next_look(timeout);
            self.look_again(slot, next);
            excused += 1;
        }
        excused
    }

    /// Checks a Worker's heartbeat at this time instead of the planned time.
    fn look_again(&mut self, slot: Slot, at: Timestamp) {
        let before = std::mem::replace(&mut self.row_mut(slot).look, at);
        self.looks.remove(&(before, slot));
        self.looks.insert((at, slot));
    }
}
