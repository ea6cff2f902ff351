//! The facts that a policy needs about the Workers, and about the application whose executors it places.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Changes, ClusterTotal};
use crate::Offer;
use crate::index::{Index, Slot};

/// The Workers of a cluster, from the point of view of one application. The owner of the Workers implements it for a
/// [`Chooser`](super::Chooser).
///
/// The amounts in the index must be those of [`offer`](Self::offer). By the default methods, all Workers are alike, and
/// the application holds no executors.
pub trait Workers {
    /// The type of a Worker's id.
    type Id: Ord;
    /// How much the application prefers a Worker: the lowest rank comes first.
    type Rank: Ord + Clone;

    /// The Workers and their free amounts, in the worker order.
    fn index(&self) -> &Index<Self::Id>;

    /// The total amounts of all Workers.
    fn total(&self) -> &ClusterTotal;

    /// The free amounts of a Worker that the application may use.
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

    /// Two lists of Workers under Spark's rule: those before all others, and those after all others. Each list has one
    /// entry per rank, the lowest rank first.
    fn ends(&self) -> [Vec<Vec<Slot>>; 2] {
        [Vec::new(), Vec::new()]
    }

    /// The Workers of the application's executors. A Worker is repeated for each executor.
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
    /// For each Worker with executors, the longest remaining time of any of them.
    pub on: BTreeMap<Slot, Duration>,
    /// The expected time of the application's new executors, if that is known.
    pub own: Option<Duration>,
}
