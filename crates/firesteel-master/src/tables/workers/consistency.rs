//! Checks that all parts of the table of Workers agree.

use std::collections::BTreeSet;

use firesteel_placement::advanced::index::Slot;
use firesteel_placement::advanced::policy::ClusterTotal;

use super::label_counts::LabelCounts;
use super::table::WorkerTable;
use crate::tables::workers::row::WorkerRow;

impl WorkerTable {
    /// Checks that all indexes contain the same Workers, and that the free amounts in the index equal those in the
    /// rows. Returns the first error as text.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.index.check(self.offers())?;
        for (id, slot) in self.index.iter() {
            let row = self.at(slot).ok_or_else(|| format!("{id} has no row"))?;
            let looked = self.looks.contains(&(row.look, slot)) == row.link.is_here();
            let linked = row.link.peer().is_none_or(|peer| self.by_peer.get(&peer) == Some(&slot));
            let away = row.link.absence().is_none_or(|absence| self.away.contains(&(absence.until, slot)));
            let known = row.description.id == *id
                && looked
                && away
                && linked
                && self.by_address.get(&row.address()) == Some(id);
            if !known || row.is_late != self.late.contains(&slot) {
                return Err(format!("{id} is not in every table"));
            }
        }
        let is_odd = |row: &WorkerRow| row.health.leaving && row.health.global_exclusion.until.is_some();
        if let Some(row) = self.iter().find(|row| is_odd(row)) {
            return Err(format!("{} is about to end, and is excluded", row.description.id));
        }
        let until = |(slot, row): (Slot, &WorkerRow)| Some((row.health.global_exclusion.until?, slot));
        let excluded: BTreeSet<_> = self.slots().filter_map(until).collect();
        if excluded != self.excluded {
            return Err(format!("{excluded:?} are excluded, and not {:?}", self.excluded));
        }
        let mut whole = ClusterTotal::default();
        self.whole_offers().for_each(|all| whole.add(&all));
        if !self.withheld.is_empty() {
            return Err(format!("something is withheld after the pass: {:?}", self.withheld));
        }
        if whole != self.whole {
            return Err(format!("the Workers have {whole:?} together, and not {:?}", self.whole));
        }
        let labels = LabelCounts::of(self.iter().map(|row| &row.description.label));
        if labels != self.labels {
            return Err(format!("the Workers have the labels {labels:?}, and not {:?}", self.labels));
        }
        let rows = self.rows.iter().flatten().count();
        let here = self.iter().filter(|row| row.link.is_here()).count();
        let sizes = [rows, self.by_address.len(), self.by_peer.len(), self.looks.len(), self.away.len()];
        let expected = [self.index.len(), self.index.len(), here, here, self.index.len() - here];
        if sizes != expected || !self.dead.is_consistent() {
            return Err(format!("the tables of the Workers have the sizes {sizes:?}, not {expected:?}"));
        }
        Ok(())
    }
}
