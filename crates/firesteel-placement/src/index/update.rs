//! Updates of many Workers at once: executors take from the Workers' free amounts, or give back.
//!
//! The Workers of one placement are usually neighbours. So the bits of one word that change alike are moved together
//! from one bucket to another.

use super::bucket::{WORD, bit};
use super::buckets::{Buckets, TooManyBuckets};
use super::free::{Free, FreeResources, ResourceMask};
use super::positions::Positions;
use super::sorted::{Direction, SortKey};
use super::summary::Summary;
use super::{Share, Slot};
use crate::{Cores, Demand, MiB};

/// Whether shares of this demand are taken or given back.
#[derive(Clone, Copy, Debug)]
pub(super) enum Update<'a> {
    Take(&'a Demand),
    GiveBack(&'a Demand),
}

/// The change of one Worker's free amounts by its share. Equal shares have equal deltas.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delta<'a> {
    update: Update<'a>,
    share: Share,
    /// The number to add to the free cores: negative if the share is taken.
    pub(super) cores: Cores,
    /// The amount to add to the free memory.
    pub(super) memory: MiB,
}

/// A [`Delta`] for a bucket, which distinguishes the sort key from other amounts.
#[derive(Clone, Copy, Debug)]
pub(super) struct BucketDelta {
    /// The number to add to the sort key. The Worker moves to the bucket of the sum.
    pub(super) key: i64,
    /// The number to add to the free cores; 0 if they are the sort key.
    pub(super) cores: i64,
    /// The amount to add to the free memory; 0 if it is the sort key.
    pub(super) memory: i64,
    /// The number to add to the secondary amount.
    pub(super) secondary: i64,
}

impl<'a> Update<'a> {
    /// The change of a Worker by its share.
    pub(super) fn delta(self, share: &Share) -> Delta<'a> {
        let executors = i64::try_from(share.executors).unwrap_or(i64::MAX);
        let memory = |demand: &Demand| MiB(demand.memory.0.saturating_mul(executors));
        let (cores, memory) = match self {
            Self::Take(demand) => (Cores::ZERO - share.total(), MiB::ZERO - memory(demand)),
            Self::GiveBack(demand) => (share.total(), memory(demand)),
        };
        Delta { update: self, share: *share, cores, memory }
    }
}

impl Delta<'_> {
    /// The free amounts after the change. The resource mask stays as it was.
    #[inline]
    pub(super) fn applied(&self, free: Free) -> Free {
        Free { cores: free.cores + self.cores, memory: free.memory + self.memory, ..free }
    }

    /// Changes the custom resources of a Worker and returns their new mask.
    pub(super) fn apply_to_resources(&self, slot: Slot, resources: &mut FreeResources) -> ResourceMask {
        match self.update {
            Update::Take(demand) => resources.take(slot, &demand.resources, self.share.executors),
            Update::GiveBack(demand) => resources.give_back(slot, &demand.resources, self.share.executors),
        }
    }

    /// The same change, for a bucket.
    fn of_bucket(&self, sort_key: SortKey) -> BucketDelta {
        let (Cores(cores), MiB(memory)) = (self.cores, self.memory);
        match sort_key {
            SortKey::Cores => BucketDelta { key: cores, cores: 0, memory, secondary: memory },
            SortKey::Memory => BucketDelta { key: memory, cores, memory: 0, secondary: cores },
            SortKey::Id => BucketDelta { key: 0, cores, memory, secondary: 0 },
        }
    }
}

/// Workers of one word that move together from one bucket to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Move {
    word: usize,
    /// The Workers' bits in the word.
    bits: u64,
    /// The Workers' sort key before the move.
    key: i64,
    before: Summary,
    after: Summary,
}

impl Move {
    /// A move whose other fields are not known yet.
    #[inline]
    fn new(word: usize, bits: u64) -> Self {
        Self { word, bits, key: 0, before: Summary::NONE, after: Summary::NONE }
    }
}

