//! Workers on shelves, one for each amount that some of them have free.
//!
//! Workers of a cluster have few different numbers of free cores. A shelf for each of them makes the worker order two
//! steps: from shelf to shelf, and on a shelf from place to place. Changing a worker takes its bit off one shelf and
//! puts it on another, without a search.

use std::ops::{ControlFlow, Range};

use super::Slot;
use super::entry::{Best, Direction, Entry, Sorting};
use super::places::{Crowded, Places};
use super::shelf::Shelf;
use super::stock::Stock;
use super::wants::Wants;

/// The most shelves: each costs some two and a half bits for each worker.
const MOST: usize = 128;

#[derive(Debug)]
pub(super) struct Shelves {
    sorting: Sorting,
    /// By slot. What stands there of a worker who has no place is of the past.
    entries: Vec<Entry>,
    places: Places,
    /// Ascending, one for each shelf.
    amounts: Vec<i64>,
    shelves: Vec<Shelf>,
    /// The shelves that were taken from and put on last: the next worker is like the last one, as a rule.
    last: Last,
    len: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Last {
    from: usize,
    to: usize,
}

/// There would have to be more shelves than there may be.
#[derive(Debug)]
pub(super) struct TooMany;

impl Shelves {
    pub(super) fn new(sorting: Sorting) -> Self {
        let (entries, amounts, shelves) = (Vec::new(), Vec::new(), Vec::new());
        Self { sorting, entries, places: Places::new(), amounts, shelves, last: Last::default(), len: 0 }
    }

