//! The ended applications that the Master remembers.

use firesteel_protocol::ids::{AppId, ExecutorId};
use firesteel_protocol::messages::{ApplicationEnd, ApplicationView, ExecutorView};

use crate::tables::executors::record::ExecutorRecord;
use crate::tables::history::History;

pub(crate) type EndedApplications = History<AppId, Ended>;

#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) sequence: u64,
    pub(crate) end: ApplicationEnd,
    /// The application without its executors.
    pub(crate) row: ApplicationView,
    pub(crate) executors: Vec<ExecutorRecord>,
}

impl Ended {
    /// A copy of the ended application for clients, with its executors.
    pub(crate) fn view(&self) -> ApplicationView {
        ApplicationView { executors: self.executors_from(ExecutorId(0)).collect(), ..self.row.clone() }
    }

    /// Copies of the ended application's remembered executors, from this number on.
    pub(crate) fn executors_from(&self, from: ExecutorId) -> impl Iterator<Item = ExecutorView> {
        let first = self.executors.partition_point(|record| record.id < from);
        self.executors[first..].iter().map(|record| record.view(&self.row.id))
    }

    pub(super) fn executor_mut(&mut self, number: ExecutorId) -> Option<&mut ExecutorRecord> {
        let at = self.executors.binary_search_by_key(&number, |record| record.id).ok()?;
        self.executors.get_mut(at)
    }
}

impl EndedApplications {
    pub(crate) fn named(&self, name: &str) -> Option<AppId> {
        self.iter().rev().find(|(_, ended)| ended.row.name == name).map(|(_, ended)| ended.row.id.clone())
    }
}
