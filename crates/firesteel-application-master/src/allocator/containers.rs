//! The table of the application's containers, from grant to end.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use firesteel_protocol::ids::{ContainerId, ExecutorId, ProfileId};

/// The maximum number of remembered ended containers. They are remembered in case the manager grants or reports them
/// again.
const MOST_REMEMBERED: usize = 10_000;

#[derive(Clone, Debug)]
pub(super) struct Container {
    pub(super) host: Arc<str>,
    pub(super) profile: ProfileId,
    pub(super) stage: Stage,
}

/// The stages of a container.
///
/// ```text
///           used              started
///  granted ------> Launching ---------> Running ----> ended
///     |               | killed, or         | killed      ^
///     | not wanted    v cannot be started  v             |
///     `-----------> Released ----------------------------'
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Launching(ExecutorId),
    Running(ExecutorId),
    /// The container was given back, but the manager has not reported its end yet.
    Released(Residue),
}

/// What a container still contains after it was given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Residue {
    /// The container has no executor that the driver knows.
    Nothing,
    /// The container has an executor whose end is not reported yet.
    Executor(ExecutorId),
}

impl Stage {
    /// The executor in the container, unless the container was given back.
    pub(super) fn live(self) -> Option<ExecutorId> {
        match self {
            Self::Launching(executor) | Self::Running(executor) => Some(executor),
            Self::Released(_) => None,
        }
    }

    /// The executor in the container whose end is not reported yet.
    pub(super) fn executor(self) -> Option<ExecutorId> {
        match self {
            Self::Released(Residue::Nothing) => None,
            Self::Launching(executor)
            | Self::Running(executor)
            | Self::Released(Residue::Executor(executor)) => Some(executor),
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Containers {
    rows: BTreeMap<ContainerId, Container>,
    of_executor: BTreeMap<ExecutorId, ContainerId>,
    /// The containers to give back with the next call.
    to_release: BTreeSet<ContainerId>,
    /// The containers given back with the call in progress.
    releasing: BTreeSet<ContainerId>,
    ended: BTreeSet<ContainerId>,
    ended_order: VecDeque<ContainerId>,
}

impl Containers {
    pub(super) fn get(&self, id: &ContainerId) -> Option<&Container> {
        self.rows.get(id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&ContainerId, &Container)> {
        self.rows.iter()
    }

    /// Whether the container is in the table, or was until recently.
    pub(super) fn knows(&self, id: &ContainerId) -> bool {
        self.rows.contains_key(id) || self.ended.contains(id)
    }

    pub(super) fn of(&self, executor: ExecutorId) -> Option<&ContainerId> {
        self.of_executor.get(&executor)
    }

    /// The executors whose ends are not reported yet, by number.
    pub(super) fn executors(&self) -> impl Iterator<Item = ExecutorId> {
        self.of_executor.keys().copied()
    }

    /// Adds a granted container. It will be used, or given back at once.
    pub(super) fn insert(&mut self, id: ContainerId, container: Container) {
        match container.stage {
            Stage::Launching(executor) | Stage::Running(executor) => {
                self.of_executor.insert(executor, id.clone());
            }
            Stage::Released(_) => _ = self.to_release.insert(id.clone()),
        }
        self.rows.insert(id, container);
    }

    /// Records that a container's process runs. Returns the profile of its executor. `None` if the process was not
    /// being started.
    pub(super) fn run(&mut self, id: &ContainerId) -> Option<ProfileId> {
        let container = self.rows.get_mut(id)?;
        match container.stage {
            Stage::Launching(executor) => {
                container.stage = Stage::Running(executor);
                Some(container.profile)
            }
            Stage::Running(_) | Stage::Released(_) => None,
        }
    }

    pub(super) fn release(&mut self, id: &ContainerId, residue: Residue) {
        let container = self.rows.get_mut(id).expect("only a container that is here is given back");
        if let (Some(executor), Residue::Nothing) = (container.stage.executor(), residue) {
            self.of_executor.remove(&executor);
        }
        container.stage = Stage::Released(residue);
        self.to_release.insert(id.clone());
    }

    pub(super) fn remove(&mut self, id: &ContainerId) -> Option<Container> {
        let container = self.rows.remove(id)?;
        if let Some(executor) = container.stage.executor() {
            self.of_executor.remove(&executor);
        }
        self.to_release.remove(id);
        self.releasing.remove(id);
        if self.ended_order.len() >= MOST_REMEMBERED
            && let Some(oldest) = self.ended_order.pop_front()
        {
            self.ended.remove(&oldest);
        }
        self.ended.insert(id.clone());
        self.ended_order.push_back(id.clone());
        Some(container)
    }

    pub(super) fn releases(&mut self) -> Vec<ContainerId> {
        self.releasing = std::mem::take(&mut self.to_release);
        self.releasing.iter().cloned().collect()
    }

    /// Records that the manager received the last call.
    pub(super) fn heard(&mut self) {
        self.releasing.clear();
    }

    /// Records that the manager may not have received the last call.
    pub(super) fn resend_all(&mut self) {
        self.to_release.append(&mut self.releasing);
    }

    /// Records that the manager has forgotten everything. Gives back again all containers whose ends are not reported.
    pub(super) fn forget(&mut self) {
        self.releasing.clear();
        let released = self.rows.iter().filter(|(_, container)| container.stage.live().is_none());
        self.to_release = released.map(|(id, _)| id.clone()).collect();
    }

    pub(super) fn contradiction(&self) -> Option<String> {
        let executors = self.rows.iter().filter_map(|(id, row)| Some((row.stage.executor()?, id.clone())));
        let executors: BTreeMap<_, _> = executors.collect();
        if executors != self.of_executor {
            return Some(format!("containers by executor are {:?}, not {executors:?}", self.of_executor));
        }
        let used = |id: &&ContainerId| self.rows.get(*id).is_none_or(|row| row.stage.live().is_some());
        if let Some(id) = self.to_release.iter().chain(&self.releasing).find(used) {
            return Some(format!("{id} is given back, and is none that was released"));
        }
        if let Some(id) = self.rows.keys().find(|id| self.ended.contains(*id)) {
            return Some(format!("{id} has ended, and is here"));
        }
        let orders = self.ended.len() == self.ended_order.len() && self.ended.len() <= MOST_REMEMBERED;
        (!orders).then(|| {
            format!("{} containers have ended, {} in order", self.ended.len(), self.ended_order.len())
        })
    }
}
