//! The Workers in the form that clients see.

use std::collections::BTreeMap;

use firesteel_placement::advanced::index::Slot;
use firesteel_protocol::ids::WorkerId;
use firesteel_protocol::messages::{ClusterTotals, WorkerView};
use firesteel_protocol::time::Timestamp;

use super::table::WorkerTable;
use crate::tables::merged::merged;
use crate::tables::workers::row::WorkerRow;

impl WorkerTable {
    /// Copies of the living Workers by id, then of the remembered lost ones. `excluded_for` has the number of
    /// applications for which each Worker is excluded. Foreign executors and cluster drivers end at `until`.
    pub(crate) fn views(&self, excluded_for: &BTreeMap<Slot, u64>, until: Timestamp) -> Vec<WorkerView> {
        let count = |slot| excluded_for.get(&slot).copied().unwrap_or(0);
        let living = self.slots().map(|(slot, row)| row.living_view(count(slot), until));
        living.chain(self.dead.iter().cloned()).collect()
    }

    /// Copies of the Workers by id, living and lost, from this id on.
    pub(crate) fn views_from(
        &self,
        from: &WorkerId,
        excluded_for: BTreeMap<Slot, u64>,
        until: Timestamp,
    ) -> impl Iterator<Item = WorkerView> {
        let living = self.index.iter_from(from).map(|(id, slot)| (id, Ok(slot)));
        let mut dead: Vec<&WorkerView> = self.dead.iter().filter(|dead| dead.id >= *from).collect();
        dead.sort_by(|one, other| one.id.cmp(&other.id));
        let dead = dead.into_iter().map(|dead| (&dead.id, Err(dead)));
        merged(living, dead).map(move |either| match either {
            Ok(slot) => self.row(slot).living_view(excluded_for.get(&slot).copied().unwrap_or(0), until),
            Err(dead) => dead.clone(),
        })
    }

    pub(crate) fn totals(&self) -> ClusterTotals {
        self.iter().map(WorkerRow::share).collect()
    }
}
