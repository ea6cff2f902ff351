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
use super::moving::Moving;
use super::places::{Crowded, Places};
use super::shelf::{Shelf, WORD, bit};
use super::sorting::{Direction, Sorting};
use super::stock::Stock;
use super::wants::Wants;

/// The most shelves: each costs some two and a half bits for each worker.
const MOST: usize = 128;

#[derive(Debug)]
pub(super) struct Shelves {
    sorting: Sorting,
    /// By slot. What stands there of a worker who has no place is of the past.
    free: Vec<Free>,
    places: Places,
    /// One for each shelf.
    amounts: Amounts,
    shelves: Vec<Shelf>,
    len: usize,
}

/// There would have to be more shelves than there may be. What workers have free is known, but not in order.
#[derive(Debug)]
pub(super) struct TooMany;

impl Shelves {
    pub(super) fn new(sorting: Sorting) -> Self {
        let (free, amounts, shelves) = (Vec::new(), Amounts::new(), Vec::new());
        Self { sorting, free, places: Places::new(), amounts, shelves, len: 0 }
    }

    pub(super) fn sorting(&self) -> Sorting {
        self.sorting
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn get(&self, slot: Slot) -> Option<&Free> {
        self.places.of(slot)?;
        self.free.get(slot.index())
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
        if self.free.len() <= slot.index() {
            self.free.resize(slot.index() + 1, free);
        }
        self.free[slot.index()] = free;
        self.places.put(slot, place);
        self.len += 1;
        let shelf = self.shelf(self.sorting.amount(&free))?;
        self.put_up(shelf, place, &free);
        Ok(())
    }

    /// Takes a worker out.
    pub(super) fn remove(&mut self, slot: Slot) -> Option<Free> {
        let (place, free) = (self.places.of(slot)?, *self.get(slot)?);
        self.take_down(place, &free);
        self.places.vacate(slot);
        self.len -= 1;
        Some(free)
    }

    /// Changes what workers have free. Those that lie together and become alike cost little more than one of them.
    pub(super) fn change<T>(
        &mut self,
        changes: &[T],
        slot: impl Fn(&T) -> Slot,
        mut change: impl FnMut(Free, &T) -> Free,
    ) -> Result<(), TooMany> {
        let mut moved = Ok(());
        let mut moving = Moving::NOBODY;
        for one in changes {
            let slot = slot(one);
            let Some(place) = self.places.of(slot) else { continue };
            let had = self.free[slot.index()];
            let have = change(had, one);
            if !moving.takes(place, had, have, self.sorting) {
                // Before this one changes, who may still stand among those that the others leave.
                moved = moved.and_then(|()| self.move_over(&moving));
                moving = Moving::one(place, had, have, self.sorting);
            }
            self.free[slot.index()] = have;
        }
        moved.and_then(|()| self.move_over(&moving))
    }

    /// Shows the workers that have room, in order, until it is told to stop.
    pub(super) fn walk(
        &self,
        wants: &Wants<'_>,
        stock: &Stock,
        direction: Direction,
        mut visit: impl FnMut(Slot, &Free) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let asked = wants.brief(self.sorting);
        let start = self.amounts.least(wants.least(self.sorting));
        for shelf in direction.over(start..self.shelves.len()) {
            self.shelves[shelf].walk(asked, direction, |place| {
                let slot = self.slot_at(place);
                let free = &self.free[slot.index()];
                if wants.fit(slot, free, stock) { visit(slot, free) } else { ControlFlow::Continue(()) }
            })?;
        }
        ControlFlow::Continue(())
    }

    /// Everybody, in the order of ids.
    pub(super) fn all(&self) -> impl Iterator<Item = (Slot, Free)> {
        self.places.within(0..self.places.len()).map(|slot| (slot, self.free[slot.index()]))
    }

    fn slot_at(&self, place: usize) -> Slot {
        self.places.at(place).expect("who is on a shelf has a place")
    }

    /// The shelf for that amount.
    fn shelf(&mut self, amount: i64) -> Result<usize, TooMany> {
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
    fn known_shelf(&self, amount: i64) -> usize {
        self.amounts.find(amount).expect("who has so much is on a shelf")
    }

    fn move_over(&mut self, moving: &Moving) -> Result<(), TooMany> {
        if moving.places == 0 {
            return Ok(());
        }
        let (from, to) = moving.amounts(self.sorting);
        let (to, from) = (self.shelf(to)?, self.known_shelf(from));
        let (places, free, sorting) = (&self.places, &self.free, self.sorting);
        let of = |place: usize| brief_at(places, free, sorting, place);
        self.shelves[from].remove(moving.word, moving.places, moving.had, of);
        self.shelves[to].add(moving.word, moving.places, moving.have);
        Ok(())
    }

    fn put_up(&mut self, shelf: usize, place: usize, free: &Free) {
        self.shelves[shelf].add(place / WORD, bit(place), Brief::of(free, self.sorting));
    }

    fn take_down(&mut self, place: usize, free: &Free) {
        let shelf = self.known_shelf(self.sorting.amount(free));
        let (places, all, sorting) = (&self.places, &self.free, self.sorting);
        let of = |place: usize| brief_at(places, all, sorting, place);
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
        for (slot, _) in &others {
            if let Some(place) = self.places.of(*slot) {
                let free = self.free[slot.index()];
                self.take_down(place, &free);
            }
        }
        others.iter().for_each(|(slot, _)| self.places.vacate(*slot));
        for (slot, place) in others {
            let free = self.free[slot.index()];
            self.places.put(slot, place);
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
            let Some(slot) = self.places.at(place) else { continue };
            let free = &self.free[slot.index()];
            let shelf = self.amounts.find(self.sorting.amount(free));
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
            on_shelves += shelf.check(|place| match self.places.at(place) {
                Some(slot) => Brief::of(&self.free[slot.index()], self.sorting),
                None => Brief::NOTHING,
            })?;
        }
        if count != self.len || on_shelves != self.len {
            return Err(format!("{count} workers, {on_shelves} on shelves, are counted as {}", self.len));
        }
        Ok(())
    }
}

/// What the worker at a place has free, in brief.
fn brief_at(places: &Places, free: &[Free], sorting: Sorting, place: usize) -> Brief {
    let slot = places.at(place).expect("who is on a shelf has a place");
    Brief::of(&free[slot.index()], sorting)
}
