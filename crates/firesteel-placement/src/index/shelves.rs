//! Workers on shelves, one for each amount that some of them have free.
//!
//! Workers of a cluster have few different numbers of free cores. A shelf for each of them makes the worker order two
//! steps: from shelf to shelf, and on a shelf from place to place. Changing workers takes their bits off one shelf and
//! puts them on another, without a search, and those of one word at once.

use std::ops::Range;

use super::Slot;
use super::amounts::Amounts;
use super::brief::Brief;
use super::extent::Extent;
use super::free::Free;
use super::places::{Crowded, Places};
use super::shelf::{Shelf, WORD, bit};
use super::sorting::Sorting;
use super::step::Step;

/// The most shelves: each costs some two and a half bits for each worker.
pub(super) const MOST: usize = 128;

#[derive(Debug)]
pub(super) struct Shelves {
    pub(super) sorting: Sorting,
    pub(super) places: Places,
    /// One for each shelf.
    pub(super) amounts: Amounts,
    pub(super) shelves: Vec<Shelf>,
    /// Empty, but while workers change.
    pub(super) steps: Vec<Step>,
    len: usize,
}

/// There would have to be more shelves than there may be. What workers have free is known, but not in order.
#[derive(Clone, Copy, Debug)]
pub(super) struct TooMany;

impl Shelves {
    pub(super) fn new(sorting: Sorting) -> Self {
        let (places, amounts) = (Places::new(), Amounts::new());
        Self { sorting, places, amounts, shelves: Vec::new(), steps: Vec::new(), len: 0 }
    }

