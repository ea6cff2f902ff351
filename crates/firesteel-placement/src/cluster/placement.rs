//! The executors that were placed.

use std::sync::Arc;
use std::time::Duration;

use crate::index::Share;
use crate::{Cores, Demand, MiB, Resources};

/// The executors of one demand and their Workers. The executors hold their amounts until the placement is [given
/// back](super::Cluster::give_back).
#[derive(Debug)]
#[must_use = "its executors hold what they need until it is given back"]
pub struct Placement {
    pub(super) demand: Demand,
    /// The executors by Worker, in the order in which they are launched.
    pub(super) shares: Vec<Share>,
    /// The id of the Worker of each share.
    pub(super) workers: Vec<Arc<str>>,
    /// The addresses of each executor. Empty if no executor has any.
    pub(super) resources: Vec<Resources>,
    pub(super) application: Option<Arc<str>>,
    pub(super) life: Option<Life>,
}

/// The lifetime of executors: their start and their expected end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Life {
    pub(super) begins: Duration,
    /// The expected end, if it is known.
    pub(super) ends: Option<Duration>,
}

/// One executor that was placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedExecutor<'a> {
    /// The id of the Worker.
    pub worker: &'a str,
    /// The number of cores.
    pub cores: Cores,
    /// The amount of memory.
    pub memory: MiB,
    /// The addresses of custom resources that the executor holds.
    pub resources: &'a Resources,
}

impl Placement {
    /// Whether no executor was placed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shares.is_empty()
    }

    /// The number of executors.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.shares.iter().map(|share| share.executors).sum()
    }

    /// The cores of all executors together.
    #[must_use]
    pub fn cores(&self) -> Cores {
        self.shares.iter().map(Share::total).sum()
    }

    /// The executors, in the order in which they are launched and numbered: all executors of a Worker before those of
    /// the next one.
    pub fn executors(&self) -> impl Iterator<Item = PlacedExecutor<'_>> {
        let each = self.shares.iter().zip(&self.workers).flat_map(|(share, worker)| {
            std::iter::repeat_n((share, &**worker), usize::try_from(share.executors).unwrap_or(usize::MAX))
        });
        each.enumerate().map(|(at, (share, worker))| PlacedExecutor {
            worker,
            cores: share.cores,
            memory: self.demand.memory,
            resources: self.resources.get(at).unwrap_or(Resources::NONE),
        })
    }

    /// The same executors as placements of one executor each, so that they can be given back one by one.
    #[must_use]
    pub fn split(self) -> Vec<Placement> {
        let Self { demand, shares, workers, resources, application, life } = self;
        let mut resources = resources.into_iter();
        let each = shares.into_iter().zip(workers).flat_map(|(share, worker)| {
            std::iter::repeat_n((share, worker), usize::try_from(share.executors).unwrap_or(usize::MAX))
        });
        let one = |(share, worker): (Share, Arc<str>)| Placement {
            demand: demand.clone(),
            shares: vec![Share::new(share.slot, 1, share.cores)],
            workers: vec![worker],
            resources: resources.next().into_iter().collect(),
            application: application.clone(),
            life,
        };
        each.map(one).collect()
    }
}
