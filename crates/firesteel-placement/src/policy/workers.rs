//! What a policy asks about the Workers, and about the application that it places.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Changes, ClusterTotal};
use crate::Offer;
use crate::index::{Index, Slot};

/// The Workers of a cluster, as one application sees them: what a [`Chooser`](super::Chooser) asks of their owner.
///
/// The index must have the amounts of [`offer`](Self::offer). The methods with a body say that all Workers are alike,
/// and that the application holds no executors.
pub trait Workers {
    /// The type of a Worker's id.
    type Id: Ord;
    /// How much the application prefers a Worker: the lowest rank comes first.
    type Rank: Ord + Clone;

    /// The Workers and their free amounts, in the worker order.
    fn index(&self) -> &Index<Self::Id>;

    /// The total amounts of all Workers.
    fn total(&self) -> &ClusterTotal;

    /// The amounts that the application may use of a Worker.
    fn offer(&self, slot: Slot) -> Option<Offer<'_>>;

    /// The total amounts of a Worker, free or not.
    fn total_offer(&self, slot: Slot) -> Option<Offer<'_>>;

    /// The host of a Worker.
    fn host(&self, slot: Slot) -> &str;

    /// The free amounts of all Workers, in the order of their ids, whether or not the application may use them.
    fn free(&self) -> impl Iterator<Item = Offer<'_>>;

    /// The Workers whose free amounts changed since the last call.
    fn take_changes(&mut self) -> Changes;

    /// The rank of a Worker for the application.
    fn rank(&self, slot: Slot) -> Self::Rank;

    /// Whether all Workers have the same rank for the application, and none is excluded.
    fn are_alike(&self) -> bool {
        true
    }

    /// Whether the application gets no executors on a Worker.
    fn excludes(&self, _slot: Slot) -> bool {
        false
    }

    /// Whether any Worker comes after all others under Spark's rule.
    fn has_late(&self) -> bool {
        false
    }

    /// Whether a Worker comes after all others under Spark's rule.
    fn is_late(&self, _slot: Slot) -> bool {
        false
    }

    /// The Workers that come before all others and those that come after all others under Spark's rule. Each list has
    /// one entry per rank, the lowest rank first.
    fn ends(&self) -> [Vec<Vec<Slot>>; 2] {
        [Vec::new(), Vec::new()]
    }

    /// The Worker of each executor that the application holds.
    fn held(&self) -> impl Iterator<Item = Slot> {
        std::iter::empty()
    }

    /// How much longer executors are expected to run.
    fn rest(&self) -> Rest {
        Rest::default()
    }
}

/// How much longer executors are expected to run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rest {
    /// The longest of the executors on each Worker that has any.
    pub on: BTreeMap<Slot, Duration>,
    /// The executors of the application that is placed, if that is known.
    pub own: Option<Duration>,
}
