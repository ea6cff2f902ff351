//! One executor of the application, as the driver records it.

use std::collections::{BTreeMap, BTreeSet};

use firesteel_placement::advanced::locality::{Sites, Topology};
use firesteel_placement::advanced::resources::{AddressPool, TakenAddresses};
use firesteel_placement::{Cores, Resources};
use firesteel_protocol::exchange::Exchange;
use firesteel_protocol::ids::{PeerId, ProfileId, TaskId, WorkerId};
use firesteel_protocol::last_seen::LastSeen;
use firesteel_protocol::messages::DriverToExecutor;
use firesteel_protocol::time::Timestamp;

use super::openings::{ExecutorFree, ExecutorTotal};
use super::shortage::Shortage;
use crate::driver::exclusion::suspicion::SUSPECTED;
use crate::driver::tasks::waiting::Needs;

/// An executor that has not ended.
#[derive(Clone, Debug)]
pub(in crate::driver) struct Executor {
    pub(in crate::driver) profile: ProfileId,
    pub(in crate::driver) worker: WorkerId,
    pub(in crate::driver) host: String,
    /// The executor's host, and the host's rack.
    pub(in crate::driver) sites: Sites,
    pub(in crate::driver) cores: Cores,
    /// The addresses of the executor's custom resources. Empty until the executor has registered.
    pub(in crate::driver) resources: Resources,
    pub(in crate::driver) state: State,
    pub(in crate::driver) fate: Fate,
    pub(in crate::driver) trust: Trust,
    /// The amounts that new tasks can use: the free amounts, or nothing if the executor takes no more tasks now.
    pub(in crate::driver) spare: ExecutorFree,
    /// The cores that no task uses.
    free: Cores,
    /// The shortage of the executor's machine, if the executor gave tasks back because of one.
    pub(in crate::driver) shortage: Option<Shortage>,
    addresses: AddressPool,
    running: BTreeMap<TaskId, Load>,
    /// How many tasks the executor stopped because it is shutting down. They run again elsewhere.
    pub(super) interrupted: usize,
    /// Whether the executor will end with its Worker, or to free resources for an urgent application.
    pub(super) drains: bool,
    /// The tasks that failed here since the last success, and have no result from another host.
    pub(super) suspicions: BTreeSet<TaskId>,
    /// Whether the executor gets no tasks because it is suspected.
    pub(in crate::driver) held: bool,
    /// The messages to and from the executor, if it returns after its connection broke.
    pub(super) exchange: Option<Exchange<DriverToExecutor>>,
    /// When the latest message arrived.
    pub(super) heard: LastSeen,
    /// When to check whether the executor is silent. Only a check changes this time, not a message.
    pub(super) look: Timestamp,
}

/// The amounts that one task uses on its executor.
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
    /// The addresses of the executor's custom resources. Only the executor knows them. Empty until it has registered.
    pub(in crate::driver) resources: Resources,
}

/// Whether the driver still wants an executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::driver) enum Fate {
    Wanted,
    /// The driver has asked the Master to end the executor, or will ask when it has a Master. The executor takes no
    /// more tasks.
    Killed,
}

/// Whether exclusion lets an executor take tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::driver) enum Trust {
    Trusted,
    /// The executor or its host is excluded.
    Excluded,
}

/// The states of an executor at its driver.
///
/// ```text
///  (nothing) --ExecutorAdded--> ANNOUNCED --it runs--> EXPECTED
///                                   |                     |
///                                   `- RegisterExecutor --+--> OFFERING --will leave, or killed a task unasked--> LEAVING
///                                                                 |                                   |
///                                                                 ^                                   |
///                                                                 `- registers again -- AWAY <--------+-- connection ended
/// ```
///
/// An executor that registers before the Master has announced it waits outside the table. In each state the Master
/// may report that the executor is lost. An executor that is away is lost after some time. A connected executor
/// that stays silent is also lost. The driver ends an expected executor that takes too long to register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::driver) enum State {
    /// The Master assigned the executor, which has not connected yet.
    Announced,
    /// The executor's process runs. The driver ends the executor if it has not registered by this time.
    Expected(Timestamp),
    /// The executor is registered and takes tasks.
    Offering(PeerId),
    /// The executor is shutting down and takes no more tasks.
    Leaving(PeerId),
    /// The executor's connection ended at the time `since`. Until the time `until`, the driver waits for the executor's
    /// return, and for the Master to report how the executor ended.
    Away { since: Timestamp, until: Timestamp },
}

