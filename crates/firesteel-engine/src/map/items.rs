//! The items that were submitted and are not printed yet.

use std::collections::BTreeMap;

use firesteel_protocol::ids::TaskId;

use super::ahead::Begun;

/// The items that were submitted and are not printed, by their tasks.
#[derive(Clone, Debug, Default)]
pub(super) struct Items {
    rows: BTreeMap<TaskId, Row>,
    begun: Begun,
}

/// The state of an item.
///
/// ```text
///  OPEN --its task ended--> ENDED --printed--> (no row)
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
enum Row {
    Open(OpenItem),
    Ended { number: u64, result: ItemResult },
}

/// An item whose task runs or waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OpenItem {
    pub(super) number: u64,
    pub(super) words: String,
    pub(super) bytes: usize,
}

/// Whether an item is done, or must be repeated by another run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemResult {
    Succeeded,
    NotDone,
}

impl Items {
    pub(super) fn begun(&self) -> Begun {
        self.begun
    }

    pub(super) fn insert(&mut self, task: TaskId, item: OpenItem) {
        self.begun.open += 1;
        self.begun.unprinted += 1;
        self.begun.bytes += item.bytes;
        self.rows.insert(task, Row::Open(item));
    }

    pub(super) fn number(&self, task: TaskId) -> Option<u64> {
        match self.rows.get(&task)? {
            Row::Open(item) => Some(item.number),
            Row::Ended { .. } => None,
        }
    }

    /// Handles the end of an item's task. Returns the item, if it was open.
    pub(super) fn end(&mut self, task: TaskId, result: ItemResult) -> Option<OpenItem> {
        let row = self.rows.get_mut(&task)?;
        let Row::Open(OpenItem { number, .. }) = row else { return None };
        let ended = Row::Ended { number: *number, result };
        let Row::Open(item) = std::mem::replace(row, ended) else { unreachable!("it is open") };
        self.begun.open -= 1;
        self.begun.bytes -= item.bytes;
        Some(item)
    }

    /// Handles an item whose output is printed. Returns the item's number and result, if the item had ended.
    pub(super) fn print(&mut self, task: TaskId) -> Option<(u64, ItemResult)> {
        match self.rows.get(&task)? {
            Row::Open(_) => return None,
            Row::Ended { .. } => {}
        }
        let Some(Row::Ended { number, result }) = self.rows.remove(&task) else {
            unreachable!("it has ended")
        };
        self.begun.unprinted -= 1;
        Some((number, result))
    }

    /// The tasks of open items, in order.
    pub(super) fn open(&self) -> Vec<TaskId> {
        self.rows.iter().filter(|(_, row)| matches!(row, Row::Open(_))).map(|(task, _)| *task).collect()
    }

    /// How many items succeeded and were not printed.
    pub(super) fn unprinted(&self) -> u64 {
        let succeeded = |row: &&Row| matches!(row, Row::Ended { result: ItemResult::Succeeded, .. });
        self.rows.values().filter(succeeded).count() as u64
    }

    /// Describes the first inconsistency in the table, if any.
    pub(super) fn contradiction(&self) -> Option<String> {
        let mut counted = Begun { unprinted: self.rows.len(), ..Begun::default() };
        for row in self.rows.values() {
            if let Row::Open(item) = row {
                counted.open += 1;
                counted.bytes += item.bytes;
            }
        }
        (counted != self.begun).then(|| format!("{counted:?} are there, and {:?} are counted", self.begun))
    }
}
