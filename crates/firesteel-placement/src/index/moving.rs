//! Workers that go from one shelf to another together.

use super::brief::Brief;
use super::free::Free;
use super::shelf::{WORD, bit};
use super::sorting::Sorting;

/// Workers whose places are in one word, who have had the same amount and have the same now. What is placed lies
/// together, as a rule: so are the bits that change, and they change at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moving {
    /// What the last of them had and has: the next one is like that, as a rule.
    last: (Free, Free),
    /// The word, and their bits in it.
    pub(super) word: usize,
    pub(super) places: u64,
    /// The best of what they had, and of what they have now.
    pub(super) had: Brief,
    pub(super) have: Brief,
}

impl Moving {
    /// Nobody.
    pub(super) const NOBODY: Self = Self {
        last: (Free::LEAST, Free::LEAST),
        word: 0,
        places: 0,
        had: Brief::NOTHING,
        have: Brief::NOTHING,
    };

    /// One worker.
    pub(super) fn one(place: usize, had: Free, have: Free, sorting: Sorting) -> Self {
        Self {
            last: (had, have),
            word: place / WORD,
            places: bit(place),
            had: Brief::of(&had, sorting),
            have: Brief::of(&have, sorting),
        }
    }

    /// Whether a worker goes the same way, and then comes along. Nobody goes twice.
    #[inline]
    pub(super) fn takes(&mut self, place: usize, had: Free, have: Free, sorting: Sorting) -> bool {
        if self.word != place / WORD || self.places & bit(place) != 0 {
            return false;
        }
        if self.last != (had, have) {
            if self.amounts(sorting) != (sorting.amount(&had), sorting.amount(&have)) {
                return false;
            }
            self.last = (had, have);
            self.had = self.had.or(Brief::of(&had, sorting));
            self.have = self.have.or(Brief::of(&have, sorting));
        }
        self.places |= bit(place);
        true
    }

    /// The amounts by which their shelves stand.
    pub(super) fn amounts(&self, sorting: Sorting) -> (i64, i64) {
        let (had, have) = &self.last;
        (sorting.amount(had), sorting.amount(have))
    }
}
