//! The Workers that are excluded for all applications, by the end of the exclusion.

use firesteel_placement::index::Slot;

use super::row::Availability;
use super::table::WorkerTable;
use crate::time::{Timestamp, first_due};

impl WorkerTable {
    /// Gives a Worker no executors before `until`.
    pub(crate) fn exclude(&mut self, slot: Slot, until: Timestamp) {
        self.forget_exclusion(slot);
        self.row_mut(slot).distrust.until = Some(until);
        self.mark(slot);
        self.excluded.insert((until, slot));
        self.set_availability(slot, Availability::Excluded);
    }

    /// The Workers that are excluded for all applications.
    pub(crate) fn excluded_slots(&self) -> impl Iterator<Item = Slot> {
        self.excluded.iter().map(|(_, slot)| *slot)
    }

    /// The number of Workers that are excluded for all applications.
    pub(crate) fn excluded(&self) -> usize {
        self.excluded.len()
    }

    /// When the next exclusion for all applications ends.
    pub(crate) fn next_readmission(&self) -> Option<Timestamp> {
        self.excluded.first().map(|(time, _)| *time)
    }

    /// Ends the exclusions whose time is over. Returns whether there were any.
    pub(crate) fn readmit(&mut self, now: Timestamp) -> bool {
        let mut readmitted = false;
        while let Some(slot) = first_due(&self.excluded, now) {
            self.forget_exclusion(slot);
            self.set_availability(slot, Availability::Serving);
            readmitted = true;
        }
        readmitted
    }

    /// Forgets when a Worker's exclusion ends.
    pub(crate) fn forget_exclusion(&mut self, slot: Slot) {
        if let Some(until) = self.row_mut(slot).distrust.until.take() {
            self.mark(slot);
            self.excluded.remove(&(until, slot));
        }
    }
}
