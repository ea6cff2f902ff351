//! Workers in buckets, one bucket for each free amount of the sort key.
//!
//! The Workers of a cluster have few different numbers of free cores. So the worker order has two steps: from bucket to
//! bucket, and within a bucket from position to position. A change of Workers clears bits in one bucket and sets bits
//! in another. This needs no search, and it changes all Workers of one word at once.

use std::ops::ControlFlow;

use super::bucket::{Bucket, WORD, bit};
use super::free::Free;
use super::positions::Positions;
use super::requirement::Search;
use super::sorted::Direction;
use super::summary::{Maximum, Summary};
use super::update::Move;
use super::{Share, Slot};

/// The maximum number of buckets. A bucket takes about two and a half bits per Worker.
const MAX_BUCKETS: usize = 128;

/// The Workers by their free amount of the sort key.
#[derive(Debug)]
pub(super) struct Buckets {
    pub(super) keys: BucketKeys,
    /// One bucket per key, in the same order.
    pub(super) buckets: Vec<Bucket>,
    /// Memory for the moves of an update. Empty between updates.
    pub(super) moves: Vec<Move>,
}

/// The error that a change would need more than [`MAX_BUCKETS`] buckets. The positions are up to date, the buckets are
/// not.
#[derive(Clone, Copy, Debug)]
pub(super) struct TooManyBuckets;

impl Buckets {
    /// An empty list of buckets, without Workers.
    pub(super) fn new() -> Self {
        Self { keys: BucketKeys::new(), buckets: Vec::new(), moves: Vec::new() }
    }

    /// Adds the Worker at a position.
    pub(super) fn add(&mut self, positions: &Positions, position: usize) -> Result<(), TooManyBuckets> {
        let free = positions.free(position);
        let bucket = self.bucket(positions.sort_key().amount(&free), positions.len())?;
        let summary = Summary::of(&free, positions.sort_key());
        self.buckets[bucket].add(position / WORD, bit(position), summary);
        Ok(())
    }

    /// Removes the Worker at a position.
    pub(super) fn remove(&mut self, positions: &Positions, position: usize) {
        let bucket = self.known_bucket(positions.sort_key().amount(&positions.free(position)));
        let leaving = positions.maximum(position);
        let maximum = |position: usize| positions.maximum(position);
        self.buckets[bucket].remove(position / WORD, bit(position), leaving, maximum);
    }

    /// Makes all buckets large enough for this number of positions.
    pub(super) fn grow(&mut self, positions: usize) {
        self.buckets.iter_mut().for_each(|bucket| bucket.grow(positions));
    }

    /// The bucket of a key. If there is none yet, it is made.
    #[inline]
    pub(super) fn bucket(&mut self, key: i64, positions: usize) -> Result<usize, TooManyBuckets> {
        self.keys.find(key).map_or_else(|| self.new_bucket(key, positions), Ok)
    }

    #[cold]
    fn new_bucket(&mut self, key: i64, positions: usize) -> Result<usize, TooManyBuckets> {
        if self.buckets.len() >= MAX_BUCKETS {
            let buckets = &self.buckets;
            self.keys.retain(|bucket| !buckets[bucket].is_empty());
            self.buckets.retain(|bucket| !bucket.is_empty());
            if self.buckets.len() >= MAX_BUCKETS {
                return Err(TooManyBuckets);
            }
        }
        let bucket = self.keys.insert(key);
        self.buckets.insert(bucket, Bucket::new(positions));
        Ok(bucket)
    }

    /// The bucket of a key that some Worker has, so that the bucket exists.
    pub(super) fn known_bucket(&self, key: i64) -> usize {
        self.keys.find(key).expect("a Worker's key has a bucket")
    }

    /// Visits the Workers that fit, in order, until `visit` breaks.
    #[inline]
    pub(super) fn walk(
        &self,
        positions: &Positions,
        search: &Search<'_>,
        mut visit: impl FnMut(Slot, &Free) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.walk_words(positions, search, |word, bits| {
            let amounts = positions.amounts.word(word);
            for at in search.direction.bits(bits, 0) {
                visit(amounts.slot(at), &amounts.free(at))?;
            }
            ControlFlow::Continue(())
        })
    }

