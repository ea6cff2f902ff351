//! The backlog: waiting demands in an index, so that an event considers only demands that it may have changed.
//!
//! After a scheduling pass, no waiting demand can be placed: on no Worker, one more of its executors fits. In the next
//! pass, only two kinds of demands can fit: demands of applications that have changed since, and demands that fit on a
//! Worker that now has more free resources. To find the latter, demands are filed by the amounts of one executor, their
//! *shape*. One lookup answers for all demands of a shape, whether there are ten or ten thousand.
//!
//! The pass considers only these demands, in the order of a full pass, and makes the same decisions. When code gets an
//! application to change it, the table removes the application's demands from the index. At the end of the pass the
//! table adds them again. So handlers need not do anything.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::Arc;

use firesteel_placement::{Cores, Demand, ExecutorSize, MiB, ResourceAmounts};
use firesteel_protocol::ids::ProfileId;

use crate::tables::workers::table::WorkerTable;

pub(crate) type DemandKey = (u64, ProfileId);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Shape {
    /// The lowest number of cores of an executor. It is the first field, so that small shapes come first.
    cores: Cores,
    memory: MiB,
    resources: ResourceAmounts,
}

/// The waiting demands, by shape.
#[derive(Debug, Default)]
pub(crate) struct Backlog {
    shapes: BTreeMap<Arc<Shape>, Waiting>,
    /// The numbers of applications that may have changed since the last pass. None of their demands is in the index.
    touched: BTreeSet<u64>,
}

#[derive(Debug)]
struct Waiting {
    /// A demand for one executor of the shape, without other limits.
    one: Demand,
    /// The keys of the demands with this shape; at least one.
    demands: BTreeSet<DemandKey>,
}

/// The demands that fit in this pass: the next one of each shape.
#[derive(Debug, Default)]
pub(crate) struct ReadyDemands(BTreeMap<DemandKey, Arc<Shape>>);

impl Shape {
    pub(crate) fn of(demand: &Demand) -> Self {
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
    /// Marks an application as possibly changed. Returns `true` if it was not marked before.
    pub(super) fn touch(&mut self, sequence: u64) -> bool {
        self.touched.insert(sequence)
    }

    pub(crate) fn forget(&mut self, sequence: u64) {
        self.touched.remove(&sequence);
    }

    /// The applications that may have changed, from this number on.
    pub(super) fn touched_from(&self, sequence: u64) -> impl Iterator<Item = u64> {
        self.touched.range(sequence..).copied()
    }

    pub(super) fn is_touched(&self, sequence: u64) -> bool {
        self.touched.contains(&sequence)
    }

    /// Whether no application may have changed since the last pass.
    pub(crate) fn is_settled(&self) -> bool {
        self.touched.is_empty()
    }

    pub(super) fn take_touched(&mut self) -> BTreeSet<u64> {
        std::mem::take(&mut self.touched)
    }

    pub(crate) fn file(&mut self, key: DemandKey, shape: Shape) -> Arc<Shape> {
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

    /// The applications with filed demands. An application with several profiles may be listed more than once.
    pub(crate) fn filed(&self) -> impl Iterator<Item = u64> {
        self.shapes.values().flat_map(|waiting| &waiting.demands).map(|(sequence, _)| *sequence)
    }

    pub(super) fn is_filed(&self, key: DemandKey, shape: &Shape) -> bool {
        self.shapes.get(shape).is_some_and(|waiting| waiting.demands.contains(&key))
    }

    pub(crate) fn len(&self) -> usize {
        self.shapes.values().map(|waiting| waiting.demands.len()).sum()
    }

    /// The first demand of each shape that fits on a Worker with newly freed resources.
    pub(crate) fn ready_demands(&self, workers: &WorkerTable) -> ReadyDemands {
        let Some(most) = workers.most_gained() else { return ReadyDemands::default() };
        let small = self.shapes.iter().take_while(|(shape, _)| shape.cores <= most);
        let with_room = small.filter(|(_, waiting)| workers.gained_room_for(&waiting.one));
        let first =
            |(shape, waiting): (&Arc<Shape>, &Waiting)| Some((*waiting.demands.first()?, shape.clone()));
        ReadyDemands(with_room.filter_map(first).collect())
    }

    /// Removes and returns the next ready demand, if it comes before `before`. The next demand of the same shape takes
    /// its place. If the shape no longer fits anywhere, it is dropped.
    pub(crate) fn next(
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
            // This pass may have served the last demand of the shape.
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
