//! Many workers who change alike, as when each is given an executor.
//!
//! One by one, in the worker order, they would be called up from all over the memory. Here they go word by word, in the
//! order of ids. All on a shelf have the same amount, so all of them who change go to one other shelf: bits of a word at
//! once.

use super::Slot;
use super::brief::Brief;
use super::free::Free;
use super::shelf::{WORD, bit};
use super::shelves::{Shelves, TooMany};
use super::sorting::Direction;

/// From so many of all workers on, one in so many, that is the shorter way,
const MANY: usize = 8;
/// and from so many on.
const LEAST: usize = 32;

/// From which shelf to which one.
struct Way {
    /// The amount that they have on the one.
    amount: i64,
    from: usize,
    to: usize,
    /// Who goes that way in the word at hand, and the best of what they have then.
    leavers: u64,
    best: Brief,
    least: u32,
}

impl Shelves {
    /// Whether so many are many.
    pub(super) fn is_many(&self, workers: usize) -> bool {
        workers >= LEAST && workers * MANY > self.len()
    }

    /// Changes all of these. One who is there several times is changed as often.
    pub(super) fn change_together(
        &mut self,
        slots: impl Iterator<Item = Slot>,
        change: impl Fn(Free) -> Free,
    ) -> Result<(), TooMany> {
        let mut marks = vec![0_u64; self.places.len() / WORD];
        let mut again = Vec::new();
        for slot in slots {
            let Some(place) = self.places.of(slot) else { continue };
            let mark = &mut marks[place / WORD];
            if *mark & bit(place) != 0 {
                again.push(slot);
            }
            *mark |= bit(place);
        }
        let mut ways = self.ways(&marks, &change);
        for (word, marked) in marks.into_iter().enumerate().filter(|(_, marked)| *marked != 0) {
            self.places.change_word(word, marked, &change);
            if let Ok(ways) = &mut ways {
                self.move_word(word, marked, ways, &change);
            }
        }
        let (slot, change) = (|slot: &Slot| *slot, |free, _: &Slot| change(free));
        match ways {
            Ok(ways) => {
                for Way { from, to, .. } in ways {
                    self.shelves[from].sum_up();
                    self.shelves[to].sum_up();
                }
                self.change_each(&again, slot, change)
            }
            Err(too_many) => {
                self.only_change(&again, slot, change);
                Err(too_many)
            }
        }
    }

    /// Where those who are marked go, with a shelf for all of them.
    fn ways(&mut self, marks: &[u64], change: impl Fn(Free) -> Free) -> Result<Vec<Way>, TooMany> {
        let shelves = self.amounts.all().iter().zip(&self.shelves);
        let from = shelves.filter(|(_, shelf)| shelf.has_some_of(marks)).map(|(amount, _)| *amount);
        let sorting = self.sorting;
        let pair = |amount| (amount, sorting.amount(&change(sorting.with(amount, Free::LEAST))));
        let amounts: Vec<(i64, i64)> = from.map(pair).collect();
        for (_, to) in &amounts {
            self.shelf(*to)?;
        }
        let way = |&(amount, to): &(i64, i64)| {
            let (from, to) = (self.known_shelf(amount), self.amounts.find(to).ok_or(TooMany)?);
            Ok(Way { amount, from, to, leavers: 0, best: Brief::NOTHING, least: 0 })
        };
        amounts.iter().map(way).collect()
    }

    /// Moves those who are marked in a word, and have been changed. What stands with groups of words is left as it was.
    fn move_word(&mut self, word: usize, marked: u64, ways: &mut [Way], change: impl Fn(Free) -> Free) {
        let ((_, all), sorting) = (self.places.of_word(word), self.sorting);
        let of = |place: usize| Brief::of(&all[place % WORD], sorting);
        let best = |places: u64| Direction::Forward.bits(places, 0).map(of).fold(Brief::NOTHING, Brief::or);
        // Nobody is put up where somebody is still to go.
        for way in &mut *ways {
            let row = self.shelves[way.from].row_mut(word);
            way.leavers = row.bits & marked;
            if way.leavers == 0 {
                continue;
            }
            way.least = match row.least {
                0 => 0,
                least => Brief::of(&change(sorting.of_least(way.amount, least)), sorting).beside(sorting),
            };
            if way.leavers == row.bits {
                let free = row.best.exactly(sorting, way.amount);
                way.best = free.map_or_else(|| best(row.bits), |free| Brief::of(&change(free), sorting));
                row.bits = 0;
            } else {
                way.best = best(way.leavers);
                row.bits &= !marked;
                row.best = best(row.bits);
            }
        }
        for way in ways.iter().filter(|way| way.leavers != 0) {
            self.shelves[way.to].row_mut(word).add(way.leavers, way.best, way.least);
        }
    }
}