    /// Adds a share like `each` for each of the first Workers that fit, until there are `limit` shares. Returns whether
    /// this number was reached.
    #[inline]
    pub(super) fn first(
        &self,
        positions: &Positions,
        search: &Search<'_>,
        limit: usize,
        each: Share,
        shares: &mut Vec<Share>,
    ) -> bool {
        /// From this number of remaining shares on, it is faster to write eight shares at a time.
        const MANY: usize = 1024;
        let found = self.walk_words(positions, search, |word, bits| {
            if limit - shares.len() >= MANY {
                push_in_eights(positions.slots_of_word(word), bits, search.direction, each, shares);
                return ControlFlow::Continue(());
            }
            let amounts = positions.amounts.word(word);
            for at in search.direction.bits(bits, 0) {
                shares.push(Share { slot: amounts.slot(at), found_at: (word * WORD + at) as u32, ..each });
                if shares.len() == limit {
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        });
        found.is_break()
    }

    /// Visits the Workers that fit, word by word, in order, until `visit` breaks. `visit` gets the number of the word,
    /// and one bit for each of its Workers that fits.
    #[inline]
    fn walk_words(
        &self,
        positions: &Positions,
        search: &Search<'_>,
        mut visit: impl FnMut(usize, u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let (sort_key, &Search { requirement, resources, direction }) = (positions.sort_key(), search);
        let required = requirement.maximum(sort_key);
        let start = self.keys.first_from(requirement.least_key(sort_key));
        let (fits, needs_no_resources) = (requirement.amounts_test(), requirement.needs_no_resources());
        let only_secondary = requirement.only_secondary(sort_key);
        for bucket in direction.over(start..self.buckets.len()) {
            self.buckets[bucket].walk(required, direction, |number, word| {
                if word.all_have(only_secondary) {
                    // All Workers of the word fit, so their free amounts need not be read.
                    return visit(number, word.bits);
                }
                let amounts = positions.amounts.word(number);
                let fits = |at: &usize| {
                    fits(&amounts.free(*at))
                        && (needs_no_resources || requirement.is_covered(amounts.slot(*at), resources))
                };
                let fitting = Direction::Ascending.bits(word.bits, 0).filter(fits);
                visit(number, fitting.fold(0, |bits, at| bits | bit(at)))
            })?;
        }
        ControlFlow::Continue(())
    }

    /// Sets summaries too low: a deliberate bug for tests.
    #[cfg(test)]
    pub(super) fn forget_summaries(&mut self) {
        if let Some(bucket) = self.buckets.iter_mut().rfind(|bucket| !bucket.is_empty()) {
            bucket.forget_summaries();
        }
    }

    /// Checks that every Worker is in its bucket, and that every summary is right.
    pub(super) fn check(&self, positions: &Positions) -> Result<(), String> {
        let keys = self.keys.all();
        if !keys.is_sorted_by(|a, b| a < b) || keys.len() != self.buckets.len() {
            return Err(format!("{} buckets for the keys {keys:?}", self.buckets.len()));
        }
        for position in 0..positions.len() {
            let Some(worker) = positions.at(position) else { continue };
            let bucket = self.keys.find(positions.sort_key().amount(&worker.free));
            if !bucket.is_some_and(|bucket| self.buckets[bucket].contains(position)) {
                return Err(format!("not in its bucket: {worker:?}"));
            }
        }
        let mut workers = 0;
        for bucket in &self.buckets {
            let maximum = |position: usize| match positions.at(position) {
                Some(_) => positions.maximum(position),
                None => Maximum::NONE,
            };
            workers += bucket.check(maximum, positions.sort_key())?;
        }
        if workers != positions.workers() {
            return Err(format!("{workers} workers in buckets are counted as {}", positions.workers()));
        }
        Ok(())
    }
}

/// Adds a share for each Worker of a word. A processor cannot predict the number of Workers. A wrong prediction costs
/// more time than writing a few shares too many.
#[inline]
fn push_in_eights(
    slots: &[Slot; WORD],
    bits: u64,
    direction: Direction,
    each: Share,
    shares: &mut Vec<Share>,
) {
    const EIGHT: usize = 8;
    // Removing the lowest bit is faster than removing the highest one.
    let (mut bits, mirror) = match direction {
        Direction::Ascending => (bits, 0),
        Direction::Descending => (bits.reverse_bits(), WORD - 1),
    };
    while bits != 0 {
        let after = shares.len() + EIGHT.min(bits.count_ones() as usize);
        shares.extend((0..EIGHT).map(|_| {
            // If no bit is set, any number will do.
            let at = (bits | 1 << 63).trailing_zeros() as usize ^ mirror;
            bits &= bits.wrapping_sub(1);
            Share { slot: slots[at % WORD], ..each }
        }));
        shares.truncate(after);
    }
}

/// The sort keys that have a bucket, in ascending order: fewer than 255.
#[derive(Debug)]
pub(super) struct BucketKeys {
    all: Vec<i64>,
    /// The bucket of each small key. Larger keys are searched for.
    small: [u8; Self::SMALL],
}

impl BucketKeys {
    /// Keys below this number, such as the numbers of cores of ordinary machines, are looked up in a table.
    const SMALL: usize = 256;
    /// The entry in the table for a key without a bucket.
    const NO_BUCKET: u8 = u8::MAX;

    pub(super) fn new() -> Self {
        Self { all: Vec::new(), small: [Self::NO_BUCKET; Self::SMALL] }
    }

    /// All keys in ascending order.
    pub(super) fn all(&self) -> &[i64] {
        &self.all
    }

    /// The bucket of a key.
    #[inline]
    pub(super) fn find(&self, key: i64) -> Option<usize> {
        match usize::try_from(key).ok().and_then(|key| self.small.get(key)) {
            Some(&Self::NO_BUCKET) => None,
            Some(bucket) => Some(usize::from(*bucket)),
            None => self.all.binary_search(&key).ok(),
        }
    }

    /// Adds a new key and returns its bucket.
    pub(super) fn insert(&mut self, key: i64) -> usize {
        let bucket = self.first_from(key);
        self.all.insert(bucket, key);
        self.fill_table();
        bucket
    }

    /// The bucket of the first key that is not less than `key`.
    pub(super) fn first_from(&self, key: i64) -> usize {
        self.all.partition_point(|known| *known < key)
    }

    /// Removes the keys whose buckets `keep` returns `false` for.
    pub(super) fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        let mut buckets = 0..;
        self.all.retain(|_| buckets.next().is_some_and(&keep));
        self.fill_table();
    }

    fn fill_table(&mut self) {
        self.small.fill(Self::NO_BUCKET);
        for (bucket, key) in (0..).zip(&self.all) {
            if let Some(small) = usize::try_from(*key).ok().and_then(|key| self.small.get_mut(key)) {
                *small = bucket;
            }
        }
    }
}
