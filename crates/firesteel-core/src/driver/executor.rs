//! One executor of the application.

use std::collections::BTreeSet;

use firesteel_placement::Cores;
use firesteel_placement::locality::{Sites, Topology};

use crate::ids::{PeerId, ProfileId, TaskId, WorkerId};
use crate::time::Timestamp;

/// An executor that has not ended.
#[derive(Clone, Debug)]
pub(super) struct Executor {
    pub(super) profile: ProfileId,
    pub(super) worker: WorkerId,
    pub(super) host: String,
    /// That host, and its rack.
    pub(super) sites: Sites,
    pub(super) cores: Cores,
    pub(super) state: State,
    pub(super) fate: Fate,
    pub(super) trust: Trust,
    /// Cores that no task has.
    pub(super) free: Cores,
    /// The tasks that run on it.
    pub(super) running: BTreeSet<TaskId>,
}

/// Where an executor was assigned, and as what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Assigned {
    pub(super) profile: ProfileId,
    pub(super) worker: WorkerId,
    pub(super) host: String,
    pub(super) cores: Cores,
}

/// Whether the driver wants an executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Wanted,
    /// The Master was asked to end it, or will be once there is one. It takes no more tasks.
    Killed,
}

/// Whether an executor is given tasks, by what became of those that it had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    Trusted,
    /// What failed there succeeded elsewhere, or it is on a host where that is so.
    Excluded,
}

/// ```text
///  (nothing) --ExecutorAdded--> ANNOUNCED
///      |                            |
///      `--- RegisterExecutor -------+--> OFFERING --killed a task unasked--> LEAVING
///                                           |                                   |
///                                           `--------- connection ended --------+--> SILENT
/// ```
/// From each state an executor is lost by the Master's word; a silent one also by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The Master assigned it; it has not been heard from.
    Announced,
    /// It takes tasks.
    Offering(PeerId),
    /// It ends by itself and takes no more tasks.
    Leaving(PeerId),
    /// Its connection ended. The Master's word on how it ended is waited for until then.
    Silent(Timestamp),
}

impl Executor {
    pub(super) fn peer(&self) -> Option<PeerId> {
        match self.state {
            State::Offering(peer) | State::Leaving(peer) => Some(peer),
            State::Announced | State::Silent(_) => None,
        }
    }

    pub(super) fn running(&self) -> &BTreeSet<TaskId> {
        &self.running
    }

    pub(super) fn new(assigned: Assigned, topology: &Topology, state: State, fate: Fate) -> Self {
        let Assigned { profile, worker, host, cores } = assigned;
        let (sites, running) = (topology.sites([host.as_str()]), BTreeSet::new());
        Self { profile, worker, host, sites, cores, state, fate, trust: Trust::Trusted, free: cores, running }
    }

    /// Whether it takes tasks, or would if it were trusted, and has none.
    pub(super) fn is_idle(&self) -> bool {
        self.could_offer() && self.running.is_empty()
    }

    /// Whether it takes tasks.
    pub(super) fn is_offering(&self) -> bool {
        self.could_offer() && self.trust == Trust::Trusted
    }

    /// Whether it takes tasks, or would if it were trusted.
    pub(super) fn could_offer(&self) -> bool {
        matches!((self.state, self.fate), (State::Offering(_), Fate::Wanted))
    }

    /// Whether it takes tasks, or is about to.
    pub(super) fn is_in_reach(&self) -> bool {
        match self.state {
            State::Announced | State::Offering(_) => {
                (self.fate, self.trust) == (Fate::Wanted, Trust::Trusted)
            }
            State::Leaving(_) | State::Silent(_) => false,
        }
    }
}
