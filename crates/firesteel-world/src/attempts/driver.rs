//! A driver as an ApplicationMaster sees it: the messages that the driver has sent and received.

use std::collections::{BTreeMap, BTreeSet};

use firesteel_protocol::ids::{ContainerId, ExecutorId, PeerId, ProfileId};
use firesteel_protocol::messages::{ApplicationEnd, ExecutorState, MasterToDriver, Relaunch};

/// A driver. In cluster mode, each program contains its own driver.
#[derive(Clone, Debug, Default)]
pub(super) struct Driver {
    /// The driver's connection to an attempt, as the driver sees it.
    pub(super) connection: Option<Connection>,
    /// Whether the driver was registered on this connection.
    pub(super) registered: bool,
    /// Whether the driver was ever registered.
    pub(super) has_been_registered: bool,
    /// The driver's executors that have not ended, as far as the driver knows.
    pub(super) live: BTreeSet<ExecutorId>,
    /// The executors whose end was reported to the driver.
    pub(super) ended: BTreeSet<ExecutorId>,
    /// The executors that the driver knows, from its Master or from the executors themselves. Each has its container.
    pub(super) met: BTreeMap<ExecutorId, ContainerId>,
    /// The number of executors that the driver wants, by profile.
    pub(super) wanted: BTreeMap<ProfileId, u64>,
    pub(super) profiles: BTreeMap<ExecutorId, ProfileId>,
    pub(super) done: bool,
    /// Whether the driver has disappeared for good.
    pub(super) vanished: bool,
    /// Whether the driver was told that no executor is left.
    pub(super) gone: bool,
    /// The end of the driver's application, if the driver was told.
    pub(super) removed: Option<ApplicationEnd>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Connection {
    /// The attempt, counted from 0.
    pub(super) attempt: usize,
    pub(super) peer: PeerId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reaction {
    None,
    /// The driver requests the executors of its targets.
    Request,
}

impl Driver {
    /// The highest executor number that the driver has seen, plus one.
    pub(super) fn first_executor(&self) -> ExecutorId {
        ExecutorId(self.met.keys().next_back().map_or(0, |highest| highest.0 + 1))
    }

    /// Receives a message. `containers` maps each executor to its container.
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
                self.has_been_registered = true;
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
            | MasterToDriver::ExecutorLeaving { .. }
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
