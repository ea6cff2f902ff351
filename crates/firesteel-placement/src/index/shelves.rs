//! Workers on shelves, one for each amount that some of them have free.
//!
//! Workers of a cluster have few different numbers of free cores. A shelf for each of them makes the worker order two
//! steps: from shelf to shelf, and on a shelf from place to place. Changing workers takes their bits off one shelf and
//! puts them on another, without a search, and those of one word at once.

use std::ops::{ControlFlow, Range};

use super::Slot;
use super::amounts::Amounts;
use super::brief::Brief;
use super::free::Free;
use super::moving::{Moving, Step};
use super::places::{Crowded, Places};
use super::shelf::{Shelf, WORD};
use super::sorting::{Direction, Sorting};
use super::stock::Stock;
use super::wants::Wants;

/// The most shelves: each costs some two and a half bits for each worker.
pub(super) const MOST: usize = 128;

#[derive(Debug)]
pub(super) struct Shelves {
    pub(super) sorting: Sorting,
    pub(super) places: Places,
    /// One for each shelf.
    pub(super) amounts: Amounts,
    pub(super) shelves: Vec<Shelf>,
    /// Nobody, but while workers change.
    moving: Moving,
    len: usize,
}

/// There would have to be more shelves than there may be. What workers have free is known, but not in order.
#[derive(Debug)]
pub(super) struct TooMany;

impl Shelves {
    pub(super) fn new(sorting: Sorting) -> Self {
        let (amounts, shelves, moving) = (Amounts::new(), Vec::new(), Moving::new(sorting));
        Self { sorting, places: Places::new(), amounts, shelves, moving, len: 0 }
    }

