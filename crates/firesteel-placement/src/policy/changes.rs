//! The Workers whose free amounts changed since a [`Chooser`](super::Chooser) looked last.

use crate::index::Slot;

/// The Workers whose free amounts changed since a [`Chooser`](super::Chooser) looked last. While it keeps nothing about
/// Workers it never looks, and all count as changed: then nothing is remembered here.
#[derive(Debug, Default)]
pub enum Changes {
    /// All of them: some came or went, or too many changed.
    #[default]
    All,
    /// These Workers. Some are listed more than once.
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
