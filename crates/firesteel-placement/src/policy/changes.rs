//! The Workers whose free amounts changed since a [`Chooser`](super::Chooser) looked last.

use crate::index::Slot;

/// The Workers whose free amounts changed since a [`Chooser`](super::Chooser) last asked. A chooser that remembers
/// nothing about Workers never asks. Then all Workers count as changed, and no list is kept.
#[derive(Debug, Default)]
pub enum Changes {
    /// All Workers: some were added or removed, or too many changed.
    #[default]
    All,
    /// These Workers. A Worker may be listed more than once.
    These(Vec<Slot>),
}

impl Changes {
    /// Adds a Worker whose free amounts changed. `workers` is the number of Workers.
    #[inline]
    pub fn add(&mut self, slot: Slot, workers: usize) {
        if let Self::These(slots) = self {
            if slots.len() >= 4 * workers + 1024 {
                *self = Self::All;
            } else {
                slots.push(slot);
            }
        }
    }

    /// The changes since the last call.
    pub fn take(&mut self) -> Self {
        std::mem::replace(self, Self::These(Vec::new()))
    }
}