    pub(super) fn sorting(&self) -> Sorting {
        self.sorting
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn get(&self, slot: Slot) -> Option<&Free> {
        Some(self.places.free(self.places.of(slot)?))
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
        let free = *self.places.free(place);
        self.take_down(place, &free);
        self.places.vacate(slot);
        self.len -= 1;
        Some(free)
    }

    /// Changes what workers have free, by changes that make equal workers equal if they are alike.
    pub(super) fn change_alike<T>(
        &mut self,
        mut changes: &[T],
        slot: impl Fn(&T) -> Slot,
        change: impl Fn(Free, &T) -> Free,
        alike: impl Fn(&T, &T) -> bool,
    ) -> Result<(), TooMany> {
        if !self.is_many(changes.len()) {
            return self.change_each(changes, slot, change);
        }
        while let [first, others @ ..] = changes {
            let part = 1 + others.iter().take_while(|other| alike(first, other)).count();
            let (part, others) = changes.split_at(part);
            let changed = if self.is_many(part.len()) {
                self.change_together(part.iter().map(&slot), |free| change(free, first))
            } else {
                self.change_each(part, &slot, &change)
            };
            if changed.is_err() {
                self.only_change(others, slot, change);
                return changed;
            }
            changes = others;
        }
        Ok(())
    }

    /// Changes what workers have free. Those that lie together and go the same way cost little more than one of them.
    pub(super) fn change_each<T>(
        &mut self,
        changes: &[T],
        slot: impl Fn(&T) -> Slot,
        mut change: impl FnMut(Free, &T) -> Free,
    ) -> Result<(), TooMany> {
        for (done, one) in changes.iter().enumerate() {
            let Some(place) = self.places.of(slot(one)) else { continue };
            let had = *self.places.free(place);
            let have = change(had, one);
            if !self.moving.follows(place, had, have)
                && let Err(too_many) = self.turn_to(place, have)
            {
                self.places.set(place, have);
                self.only_change(&changes[done + 1..], slot, change);
                return Err(too_many);
            }
            self.places.set(place, have);
        }
        let moved = self.move_over();
        self.moving.end();
        moved
    }

    /// Changes what workers have free where they are not in order any more.
    pub(super) fn only_change<T>(
        &mut self,
        changes: &[T],
        slot: impl Fn(&T) -> Slot,
        mut change: impl FnMut(Free, &T) -> Free,
    ) {
        for one in changes {
            if let Some(place) = self.places.of(slot(one)) {
                self.places.set(place, change(*self.places.free(place), one));
            }
        }
    }

    /// Has a worker come along with those who move, or, if it goes another way, be the first after them.
    #[inline(never)]
    fn turn_to(&mut self, place: usize, have: Free) -> Result<(), TooMany> {
        let had = *self.places.free(place);
        if self.moving.takes(place, had, have) {
            return Ok(());
        }
        // Before this one changes, who may still stand among those that the others leave.
        let moved = self.move_over();
        self.moving.begin(place, had, have);
        moved
    }

    /// Shows the workers that have room, in order, until it is told to stop.
    #[inline]
    pub(super) fn walk(
        &self,
        wants: &Wants<'_>,
        stock: &Stock,
        direction: Direction,
        mut visit: impl FnMut(Slot, &Free) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let asked = wants.brief(self.sorting);
        let start = self.amounts.least(wants.least(self.sorting));
        let (fits, no_resources) = (wants.amounts(), wants.no_resources());
        let asked_of_all = wants.beside(self.sorting);
        for shelf in direction.over(start..self.shelves.len()) {
            self.shelves[shelf].walk(asked, direction, |word, row| {
                let (slots, all) = self.places.of_word(word);
                if row.covers(asked_of_all) {
                    // What they have need not even be read.
                    for place in direction.bits(row.bits, 0) {
                        visit(slots[place % WORD], &all[place % WORD])?;
                    }
                    return ControlFlow::Continue(());
                }
                for place in direction.bits(row.bits, 0) {
                    let (slot, free) = (slots[place % WORD], &all[place % WORD]);
                    if fits(free) && (no_resources || wants.covered(slot, stock)) {
                        visit(slot, free)?;
                    }
                }
                ControlFlow::Continue(())
            })?;
        }
        ControlFlow::Continue(())
    }

    /// Everybody, in the order of ids.
    pub(super) fn all(&self) -> impl Iterator<Item = (Slot, Free)> {
        self.places.within(0..self.places.len()).map(|seat| (seat.slot, seat.free))
    }

    /// The shelf for that amount.
    pub(super) fn shelf(&mut self, amount: i64) -> Result<usize, TooMany> {
        if let Some(shelf) = self.amounts.find(amount) {
            return Ok(shelf);
        }
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

    /// Moves those who are moving, all of them from one shelf to one other.
    #[inline]
    fn move_over(&mut self) -> Result<(), TooMany> {
        if self.moving.steps().is_empty() {
            return Ok(());
        }
        let (from, to) = self.moving.amounts();
        let (to, from) = (self.shelf(to)?, self.known_shelf(from));
        let (places, sorting) = (&self.places, self.sorting);
        let of = |place: usize| Brief::of(places.free(place), sorting);
        self.shelves[from].remove(self.moving.steps(), of);
        self.shelves[to].add(self.moving.steps());
        Ok(())
    }

    fn put_up(&mut self, shelf: usize, place: usize, free: &Free) {
        self.shelves[shelf].add(&[Step::one(place, free, self.sorting)]);
    }

    fn take_down(&mut self, place: usize, free: &Free) {
        let shelf = self.known_shelf(self.sorting.amount(free));
        let (places, sorting) = (&self.places, self.sorting);
        let of = |place: usize| Brief::of(places.free(place), sorting);
        self.shelves[shelf].remove(&[Step::one(place, free, sorting)], of);
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
                self.take_down(place, &seat.free);
            }
        }
        others.iter().for_each(|(seat, _)| self.places.vacate(seat.slot));
        for (seat, place) in others {
            let (slot, free) = (seat.slot, seat.free);
            self.places.put(slot, free, place);
            self.put_up(self.known_shelf(self.sorting.amount(&free)), place, &free);
        }
        place
    }

    /// Forgets what the best on a shelf have.
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
            let (slot, free) = (seat.slot, seat.free);
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
                Some(seat) => Brief::of(&seat.free, self.sorting),
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
