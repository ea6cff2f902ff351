//! Workers in a row with gaps, in the order of their ids, with what they have free.
//!
//! A worker's place is a small number, so that a set of workers is a row of bits. Where a worker comes in between two
//! others and there is no gap, the least window around it that is not too full is spread evenly: the larger the
//! window, the emptier it has to be, so that it takes long until it is spread again (a packed memory array).

use std::ops::Range;

use super::extent::Extent;
use super::free::{Free, Kinds};
use super::shelf::{WORD, bit};
use super::sorting::{Direction, Sorting};
use super::transfer::Change;
use super::{Share, Slot};
use crate::{Cores, MiB};

/// The least window, and what the number of places is a multiple of.
const WINDOW: usize = 64;
/// The place of those who have none.
const NOWHERE: u32 = u32::MAX;
/// Who has a place that is free.
const NOBODY: Slot = Slot(u32::MAX);

#[derive(Debug)]
pub(super) struct Places {
    /// By place.
    seats: Vec<Seat>,
    /// Again who is there, for whoever needs that alone of very many.
    slots: Vec<Slot>,
    /// By slot.
    places: Vec<u32>,
}

/// Who is at a place, and what that worker has free: side by side, in three words.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seat {
    pub(super) slot: Slot,
    kinds: Kinds,
    cores: Cores,
    memory: MiB,
}

impl Seat {
    const EMPTY: Self = Self::new(NOBODY, Free::LEAST);

    const fn new(slot: Slot, Free { cores, memory, kinds }: Free) -> Self {
        Self { slot, kinds, cores, memory }
    }

    #[inline]
    pub(super) fn free(&self) -> Free {
        Free { cores: self.cores, memory: self.memory, kinds: self.kinds }
    }

    #[inline]
    fn set(&mut self, free: Free) {
        *self = Self::new(self.slot, free);
    }
}

/// What has to be done before there is a gap.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Crowded {
    /// Everybody in this window is to be spread over it, and the one who comes in with them.
    Spread(Range<usize>),
    /// There have to be twice as many places.
    Grow,
}

impl Places {
    pub(super) fn new() -> Self {
        Self { seats: vec![Seat::EMPTY; WINDOW], slots: vec![NOBODY; WINDOW], places: Vec::new() }
    }

    /// How many places there are.
    pub(super) fn len(&self) -> usize {
        self.seats.len()
    }

    #[inline]
    pub(super) fn of(&self, slot: Slot) -> Option<usize> {
        self.places.get(slot.index()).filter(|place| **place != NOWHERE).map(|place| *place as usize)
    }

    /// Who is at a place.
    pub(super) fn at(&self, place: usize) -> Option<Seat> {
        Some(self.seats[place]).filter(|seat| seat.slot != NOBODY)
    }

    /// What the worker at a place has free.
    #[inline]
    pub(super) fn free(&self, place: usize) -> Free {
        debug_assert_ne!(self.seats[place].slot, NOBODY, "who is on a shelf has a place");
        self.seats[place].free()
    }

    /// The places of a word: who is there, and what they have free. Where nobody is, neither means anything.
    #[inline]
    pub(super) fn of_word(&self, word: usize) -> &[Seat; WORD] {
        &self.seats.as_chunks().0[word]
    }

    /// Who is there, place by place of a word.
    #[inline]
    pub(super) fn slots_of_word(&self, word: usize) -> &[Slot; WORD] {
        &self.slots.as_chunks().0[word]
    }

    /// The bits of the workers of all these shares, word by word, if each is another worker's.
    pub(super) fn mark(&self, shares: &[Share]) -> Option<Vec<u64>> {
        let mut marks = vec![0_u64; self.len() / WORD];
        let mut mark = |share: &Share| {
            let Some(place) = self.places.get(share.slot.index()).map(|place| *place as usize) else {
                return;
            };
            // Who has no place is far beyond the last one.
            if let Some(mark) = marks.get_mut(place / WORD) {
                *mark |= bit(place);
            }
        };
        // Neighbours have the same word, and would wait for each other.
        let (front, back) = shares.split_at(shares.len() / 2);
        for (one, other) in front.iter().zip(back) {
            mark(one);
            mark(other);
        }
        back[front.len()..].iter().for_each(mark);
        let marked: usize = marks.iter().map(|places| places.count_ones() as usize).sum();
        (marked == shares.len()).then_some(marks)
    }

    /// Changes the cores and the memory of those whose bits are set in a word.
    #[inline]
    pub(super) fn change(&mut self, word: usize, places: u64, change: &Change<'_>) {
        let seats = &mut self.seats.as_chunks_mut::<WORD>().0[word];
        if places == u64::MAX {
            seats.iter_mut().for_each(|seat| seat.set(change.of(seat.free())));
        } else {
            Direction::Forward
                .bits(places, 0)
                .for_each(|place| seats[place].set(change.of(seats[place].free())));
        }
    }

    /// Sets the kinds of resources of those whose bits are set in a word.
    pub(super) fn set_kinds(&mut self, word: usize, places: u64, mut kinds: impl FnMut(Slot) -> Kinds) {
        for place in Direction::Forward.bits(places, word * WORD) {
            self.seats[place].kinds = kinds(self.seats[place].slot);
        }
    }

