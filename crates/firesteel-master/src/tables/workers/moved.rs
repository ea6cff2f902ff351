//! The Workers with amounts that changed since the scheduler looked last.

use firesteel_placement::index::Slot;

/// The Workers with amounts that changed since the scheduler looked last. A scheduler without a memory of Workers never
/// looks: then all count as changed.
#[derive(Debug)]
pub(crate) enum Moved {
    /// All Workers: some came or went, or too many changed.
    All,
    /// These Workers. Some are listed more than once.
    These(Vec<Slot>),
}

impl Moved {
    /// Records that a Worker's amounts changed. `workers` is the number of Workers.
    pub(super) fn add(&mut self, slot: Slot, workers: usize) {
        if let Self::These(slots) = self {
            if slots.len() >= 4 * workers + 1024 {
                *self = Self::All;
            } else {
                slots.push(slot);
            }
        }
    }

    pub(super) fn take(&mut self) -> Self {
        std::mem::replace(self, Self::These(Vec::new()))
    }
}
