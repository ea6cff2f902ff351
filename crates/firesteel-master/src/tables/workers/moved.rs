//! The Workers whose amounts changed since the scheduler looked last.

use firesteel_placement::advanced::index::Slot;

/// The Workers whose amounts changed since the scheduler looked last. A scheduler that remembers nothing of Workers never looks:
/// then all have changed.
#[derive(Debug)]
pub(crate) enum Moved {
    /// All of them: some came or went, or too many changed.
    All,
    /// These. Some are there more than once.
    These(Vec<Slot>),
}

impl Moved {
    /// A Worker's amounts changed. `workers` is the number of Workers.
    pub(super) fn add(&mut self, slot: Slot, workers: usize) {
        if let Self::These(slots) = self {
            if slots.len() >= 4 * workers + 1024 {
                *self = Self::All;
            } else {
                slots.push(slot);
            }
        }
    }

    /// What changed since the last call.
    pub(super) fn take(&mut self) -> Self {
        std::mem::replace(self, Self::These(Vec::new()))
    }
}
