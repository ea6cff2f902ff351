//! The sums over the Workers of a cluster. `status`, `top`, `explain`, plans, pages, JSON and metrics all show these
//! sums.

use firesteel_placement::{Cores, MiB};

use super::{MasterView, WorkerRemark, WorkerState, WorkerView};

/// The sums over the Workers that are alive. A Worker that is leaving, is lost or has not returned does not count, even
/// if it still runs executors.
///
/// Source: Spark Master, 4.0.1, except for free amounts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClusterTotals {
    pub workers: u64,
    pub cores: Cores,
    /// The number of cores that executors and cluster drivers hold.
    pub cores_used: Cores,
    /// The number of free cores that the Master can assign now. A Worker that gets no new executors for now contributes
    /// none.
    pub cores_free: Cores,
    pub memory: MiB,
    /// The amount of memory that executors and cluster drivers hold.
    pub memory_used: MiB,
    /// The amount of free memory that the Master can assign now.
    pub memory_free: MiB,
}

/// A Worker's contribution to the sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerShare {
    /// Whether the Worker counts, and whether its free amounts count.
    pub state: ShareState,
    pub cores: Cores,
    pub cores_used: Cores,
    pub memory: MiB,
    pub memory_used: MiB,
}

/// How a Worker counts in the sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShareState {
    /// The Worker is alive, and its free amounts can be assigned.
    Serving,
    /// The Worker is alive, but gets no new executors for now: it is excluded for all applications, or impaired.
    Withheld,
    /// The Worker is leaving, is lost, or has not returned.
    Away,
}

impl WorkerShare {
    /// Whether the Worker is alive, and so counts in the sums.
    #[must_use]
    pub fn counts(&self) -> bool {
        self.state != ShareState::Away
    }

    /// The free cores that the Master can assign now.
    #[must_use]
    pub fn cores_free(&self) -> Cores {
        self.free().map_or(Cores::ZERO, |()| (self.cores - self.cores_used).max(Cores::ZERO))
    }

    #[must_use]
    pub fn memory_free(&self) -> MiB {
        self.free().map_or(MiB::ZERO, |()| (self.memory - self.memory_used).max(MiB::ZERO))
    }

    fn free(&self) -> Option<()> {
        (self.state == ShareState::Serving).then_some(())
    }
}

impl FromIterator<WorkerShare> for ClusterTotals {
    fn from_iter<I: IntoIterator<Item = WorkerShare>>(shares: I) -> Self {
        shares.into_iter().filter(WorkerShare::counts).fold(Self::default(), |all, share| Self {
            workers: all.workers + 1,
            cores: all.cores + share.cores,
            cores_used: all.cores_used + share.cores_used,
            cores_free: all.cores_free + share.cores_free(),
            memory: all.memory + share.memory,
            memory_used: all.memory_used + share.memory_used,
            memory_free: all.memory_free + share.memory_free(),
        })
    }
}

impl ClusterTotals {
    /// The sums over the Workers in this state of a Master.
    #[must_use]
    pub fn of(view: &MasterView) -> Self {
        view.workers.iter().map(WorkerView::share).collect()
    }
}

impl WorkerView {
    /// The Worker's contribution to the sums. A Worker that runs executors of another Master has no free amounts.
    #[must_use]
    pub fn share(&self) -> WorkerShare {
        let is_foreign = matches!(self.remark, Some(WorkerRemark::Foreign { .. }));
        let gets_nothing = self.excluded_until.is_some() || self.impairment.is_some() || is_foreign;
        let state = match self.state {
            WorkerState::Alive if gets_nothing => ShareState::Withheld,
            WorkerState::Alive => ShareState::Serving,
            WorkerState::Decommissioned | WorkerState::Unknown | WorkerState::Dead | WorkerState::Left => {
                ShareState::Away
            }
        };
        let Self { cores, cores_used, memory, memory_used, .. } = *self;
        WorkerShare { state, cores, cores_used, memory, memory_used }
    }
}
