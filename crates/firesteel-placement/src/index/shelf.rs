//! Workers that are alike in the amount that they are sorted by, as a row of bits.

use std::ops::ControlFlow;

use super::brief::Brief;
use super::extent::Extent;
use super::sorting::{Direction, Sorting};
use super::transfer::Shift;

/// Bits in a word, and words in a group.
pub(super) const WORD: usize = 64;

/// A set of places, with the best of each 64 places and of each 64 times as many. Adding, taking out and finding the
/// next who may have room costs a few steps, however many there are.
#[derive(Debug)]
pub(super) struct Shelf {
    /// A bit for each place.
    words: Vec<Row>,
    /// A bit for each word.
    groups: Vec<Row>,
    /// A bit for each group.
    top: Vec<u64>,
}

/// 64 bits, with what their workers have. Where there is nobody that is of the past.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) bits: u64,
    /// With groups, the least is not known.
    pub(super) extent: Extent,
}

impl Shelf {
    /// An empty one for so many places.
    pub(super) fn new(places: usize) -> Self {
        let mut shelf = Self { words: Vec::new(), groups: Vec::new(), top: Vec::new() };
        shelf.grow(places);
        shelf
    }

    /// From now on there are so many places.
    pub(super) fn grow(&mut self, places: usize) {
        let words = places.div_ceil(WORD);
        let groups = words.div_ceil(WORD);
        self.words.resize(words, Row::EMPTY);
        self.groups.resize(groups, Row::EMPTY);
        self.top.resize(groups.div_ceil(WORD), 0);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.top.iter().all(|groups| *groups == 0)
    }

    pub(super) fn has(&self, place: usize) -> bool {
        self.words[place / WORD].bits & bit(place) != 0
    }

    /// Adds workers in a word who are not there, and have that.
    #[inline]
    pub(super) fn add(&mut self, word: usize, places: u64, extent: Extent) {
        let group = word / WORD;
        self.words[word].add(places, extent);
        self.groups[group].add(bit(word), Extent { least: 0, ..extent });
        self.top[group / WORD] |= bit(group);
    }

    /// Takes workers in a word out who are there, and had at best that. `of` says what the others have.
    #[inline]
    pub(super) fn remove(&mut self, word: usize, places: u64, had: Brief, of: impl Fn(usize) -> Brief) {
        let (number, row) = (word / WORD, &mut self.words[word]);
        let group = &mut self.groups[number];
        row.bits &= !places;
        match row.without(had, |bit| of(word * WORD + bit)) {
            Left::AsGood => return,
            Left::LessGood => {}
            Left::Nobody => group.bits &= !bit(word),
        }
        if group.bits == 0 {
            self.top[number / WORD] &= !bit(number);
        } else if group.extent.best.owes_to(had) {
            group.look(|word| self.words[number * WORD + word].extent.best);
        }
    }

    /// Who is there in a word.
    #[inline]
    pub(super) fn row(&self, word: usize) -> &Row {
        &self.words[word]
    }

    /// Whether somebody is there who is marked.
    pub(super) fn has_some_of(&self, marks: &[u64]) -> bool {
        self.words.iter().zip(marks).any(|(row, marks)| row.bits & marks != 0)
    }

    /// Whether all who are there are marked.
    pub(super) fn has_all_marked(&self, marks: &[u64]) -> bool {
        self.words.iter().zip(marks).all(|(row, marks)| row.bits & !marks == 0)
    }

    /// Knows what all have after a change of all. `extent` says what those at some places of a word have.
    pub(super) fn change(&mut self, shift: &Shift, extent: impl Fn(usize, u64) -> Extent) {
        for (word, row) in self.words.iter_mut().enumerate().filter(|(_, row)| row.bits != 0) {
            row.extent = row.extent.after(shift).unwrap_or_else(|| extent(word, row.bits));
        }
        for group in self.groups.iter_mut().filter(|group| group.bits != 0) {
            match group.extent.after(shift) {
                Some(extent) => group.extent = extent,
                None => return self.sum_up(),
            }
        }
    }

    /// Moves those who are marked, and have changed, to another shelf. `extent` says what those at some places of a word
    /// have.
    pub(super) fn pass_on(
        &mut self,
        to: &mut Self,
        marks: &[u64],
        shift: &Shift,
        extent: impl Fn(usize, u64) -> Extent,
    ) {
        let words = self.words.iter_mut().zip(&mut to.words).zip(marks).enumerate();
        for (word, ((row, other), marks)) in words {
            let leavers = row.bits & marks;
            if leavers == 0 {
                continue;
            }
            let mut have = row.extent.after(shift);
            row.bits &= !leavers;
            if row.bits != 0 {
                row.extent.best = extent(word, row.bits).best;
                have = None;
            }
            other.add(leavers, have.unwrap_or_else(|| extent(word, leavers)));
        }
        self.sum_up();
        to.sum_up();
    }