/// The maximum number of words whose moves are made together.
const BATCH: usize = 16;

impl Buckets {
    /// Changes Workers by their shares. On an error, the positions are still up to date.
    pub(super) fn update(
        &mut self,
        positions: &mut Positions,
        shares: &[Share],
        update: Update<'_>,
        resources: &mut FreeResources,
    ) -> Result<(), TooManyBuckets> {
        let without_resources = resources.is_empty();
        let marks = |shares: &[Share], positions: &Positions| {
            let in_bulk = without_resources && is_bulk(shares.len(), positions.workers());
            in_bulk.then(|| positions.mark(shares)).flatten()
        };
        // Usually many shares are equal. Searching them for different ones takes as long as marking them.
        if let Some(marks) = marks(shares, positions) {
            return self.update_marked(positions, &marks, &update.delta(&shares[0]));
        }
        let mut updated = Ok(());
        for equal in shares.chunk_by(Share::has_equal_amounts) {
            let delta = update.delta(&equal[0]);
            updated = match updated.ok().and_then(|()| marks(equal, positions)) {
                Some(marks) => self.update_marked(positions, &marks, &delta),
                None => self.update_in_batches(updated, positions, equal, &delta, resources),
            };
        }
        updated
    }

    /// Changes Workers by equal shares, in the order of the shares.
    fn update_in_batches(
        &mut self,
        so_far: Result<(), TooManyBuckets>,
        positions: &mut Positions,
        shares: &[Share],
        delta: &Delta<'_>,
        resources: &mut FreeResources,
    ) -> Result<(), TooManyBuckets> {
        let mut updated = so_far;
        let mut moves = std::mem::take(&mut self.moves);
        for share in shares {
            let Some(position) = positions.of_share(share) else { continue };
            let (word, bit) = (position / WORD, bit(position));
            if let Some(last) = moves.last_mut()
                && last.word == word
                && last.bits & bit == 0
            {
                last.bits |= bit;
                continue;
            }
            if moves.len() == BATCH || !is_next(&moves, word) {
                updated = self.update_batch(&mut moves, updated, positions, delta, resources);
            }
            moves.push(Move::new(word, bit));
        }
        updated = self.update_batch(&mut moves, updated, positions, delta, resources);
        self.moves = moves;
        updated
    }

    /// Changes Workers of a few words, each word once, and moves them to their new buckets. After an error only the
    /// positions have changed.
    ///
    /// Each step is done for all words before the next step, so that the processor fetches the memory of several words
    /// at the same time.
    fn update_batch(
        &mut self,
        moves: &mut Vec<Move>,
        so_far: Result<(), TooManyBuckets>,
        positions: &mut Positions,
        delta: &Delta<'_>,
        resources: &mut FreeResources,
    ) -> Result<(), TooManyBuckets> {
        let bucket_delta = delta.of_bucket(positions.sort_key());
        if so_far.is_ok() {
            self.split_by_bucket(moves, positions);
        }
        for Move { word, bits, before, after, .. } in &mut *moves {
            positions.amounts.apply(*word, *bits, delta);
            let known = if resources.is_empty() {
                before.after(&bucket_delta)
            } else {
                positions.amounts.set_masks(*word, *bits, |slot| delta.apply_to_resources(slot, resources));
                None
            };
            *after = known.unwrap_or_else(|| positions.summary(*word, *bits));
        }
        let mut moves_of_buckets = moves.chunk_by(|one, other| one.key == other.key);
        let updated = so_far.and_then(|()| {
            moves_of_buckets.try_for_each(|moves| self.make(moves, bucket_delta.key, positions))
        });
        moves.clear();
        updated
    }

