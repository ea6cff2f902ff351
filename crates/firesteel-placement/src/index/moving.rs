//! Workers that go from one shelf to another together.

use super::brief::Brief;
use super::free::Free;
use super::shelf::{WORD, bit};
use super::sorting::Sorting;

/// Workers who have had the same amount and have the same now. What is placed lies together, as a rule: so are the bits
/// that change, and those of one word change at once.
#[derive(Debug)]
pub(super) struct Moving {
    sorting: Sorting,
    /// What the last of them had and has, also in brief: the next one is like that, as a rule.
    last: (Free, Free),
    brief: (Brief, Brief),
    /// Word by word.
    steps: Vec<Step>,
}

/// Those of them whose places are in one word.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) word: usize,
    /// Their bits in it.
    pub(super) places: u64,
    /// The best of what they had, and of what they have now.
    pub(super) had: Brief,
    pub(super) have: Brief,
    /// The least that one of them has now of the amount beside that of the shelf.
    pub(super) least: u32,
}

impl Moving {
    /// Nobody.
    pub(super) fn new(sorting: Sorting) -> Self {
        let (last, brief) = ((Free::LEAST, Free::LEAST), (Brief::NOTHING, Brief::NOTHING));
        Self { sorting, last, brief, steps: Vec::new() }
    }

    /// Whether a worker goes the same way, and then comes along. Nobody goes twice.
    #[inline]
    pub(super) fn takes(&mut self, place: usize, had: Free, have: Free) -> bool {
        let Some(last) = self.steps.last_mut() else { return false };
        if self.last != (had, have) {
            if amounts(&self.last, self.sorting) != amounts(&(had, have), self.sorting) {
                return false;
            }
            self.last = (had, have);
            self.brief = (Brief::of(&had, self.sorting), Brief::of(&have, self.sorting));
        }
        let step = Step::new(place, self.brief, self.sorting);
        if last.word != step.word {
            self.steps.push(step);
        } else if last.places & step.places != 0 {
            return false;
        } else {
            last.join(&step);
        }
        true
    }

    /// The same where it is in the same word as the last one, and had and has the same; and else nothing.
    #[inline]
    pub(super) fn follows(&mut self, place: usize, had: Free, have: Free) -> bool {
        let Some(step) = self.steps.last_mut() else { return false };
        let bit = bit(place);
        let follows = step.word == place / WORD && step.places & bit == 0 && self.last == (had, have);
        if follows {
            step.places |= bit;
        }
        follows
    }

    /// One worker, after all others have moved.
    #[inline]
    pub(super) fn begin(&mut self, place: usize, had: Free, have: Free) {
        self.last = (had, have);
        self.brief = (Brief::of(&had, self.sorting), Brief::of(&have, self.sorting));
        self.steps.clear();
        self.steps.push(Step::new(place, self.brief, self.sorting));
    }

    /// All have moved.
    pub(super) fn end(&mut self) {
        self.steps.clear();
    }

    /// The amounts by which their shelves stand.
    pub(super) fn amounts(&self) -> (i64, i64) {
        amounts(&self.last, self.sorting)
    }

    /// Word by word.
    pub(super) fn steps(&self) -> &[Step] {
        &self.steps
    }
}

fn amounts((had, have): &(Free, Free), sorting: Sorting) -> (i64, i64) {
    (sorting.amount(had), sorting.amount(have))
}

impl Step {
    /// One worker who comes or goes.
    pub(super) fn one(place: usize, free: &Free, sorting: Sorting) -> Self {
        let brief = Brief::of(free, sorting);
        Self::new(place, (brief, brief), sorting)
    }

    fn new(place: usize, (had, have): (Brief, Brief), sorting: Sorting) -> Self {
        Self { word: place / WORD, places: bit(place), had, have, least: have.beside(sorting) }
    }

    /// Others of the same word come along.
    fn join(&mut self, other: &Self) {
        self.places |= other.places;
        self.had = self.had.or(other.had);
        self.have = self.have.or(other.have);
        self.least = self.least.min(other.least);
    }
}
