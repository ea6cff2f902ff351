//! Which Workers are given executors.

use firesteel_placement::index::Slot;

use super::moved::Moved;
use super::table::WorkerTable;
use crate::master::tables::workers::row::Availability;
use crate::master::tables::workers::standing::Leave;

impl WorkerTable {
    /// Gives a Worker no more executors. Returns whether that changed anything.
    pub(crate) fn decommission(&mut self, slot: Slot) -> bool {
        self.forget_exclusion(slot);
        self.set_availability(slot, Availability::Decommissioning)
    }

    /// A Worker is asked to leave.
    pub(crate) fn ask_to_leave(&mut self, slot: Slot, leave: Leave) {
        self.row_mut(slot).asked = Some(leave);
        self.mark(slot);
    }

    /// Sets whether a Worker is given executors. Returns whether that changed anything.
    pub(crate) fn set_availability(&mut self, slot: Slot, availability: Availability) -> bool {
        let row = self.rows[slot.index()].as_mut().expect("every slot of the index has its row");
        if row.availability == availability {
            return false;
        }
        self.changed.insert(slot);
        self.whole.remove(&row.whole_offer());
        row.availability = availability;
        self.whole.add(&row.whole_offer());
        self.consider_anew(slot);
        true
    }

    /// Sets whether a Worker leaves orders unanswered. Returns whether that changed anything.
    pub(crate) fn set_deaf(&mut self, slot: Slot, deaf: bool) -> bool {
        let was = std::mem::replace(&mut self.row_mut(slot).deaf, deaf);
        if was != deaf {
            self.consider_anew(slot);
        }
        was != deaf
    }

    /// Sets why a Worker can start no executors. Returns whether that changed anything.
    pub(crate) fn set_cannot_start(&mut self, slot: Slot, error: Option<String>) -> bool {
        let was = std::mem::replace(&mut self.row_mut(slot).cannot_start, error);
        let changed = was != self.row(slot).cannot_start;
        if changed {
            self.consider_anew(slot);
        }
        changed
    }

    /// What runs on a Worker for another Master has come, or is gone.
    pub(crate) fn set_foreigners(&mut self, slot: Slot) {
        self.consider_anew(slot);
    }

    /// A Worker is given executors that was given none, or the other way round.
    pub(crate) fn consider_anew(&mut self, slot: Slot) {
        self.moved = Moved::All;
        self.index_anew(slot);
        self.gained.insert(slot);
    }
}
