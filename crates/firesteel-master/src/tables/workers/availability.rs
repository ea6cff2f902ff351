//! Changes of whether a Worker gets executors.

use firesteel_placement::advanced::index::Slot;
use firesteel_placement::advanced::policy::Changes;

use super::health::{Leave, WorkerHealth};
use super::table::WorkerTable;

impl WorkerTable {
    /// Gives a Worker no more executors. Returns whether that changed anything.
    pub(crate) fn decommission(&mut self, slot: Slot) -> bool {
        let is_news = !self.row(slot).health.leaving;
        self.change_health(slot, |health| health.leaving = true);
        is_news
    }

    /// Records a request that a Worker should leave.
    pub(crate) fn ask_to_leave(&mut self, slot: Slot, leave: Leave) {
        self.change_health(slot, |health| health.asked = Some(leave));
    }

    pub(crate) fn change_health(&mut self, slot: Slot, change: impl FnOnce(&mut WorkerHealth)) {
        let mut health = self.row(slot).health.clone();
        change(&mut health);
        self.set_health(slot, health);
    }

    /// Sets a Worker's standing. A Worker that is about to end is not also excluded.
    pub(crate) fn set_health(&mut self, slot: Slot, mut health: WorkerHealth) {
        if health.leaving {
            health.global_exclusion.until = None;
        }
        self.changed.insert(slot);
        let row = self.rows[slot.index()].as_mut().expect("every slot of the index has its row");
        if let Some(until) = row.health.global_exclusion.until {
            self.excluded.remove(&(until, slot));
        }
        if let Some(until) = health.global_exclusion.until {
            self.excluded.insert((until, slot));
        }
        if health.availability() == row.availability() {
            row.health = health;
            return;
        }
        self.whole.remove(&row.whole_offer());
        row.health = health;
        self.whole.add(&row.whole_offer());
        self.consider_anew(slot);
    }

    /// Sets whether a Worker fails to answer orders. Returns whether that changed anything.
    pub(crate) fn set_deaf(&mut self, slot: Slot, deaf: bool) -> bool {
        let was = std::mem::replace(&mut self.row_mut(slot).deaf, deaf);
        if was != deaf {
            self.consider_anew(slot);
        }
        was != deaf
    }

    /// Sets the reason why a Worker can start no executors. Returns whether that changed anything.
    pub(crate) fn set_cannot_start(&mut self, slot: Slot, error: Option<String>) -> bool {
        let was = std::mem::replace(&mut self.row_mut(slot).cannot_start, error);
        let changed = was != self.row(slot).cannot_start;
        if changed {
            self.consider_anew(slot);
        }
        changed
    }

    /// Updates the tables after a Worker got foreign executors or cluster drivers, or lost the last of them.
    pub(crate) fn set_unknown_processes(&mut self, slot: Slot) {
        self.consider_anew(slot);
    }

    /// Updates the tables for a Worker that now gets executors, or no longer gets any.
    pub(super) fn consider_anew(&mut self, slot: Slot) {
        self.moved = Changes::All;
        self.index_anew(slot);
        self.gained.insert(slot);
    }
}
