//! The number of living Workers for each label.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use firesteel_protocol::scheduling::label::Label;

/// The number of living Workers for each label, and for no label. No count is zero.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct LabelCounts(BTreeMap<Option<Label>, usize>);

impl LabelCounts {
    /// The counts of Workers with these labels.
    pub(crate) fn of<'a>(workers: impl Iterator<Item = &'a Option<Label>>) -> Self {
        let mut counts = Self::default();
        workers.for_each(|label| counts.add(label));
        counts
    }

    pub(crate) fn add(&mut self, label: &Option<Label>) {
        *self.0.entry(label.clone()).or_default() += 1;
    }

    pub(crate) fn remove(&mut self, label: &Option<Label>) {
        if let Entry::Occupied(mut count) = self.0.entry(label.clone()) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }

    /// Whether every Worker admits applications with this label.
    pub(crate) fn all_admit(&self, label: Option<&Label>) -> bool {
        self.0.keys().all(|of_workers| Label::admits(of_workers.as_ref(), label))
    }
}
