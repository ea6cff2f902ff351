//! Workers on shelves, shown in order.

use std::ops::ControlFlow;

use super::free::Free;
use super::shelf::{WORD, bit};
use super::shelves::Shelves;
use super::sorting::Direction;
use super::stock::Stock;
use super::wants::Wants;
use super::{Share, Slot};

/// Where so many more shares are wanted, it pays to write them in eights.
const FAR: usize = 1024;

impl Shelves {
    /// Shows the workers that have room, in order, until it is told to stop.
    #[inline]
    pub(super) fn walk(
        &self,
        wants: &Wants<'_>,
        stock: &Stock,
        direction: Direction,
        mut visit: impl FnMut(Slot, &Free) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.walk_words(wants, stock, direction, |word, places| {
            let seats = self.places.of_word(word);
            for place in direction.bits(places, 0) {
                visit(seats[place % WORD].slot, &seats[place % WORD].free())?;
            }
            ControlFlow::Continue(())
        })
    }

    /// Adds a share like `each` for every one of the first workers that have room, until there are so many shares. Whether
    /// there are.
    #[inline]
    pub(super) fn first(
        &self,
        wants: &Wants<'_>,
        stock: &Stock,
        direction: Direction,
        most: usize,
        each: Share,
        shares: &mut Vec<Share>,
    ) -> bool {
        let all = self.walk_words(wants, stock, direction, |word, places| {
            if most - shares.len() >= FAR {
                in_eights(self.places.slots_of_word(word), places, direction, each, shares);
                return ControlFlow::Continue(());
            }
            let seats = self.places.of_word(word);
            for place in direction.bits(places, 0) {
                shares.push(Share { slot: seats[place % WORD].slot, ..each });
                if shares.len() == most {
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        });
        all.is_break()
    }

    /// Shows the workers that have room, word by word, in order, until it is told to stop: the word, and a bit for each of
    /// them.
    #[inline]
    fn walk_words(
        &self,
        wants: &Wants<'_>,
        stock: &Stock,
        direction: Direction,
        mut visit: impl FnMut(usize, u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let asked = wants.brief(self.sorting);
        let start = self.amounts.least(wants.least(self.sorting));
        let (fits, no_resources) = (wants.amounts(), wants.no_resources());
        let asked_of_all = wants.beside(self.sorting);
        for shelf in direction.over(start..self.shelves.len()) {
            self.shelves[shelf].walk(asked, direction, |word, row| {
                if row.covers(asked_of_all) {
                    // What they have need not even be read.
                    return visit(word, row.bits);
                }
                let seats = self.places.of_word(word);
                let has_room = |place: &usize| {
                    let seat = &seats[*place];
                    fits(&seat.free()) && (no_resources || wants.covered(seat.slot, stock))
                };
                let places = Direction::Forward.bits(row.bits, 0).filter(has_room);
                visit(word, places.fold(0, |places, place| places | bit(place)))
            })?;
        }
        ControlFlow::Continue(())
    }
}

/// Adds a share for each worker of a word. How many they are cannot be foreseen, and a processor loses more time by
/// guessing wrong than by writing some shares that do not count.
#[inline]
fn in_eights(
    slots: &[Slot; WORD],
    mut places: u64,
    direction: Direction,
    each: Share,
    shares: &mut Vec<Share>,
) {
    const EIGHT: usize = 8;
    while places != 0 {
        let (start, count) = (shares.len(), places.count_ones() as usize);
        shares.extend((0..EIGHT).map(|_| {
            let place = direction.first(places);
            places &= !bit(place);
            Share { slot: slots[place % WORD], ..each }
        }));
        shares.truncate(start + count.min(EIGHT));
    }
}
