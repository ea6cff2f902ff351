//! What waits, so that an event looks only at what it changed.
//!
//! After a scheduling pass nothing that waits can be placed: no Worker has room for one more executor of it. So when
//! the next pass comes, only two kinds of demands can have room: those of applications that have changed since, and
//! those for which there is room on a Worker that has gained some. For the latter, demands are filed by what one
//! executor takes, their *shape*: of all that are alike, ten or ten thousand, one question tells whether there is room.
//!
//! The pass goes through these alone, in the order in which it would go through all, and decides what it would decide
//! if it went through all. An application is taken out of the file when it is handed out to be changed, and filed again
//! at the end of the pass, so no handler has to think of it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::Arc;

use firesteel_placement::{Cores, Demand, ExecutorSize, MiB, ResourceAmounts};

use super::worker_table::WorkerTable;
use crate::ids::ProfileId;

/// A demand: its application's place in the queue, and its profile.
pub(super) type DemandKey = (u64, ProfileId);

/// What one executor takes, of each amount.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Shape {
    /// At least. First, so that small shapes come first.
    cores: Cores,
    memory: MiB,
    resources: ResourceAmounts,
}

/// The demands that wait.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    shapes: BTreeMap<Arc<Shape>, Waiting>,
    /// Applications that may have changed since the last pass, by their places in the queue. None of their demands is
    /// filed.
    touched: BTreeSet<u64>,
}

/// The demands of one shape.
#[derive(Debug)]
struct Waiting {
    /// One executor of that shape, and no bounds.
    one: Demand,
    /// Never empty.
    demands: BTreeSet<DemandKey>,
}

/// The demands that have room in the pass at hand, the next of each shape.
#[derive(Debug, Default)]
pub(super) struct ReadyDemands(BTreeMap<DemandKey, Arc<Shape>>);

impl Shape {
    pub(super) fn of(demand: &Demand) -> Self {
        Self { cores: demand.size.step(), memory: demand.memory, resources: demand.resources.clone() }
    }

    fn one(&self) -> Demand {
        Demand {
            size: ExecutorSize::Fixed(self.cores),
            memory: self.memory,
            resources: self.resources.clone(),
            ..Demand::default()
        }
    }
}

impl Backlog {
    /// An application may change: tells whether this is news.
    pub(super) fn touch(&mut self, sequence: u64) -> bool {
        self.touched.insert(sequence)
    }

    /// An application has gone.
    pub(super) fn forget(&mut self, sequence: u64) {
        self.touched.remove(&sequence);
    }

    /// The applications that may have changed, from that place in the queue on.
    pub(super) fn touched_from(&self, sequence: u64) -> impl Iterator<Item = u64> {
        self.touched.range(sequence..).copied()
    }

    pub(super) fn is_touched(&self, sequence: u64) -> bool {
        self.touched.contains(&sequence)
    }

    /// Whether nothing has changed since the last pass.
    pub(super) fn is_settled(&self) -> bool {
        self.touched.is_empty()
    }

    pub(super) fn take_touched(&mut self) -> BTreeSet<u64> {
        std::mem::take(&mut self.touched)
    }

    pub(super) fn file(&mut self, key: DemandKey, shape: Shape) -> Arc<Shape> {
        let shape = match self.shapes.get_key_value(&shape) {
            Some((known, _)) => known.clone(),
            None => Arc::new(shape),
        };
        let waiting = || Waiting { one: shape.one(), demands: BTreeSet::new() };
        self.shapes.entry(shape.clone()).or_insert_with(waiting).demands.insert(key);
        shape
    }

    pub(super) fn unfile(&mut self, key: DemandKey, shape: &Shape) {
        let waiting = self.shapes.get_mut(shape).expect("a filed demand is filed under its shape");
        waiting.demands.remove(&key);
        if waiting.demands.is_empty() {
            self.shapes.remove(shape);
        }
    }

    pub(super) fn is_filed(&self, key: DemandKey, shape: &Shape) -> bool {
        self.shapes.get(shape).is_some_and(|waiting| waiting.demands.contains(&key))
    }

    /// How many demands are filed.
    pub(super) fn len(&self) -> usize {
        self.shapes.values().map(|waiting| waiting.demands.len()).sum()
    }

    /// The first demand of each shape for which there is room where room was gained.
    pub(super) fn ready_demands(&self, workers: &WorkerTable) -> ReadyDemands {
        let Some(most) = workers.most_gained() else { return ReadyDemands::default() };
        let small = self.shapes.iter().take_while(|(shape, _)| shape.cores <= most);
        let with_room = small.filter(|(_, waiting)| workers.gained_room_for(&waiting.one));
        let first =
            |(shape, waiting): (&Arc<Shape>, &Waiting)| Some((*waiting.demands.first()?, shape.clone()));
        ReadyDemands(with_room.filter_map(first).collect())
    }

    /// Takes the next demand that is ready, if it comes before that one; the next of its shape comes up. A shape for
    /// which there is no room any more is dropped.
    pub(super) fn next(
        &self,
        ready: &mut ReadyDemands,
        workers: &WorkerTable,
        before: Option<DemandKey>,
    ) -> Option<DemandKey> {
        loop {
            let first = ready.0.first_entry()?;
            let key = *first.key();
            if before.is_some_and(|before| before < key) {
                return None;
            }
            let shape = first.remove();
            // The pass at hand may have served the last demand of the shape.
            let Some(waiting) = self.shapes.get(&shape) else { continue };
            if !workers.gained_room_for(&waiting.one) {
                continue;
            }
            if let Some(next) = waiting.demands.range((Excluded(key), Unbounded)).next() {
                ready.0.insert(*next, shape.clone());
            }
            if waiting.demands.contains(&key) {
                return Some(key);
            }
        }
    }
}