    /// Moves Workers of one bucket to their new bucket. Their free amounts have already changed.
    #[inline]
    fn make(&mut self, moves: &[Move], change: i64, positions: &Positions) -> Result<(), TooManyBuckets> {
        let Some(&Move { key, .. }) = moves.first() else { return Ok(()) };
        let to = self.bucket(key.saturating_add(change), positions.len())?;
        let from = self.known_bucket(key);
        for Move { word, bits, before, after, .. } in moves {
            self.buckets[from].remove(*word, *bits, before.max, |position| positions.maximum(position));
            self.buckets[to].add(*word, *bits, *after);
        }
        Ok(())
    }

    /// Splits moves whose Workers are in several buckets. All Workers of one bucket go to the same other bucket.
    #[inline]
    fn split_by_bucket(&self, moves: &mut Vec<Move>, positions: &Positions) {
        let mut at = 0;
        while let Some(&Move { word, bits, .. }) = moves.get(at) {
            let free = positions.free(word * WORD + bits.trailing_zeros() as usize);
            let key = positions.sort_key().amount(&free);
            let row = self.buckets[self.known_bucket(key)].word(word);
            let leaving = row.bits & bits;
            if leaving != bits {
                moves.push(Move::new(word, bits & !leaving));
            }
            let before = if leaving == row.bits { row.summary } else { positions.summary(word, leaving) };
            moves[at] = Move { word, bits: leaving, key, before, after: before };
            at += 1;
        }
    }

    /// Changes the marked Workers in the order of their positions instead of the order of the shares. This is faster
    /// for many Workers, whose memory would otherwise be fetched in scattered order.
    fn update_marked(
        &mut self,
        positions: &mut Positions,
        marks: &[u64],
        delta: &Delta<'_>,
    ) -> Result<(), TooManyBuckets> {
        for (word, bits) in marks.iter().enumerate().filter(|(_, bits)| **bits != 0) {
            positions.amounts.apply(word, *bits, delta);
        }
        let delta = delta.of_bucket(positions.sort_key());
        // The order of the buckets ensures that a bucket's own Workers leave before others join it.
        let direction = if delta.key < 0 { Direction::Ascending } else { Direction::Descending };
        let keys = self.keys.all().to_vec();
        for at in direction.over(0..keys.len()) {
            self.move_marked(positions, keys[at], marks, &delta)?;
        }
        Ok(())
    }

    /// Moves the marked Workers of one bucket to their new bucket.
    fn move_marked(
        &mut self,
        positions: &Positions,
        key: i64,
        marks: &[u64],
        delta: &BucketDelta,
    ) -> Result<(), TooManyBuckets> {
        let has_marked = |bucket: usize| self.buckets[bucket].has_marked(marks);
        if !self.keys.find(key).is_some_and(has_marked) {
            return Ok(());
        }
        let to = self.bucket(key.saturating_add(delta.key), positions.len())?;
        let from = self.known_bucket(key);
        let summary = |word: usize, bits: u64| positions.summary(word, bits);
        match self.buckets.get_disjoint_mut([from, to]) {
            Ok([from, to]) if to.is_empty() && from.is_all_marked(marks) => {
                // All Workers of the bucket move to an empty bucket, so the two buckets are swapped.
                std::mem::swap(from, to);
                to.shift(delta, summary);
            }
            Ok([from, to]) => from.move_marked(to, marks, delta, summary),
            Err(_) => self.buckets[from].refresh_marked(marks, summary),
        }
        Ok(())
    }
}

/// Whether a word comes after those of a batch in one direction, so that the batch does not contain it yet. The shares
/// of a placement are in this order within a bucket.
#[inline]
fn is_next(moves: &[Move], word: usize) -> bool {
    match moves {
        [.., one, last] => {
            (one.word < last.word && last.word < word) || (one.word > last.word && last.word > word)
        }
        [last] => last.word != word,
        [] => true,
    }
}

/// Whether this number of changes is faster when done in the order of positions.
fn is_bulk(changes: usize, workers: usize) -> bool {
    const AT_LEAST: usize = 32;
    const ONE_IN: usize = 8;
    changes >= AT_LEAST && changes * ONE_IN > workers
}