    /// Looks anew at those who are marked, and have changed, but stay. `extent` says what those at some places of a word
    /// have.
    pub(super) fn look_at(&mut self, marks: &[u64], extent: impl Fn(usize, u64) -> Extent) {
        for (word, (row, marks)) in self.words.iter_mut().zip(marks).enumerate() {
            if row.bits & marks != 0 {
                row.extent = extent(word, row.bits);
            }
        }
        self.sum_up();
    }

    /// Finds anew what stands with groups.
    fn sum_up(&mut self) {
        let groups = self.groups.iter_mut().zip(self.words.chunks(WORD)).enumerate();
        for (number, (group, words)) in groups {
            *group = Row::EMPTY;
            for (word, row) in words.iter().enumerate().filter(|(_, row)| row.bits != 0) {
                group.add(bit(word), Extent { least: 0, ..row.extent });
            }
            let top = &mut self.top[number / WORD];
            *top = if group.bits == 0 { *top & !bit(number) } else { *top | bit(number) };
        }
    }

    /// Shows the words whose workers may have what is asked, in order, until it is told to stop.
    #[inline]
    pub(super) fn walk(
        &self,
        asked: Brief,
        direction: Direction,
        mut visit: impl FnMut(usize, &Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for top in direction.over(0..self.top.len()) {
            for group in direction.bits(self.top[top], top * WORD) {
                let Row { bits, extent } = self.groups[group];
                if !extent.best.may_cover(asked) {
                    continue;
                }
                for word in direction.bits(bits, group * WORD) {
                    let row = &self.words[word];
                    if row.extent.best.may_cover(asked) {
                        visit(word, row)?;
                    }
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Forgets what the best have.
    #[cfg(test)]
    pub(super) fn forget_best(&mut self) {
        self.words.iter_mut().for_each(|row| row.extent.best = Brief::NOTHING);
    }

    /// What is wrong with it, if something is, or else how many there are; `of` says what the workers have.
    pub(super) fn check(&self, of: impl Fn(usize) -> Brief, sorting: Sorting) -> Result<usize, String> {
        let mut count = 0;
        for (word, row) in self.words.iter().enumerate() {
            let places = Direction::Forward.bits(row.bits, word * WORD).inspect(|_| count += 1);
            let best = places.map(&of).reduce(Brief::or);
            if best.is_some() != (self.groups[word / WORD].bits & bit(word) != 0) {
                return Err(format!("its group does not know whether word {word} has workers"));
            }
            if best.is_some_and(|best| best != row.extent.best) {
                return Err(format!("word {word} is {:?}, its workers {best:?}", row.extent.best));
            }
            let least = Direction::Forward.bits(row.bits, word * WORD).map(|place| of(place).beside(sorting));
            if least.min().is_some_and(|least| least < row.extent.least) {
                return Err(format!("a worker in word {word} has less than its least, {}", row.extent.least));
            }
        }
        for (group, row) in self.groups.iter().enumerate() {
            let words =
                Direction::Forward.bits(row.bits, group * WORD).map(|word| self.words[word].extent.best);
            let best = words.reduce(Brief::or);
            if best.is_some() != (self.top[group / WORD] & bit(group) != 0) {
                return Err(format!("the top does not know whether group {group} has workers"));
            }
            if best.is_some_and(|best| best != row.extent.best) {
                return Err(format!("group {group} is {:?}, its words {best:?}", row.extent.best));
            }
        }
        Ok(count)
    }
}

/// What is left of a row after some were taken out.
enum Left {
    AsGood,
    LessGood,
    Nobody,
}

impl Row {
    const EMPTY: Self = Self { bits: 0, extent: Extent::NOTHING };

    #[inline]
    fn add(&mut self, bits: u64, extent: Extent) {
        self.extent = if self.bits == 0 { extent } else { self.extent.or(extent) };
        self.bits |= bits;
    }

    /// Whether it is known that everybody has so much of the amount beside that of the shelf.
    #[inline]
    pub(super) fn covers(&self, asked: Option<u32>) -> bool {
        asked.is_some_and(|asked| self.extent.least >= asked.max(1))
    }

    /// What is left after some were taken out who had so much. `of` says what is at a bit.
    #[inline]
    fn without(&mut self, had: Brief, of: impl Fn(usize) -> Brief) -> Left {
        match self.bits {
            0 => Left::Nobody,
            _ if self.extent.best.owes_to(had) => self.look(of),
            _ => Left::AsGood,
        }
    }

    /// Finds the best anew. `of` says what is at a bit.
    fn look(&mut self, of: impl Fn(usize) -> Brief) -> Left {
        let best = &mut self.extent.best;
        let known = std::mem::replace(best, Brief::NOTHING);
        for bit in Direction::Forward.bits(self.bits, 0) {
            *best = best.or(of(bit));
            if *best == known {
                return Left::AsGood;
            }
        }
        Left::LessGood
    }
}

/// A place's bit in its word, a word's in its group.
pub(super) fn bit(place: usize) -> u64 {
    1 << (place % WORD)
}
