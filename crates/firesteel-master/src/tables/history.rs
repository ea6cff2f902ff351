//! The latest ended applications or cluster drivers.

use std::collections::{BTreeMap, VecDeque};

#[derive(Debug)]
pub(crate) struct History<I, R> {
    rows: BTreeMap<u64, (I, R)>,
    numbers: BTreeMap<I, u64>,
    /// The numbers of the rows, in the order in which applications or drivers ended.
    order: VecDeque<u64>,
}

impl<I, R> Default for History<I, R> {
    fn default() -> Self {
        Self { rows: BTreeMap::new(), numbers: BTreeMap::new(), order: VecDeque::new() }
    }
}

impl<I: Ord + Clone, R> History<I, R> {
    /// Remembers a row, but at most `limit` of them. A full history drops its oldest tenth. Returns the dropped rows
    /// with their numbers.
    ///
    /// Source: Spark Master, 4.0.1.
    pub(crate) fn insert(&mut self, (number, id): (u64, I), row: R, limit: usize) -> Vec<(u64, R)> {
        let mut dropped = Vec::new();
        if self.order.len() >= limit {
            let most = (limit / 10).max(1).min(self.order.len());
            for number in self.order.drain(..most) {
                let (id, row) = self.rows.remove(&number).expect("each number has a row");
                self.numbers.remove(&id);
                dropped.push((number, row));
            }
        }
        if limit > 0 {
            self.order.push_back(number);
            self.numbers.insert(id.clone(), number);
            self.rows.insert(number, (id, row));
        } else {
            dropped.push((number, row));
        }
        dropped
    }

    /// Removes all rows, and returns them with their numbers in the order in which applications or drivers ended.
    pub(crate) fn take_all(&mut self) -> Vec<(u64, R)> {
        let Self { mut rows, order, .. } = std::mem::take(self);
        let row = |number| (number, rows.remove(&number).expect("each number has a row").1);
        order.into_iter().map(row).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    /// All rows with their numbers, in the order in which applications or drivers ended.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, &R)> {
        self.order.iter().map(|number| (*number, &self.rows[number].1))
    }

    pub(crate) fn from(&self, number: u64) -> impl Iterator<Item = (u64, &R)> {
        self.rows.range(number..).map(|(number, (_, row))| (*number, row))
    }

    pub(crate) fn get(&self, id: &I) -> Option<&R> {
        self.rows.get(self.numbers.get(id)?).map(|(_, row)| row)
    }

    pub(crate) fn get_mut(&mut self, id: &I) -> Option<&mut R> {
        self.rows.get_mut(self.numbers.get(id)?).map(|(_, row)| row)
    }

    pub(crate) fn is_numbered(&self, number: u64) -> bool {
        self.rows.contains_key(&number)
    }

    /// Whether all parts of the history agree, and each row has its number and its id.
    pub(crate) fn is_consistent(&self, has: impl Fn(&R, u64, &I) -> bool) -> bool {
        let is_known = |number: &u64| {
            let row = self.rows.get(number);
            row.is_some_and(|(id, row)| has(row, *number, id) && self.numbers.get(id) == Some(number))
        };
        let sizes = [self.rows.len(), self.numbers.len()];
        self.order.iter().all(is_known) && sizes.iter().all(|&size| size == self.order.len())
    }
}
