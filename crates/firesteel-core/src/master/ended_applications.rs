//! The applications that have ended and are remembered.

use std::collections::{BTreeMap, VecDeque};

use super::executor_record::ExecutorRecord;
use crate::ids::{AppId, ExecutorId};
use crate::messages::{ApplicationEnd, ApplicationView, ExecutorView};

/// The latest applications that have ended.
#[derive(Debug, Default)]
pub(super) struct EndedApplications {
    /// By number.
    rows: BTreeMap<u64, Ended>,
    numbers: BTreeMap<AppId, u64>,
    /// Their numbers in the order of their ends.
    order: VecDeque<u64>,
}

/// An application that has ended.
#[derive(Debug)]
pub(super) struct Ended {
    /// Its number in the order of registration.
    pub(super) sequence: u64,
    /// How it ended.
    pub(super) end: ApplicationEnd,
    /// The application without its executors.
    pub(super) row: ApplicationView,
    /// Its remembered executors, by number.
    pub(super) executors: Vec<ExecutorRecord>,
}

impl Ended {
    /// A copy with its executors.
    pub(super) fn view(&self) -> ApplicationView {
        ApplicationView { executors: self.executors_from(ExecutorId(0)).collect(), ..self.row.clone() }
    }

    /// Copies of its remembered executors, from that number on.
    pub(super) fn executors_from(&self, from: ExecutorId) -> impl Iterator<Item = ExecutorView> {
        let first = self.executors.partition_point(|record| record.id < from);
        self.executors[first..].iter().map(|record| record.view(&self.row.id))
    }

    /// One of its remembered executors.
    pub(super) fn executor_mut(&mut self, number: ExecutorId) -> Option<&mut ExecutorRecord> {
        let at = self.executors.binary_search_by_key(&number, |record| record.id).ok()?;
        self.executors.get_mut(at)
    }
}

impl EndedApplications {
    /// Remembers an application. A full history drops its oldest tenth.
    ///
    /// Source: Spark Master, 4.0.1.
    pub(super) fn insert(&mut self, ended: Ended, limit: usize) {
        if self.order.len() >= limit {
            let dropped = (limit / 10).max(1).min(self.order.len());
            for number in self.order.drain(..dropped) {
                let old = self.rows.remove(&number).expect("each number has a row");
                self.numbers.remove(&old.row.id);
            }
        }
        if limit > 0 {
            self.order.push_back(ended.sequence);
            self.numbers.insert(ended.row.id.clone(), ended.sequence);
            self.rows.insert(ended.sequence, ended);
        }
    }

    /// The number of remembered applications.
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    /// The remembered applications, in the order of their ends.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Ended> {
        self.order.iter().map(|number| &self.rows[number])
    }

    /// The remembered applications by number, from that number on.
    pub(super) fn from(&self, number: u64) -> impl Iterator<Item = (u64, &Ended)> {
        self.rows.range(number..).map(|(number, ended)| (*number, ended))
    }

    /// A remembered application.
    pub(super) fn get(&self, id: &AppId) -> Option<&Ended> {
        self.rows.get(self.numbers.get(id)?)
    }

    /// A remembered application, to change it.
    pub(super) fn get_mut(&mut self, id: &AppId) -> Option<&mut Ended> {
        self.rows.get_mut(self.numbers.get(id)?)
    }

    /// The id of the latest application with that name.
    pub(super) fn named(&self, name: &str) -> Option<AppId> {
        self.iter().rev().find(|ended| ended.row.name == name).map(|ended| ended.row.id.clone())
    }

    /// Whether all parts have the same applications.
    pub(super) fn is_consistent(&self) -> bool {
        let is_known = |number: &u64| {
            let row = self.rows.get(number);
            row.is_some_and(|row| row.sequence == *number && self.numbers.get(&row.row.id) == Some(number))
        };
        let sizes = [self.rows.len(), self.numbers.len()];
        self.order.iter().all(is_known) && sizes.iter().all(|&size| size == self.order.len())
    }
}
