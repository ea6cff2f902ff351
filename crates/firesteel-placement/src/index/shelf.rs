//! Workers that are alike in the amount that they are sorted by, as a row of bits.

use std::ops::ControlFlow;

use super::brief::Brief;
use super::sorting::Direction;

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
struct Row {
    bits: u64,
    best: Brief,
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

    /// Adds places of a word that are not there, with the best of their workers.
    pub(super) fn add(&mut self, word: usize, places: u64, best: Brief) {
        let group = word / WORD;
        self.words[word].add(places, best);
        self.groups[group].add(bit(word), best);
        self.top[group / WORD] |= bit(group);
    }

    /// Takes places of a word out that are there. `had` is the best that their workers had, and `of` says what
    /// the others have.
    pub(super) fn remove(&mut self, word: usize, places: u64, had: Brief, of: impl Fn(usize) -> Brief) {
        let number = word / WORD;
        let group = &mut self.groups[number];
        match self.words[word].remove(places, had, |bit| of(word * WORD + bit)) {
            Left::AsGood => return,
            Left::LessGood => {}
            Left::Nobody => group.bits &= !bit(word),
        }
        if group.bits == 0 {
            self.top[number / WORD] &= !bit(number);
        } else if group.best.owes_to(had) {
            group.look(|word| self.words[number * WORD + word].best);
        }
    }

    /// Shows the places whose workers may have what is asked, in order, until it is told to stop.
    pub(super) fn walk(
        &self,
        asked: Brief,
        direction: Direction,
        mut visit: impl FnMut(usize) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for top in direction.over(0..self.top.len()) {
            for group in direction.bits(self.top[top], top * WORD) {
                let Row { bits, best } = self.groups[group];
                if !best.may_cover(asked) {
                    continue;
                }
                for word in direction.bits(bits, group * WORD) {
                    let Row { bits, best } = self.words[word];
                    if !best.may_cover(asked) {
                        continue;
                    }
                    for place in direction.bits(bits, word * WORD) {
                        visit(place)?;
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
    pub(super) fn check(&self, of: impl Fn(usize) -> Brief) -> Result<usize, String> {
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
    const EMPTY: Self = Self { bits: 0, best: Brief::NOTHING };

    #[inline]
    fn add(&mut self, bits: u64, best: Brief) {
        self.best = if self.bits == 0 { best } else { self.best.or(best) };
        self.bits |= bits;
    }

    #[inline]
    fn remove(&mut self, bits: u64, had: Brief, of: impl Fn(usize) -> Brief) -> Left {
        self.bits &= !bits;
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