    pub(super) fn sorting(&self) -> Sorting {
        self.sorting
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn get(&self, slot: Slot) -> Option<Free> {
        Some(self.places.free(self.places.of(slot)?))
    }

    /// Where a worker stands among all: by an amount, and among equals by id.
    pub(super) fn standing(&self, slot: Slot) -> Option<(i64, u64)> {
        let place = self.places.of(slot)?;
        Some((self.sorting.amount(&self.places.free(place)), place as u64))
    }

    /// Adds a worker whose slot is new, between those two in the order of ids.
    pub(super) fn insert(
        &mut self,
        slot: Slot,
        free: Free,
        before: Option<Slot>,
        after: Option<Slot>,
    ) -> Result<(), TooMany> {
        let place = self.make_place(before, after);
        self.places.put(slot, free, place);
        self.len += 1;
        let shelf = self.shelf(self.sorting.amount(&free))?;
        self.put_up(shelf, place, &free);
        Ok(())
    }

    /// Takes a worker out.
    pub(super) fn remove(&mut self, slot: Slot) -> Option<Free> {
        let place = self.places.of(slot)?;
        let free = self.places.free(place);
        self.take_down(place, &free);
        self.places.vacate(slot);
        self.len -= 1;
        Some(free)
    }

    /// Sets what a worker has free, who is there.
    pub(super) fn set(&mut self, slot: Slot, free: Free) -> Result<(), TooMany> {
        let Some(place) = self.places.of(slot) else { return Ok(()) };
        self.take_down(place, &self.places.free(place));
        self.places.set(place, free);
        let shelf = self.shelf(self.sorting.amount(&free))?;
        self.put_up(shelf, place, &free);
        Ok(())
    }

    /// Everybody, in the order of ids.
    pub(super) fn all(&self) -> impl Iterator<Item = (Slot, Free)> {
        self.places.within(0..self.places.len()).map(|seat| (seat.slot, seat.free()))
    }

    /// The shelf for that amount.
    #[inline]
    pub(super) fn shelf(&mut self, amount: i64) -> Result<usize, TooMany> {
        self.amounts.find(amount).map_or_else(|| self.new_shelf(amount), Ok)
    }

    #[cold]
    fn new_shelf(&mut self, amount: i64) -> Result<usize, TooMany> {
        if self.shelves.len() >= MOST {
            let shelves = &self.shelves;
            self.amounts.retain(|shelf| !shelves[shelf].is_empty());
            self.shelves.retain(|shelf| !shelf.is_empty());
            if self.shelves.len() >= MOST {
                return Err(TooMany);
            }
        }
        let shelf = self.amounts.insert(amount);
        self.shelves.insert(shelf, Shelf::new(self.places.len()));
        Ok(shelf)
    }

    /// The shelf on which those are that have so much.
    pub(super) fn known_shelf(&self, amount: i64) -> usize {
        self.amounts.find(amount).expect("who has so much is on a shelf")
    }

    fn put_up(&mut self, shelf: usize, place: usize, free: &Free) {
        self.shelves[shelf].add(place / WORD, bit(place), Extent::of(free, self.sorting));
    }

    fn take_down(&mut self, place: usize, free: &Free) {
        let shelf = self.known_shelf(self.sorting.amount(free));
        let (places, sorting) = (&self.places, self.sorting);
        let of = |place: usize| Brief::of(&places.free(place), sorting);
        self.shelves[shelf].remove(place / WORD, bit(place), Brief::of(free, sorting), of);
    }

    fn make_place(&mut self, before: Option<Slot>, after: Option<Slot>) -> usize {
        loop {
            match self.places.between(before, after) {
                Ok(place) => return place,
                Err(Crowded::Spread(window)) => return self.spread(window, before),
                Err(Crowded::Grow) => {
                    self.places.grow();
                    let places = self.places.len();
                    self.shelves.iter_mut().for_each(|shelf| shelf.grow(places));
                }
            }
        }
    }

    fn spread(&mut self, window: Range<usize>, before: Option<Slot>) -> usize {
        let (others, place) = self.places.spread(window, before);
        for (seat, _) in &others {
            if let Some(place) = self.places.of(seat.slot) {
                self.take_down(place, &seat.free());
            }
        }
        others.iter().for_each(|(seat, _)| self.places.vacate(seat.slot));
        for (seat, place) in others {
            let (slot, free) = (seat.slot, seat.free());
            self.places.put(slot, free, place);
            self.put_up(self.known_shelf(self.sorting.amount(&free)), place, &free);
        }
        place
    }

    /// Forgets what the best on a shelf have.
    #[cfg(test)]
    pub(super) fn forget_best(&mut self) {
        if let Some(shelf) = self.shelves.iter_mut().rfind(|shelf| !shelf.is_empty()) {
            shelf.forget_best();
        }
    }

    /// What is wrong with the shelves, if something is.
    pub(super) fn check(&self, ids: impl Iterator<Item = Slot>) -> Result<(), String> {
        let amounts = self.amounts.all();
        if !amounts.is_sorted_by(|a, b| a < b) || amounts.len() != self.shelves.len() {
            return Err(format!("{} shelves for the amounts {amounts:?}", self.shelves.len()));
        }
        if !ids.eq(self.all().map(|(slot, _)| slot)) {
            return Err("the places are not in the order of the ids".to_owned());
        }
        let mut count = 0;
        for place in 0..self.places.len() {
            let Some(seat) = self.places.at(place) else { continue };
            let (slot, free) = (seat.slot, seat.free());
            let shelf = self.amounts.find(self.sorting.amount(&free));
            if self.places.of(slot) != Some(place) {
                return Err(format!("{slot:?} is not where its place is, {place}"));
            }
            if !shelf.is_some_and(|shelf| self.shelves[shelf].has(place)) {
                return Err(format!("not on its shelf: {slot:?} with {free:?}"));
            }
            count += 1;
        }
        let mut on_shelves = 0;
        for shelf in &self.shelves {
            let of = |place: usize| match self.places.at(place) {
                Some(seat) => Brief::of(&seat.free(), self.sorting),
                None => Brief::NOTHING,
            };
            on_shelves += shelf.check(of, self.sorting)?;
        }
        if count != self.len || on_shelves != self.len {
            return Err(format!("{count} workers, {on_shelves} on shelves, are counted as {}", self.len));
        }
        Ok(())
    }
}
