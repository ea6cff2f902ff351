//! Workers who change in the order in which they come.
//!
//! What is placed lies together, as a rule: so do the bits that change, and those of one word change at once.

use super::Share;
use super::brief::Brief;
use super::extent::Extent;
use super::shelf::{WORD, bit};
use super::shelves::{Shelves, TooMany};
use super::stock::Stock;
use super::transfer::{Change, Transfer};

/// So many words change at the same time.
const WORDS: usize = 16;

/// Workers of one word who leave a shelf together, and come to another one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    word: usize,
    /// Their bits in it.
    places: u64,
    /// What they had of the amount that workers are sorted by.
    amount: i64,
    had: Extent,
    have: Extent,
}

impl Step {
    /// That is all that is known for the time being.
    #[inline]
    fn new(word: usize, places: u64) -> Self {
        Self { word, places, amount: 0, had: Extent::NOTHING, have: Extent::NOTHING }
    }
}

impl Shelves {
    /// Changes what workers have free by their shares. All of them are changed in any case.
    pub(super) fn change(
        &mut self,
        shares: &[Share],
        transfer: Transfer<'_>,
        stock: &mut Stock,
    ) -> Result<(), TooMany> {
        let mut changed = Ok(());
        for part in shares.chunk_by(Share::is_like) {
            let change = transfer.change(&part[0]);
            let are_many = changed.is_ok() && stock.is_empty() && self.is_many(part.len());
            changed = match are_many.then(|| self.places.mark(part)).flatten() {
                Some(marks) => self.change_together(&marks, &change),
                None => self.change_in_turn(changed, part, &change, stock),
            };
        }
        changed
    }

    /// Changes workers by shares that are alike.
    fn change_in_turn(
        &mut self,
        before: Result<(), TooMany>,
        shares: &[Share],
        change: &Change<'_>,
        stock: &mut Stock,
    ) -> Result<(), TooMany> {
        let mut changed = before;
        let mut steps = std::mem::take(&mut self.steps);
        for share in shares {
            let Some(place) = self.places.of(share.slot) else { continue };
            let (word, bit) = (place / WORD, bit(place));
            match steps.last_mut() {
                Some(step) if step.word == word && step.places & bit == 0 => step.places |= bit,
                Some(_) | None => {
                    if steps.len() == WORDS || steps.iter().any(|step| step.word == word) {
                        changed = self.take_steps(&mut steps, changed, change, stock);
                    }
                    steps.push(Step::new(word, bit));
                }
            }
        }
        changed = self.take_steps(&mut steps, changed, change, stock);
        self.steps = steps;
        changed
    }

    /// Changes workers in some words, each of them once, and moves them to the shelves where they belong then; unless there
    /// were too many shelves before. One thing after the other for all of them, so that what has to be fetched from far
    /// away in the memory comes at the same time.
    fn take_steps(
        &mut self,
        steps: &mut Vec<Step>,
        before: Result<(), TooMany>,
        change: &Change<'_>,
        stock: &mut Stock,
    ) -> Result<(), TooMany> {
        let (sorting, shift) = (self.sorting, change.shift(self.sorting));
        let mut at = 0;
        while before.is_ok()
            && let Some(&Step { word, places, .. }) = steps.get(at)
        {
            // All on a shelf have the same amount. So all who go from there go to the same other one.
            let amount = sorting.amount(&self.places.free(word * WORD + places.trailing_zeros() as usize));
            let row = self.shelves[self.known_shelf(amount)].row(word);
            let leavers = row.bits & places;
            if leavers != places {
                steps.push(Step::new(word, places & !leavers));
            }
            let had =
                if leavers == row.bits { row.extent } else { self.places.extent(word, leavers, sorting) };
            steps[at] = Step { word, places: leavers, amount, had, have: had };
            at += 1;
        }
        for Step { word, places, had, have, .. } in &mut *steps {
            self.change_free(*word, *places, change, stock);
            let known = if stock.is_empty() { had.after(&shift) } else { None };
            *have = known.unwrap_or_else(|| self.places.extent(*word, *places, sorting));
        }
        let mut moved = before;
        for Step { word, places, amount, had, have } in steps.drain(..) {
            moved = moved.and_then(|()| {
                let to = self.shelf(amount.saturating_add(shift.amount))?;
                let from = self.known_shelf(amount);
                let of = |place: usize| Brief::of(&self.places.free(place), sorting);
                self.shelves[from].remove(word, places, had.best, of);
                self.shelves[to].add(word, places, have);
                Ok(())
            });
        }
        moved
    }

    #[inline]
    fn change_free(&mut self, word: usize, places: u64, change: &Change<'_>, stock: &mut Stock) {
        self.places.change(word, places, change);
        if !stock.is_empty() {
            self.places.set_kinds(word, places, |slot| change.count(slot, stock));
        }
    }
}