    /// Between what and what those have whose bits are set in a word, who have the same amount.
    #[inline]
    pub(super) fn extent(&self, word: usize, places: u64, sorting: Sorting) -> Extent {
        let seats = self.of_word(word);
        let each =
            Direction::Forward.bits(places, 0).map(|place| Extent::of(&seats[place % WORD].free(), sorting));
        each.reduce(Extent::or).unwrap_or(Extent::NOTHING)
    }

    /// What the worker at a place has free from now on.
    #[inline]
    pub(super) fn set(&mut self, place: usize, free: Free) {
        self.seats[place].set(free);
    }

    /// Those who have a place in the window, in order.
    pub(super) fn within(&self, window: Range<usize>) -> impl Iterator<Item = Seat> {
        window.filter_map(|place| self.at(place))
    }

    /// A free place between two neighbours in the order of ids.
    pub(super) fn between(&self, before: Option<Slot>, after: Option<Slot>) -> Result<usize, Crowded> {
        let low = before.and_then(|slot| self.of(slot)).map_or(0, |place| place + 1);
        let high = after.and_then(|slot| self.of(slot)).unwrap_or(self.len());
        match (before, after) {
            _ if low >= high => Err(self.crowded(low.min(self.len() - 1))),
            (_, None) => Ok(low),
            (None, Some(_)) => Ok(high - 1),
            (Some(_), Some(_)) => Ok(low + (high - low) / 2),
        }
    }

    fn crowded(&self, place: usize) -> Crowded {
        let levels = (self.len() / WINDOW).trailing_zeros() as usize;
        for level in 0..=levels {
            let size = WINDOW << level;
            let start = place / size * size;
            let taken = self.within(start..start + size).count();
            // From seven eighths in the least window down to a half in the greatest.
            let most = size / 8 * 7 - size * 3 * level / (8 * levels.max(1));
            if taken < most {
                return Crowded::Spread(start..start + size);
            }
        }
        Crowded::Grow
    }

    /// Who has to move where, for everybody in a window and one who comes after `before` to be spread over it; and
    /// where that one has its place.
    pub(super) fn spread(&self, window: Range<usize>, before: Option<Slot>) -> (Vec<(Seat, usize)>, usize) {
        let seats: Vec<Seat> = self.within(window.clone()).collect();
        let nth = |n: usize| window.start + n * window.len() / (seats.len() + 1);
        let new =
            before.and_then(|before| seats.iter().position(|seat| seat.slot == before)).map_or(0, |n| n + 1);
        let others = seats.iter().zip((0..).filter(|n| *n != new)).map(|(seat, n)| (*seat, nth(n)));
        (others.collect(), nth(new))
    }

    pub(super) fn grow(&mut self) {
        let twice = self.len() * 2;
        self.seats.resize(twice, Seat::EMPTY);
        self.slots.resize(twice, NOBODY);
    }

    pub(super) fn put(&mut self, slot: Slot, free: Free, place: usize) {
        if self.places.len() <= slot.index() {
            self.places.resize(slot.index() + 1, NOWHERE);
        }
        self.places[slot.index()] =
            u32::try_from(place).expect("there are no more places than a u32 can count");
        self.seats[place] = Seat::new(slot, free);
        self.slots[place] = slot;
    }

    pub(super) fn vacate(&mut self, slot: Slot) {
        if let Some(place) = self.of(slot) {
            self.seats[place].slot = NOBODY;
            self.slots[place] = NOBODY;
            self.places[slot.index()] = NOWHERE;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::arrivals;
    use super::*;

    /// Whatever the order in which they come, places are in the order of the ids, and few are moved.
    #[test]
    fn places_follow_the_ids() {
        const IDS: u32 = 3000;
        for ids in arrivals(IDS) {
            let mut places = Places::new();
            let mut known = std::collections::BTreeMap::new();
            let mut moved = 0;
            for (slot, id) in (0..).map(Slot).zip(ids) {
                let before = known.range(..id).next_back().map(|(_, slot)| *slot);
                let after = known.range(id..).next().map(|(_, slot)| *slot);
                let place = loop {
                    match places.between(before, after) {
                        Ok(place) => break place,
                        Err(Crowded::Grow) => places.grow(),
                        Err(Crowded::Spread(window)) => {
                            let (others, place) = places.spread(window, before);
                            moved += others.len();
                            others.iter().for_each(|(seat, _)| places.vacate(seat.slot));
                            others
                                .iter()
                                .for_each(|(seat, place)| places.put(seat.slot, seat.free(), *place));
                            break place;
                        }
                    }
                };
                assert!(places.at(place).is_none());
                places.put(slot, Free::LEAST, place);
                known.insert(id, slot);
            }
            assert!(known.values().map(|slot| places.of(*slot)).is_sorted_by(|a, b| a < b));
            assert!(moved < 100 * known.len(), "{moved} were moved");
            assert!(places.len() < 8 * known.len(), "{} places", places.len());
        }
    }
}
