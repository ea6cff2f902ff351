//! The Workers that are excluded for all applications, by the end of the exclusion.

use firesteel_placement::advanced::index::Slot;
use firesteel_protocol::time::{Timestamp, first_due};

use super::table::WorkerTable;

impl WorkerTable {
    /// Gives a Worker no executors before `until`.
    pub(crate) fn exclude(&mut self, slot: Slot, until: Timestamp) {
        self.change_health(slot, |health| health.global_exclusion.until = Some(until));
    }

    /// The Workers that are excluded for all applications.
    pub(crate) fn excluded_slots(&self) -> impl Iterator<Item = Slot> {
        self.excluded.iter().map(|(_, slot)| *slot)
    }

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
            self.change_health(slot, |health| health.global_exclusion.until = None);
            readmitted = true;
        }
        readmitted
    }
}
