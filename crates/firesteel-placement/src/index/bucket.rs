//! A bucket: the Workers with the same free amount of the sort key, as a row of bits.

use std::ops::ControlFlow;

use super::sorted::{Direction, SortKey};
use super::summary::{Maximum, Summary};
use super::update::BucketDelta;

/// The number of bits in a word, and of words in a group.
pub(super) const WORD: usize = 64;

/// A set of positions, with a summary of each word of 64 positions and of each group of 64 words.
///
/// Adding a Worker, removing one, and finding the next one that may fit take a few steps, for any number of Workers.
#[derive(Debug)]
pub(super) struct Bucket {
    /// One bit per position.
    words: Vec<Word>,
    /// One bit per word.
    groups: Vec<Word>,
    /// One bit per group.
    top: Vec<u64>,
}

/// 64 bits, and the summary of the Workers at these bits. If no bit is set, the summary is out of date.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word {
    pub(super) bits: u64,
    /// The summary of the Workers. In groups, its lower bound is 0.
    pub(super) summary: Summary,
}

impl Bucket {
    /// An empty bucket for this number of positions.
    pub(super) fn new(positions: usize) -> Self {
        let mut bucket = Self { words: Vec::new(), groups: Vec::new(), top: Vec::new() };
        bucket.grow(positions);
        bucket
    }

    /// Makes the bucket large enough for this number of positions.
    pub(super) fn grow(&mut self, positions: usize) {
        let words = positions.div_ceil(WORD);
        let groups = words.div_ceil(WORD);
        self.words.resize(words, Word::EMPTY);
        self.groups.resize(groups, Word::EMPTY);
        self.top.resize(groups.div_ceil(WORD), 0);
    }

    /// Whether the bucket contains no Worker.
    pub(super) fn is_empty(&self) -> bool {
        self.top.iter().all(|groups| *groups == 0)
    }

    /// Whether the bucket contains the Worker at a position.
    pub(super) fn contains(&self, position: usize) -> bool {
        self.words[position / WORD].bits & bit(position) != 0
    }

    /// One word of the bucket.
    #[inline]
    pub(super) fn word(&self, word: usize) -> &Word {
        &self.words[word]
    }

    /// Adds Workers of one word, which must not be in the bucket.
    #[inline]
    pub(super) fn add(&mut self, word: usize, bits: u64, summary: Summary) {
        let group = word / WORD;
        self.words[word].add(bits, summary);
        self.groups[group].add(bit(word), Summary { least: 0, ..summary });
        self.top[group / WORD] |= bit(group);
    }

    /// Removes Workers of one word. They must be in the bucket, and `leaving` must be their maximum. `maximum` looks up
    /// the Worker at a position.
    #[inline]
    pub(super) fn remove(
        &mut self,
        word: usize,
        bits: u64,
        leaving: Maximum,
        maximum: impl Fn(usize) -> Maximum,
    ) {
        let (number, row) = (word / WORD, &mut self.words[word]);
        let group = &mut self.groups[number];
        row.bits &= !bits;
        match row.after_removal(leaving, |bit| maximum(word * WORD + bit)) {
            Remaining::SameMaximum => return,
            Remaining::LowerMaximum => {}
            Remaining::None => group.bits &= !bit(word),
        }
        if group.bits == 0 {
            self.top[number / WORD] &= !bit(number);
        } else if group.summary.max.depends_on(leaving) {
            group.find_maximum(|word| self.words[number * WORD + word].summary.max);
        }
    }

    /// Whether any of the bucket's Workers is marked.
    pub(super) fn has_marked(&self, marks: &[u64]) -> bool {
        self.words.iter().zip(marks).any(|(word, marks)| word.bits & marks != 0)
    }

    /// Whether all of the bucket's Workers are marked.
    pub(super) fn is_all_marked(&self, marks: &[u64]) -> bool {
        self.words.iter().zip(marks).all(|(word, marks)| word.bits & !marks == 0)
    }

    /// Updates the summaries after the same change of all Workers in the bucket. `summary` computes the summary of some
    /// bits of a word anew.
    pub(super) fn shift(&mut self, delta: &BucketDelta, summary: impl Fn(usize, u64) -> Summary) {
        for (number, word) in self.words.iter_mut().enumerate().filter(|(_, word)| word.bits != 0) {
            word.summary = word.summary.after(delta).unwrap_or_else(|| summary(number, word.bits));
        }
        for group in self.groups.iter_mut().filter(|group| group.bits != 0) {
            match group.summary.after(delta) {
                Some(summary) => group.summary = summary,
                None => return self.rebuild_groups(),
            }
        }
    }

    /// Moves the marked Workers to another bucket, after the same change of each of them. `summary` computes the
    /// summary of some bits of a word anew.
    pub(super) fn move_marked(
        &mut self,
        to: &mut Self,
        marks: &[u64],
        delta: &BucketDelta,
        summary: impl Fn(usize, u64) -> Summary,
    ) {
        let words = self.words.iter_mut().zip(&mut to.words).zip(marks).enumerate();
        for (number, ((word, other), marks)) in words {
            let leaving = word.bits & marks;
            if leaving == 0 {
                continue;
            }
            let mut after = word.summary.after(delta);
            word.bits &= !leaving;
            if word.bits != 0 {
                word.summary.max = summary(number, word.bits).max;
                after = None;
            }
            other.add(leaving, after.unwrap_or_else(|| summary(number, leaving)));
        }
        self.rebuild_groups();
        to.rebuild_groups();
    }