    pub(super) fn sorting(&self) -> Sorting {
        self.sorting
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn get(&self, slot: Slot) -> Option<&Entry> {
        self.places.of(slot)?;
        self.entries.get(slot.index())
    }

    /// Adds a worker whose slot is new, between those two in the order of ids.
    pub(super) fn insert(
        &mut self,
        entry: Entry,
        before: Option<Slot>,
        after: Option<Slot>,
    ) -> Result<(), TooMany> {
        let shelf = self.shelf(self.amount(&entry))?;
        let place = self.make_place(before, after);
        let slot = entry.slot;
        if self.entries.len() <= slot.index() {
            self.entries.resize(slot.index() + 1, entry);
        }
        self.entries[slot.index()] = entry;
        self.places.put(slot, place);
        self.shelves[shelf].add(place, &(&entry).into());
        self.len += 1;
        Ok(())
    }

    /// Takes a worker out.
    pub(super) fn remove(&mut self, slot: Slot) -> Option<Entry> {
        let entry = *self.get(slot)?;
        self.take_down(&entry);
        self.places.vacate(slot);
        self.len -= 1;
        Some(entry)
    }

    /// Changes what a worker has free.
    pub(super) fn replace(&mut self, entry: Entry) -> Result<(), TooMany> {
        let (Some(known), Some(place)) = (self.get(entry.slot).copied(), self.places.of(entry.slot)) else {
            return Ok(());
        };
        if known != entry {
            let shelf = self.shelf(self.amount(&entry))?;
            self.take_down(&known);
            self.entries[entry.slot.index()] = entry;
            self.shelves[shelf].add(place, &(&entry).into());
        }
        Ok(())
    }

    /// Changes many workers at once.
    pub(super) fn change_all<T>(
        &mut self,
        changes: &[T],
        slot: impl Fn(&T) -> Slot,
        mut change: impl FnMut(Entry, &T) -> Entry,
    ) -> Result<(), TooMany> {
        for one in changes {
            let slot = slot(one);
            if self.places.of(slot).is_some() {
                self.entries[slot.index()] = change(self.entries[slot.index()], one);
            }
        }
        self.sort()
    }

    /// Gives workers other ranks, with which they are in the same order.
    pub(super) fn rank(&mut self, ranks: &[(Slot, u64)]) {
        for &(slot, rank) in ranks {
            self.entries[slot.index()].rank = rank;
        }
    }

    /// Puts everybody where they belong.
    fn sort(&mut self) -> Result<(), TooMany> {
        self.shelves.iter_mut().for_each(Shelf::clear);
        for place in 0..self.places.len() {
            let Some(slot) = self.places.at(place) else { continue };
            let entry = self.entries[slot.index()];
            let shelf = self.shelf(self.amount(&entry))?;
            self.shelves[shelf].add(place, &(&entry).into());
        }
        Ok(())
    }

    /// Shows the workers that have room, in order, until it is told to stop.
    pub(super) fn walk(
        &self,
        wants: &Wants<'_>,
        stock: &Stock,
        direction: Direction,
        mut visit: impl FnMut(&Entry) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let least = wants.least(self.sorting);
        let start = self.amounts.partition_point(|amount| *amount < least);
        for shelf in direction.over(start..self.shelves.len()) {
            self.shelves[shelf].walk(wants, direction, |place| {
                let entry = self.entry_at(place);
                if wants.fit(entry, stock) { visit(entry) } else { ControlFlow::Continue(()) }
            })?;
        }
        ControlFlow::Continue(())
    }

    /// Everybody, in the order of ids.
    pub(super) fn entries(&self) -> Vec<Entry> {
        self.places.within(0..self.places.len()).map(|slot| self.entries[slot.index()]).collect()
    }

    fn amount(&self, entry: &Entry) -> i64 {
        self.sorting.amount(&entry.into())
    }

    fn entry_at(&self, place: usize) -> &Entry {
        let slot = self.places.at(place).expect("who is on a shelf has a place");
        &self.entries[slot.index()]
    }

    /// The shelf for that amount.
    fn shelf(&mut self, amount: i64) -> Result<usize, TooMany> {
        if self.amounts.get(self.last.to) == Some(&amount) {
            return Ok(self.last.to);
        }
        let position = self.amounts.partition_point(|known| *known < amount);
        if self.amounts.get(position) == Some(&amount) {
            self.last.to = position;
            return Ok(position);
        }
        if self.shelves.len() >= MOST {
            if !self.shelves.iter().any(Shelf::is_empty) {
                return Err(TooMany);
            }
            let mut empty = self.shelves.iter().map(Shelf::is_empty).collect::<Vec<_>>().into_iter();
            self.amounts.retain(|_| !empty.next().unwrap_or(false));
            self.shelves.retain(|shelf| !shelf.is_empty());
            return self.shelf(amount);
        }
        self.amounts.insert(position, amount);
        self.shelves.insert(position, Shelf::new(self.places.len()));
        Ok(position)
    }

    fn take_down(&mut self, entry: &Entry) {
        let place = self.places.of(entry.slot).expect("who is on a shelf has a place");
        let amount = self.amount(entry);
        if self.amounts.get(self.last.from) != Some(&amount) {
            self.last.from = self.amounts.partition_point(|known| *known < amount);
        }
        let shelf = self.last.from;
        let (places, entries) = (&self.places, &self.entries);
        let of = |place: usize| Best::from(&entries[places.at(place).expect("a bit is a worker").index()]);
        self.shelves[shelf].remove(place, &entry.into(), of);
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
            let entry = self.entries[slot.index()];
            self.take_down(&entry);
        }
        others.iter().for_each(|(slot, _)| self.places.vacate(*slot));
        for (slot, place) in others {
            let entry = self.entries[slot.index()];
            let shelf = self.amounts.partition_point(|known| *known < self.amount(&entry));
            self.places.put(slot, place);
            self.shelves[shelf].add(place, &(&entry).into());
        }
        place
    }

    /// What is wrong with the shelves, if something is.
    pub(super) fn check(&self) -> Result<(), String> {
        if !self.amounts.is_sorted_by(|a, b| a < b) || self.amounts.len() != self.shelves.len() {
            return Err(format!("{} shelves for the amounts {:?}", self.shelves.len(), self.amounts));
        }
        let mut count = 0;
        let mut last = None;
        for place in 0..self.places.len() {
            let Some(slot) = self.places.at(place) else { continue };
            let entry = &self.entries[slot.index()];
            let shelf = self.amounts.binary_search(&self.amount(entry));
            if self.places.of(slot) != Some(place) || last.is_some_and(|last| last >= entry.rank) {
                return Err(format!("out of place: {entry:?}"));
            }
            if !shelf.is_ok_and(|shelf| self.shelves[shelf].has(place)) {
                return Err(format!("not on its shelf: {entry:?}"));
            }
            last = Some(entry.rank);
            count += 1;
        }
        for shelf in &self.shelves {
            shelf.check(|place| self.places.at(place).map_or(Best::NONE, |_| self.entry_at(place).into()))?;
        }
        let on_shelves: usize = self.shelves.iter().map(Shelf::len).sum();
        if count != self.len || on_shelves != self.len {
            return Err(format!("{count} workers, {on_shelves} on shelves, are counted as {}", self.len));
        }
        Ok(())
    }
}
