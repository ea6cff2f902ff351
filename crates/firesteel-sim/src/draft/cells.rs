//! How executors share the addresses of a Worker's custom resources.

use std::collections::BTreeMap;

use firesteel_placement::{Quantity, Resources};

/// The addresses of a Worker, by resource. Each is a cell: the applications that have parts of it, with these parts.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cells(BTreeMap<String, Vec<Cell>>);

/// An address: the indices of the applications whose executors hold it, each with its part.
pub type Cell = Vec<(usize, Quantity)>;

impl Cells {
    /// The cells of all these addresses. `held` has what executors hold, with the indices of their applications; their
    /// resources may have the names by which they were asked for.
    pub(super) fn of<'a>(all: &Resources, held: impl Iterator<Item = (usize, &'a Resources)>) -> Self {
        let owned = |name: &str, address: &str| (name.to_owned(), address.to_owned());
        let mut cells: BTreeMap<(String, String), Cell> =
            all.parts().map(|(name, address, _)| (owned(name, address), Cell::new())).collect();
        for (app, resources) in held {
            for (name, address, part) in all.named_as_here(resources).parts() {
                if let Some(cell) = cells.get_mut(&owned(name, address)) {
                    cell.push((app, part));
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

    /// Whether an executor has a part of an address only.
    #[must_use]
    pub fn are_shared(&self) -> bool {
        self.0.values().flatten().flatten().any(|(_, part)| *part < Quantity::whole(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_cell_with_the_parts_that_executors_hold_under_whatever_name() {
        let all: Resources = [("gpu:A100", vec!["0", "1", "2"]), ("fpga", vec!["f"])].into_iter().collect();
        let mut free = all.clone();
        let mut held = |name: &str, amount: &str| {
            let asked = [(name.to_owned(), amount.parse().expect("it is an amount"))].into();
            free.take(&asked).expect("there is enough").as_asked(&asked)
        };
        let held = [(0, held("gpu", "0.25")), (1, held("gpu", "0.5")), (2, held("gpu:A100", "1"))];
        let cells = Cells::of(&all, held.iter().map(|(app, held)| (*app, held)));
        let shown: Vec<_> = cells
            .iter()
            .map(|(name, cells)| {
                let cell = |cell: &Cell| {
                    cell.iter().map(|(app, part)| (*app, part.thousandths())).collect::<Vec<_>>()
                };
                (name, cells.iter().map(cell).collect::<Vec<_>>())
            })
            .collect();
        let gpus = vec![vec![(0, 250), (1, 500)], vec![(2, 1000)], vec![]];
        assert_eq!(shown, [("fpga", vec![vec![]]), ("gpu:A100", gpus)]);
        assert!(cells.are_shared() && !Cells::of(&all, std::iter::empty()).are_shared());
    }
}
