//! A driver as an ApplicationMaster knows it: what it has said, and what it has heard.

use std::collections::{BTreeMap, BTreeSet};

use firesteel_core::ids::{ContainerId, ExecutorId, PeerId, ProfileId};
use firesteel_core::messages::{ApplicationEnd, ExecutorState, MasterToDriver, Relaunch};

/// A driver. In cluster mode each program has one of its own.
#[derive(Clone, Debug, Default)]
pub(super) struct Driver {
    /// Its connection, as it sees it: to which attempt.
    pub(super) connection: Option<Connection>,
    /// Whether it was told that it is registered, on this connection.
    pub(super) registered: bool,
    /// The executors that it knows of and that have not ended.
    pub(super) live: BTreeSet<ExecutorId>,
    /// Those of which it has heard that they have ended.
    pub(super) ended: BTreeSet<ExecutorId>,
    /// Of whom it has heard, from its Master or from the executor itself.
    pub(super) met: BTreeMap<ExecutorId, ContainerId>,
    /// How many executors it wants.
    pub(super) wanted: BTreeMap<ProfileId, u64>,
    /// Of which profile each executor is.
    pub(super) profiles: BTreeMap<ExecutorId, ProfileId>,
    /// It has said that it is done.
    pub(super) done: bool,
    /// It never comes back.
    pub(super) vanished: bool,
    /// It was told that nothing is left.
    pub(super) gone: bool,
    /// It was told that its application is over.
    pub(super) removed: Option<ApplicationEnd>,
}

/// A connection to an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Connection {
    /// Which attempt, counted from 0.
    pub(super) attempt: usize,
    pub(super) peer: PeerId,
}

/// What a driver does about what it hears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reaction {
    None,
    /// It says what it wants.
    Request,
}

impl Driver {
    /// One more than the highest number that it has seen.
    pub(super) fn first_executor(&self) -> ExecutorId {
        ExecutorId(self.met.keys().next_back().map_or(0, |highest| highest.0 + 1))
    }

    /// It is told something. `containers` says which executor is in which.
    pub(super) fn hear(
        &mut self,
        message: &MasterToDriver,
        relaunch: Relaunch,
        container: impl Fn(ExecutorId) -> Option<ContainerId>,
    ) -> Reaction {
        match message {
            MasterToDriver::RegisteredApplication { first_executor, .. } => {
                let gone: Vec<ExecutorId> = self.live.range(..first_executor).copied().collect();
                for executor in gone {
                    self.live.remove(&executor);
                    self.ended.insert(executor);
                }
                return match std::mem::replace(&mut self.registered, true) {
                    true => Reaction::None,
                    false => Reaction::Request,
                };
            }
            MasterToDriver::ExecutorAdded { executor, profile, .. } => {
                if let Some(container) = container(*executor) {
                    self.met.insert(*executor, container);
                }
                self.profiles.insert(*executor, *profile);
                if !self.ended.contains(executor) {
                    self.live.insert(*executor);
                }
            }
            MasterToDriver::ExecutorUpdated { executor, state, .. } if state.is_finished() => {
                self.live.remove(executor);
                if self.ended.insert(*executor) {
                    self.count_final_end(*executor, state, relaunch);
                }
            }
            MasterToDriver::ExecutorsGone { .. } => self.gone = true,
            MasterToDriver::ApplicationRemoved(end) => self.removed = Some(end.clone()),
            MasterToDriver::ExecutorUpdated { .. }
            | MasterToDriver::WorkerRemoved { .. }
            | MasterToDriver::ExecutorsRequested { .. }
            | MasterToDriver::ExecutorsKilled { .. }
            | MasterToDriver::Shortfalls(_) => {}
        }
        Reaction::None
    }

    fn count_final_end(&mut self, executor: ExecutorId, state: &ExecutorState, relaunch: Relaunch) {
        let profile = self.profiles.get(&executor).copied();
        if let Some(wanted) = profile.and_then(|profile| self.wanted.get_mut(&profile))
            && relaunch.is_final(state)
        {
            *wanted = wanted.saturating_sub(1);
        }
    }
}