    /// Updates the summaries of words with marked Workers, which have changed but stay in the bucket. `summary`
    /// computes the summary of some bits of a word anew.
    pub(super) fn refresh_marked(&mut self, marks: &[u64], summary: impl Fn(usize, u64) -> Summary) {
        for (number, (word, marks)) in self.words.iter_mut().zip(marks).enumerate() {
            if word.bits & marks != 0 {
                word.summary = summary(number, word.bits);
            }
        }
        self.rebuild_groups();
    }

    /// Computes the groups anew from the words.
    fn rebuild_groups(&mut self) {
        let groups = self.groups.iter_mut().zip(self.words.chunks(WORD)).enumerate();
        for (number, (group, words)) in groups {
            *group = Word::EMPTY;
            for (at, word) in words.iter().enumerate().filter(|(_, word)| word.bits != 0) {
                group.add(bit(at), Summary { least: 0, ..word.summary });
            }
            let top = &mut self.top[number / WORD];
            *top = if group.bits == 0 { *top & !bit(number) } else { *top | bit(number) };
        }
    }

    /// Visits the words whose Workers may have the required amounts, in order, until `visit` breaks.
    #[inline]
    pub(super) fn walk(
        &self,
        required: Maximum,
        direction: Direction,
        mut visit: impl FnMut(usize, &Word) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for top in direction.over(0..self.top.len()) {
            for group in direction.bits(self.top[top], top * WORD) {
                let Word { bits, summary } = self.groups[group];
                if !summary.max.may_cover(required) {
                    continue;
                }
                for number in direction.bits(bits, group * WORD) {
                    let word = &self.words[number];
                    if word.summary.max.may_cover(required) {
                        visit(number, word)?;
                    }
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Sets every summary too low: a deliberate bug for tests.
    #[cfg(test)]
    pub(super) fn forget_summaries(&mut self) {
        self.words.iter_mut().for_each(|word| word.summary.max = Maximum::NONE);
    }

    /// Checks every summary, and counts the Workers. `maximum` looks up the Worker at a position.
    pub(super) fn check(
        &self,
        maximum: impl Fn(usize) -> Maximum,
        sort_key: SortKey,
    ) -> Result<usize, String> {
        let mut count = 0;
        for (number, word) in self.words.iter().enumerate() {
            let positions = || Direction::Ascending.bits(word.bits, number * WORD);
            count += positions().count();
            let max = positions().map(&maximum).reduce(Maximum::max);
            if max.is_some() != (self.groups[number / WORD].bits & bit(number) != 0) {
                return Err(format!("the group of word {number} does not know whether it has Workers"));
            }
            if max.is_some_and(|max| max != word.summary.max) {
                return Err(format!("word {number} says {:?}, its workers {max:?}", word.summary.max));
            }
            let least = positions().map(|position| maximum(position).secondary(sort_key)).min();
            if least.is_some_and(|least| least < word.summary.least) {
                return Err(format!("a worker of word {number} is below {}", word.summary.least));
            }
        }
        for (number, group) in self.groups.iter().enumerate() {
            let words = Direction::Ascending.bits(group.bits, number * WORD);
            let max = words.map(|word| self.words[word].summary.max).reduce(Maximum::max);
            if max.is_some() != (self.top[number / WORD] & bit(number) != 0) {
                return Err(format!("the top does not know whether group {number} has Workers"));
            }
            if max.is_some_and(|max| max != group.summary.max) {
                return Err(format!("group {number} says {:?}, its words {max:?}", group.summary.max));
            }
        }
        Ok(count)
    }
}

/// What is left of a word after a removal.
enum Remaining {
    SameMaximum,
    LowerMaximum,
    None,
}

impl Word {
    const EMPTY: Self = Self { bits: 0, summary: Summary::NONE };

    #[inline]
    fn add(&mut self, bits: u64, summary: Summary) {
        self.summary = if self.bits == 0 { summary } else { self.summary.merge(summary) };
        self.bits |= bits;
    }

    /// Whether all Workers of the word have this much of the secondary amount. May return `false` if the lower bound is
    /// too low.
    #[inline]
    pub(super) fn all_have(&self, secondary: Option<u32>) -> bool {
        secondary.is_some_and(|required| self.summary.least >= required.max(1))
    }

    /// Updates the maximum after Workers with the maximum `leaving` have left. `maximum` looks up the Worker at a bit.
    #[inline]
    fn after_removal(&mut self, leaving: Maximum, maximum: impl Fn(usize) -> Maximum) -> Remaining {
        match self.bits {
            0 => Remaining::None,
            _ if self.summary.max.depends_on(leaving) => self.find_maximum(maximum),
            _ => Remaining::SameMaximum,
        }
    }

    /// Computes the maximum anew. `maximum` looks up the Worker at a bit.
    fn find_maximum(&mut self, maximum: impl Fn(usize) -> Maximum) -> Remaining {
        let max = &mut self.summary.max;
        let before = std::mem::replace(max, Maximum::NONE);
        for bit in Direction::Ascending.bits(self.bits, 0) {
            *max = max.max(maximum(bit));
            if *max == before {
                return Remaining::SameMaximum;
            }
        }
        Remaining::LowerMaximum
    }
}

/// The mask with the bit of a position in its word, of a word in its group, or of a group in the top.
pub(super) fn bit(position: usize) -> u64 {
    1 << (position % WORD)
}
