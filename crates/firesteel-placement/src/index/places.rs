//! Workers in a row with gaps, in the order of their ids.
//!
//! A worker's place is a small number, so that a set of workers is a row of bits. Where a worker comes in between two
//! others and there is no gap, the least window around it that is not too full is spread evenly: the larger the
//! window, the emptier it has to be, so that it takes long until it is spread again (a packed memory array).

use std::ops::Range;

use super::Slot;

/// The least window, and what the number of places is a multiple of.
const WINDOW: usize = 64;
/// The place of those who have none.
const NOWHERE: u32 = u32::MAX;
/// Who has a place that is free.
const NOBODY: Slot = Slot(u32::MAX);

#[derive(Debug)]
pub(super) struct Places {
    /// By place.
    slots: Vec<Slot>,
    /// By slot.
    places: Vec<u32>,
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
        Self { slots: vec![NOBODY; WINDOW], places: Vec::new() }
    }

    /// How many places there are.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    #[inline]
    pub(super) fn of(&self, slot: Slot) -> Option<usize> {
        self.places.get(slot.index()).filter(|place| **place != NOWHERE).map(|place| *place as usize)
    }

    #[inline]
    pub(super) fn at(&self, place: usize) -> Option<Slot> {
        Some(self.slots[place]).filter(|slot| *slot != NOBODY)
    }

    /// Those who have a place in the window, in order.
    pub(super) fn within(&self, window: Range<usize>) -> impl Iterator<Item = Slot> {
        self.slots[window].iter().copied().filter(|slot| *slot != NOBODY)
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
    pub(super) fn spread(&self, window: Range<usize>, before: Option<Slot>) -> (Vec<(Slot, usize)>, usize) {
        let slots: Vec<Slot> = self.within(window.clone()).collect();
        let nth = |n: usize| window.start + n * window.len() / (slots.len() + 1);
        let new =
            before.and_then(|before| slots.iter().position(|slot| *slot == before)).map_or(0, |n| n + 1);
        let others = slots.iter().zip((0..).filter(|n| *n != new)).map(|(slot, n)| (*slot, nth(n)));
        (others.collect(), nth(new))
    }

    pub(super) fn grow(&mut self) {
        self.slots.resize(self.len() * 2, NOBODY);
    }

    pub(super) fn put(&mut self, slot: Slot, place: usize) {
        if self.places.len() <= slot.index() {
            self.places.resize(slot.index() + 1, NOWHERE);
        }
        self.places[slot.index()] =
            u32::try_from(place).expect("there are no more places than a u32 can count");
        self.slots[place] = slot;
    }

    pub(super) fn vacate(&mut self, slot: Slot) {
        if let Some(place) = self.of(slot) {
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
                            others.iter().for_each(|(slot, _)| places.vacate(*slot));
                            others.iter().for_each(|(slot, place)| places.put(*slot, *place));
                            break place;
                        }
                    }
                };
                assert_eq!(places.at(place), None);
                places.put(slot, place);
                known.insert(id, slot);
            }
            assert!(known.values().map(|slot| places.of(*slot)).is_sorted_by(|a, b| a < b));
            assert!(moved < 100 * known.len(), "{moved} were moved");
            assert!(places.len() < 8 * known.len(), "{} places", places.len());
        }
    }
}
