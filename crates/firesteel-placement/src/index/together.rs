//! Many workers who change alike, as when each is given an executor.
//!
//! One by one, in the worker order, they would be called up from all over the memory. Here they go in the order of ids,
//! and from one shelf to another all who go there, bits of a word at once.

use super::shelves::{Shelves, TooMany};
use super::sorting::Direction;
use super::transfer::{Change, Shift};

/// From so many of all workers on, one in so many, that is the shorter way,
const MANY: usize = 8;
/// and from so many on.
const LEAST: usize = 32;

impl Shelves {
    /// Whether so many are many.
    pub(super) fn is_many(&self, workers: usize) -> bool {
        workers >= LEAST && workers * MANY > self.len()
    }

    /// Changes the workers who are marked, with one word of marks for each word of places.
    pub(super) fn change_together(&mut self, marks: &[u64], change: &Change<'_>) -> Result<(), TooMany> {
        for (word, places) in marks.iter().enumerate() {
            self.places.change(word, *places, change);
        }
        let shift = change.shift(self.sorting);
        // Nobody comes to a shelf before those have left it who are to leave.
        let direction = if shift.amount < 0 { Direction::Forward } else { Direction::Backward };
        let amounts = self.amounts.all().to_vec();
        for position in direction.over(0..amounts.len()) {
            self.pass_on(amounts[position], marks, &shift)?;
        }
        Ok(())
    }

    /// Moves those who are marked from the shelf of that amount to the other one where they belong now.
    fn pass_on(&mut self, amount: i64, marks: &[u64], shift: &Shift) -> Result<(), TooMany> {
        let leaves = |from: usize| self.shelves[from].has_some_of(marks);
        if !self.amounts.find(amount).is_some_and(leaves) {
            return Ok(());
        }
        let to = self.shelf(amount.saturating_add(shift.amount))?;
        let from = self.known_shelf(amount);
        let extent = |word: usize, places: u64| self.places.extent(word, places, self.sorting);
        match self.shelves.get_disjoint_mut([from, to]) {
            Ok([from, to]) if to.is_empty() && from.has_all_marked(marks) => {
                // All of them go where nobody is: the shelf itself goes.
                std::mem::swap(from, to);
                to.change(shift, extent);
            }
            Ok([from, to]) => from.pass_on(to, marks, shift, extent),
            Err(_) => self.shelves[from].look_at(marks, extent),
        }
        Ok(())
    }
}
