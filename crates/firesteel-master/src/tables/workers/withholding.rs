//! Resources that are withheld during a pass because they are reserved.

use std::collections::BTreeMap;

use firesteel_placement::ResourceAmounts;
use firesteel_placement::advanced::index::Slot;
use firesteel_placement::explain::shortfall;

use super::table::WorkerTable;
use crate::tables::workers::row::Withheld;

/// Withheld resources that are offered for a while.
#[derive(Debug)]
#[must_use]
pub(crate) struct Suspended(BTreeMap<Slot, Withheld>);

impl WorkerTable {
    /// Withholds further amounts of a Worker until the end of the pass. Addresses are withheld for `executors`, each of
    /// which needs these resources.
    pub(crate) fn withhold(
        &mut self,
        slot: Slot,
        amounts: &shortfall::Amounts,
        each: &ResourceAmounts,
        executors: u64,
    ) {
        let withheld = self.withheld.entry(slot).or_default();
        withheld.amounts.add(amounts);
        withheld.addresses.push((each.clone(), executors));
        self.index_anew(slot);
    }

    /// Ends all withholding at the end of the pass.
    pub(crate) fn release_withheld(&mut self) {
        for slot in std::mem::take(&mut self.withheld).into_keys() {
            self.index_anew(slot);
        }
    }

    /// Suspends the withholding. The caller resumes it with [`withhold_again`](Self::withhold_again).
    pub(crate) fn suspend_withholding(&mut self) -> Suspended {
        let suspended = std::mem::take(&mut self.withheld);
        suspended.keys().for_each(|slot| self.index_anew(*slot));
        Suspended(suspended)
    }

    /// Resumes the withholding that [`suspend_withholding`](Self::suspend_withholding) suspended: withholds the same
    /// amounts again, and nothing else.
    pub(crate) fn withhold_again(&mut self, Suspended(suspended): Suspended) {
        self.release_withheld();
        let slots: Vec<Slot> = suspended.keys().copied().collect();
        self.withheld = suspended;
        slots.into_iter().for_each(|slot| self.index_anew(slot));
    }

    /// Computes again which of a Worker's addresses are free and not withheld.
    pub(super) fn withhold_anew(&mut self, slot: Slot) {
        if let Some(withheld) = self.withheld.get_mut(&slot) {
            let row = self.rows[slot.index()].as_ref().expect("every slot of the index has its row");
            let mut open = row.capacity.free().resources.clone();
            for (each, executors) in &withheld.addresses {
                open = open.less(each, *executors);
            }
            withheld.resources = open;
        }
    }
}
