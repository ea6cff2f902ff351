//! The part of a cluster that rules can read.

use std::sync::Arc;

use super::Request;
use super::table::Table;
use crate::Offer;
use crate::index::{Index, Slot};
use crate::policy::{Changes, ClusterTotal, Rest, Workers};

/// The Workers, for one request.
#[derive(Debug)]
pub(super) struct View<'a> {
    pub(super) table: &'a mut Table,
    pub(super) request: &'a Request<'a>,
}

impl Workers for View<'_> {
    type Id = Arc<str>;
    type Rank = ();

    fn index(&self) -> &Index<Arc<str>> {
        &self.table.index
    }

    fn total(&self) -> &ClusterTotal {
        &self.table.total
    }

    fn offer(&self, slot: Slot) -> Option<Offer<'_>> {
        self.table.offer(slot)
    }

    fn total_offer(&self, slot: Slot) -> Option<Offer<'_>> {
        Some(self.table.row(slot).total())
    }

    fn host(&self, slot: Slot) -> &str {
        &self.table.row(slot).host
    }

    fn free(&self) -> impl Iterator<Item = Offer<'_>> {
        self.table.offers()
    }

    fn take_changes(&mut self) -> Changes {
        self.table.changes.take()
    }

    fn rank(&self, _: Slot) {}

    fn held(&self) -> impl Iterator<Item = Slot> {
        self.table.held_by(self.request.application)
    }

    fn rest(&self) -> Rest {
        let now = self.request.now.unwrap_or_default();
        let on = self.table.in_use().filter_map(|(slot, row)| Some((slot, row.rest(now)?)));
        Rest { on: on.collect(), own: self.request.runs_for }
    }
}
