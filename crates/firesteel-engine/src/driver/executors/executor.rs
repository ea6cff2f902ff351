//! One executor of the application.

use std::collections::{BTreeMap, BTreeSet};

use firesteel_placement::advanced::locality::{Sites, Topology};
use firesteel_placement::advanced::resources::{AddressPool, TakenAddresses};
use firesteel_placement::{Cores, Resources};
use firesteel_protocol::ids::{PeerId, ProfileId, TaskId, WorkerId};
use firesteel_protocol::last_heard::LastHeard;
use firesteel_protocol::time::Timestamp;

use super::openings::{Size, Spare};
use super::shortage::Shortage;
use crate::driver::exclusion::doubt::IN_DOUBT;
use crate::driver::tasks::waiting::Needs;

/// An executor that has not ended.
#[derive(Clone, Debug)]
pub(in crate::driver) struct Executor {
    pub(in crate::driver) profile: ProfileId,
    pub(in crate::driver) worker: WorkerId,
    pub(in crate::driver) host: String,
    /// Its host, and the host's rack.
    pub(in crate::driver) sites: Sites,
    pub(in crate::driver) cores: Cores,
    /// The addresses of its custom resources. Empty until it has registered.
    pub(in crate::driver) resources: Resources,
    pub(in crate::driver) state: State,
    pub(in crate::driver) fate: Fate,
    pub(in crate::driver) trust: Trust,
    /// What no task of its uses, for tasks that it takes.
    pub(in crate::driver) spare: Spare,
    /// The cores that no task of its uses.
    free: Cores,
    /// What is known of the shortage of its machine, if it gave tasks back.
    pub(in crate::driver) shortage: Option<Shortage>,
    addresses: AddressPool,
    running: BTreeMap<TaskId, Load>,
    /// Tasks that it ended unasked, because it ends itself: they run again.
    pub(super) interrupted: usize,
    /// Whether it will end with its Worker, or for an urgent application.
    pub(super) drains: bool,
    /// The tasks that failed here since one succeeded, and of which nothing is known from elsewhere.
    pub(super) doubts: BTreeSet<TaskId>,
    /// Whether it takes no tasks because it is in doubt.
    pub(in crate::driver) held: bool,
    /// When the latest message arrived from it.
    pub(super) heard: LastHeard,
    /// When to look whether it is silent. A message does not change this: looking does.
    pub(super) look: Timestamp,
}

/// What a task uses of its executor.
#[derive(Clone, Debug)]
struct Load {
    cores: Cores,
    taken: TakenAddresses,
}

/// An assigned executor: its profile, Worker, host and size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::driver) struct Assigned {
    pub(in crate::driver) profile: ProfileId,
    pub(in crate::driver) worker: WorkerId,
    pub(in crate::driver) host: String,
    pub(in crate::driver) cores: Cores,
    /// The addresses of its custom resources. Only the executor knows them: empty until it has registered.
    pub(in crate::driver) resources: Resources,
}

/// Whether the driver wants an executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::driver) enum Fate {
    Wanted,
    /// The Master was asked to end it, or will be when there is one. It takes no more tasks.
    Killed,
}

/// Whether an executor is given tasks, as far as exclusion goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::driver) enum Trust {
    Trusted,
    /// It is excluded, or its host is.
    Excluded,
}

/// The states of an executor at its driver.
///
/// ```text
///  (nothing) --ExecutorAdded--> ANNOUNCED --it runs--> EXPECTED
///                                   |                     |
///                                   `- RegisterExecutor --+--> OFFERING --is said to leave, or killed a task unasked--> LEAVING
///                                                                 |                                   |
///                                                                 `--------- connection ended --------+--> DISCONNECTED
/// ```
/// An executor that registers before the Master has told of it waits, outside of the table.
/// In each state the Master may report that the executor is lost. An executor whose connection ended is also lost after a
/// while, and so is a connected one from which nothing arrives. An expected one that takes too long is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::driver) enum State {
    /// The Master assigned it; it has not connected.
    Announced,
    /// Its process runs. It is ended at this time if it has not registered.
    Expected(Timestamp),
    /// It is registered and takes tasks.
    Offering(PeerId),
    /// It is ending by itself and takes no more tasks.
    Leaving(PeerId),
    /// Its connection ended. The driver waits until then for the Master to say how it ended.
    Disconnected(Timestamp),
}

impl Executor {
    pub(in crate::driver) fn new(assigned: Assigned, topology: &Topology, state: State, fate: Fate) -> Self {
        let Assigned { profile, worker, host, cores, resources } = assigned;
        let (sites, addresses) = (topology.sites([host.as_str()]), AddressPool::of(&resources));
        let (trust, running) = (Trust::Trusted, BTreeMap::new());
        let spare = Spare { cores, room: addresses.free() };
        Self {
            profile,
            worker,
            host,
            sites,
            cores,
            resources,
            state,
            fate,
            trust,
            spare,
            free: cores,
            shortage: None,
            addresses,
            running,
            interrupted: 0,
            drains: false,
            doubts: BTreeSet::new(),
            held: false,
            heard: LastHeard::at(Timestamp::default()),
            look: Timestamp::default(),
        }
    }

