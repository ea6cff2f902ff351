//! Workers that are alike in the amount that they are sorted by, as a row of bits.

use std::ops::ControlFlow;

use super::brief::Brief;
use super::moving::Step;
use super::sorting::{Direction, Sorting};

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

/// 64 bits, with the best of their workers. Where there is nobody it is of the past.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) bits: u64,
    pub(super) best: Brief,
    /// No worker has less of the amount beside that of the shelf; 0 if that is not known.
    pub(super) least: u32,
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

    /// Adds workers who are not there.
    #[inline]
    pub(super) fn add(&mut self, steps: &[Step]) {
        for &Step { word, places, have, least, .. } in steps {
            let group = word / WORD;
            self.words[word].add(places, have, least);
            self.groups[group].add(bit(word), have, 0);
            self.top[group / WORD] |= bit(group);
        }
    }

    /// Takes workers out who are there. `of` says what the others have.
    #[inline]
    pub(super) fn remove(&mut self, steps: &[Step], of: impl Fn(usize) -> Brief) {
        // All of them first: nobody is to be found again who goes, too.
        for step in steps {
            self.words[step.word].bits &= !step.places;
        }
        for &Step { word, had, .. } in steps {
            let number = word / WORD;
            let group = &mut self.groups[number];
            match self.words[word].without(had, |bit| of(word * WORD + bit)) {
                Left::AsGood => continue,
                Left::LessGood => {}
                Left::Nobody => group.bits &= !bit(word),
            }
            if group.bits == 0 {
                self.top[number / WORD] &= !bit(number);
            } else if group.best.owes_to(had) {
                group.look(|word| self.words[number * WORD + word].best);
            }
        }
    }

    /// Whether somebody is there who is marked.
    pub(super) fn has_some_of(&self, marks: &[u64]) -> bool {
        self.words.iter().zip(marks).any(|(row, marks)| row.bits & marks != 0)
    }

    /// A word, to be changed: from then on, until the shelf is [summed up](Self::sum_up), what stands with groups is of the
    /// past.
    #[inline]
    pub(super) fn row_mut(&mut self, word: usize) -> &mut Row {
        &mut self.words[word]
    }

    /// Finds anew what stands with groups.
    pub(super) fn sum_up(&mut self) {
        let groups = self.groups.iter_mut().zip(self.words.chunks(WORD)).enumerate();
        for (number, (group, words)) in groups {
            *group = Row::EMPTY;
            for (word, row) in words.iter().enumerate().filter(|(_, row)| row.bits != 0) {
                group.add(bit(word), row.best, 0);
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
                let Row { bits, best, .. } = self.groups[group];
                if !best.may_cover(asked) {
                    continue;
                }
                for word in direction.bits(bits, group * WORD) {
                    let row = &self.words[word];
                    if row.best.may_cover(asked) {
                        visit(word, row)?;
                    }
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Forgets what the best have.
    pub(super) fn forget_best(&mut self) {
        self.words.iter_mut().for_each(|row| row.best = Brief::NOTHING);
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
            if best.is_some_and(|best| best != row.best) {
                return Err(format!("word {word} is {:?}, its workers {best:?}", row.best));
            }
            let least = Direction::Forward.bits(row.bits, word * WORD).map(|place| of(place).beside(sorting));
            if least.min().is_some_and(|least| least < row.least) {
                return Err(format!("a worker in word {word} has less than its least, {}", row.least));
            }
        }
        for (group, row) in self.groups.iter().enumerate() {
            let words = Direction::Forward.bits(row.bits, group * WORD).map(|word| self.words[word].best);
            let best = words.reduce(Brief::or);
            if best.is_some() != (self.top[group / WORD] & bit(group) != 0) {
                return Err(format!("the top does not know whether group {group} has workers"));
            }
            if best.is_some_and(|best| best != row.best) {
                return Err(format!("group {group} is {:?}, its words {best:?}", row.best));
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
    const EMPTY: Self = Self { bits: 0, best: Brief::NOTHING, least: 0 };

    #[inline]
    pub(super) fn add(&mut self, bits: u64, best: Brief, least: u32) {
        (self.best, self.least) =
            if self.bits == 0 { (best, least) } else { (self.best.or(best), self.least.min(least)) };
        self.bits |= bits;
    }

    /// Whether it is known that everybody has so much of the amount beside that of the shelf.
    #[inline]
    pub(super) fn covers(&self, asked: Option<u32>) -> bool {
        asked.is_some_and(|asked| self.least >= asked.max(1))
    }

    /// What is left after some were taken out who had so much. `of` says what is at a bit.
    #[inline]
    fn without(&mut self, had: Brief, of: impl Fn(usize) -> Brief) -> Left {
        match self.bits {
            0 => Left::Nobody,
            _ if self.best.owes_to(had) => self.look(of),
            _ => Left::AsGood,
        }
    }

    /// Finds the best anew. `of` says what is at a bit.
    fn look(&mut self, of: impl Fn(usize) -> Brief) -> Left {
        let known = std::mem::replace(&mut self.best, Brief::NOTHING);
        for bit in Direction::Forward.bits(self.bits, 0) {
            self.best = self.best.or(of(bit));
            if self.best == known {
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