impl Executor {
    pub(in crate::driver) fn new(assigned: Assigned, topology: &Topology, state: State, fate: Fate) -> Self {
        let Assigned { profile, worker, host, cores, resources } = assigned;
        let (sites, addresses) = (topology.sites([host.as_str()]), AddressPool::of(&resources));
        let (trust, running) = (Trust::Trusted, BTreeMap::new());
        let spare = ExecutorFree { cores, room: addresses.free() };
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
            suspicions: BTreeSet::new(),
            held: false,
            exchange: None,
            heard: LastSeen::at(Timestamp::default()),
            look: Timestamp::default(),
        }
    }

    pub(in crate::driver) fn peer(&self) -> Option<PeerId> {
        match self.state {
            State::Offering(peer) | State::Leaving(peer) => Some(peer),
            State::Announced | State::Expected(_) | State::Away { .. } => None,
        }
    }

    /// The tasks that run on the executor, in order.
    pub(in crate::driver) fn running(&self) -> impl ExactSizeIterator<Item = TaskId> {
        self.running.keys().copied()
    }

    pub(in crate::driver) fn runs(&self, task: TaskId) -> bool {
        self.running.contains_key(&task)
    }

    /// All cores and addresses of the executor, free or not.
    pub(in crate::driver) fn size(&self) -> ExecutorTotal {
        ExecutorTotal { cores: self.cores, room: AddressPool::of(&self.resources).free() }
    }

    /// Assigns free cores and addresses to a task. Returns the task's addresses, or `None` if too little is free.
    pub(super) fn load(&mut self, task: TaskId, needs: &Needs) -> Option<Resources> {
        let taken = self.addresses.take(&needs.resources)?;
        let addresses = taken.addresses();
        self.running.insert(task, Load { cores: needs.cores, taken });
        self.free -= needs.cores;
        self.count_spare();
        Some(addresses)
    }

    /// Frees the cores and addresses of a task that runs on this executor.
    pub(super) fn unload(&mut self, task: TaskId) {
        let Load { cores, taken } = self.running.remove(&task).expect("the task runs on the executor");
        self.addresses.give_back(&taken);
        self.free += cores;
        self.count_spare();
    }

    /// Recomputes the free amounts for tasks. On a machine with a shortage, nothing is free once the executor runs as
    /// many tasks as it can.
    pub(super) fn count_spare(&mut self) {
        self.spare = self.counted_spare();
    }

    fn counted_spare(&self) -> ExecutorFree {
        let is_full = self.shortage.as_ref().is_some_and(|shortage| self.running.len() >= shortage.most);
        let cores = if is_full || self.held { self.free.min(Cores::ZERO) } else { self.free };
        ExecutorFree { cores, room: self.addresses.free() }
    }

    /// Whether the executor has no tasks, and takes tasks (or would if it were not excluded).
    pub(in crate::driver) fn is_idle(&self) -> bool {
        self.could_offer() && self.running.is_empty()
    }

    /// Whether many tasks in a row failed here that have no result from elsewhere.
    pub(in crate::driver) fn is_suspected(&self) -> bool {
        self.suspicions.len() >= SUSPECTED
    }

    /// Whether the executor will end with its Worker and has no task, so that nothing is lost if it ends now.
    pub(super) fn is_drained(&self) -> bool {
        self.drains && self.running.is_empty() && self.fate == Fate::Wanted
    }

    pub(in crate::driver) fn is_offering(&self) -> bool {
        self.could_offer() && self.trust == Trust::Trusted
    }

    /// Whether the executor takes tasks, or would if it were not excluded.
    pub(in crate::driver) fn could_offer(&self) -> bool {
        matches!((self.state, self.fate), (State::Offering(_), Fate::Wanted))
    }

    /// Whether an executor that says this of itself can be this one.
    pub(super) fn is(&self, assigned: &Assigned) -> bool {
        let Assigned { profile, worker, host, cores, resources } = assigned;
        (self.profile, &self.worker, &self.host) == (*profile, worker, host)
            && (self.cores, &self.resources) == (*cores, resources)
    }

    /// Whether the executor returns if its connection breaks.
    pub(super) fn returns(&self) -> bool {
        self.exchange.is_some()
    }

    /// Whether the executor takes no more tasks because it will end, also after it has returned.
    pub(super) fn is_leaving(&self) -> bool {
        self.drains || self.interrupted > 0
    }

    /// Whether the executor is assigned and has not registered.
    pub(in crate::driver) fn is_to_come(&self) -> bool {
        match self.state {
            State::Announced | State::Expected(_) => true,
            State::Offering(_) | State::Leaving(_) | State::Away { .. } => false,
        }
    }

    /// Until when the driver waits for the executor to register, to show a sign of life, or for the report of its end.
    pub(in crate::driver) fn until(&self) -> Option<Timestamp> {
        match (self.state, self.fate) {
            (State::Away { until, .. }, _) | (State::Expected(until), Fate::Wanted) => Some(until),
            (State::Offering(_) | State::Leaving(_), _) => Some(self.look),
            (State::Announced | State::Expected(_), _) => None,
        }
    }

    /// Whether the executor takes tasks, or will soon.
    pub(super) fn is_in_reach(&self) -> bool {
        match self.state {
            State::Announced | State::Expected(_) | State::Offering(_) => {
                (self.fate, self.trust) == (Fate::Wanted, Trust::Trusted)
            }
            State::Away { .. } => {
                let comes_back = self.returns() && !self.is_leaving();
                comes_back && (self.fate, self.trust) == (Fate::Wanted, Trust::Trusted)
            }
            State::Leaving(_) => false,
        }
    }

    /// Checks that the amounts of the executor's tasks and the free amounts add up. `needs` returns the needs of a
    /// task, if the task runs on this executor.
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