    pub(in crate::driver) fn peer(&self) -> Option<PeerId> {
        match self.state {
            State::Offering(peer) | State::Leaving(peer) => Some(peer),
            State::Announced | State::Expected(_) | State::Disconnected(_) => None,
        }
    }

    /// The tasks that run on it, in order.
    pub(in crate::driver) fn running(&self) -> impl ExactSizeIterator<Item = TaskId> {
        self.running.keys().copied()
    }

    /// Whether a task runs on it.
    pub(in crate::driver) fn runs(&self, task: TaskId) -> bool {
        self.running.contains_key(&task)
    }

    /// Its cores and addresses in all.
    pub(in crate::driver) fn size(&self) -> Size {
        Size { cores: self.cores, room: AddressPool::of(&self.resources).free() }
    }

    /// Gives a task a part of what is free. Returns the task's addresses, or `None` if that is not free.
    pub(super) fn load(&mut self, task: TaskId, needs: &Needs) -> Option<Resources> {
        let taken = self.addresses.take(&needs.resources)?;
        let addresses = taken.addresses();
        self.running.insert(task, Load { cores: needs.cores, taken });
        self.free -= needs.cores;
        self.count_spare();
        Some(addresses)
    }

    /// Takes back what a task that runs here uses.
    pub(super) fn unload(&mut self, task: TaskId) {
        let Load { cores, taken } = self.running.remove(&task).expect("the task runs on the executor");
        self.addresses.give_back(&taken);
        self.free += cores;
        self.count_spare();
    }

    /// Counts anew what is free for tasks. While its machine is short of something, nothing is if it runs as many as it can.
    pub(super) fn count_spare(&mut self) {
        self.spare = self.counted_spare();
    }

    fn counted_spare(&self) -> Spare {
        let is_full = self.shortage.as_ref().is_some_and(|shortage| self.running.len() >= shortage.most);
        let cores = if is_full || self.held { self.free.min(Cores::ZERO) } else { self.free };
        Spare { cores, room: self.addresses.free() }
    }

    /// Whether it takes tasks, or would if it were not excluded, and has none.
    pub(in crate::driver) fn is_idle(&self) -> bool {
        self.could_offer() && self.running.is_empty()
    }

    /// Whether many tasks in a row failed here, of which nothing is known from elsewhere.
    pub(in crate::driver) fn is_in_doubt(&self) -> bool {
        self.doubts.len() >= IN_DOUBT
    }

    /// Whether it will end with its Worker, and has no task: nothing is lost if it ends now.
    pub(super) fn is_drained(&self) -> bool {
        self.drains && self.running.is_empty() && self.fate == Fate::Wanted
    }

    /// Whether it takes tasks.
    pub(in crate::driver) fn is_offering(&self) -> bool {
        self.could_offer() && self.trust == Trust::Trusted
    }

    /// Whether it takes tasks, or would if it were not excluded.
    pub(in crate::driver) fn could_offer(&self) -> bool {
        matches!((self.state, self.fate), (State::Offering(_), Fate::Wanted))
    }

    /// Whether it is assigned and has not registered.
    pub(in crate::driver) fn is_to_come(&self) -> bool {
        match self.state {
            State::Announced | State::Expected(_) => true,
            State::Offering(_) | State::Leaving(_) | State::Disconnected(_) => false,
        }
    }

    /// Until when the driver waits for it to register, for a sign of life, or for the news of its end.
    pub(in crate::driver) fn until(&self) -> Option<Timestamp> {
        match (self.state, self.fate) {
            (State::Disconnected(until), _) | (State::Expected(until), Fate::Wanted) => Some(until),
            (State::Offering(_) | State::Leaving(_), _) => Some(self.look),
            (State::Announced | State::Expected(_), _) => None,
        }
    }

    /// Whether it takes tasks, or will soon.
    pub(super) fn is_in_reach(&self) -> bool {
        match self.state {
            State::Announced | State::Expected(_) | State::Offering(_) => {
                (self.fate, self.trust) == (Fate::Wanted, Trust::Trusted)
            }
            State::Leaving(_) | State::Disconnected(_) => false,
        }
    }

    /// Checks that the amounts of its tasks and the free ones add up. `needs` tells what a task takes, if it
    /// runs here.
    pub(in crate::driver) fn contradiction<'a>(
        &self,
        needs: impl Fn(TaskId) -> Option<&'a Needs>,
    ) -> Option<String> {
        let mut used = Cores::ZERO;
        for (&task, load) in &self.running {
            let Some(needs) = needs(task) else {
                return Some(format!("it runs task {task}, which does not run there"));
            };
            if needs.profile != self.profile {
                return Some(format!(
                    "it runs task {task} of profile {}, and is of {}",
                    needs.profile, self.profile
                ));
            }
            if load.cores != needs.cores {
                return Some(format!("task {task} takes {} cores and has {}", needs.cores, load.cores));
            }
            used += load.cores;
        }
        let free = self.free;
        if self.cores - used != free || (free < Cores::ZERO && !self.running.is_empty()) {
            return Some(format!("it has {free} cores free of {}, {used} used", self.cores));
        }
        let whole = self.addresses.adds_up(&self.resources, self.running.values().map(|load| &load.taken));
        if !whole || self.spare != self.counted_spare() {
            return Some(format!(
                "of {:?} are left {:?}, with {:?}",
                self.resources, self.addresses, self.running
            ));
        }
        None
    }
}
