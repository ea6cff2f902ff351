//! A live executor, as the Master stores it.

use std::sync::Arc;

use firesteel_placement::advanced::index::Slot;
use firesteel_protocol::ids::{ExecutorId, ProfileId};
use firesteel_protocol::messages::{ExecutorState, WorkerDescription};
use firesteel_protocol::time::Timestamp;

use crate::tables::capacity::Grant;
use crate::tables::executors::record::ExecutorRecord;

#[derive(Debug)]
pub(crate) struct Executor {
    /// The slot of the executor's Worker in the index. The Worker keeps the slot at least as long as the executor
    /// lives.
    pub(crate) slot: Slot,
    pub(crate) profile: ProfileId,
    pub(crate) grant: Grant,
    pub(crate) probation: Probation,
    pub(crate) launched: Timestamp,
}

/// Whether a live executor is still on probation.
///
/// ```text
///  Launching -> Running -> Proven
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Probation {
    Launching,
    /// The executor's process has started, but has not run for long.
    Running {
        started: Timestamp,
    },
    /// The executor has run long enough to show that executors of this application can run.
    Proven {
        started: Timestamp,
    },
}

impl Executor {
    /// The record of the executor while it lives.
    pub(crate) fn record(&self, id: ExecutorId, worker: Arc<WorkerDescription>) -> ExecutorRecord {
        ExecutorRecord {
            id,
            worker,
            profile: self.profile,
            share: self.grant.amounts(),
            state: self.probation.state(),
            launched: self.launched,
            started: self.probation.started(),
            ended: None,
            used: None,
        }
    }
}

impl Probation {
    pub(crate) fn state(self) -> ExecutorState {
        match self {
            Self::Launching => ExecutorState::Launching,
            Self::Running { .. } | Self::Proven { .. } => ExecutorState::Running,
        }
    }

    pub(crate) fn started(self) -> Option<Timestamp> {
        match self {
            Self::Launching => None,
            Self::Running { started } | Self::Proven { started } => Some(started),
        }
    }

    pub(crate) fn is_running(self) -> bool {
        matches!(self, Self::Running { .. })
    }

    pub(crate) fn is_proven(self) -> bool {
        matches!(self, Self::Proven { .. })
    }
}
