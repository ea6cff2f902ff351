//! How executors share the addresses of a Worker's custom resources.

use std::collections::BTreeMap;

use firesteel_placement::{Quantity, Resources};

/// The addresses of a Worker by resource. Each address is a cell.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cells(BTreeMap<String, Vec<Cell>>);

/// An address, as its users with the part that each of them uses.
pub type Cell = Vec<(User, Quantity)>;

/// The user of a part of a Worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum User {
    /// An executor of the application with this index.
    Application(usize),
    Driver,
}

impl Cells {
    /// The cells of all these addresses. `held` lists the addresses that each user holds. Its resources may be named as
    /// in the request, without a kind.
    pub(super) fn of<'a>(all: &Resources, held: impl Iterator<Item = (User, &'a Resources)>) -> Self {
        let owned = |name: &str, address: &str| (name.to_owned(), address.to_owned());
        let mut cells: BTreeMap<(String, String), Cell> =
            all.parts().map(|(name, address, _)| (owned(name, address), Cell::new())).collect();
        for (user, resources) in held {
            for (name, address, part) in all.named_as_here(resources).parts() {
                if let Some(cell) = cells.get_mut(&owned(name, address)) {
                    cell.push((user, part));
                }
            }
        }
        let mut by_name: BTreeMap<String, Vec<Cell>> = BTreeMap::new();
        for ((name, _), cell) in cells {
            by_name.entry(name).or_default().push(cell);
        }
        Self(by_name)
    }

    /// The cells of each resource, in the order of the addresses.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &[Cell])> {
        self.0.iter().map(|(name, cells)| (name.as_str(), cells.as_slice()))
    }

    /// Whether any user uses only a part of an address.
    #[must_use]
    pub fn are_shared(&self) -> bool {
        self.0.values().flatten().flatten().any(|(_, part)| *part < Quantity::whole(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_cell_with_the_parts_that_are_held_under_whatever_name() {
        let all: Resources = [("gpu:A100", vec!["0", "1", "2"]), ("fpga", vec!["f"])].into_iter().collect();
        let mut free = all.clone();
        let mut held = |name: &str, amount: &str| {
            let asked = [(name.to_owned(), amount.parse().expect("it is an amount"))].into();
            free.take(&asked).expect("there is enough").as_asked(&asked)
        };
        let [first, second] = [0, 1].map(User::Application);
        let held = [
            (first, held("gpu", "0.25")),
            (second, held("gpu", "0.5")),
            (User::Driver, held("gpu:A100", "1")),
        ];
        let cells = Cells::of(&all, held.iter().map(|(user, held)| (*user, held)));
        let shown: Vec<_> = cells
            .iter()
            .map(|(name, cells)| {
                let cell = |cell: &Cell| {
                    cell.iter().map(|(user, part)| (*user, part.thousandths())).collect::<Vec<_>>()
                };
                (name, cells.iter().map(cell).collect::<Vec<_>>())
            })
            .collect();
        let gpus = vec![vec![(first, 250), (second, 500)], vec![(User::Driver, 1000)], vec![]];
        assert_eq!(shown, [("fpga", vec![vec![]]), ("gpu:A100", gpus)]);
        assert!(cells.are_shared() && !Cells::of(&all, std::iter::empty()).are_shared());
    }
}
