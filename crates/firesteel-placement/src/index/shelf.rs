//! Workers that are alike in the amount that they are sorted by, as a row of bits.

use std::ops::ControlFlow;

use super::entry::{Best, Direction, Kinds};
use super::wants::Wants;
use crate::{Cores, MiB};

/// Bits in a word, and words in a group.
const WORD: usize = 64;

/// A set of places, with the best of each 64 places and of each 64 times as many. Adding, taking out and finding the
/// next who may have room costs a few steps, however many there are.
#[derive(Debug)]
pub(super) struct Shelf {
    len: usize,
    /// A bit for each place.
    words: Floor,
    /// A bit for each word.
    groups: Floor,
    /// A bit for each group.
    top: Vec<u64>,
}

/// Rows of 64 bits, each with the best of its workers.
#[derive(Debug, Default)]
struct Floor {
    bits: Vec<u64>,
    best: Vec<Brief>,
}

/// A [`Best`] in half of its room: never less than that, and no more than that where amounts are not absurd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Brief {
    cores: u32,
    memory: u32,
    kinds: Kinds,
}

impl Shelf {
    /// An empty one for so many places.
    pub(super) fn new(places: usize) -> Self {
        let mut shelf = Self { len: 0, words: Floor::default(), groups: Floor::default(), top: Vec::new() };
        shelf.grow(places);
        shelf
    }

    /// From now on there are so many places.
    pub(super) fn grow(&mut self, places: usize) {
        let words = places.div_ceil(WORD);
        let groups = words.div_ceil(WORD);
        self.words.grow(words);
        self.groups.grow(groups);
        self.top.resize(groups.div_ceil(WORD), 0);
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn has(&self, place: usize) -> bool {
        self.words.bits[place / WORD] & bit(place) != 0
    }

    pub(super) fn clear(&mut self) {
        self.len = 0;
        self.words.bits.fill(0);
        self.groups.bits.fill(0);
        self.top.fill(0);
    }

    /// Adds one that is not there.
    pub(super) fn add(&mut self, place: usize, best: &Best) {
        let (word, brief) = (place / WORD, Brief::of(best));
        self.len += 1;
        self.words.add(place, brief);
        self.groups.add(word, brief);
        let group = word / WORD;
        self.top[group / WORD] |= bit(group);
    }

    /// Takes one out that is there. `of` says what the others have.
    pub(super) fn remove(&mut self, place: usize, gone: &Best, of: impl Fn(usize) -> Best) {
        let (word, gone) = (place / WORD, Brief::of(gone));
        let group = word / WORD;
        self.len -= 1;
        match self.words.remove(place, gone, |place| Brief::of(&of(place))) {
            After::Same => return,
            After::Less => {
                if self.groups.best[group].owes_to(gone) {
                    self.groups.look(group, |word| self.words.best[word]);
                }
                return;
            }
            After::Nobody => {}
        }
        match self.groups.remove(word, gone, |word| self.words.best[word]) {
            After::Same | After::Less => {}
            After::Nobody => self.top[group / WORD] &= !bit(group),
        }
    }

    /// Shows the places whose workers may have room, in order, until it is told to stop.
    pub(super) fn walk(
        &self,
        wants: &Wants<'_>,
        direction: Direction,
        mut visit: impl FnMut(usize) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for top in direction.over(0..self.top.len()) {
            for group in direction.bits(self.top[top], top * WORD) {
                if !wants.may_fit(&self.groups.best[group].long()) {
                    continue;
                }
                for word in direction.bits(self.groups.bits[group], group * WORD) {
                    if !wants.may_fit(&self.words.best[word].long()) {
                        continue;
                    }
                    for place in direction.bits(self.words.bits[word], word * WORD) {
                        visit(place)?;
                    }
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// What is wrong with it, if something is; `of` says what the workers have.
    pub(super) fn check(&self, of: impl Fn(usize) -> Best) -> Result<(), String> {
        let mut count = 0;
        for (word, bits) in self.words.bits.iter().enumerate() {
            let places = Direction::Forward.bits(*bits, word * WORD);
            let best = places.fold(None, |best: Option<Brief>, place| {
                count += 1;
                let brief = Brief::of(&of(place));
                Some(best.map_or(brief, |best| best.or(brief)))
            });
            let known = self.groups.bits[word / WORD] & bit(word) != 0;
            if best.is_some() != known || best.is_some_and(|best| best != self.words.best[word]) {
                return Err(format!("word {word} is {:?}, its workers {best:?}", self.words.best[word]));
            }
        }
        for (group, bits) in self.groups.bits.iter().enumerate() {
            let words = Direction::Forward.bits(*bits, group * WORD).map(|word| self.words.best[word]);
            let best = words.reduce(Brief::or);
            let known = self.top[group / WORD] & bit(group) != 0;
            if best.is_some() != known || best.is_some_and(|best| best != self.groups.best[group]) {
                return Err(format!("group {group} is {:?}, its words {best:?}", self.groups.best[group]));
            }
        }
        if count != self.len {
            return Err(format!("{count} places are counted as {}", self.len));
        }
        Ok(())
    }
}

/// What is left of a row when one was taken out.
enum After {
    /// One as good.
    Same,
    /// Less good ones.
    Less,
    Nobody,
}

impl Floor {
    fn grow(&mut self, rows: usize) {
        self.bits.resize(rows, 0);
        self.best.resize(rows, Brief::NONE);
    }

    fn add(&mut self, place: usize, brief: Brief) {
        let row = place / WORD;
        self.best[row] = if self.bits[row] == 0 { brief } else { self.best[row].or(brief) };
        self.bits[row] |= bit(place);
    }

    fn remove(&mut self, place: usize, gone: Brief, of: impl Fn(usize) -> Brief) -> After {
        let row = place / WORD;
        self.bits[row] &= !bit(place);
        if self.bits[row] == 0 {
            return After::Nobody;
        }
        if !self.best[row].owes_to(gone) {
            return After::Same;
        }
        self.look(row, of)
    }

    /// Finds the best of a row anew.
    fn look(&mut self, row: usize, of: impl Fn(usize) -> Brief) -> After {
        let known = self.best[row];
        let mut best = Brief::NONE;
        for place in Direction::Forward.bits(self.bits[row], row * WORD) {
            best = best.or(of(place));
            if best == known {
                return After::Same;
            }
        }
        self.best[row] = best;
        After::Less
    }
}

impl Brief {
    const NONE: Self = Self { cores: 0, memory: 0, kinds: Kinds::NONE };

    fn of(best: &Best) -> Self {
        let brief = |amount: i64| u32::try_from(amount.max(0)).unwrap_or(u32::MAX);
        Self { cores: brief(best.cores.0), memory: brief(best.memory.0), kinds: best.kinds }
    }

    fn long(self) -> Best {
        let long = |amount: u32| if amount == u32::MAX { i64::MAX } else { i64::from(amount) };
        Best { cores: Cores(long(self.cores)), memory: MiB(long(self.memory)), kinds: self.kinds }
    }

    fn or(self, other: Self) -> Self {
        Self {
            cores: self.cores.max(other.cores),
            memory: self.memory.max(other.memory),
            kinds: self.kinds.or(other.kinds),
        }
    }

    fn owes_to(self, other: Self) -> bool {
        self.cores == other.cores || self.memory == other.memory || other.kinds != Kinds::NONE
    }
}

fn bit(place: usize) -> u64 {
    1 << (place % WORD)
}
