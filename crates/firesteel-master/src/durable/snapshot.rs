//! A Master's tables as data, which people write by hand or which is read from a file.

use firesteel_placement::{Cores, ExecutorLimit, MiB, ResourceAmounts, Resources};
use firesteel_protocol::ids::{AppId, DriverId, ExecutorId, ExecutorKey, PeerId, ProfileId, WorkerId};
use firesteel_protocol::messages::{
    ApplicationDescription, DriverDescription, ExcludedWorker, Impairment, ResourceProfile, WorkerDescription,
};
use firesteel_protocol::process::Command;
use firesteel_protocol::scheduling::queues::QueueError;
use firesteel_protocol::time::Timestamp;

use super::changes::executors;
use crate::limits::weight_of;
use crate::tables::applications::application::Entry;
use crate::tables::applications::exclusions::FailureHistory;
use crate::tables::capacity::Holding;
use crate::tables::drivers::cluster_driver::Run;
use crate::tables::link::Link;
use crate::{Config, Durability, Master, Pass};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// The living Workers to restore.
    pub workers: Vec<WorkerSnapshot>,
    /// The cluster drivers that run on these Workers.
    pub drivers: Vec<DriverSnapshot>,
    /// The live applications, in the order of registration.
    pub applications: Vec<ApplicationSnapshot>,
    /// The first live application for which resources are reserved.
    pub reserved: Option<AppId>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerSnapshot {
    /// The Worker's id, address and size. Unlike a registering Worker, it may have negative amounts.
    pub description: WorkerDescription,
    pub peer: PeerId,
    pub condition: WorkerCondition,
}

impl WorkerSnapshot {
    #[must_use]
    pub fn serving(description: WorkerDescription, peer: PeerId) -> Self {
        Self { description, peer, condition: WorkerCondition::default() }
    }
}

/// Conditions that keep a living Worker from getting executors. By default there are none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerCondition {
    pub presence: Presence,
    /// When the Worker's exclusion for all applications ends, if it is excluded.
    pub excluded_until: Option<Timestamp>,
    pub impairment: Option<Impairment>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Presence {
    /// The Worker is connected and not leaving.
    #[default]
    Here,
    /// The Worker is being decommissioned.
    Leaving,
    /// The Worker has not returned since the Master was restarted.
    Away,
}

/// A running cluster driver, reduced to the amounts that it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverSnapshot {
    pub worker: WorkerId,
    pub cores: Cores,
    pub memory: MiB,
    /// The addresses that the driver holds, under the Worker's names for them.
    pub resources: Resources,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApplicationSnapshot {
    pub id: AppId,
    pub description: ApplicationDescription,
    /// When the application registered.
    pub submitted: Timestamp,
    pub peer: PeerId,
    /// The application's profiles besides the default one, which is part of the description.
    pub profiles: Vec<ProfileSnapshot>,
    /// The application's executors. They are restored in the state of launching.
    pub executors: Vec<ExecutorSnapshot>,
    /// The lowest number that the application's next executor may get.
    pub next_executor: ExecutorId,
    /// The times at which the application ended executors of other applications, earliest first.
    pub preempted: Vec<Timestamp>,
    pub condition: ApplicationCondition,
}

/// Limits on the executors of a live application other than its own requests. By default there are none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApplicationCondition {
    /// Whether the application's driver has not returned since the Master was restarted.
    pub is_away: bool,
    /// Cores of ended executors that still count towards the application's maximum.
    pub cores_spent: Cores,
    /// The number of executors that failed in a row.
    pub failures: u32,
    /// No executor is launched before this time, because executors failed.
    pub relaunch_at: Option<Timestamp>,
    /// The Workers that are excluded only for this application. Workers that do not exist are ignored.
    pub excluded: Vec<ExcludedWorker>,
}

/// A resource profile with its target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileSnapshot {
    pub id: ProfileId,
    pub profile: ResourceProfile,
    pub limit: ExecutorLimit,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutorSnapshot {
    pub id: ExecutorId,
    pub profile: ProfileId,
    pub worker: WorkerId,
    pub cores: Cores,
    pub memory: MiB,
    pub resources: HeldResources,
    pub launched: Timestamp,
}

/// The custom resources of an executor of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeldResources {
    /// These amounts. The executor gets the addresses that a new executor would get.
    Amounts(ResourceAmounts),
    /// Exactly these addresses, under the Worker's names for them.
    These(Resources),
}

impl HeldResources {
    /// Takes the resources from the free ones. Returns `None` and takes nothing if some are not free.
    pub fn take(&self, free: &mut Resources) -> Option<Resources> {
        match self {
            Self::Amounts(amounts) => free.take(amounts),
            Self::These(these) => free.take_these(these).then(|| these.clone()),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// Two Workers have the same id, address or connection.
    #[error("worker {worker} has the id, address or connection of another one")]
    WorkerTwice { worker: WorkerId },
    /// Two applications have the same id or connection.
    #[error("application {app} has the id or connection of another one")]
    ApplicationTwice { app: AppId },
    /// An application names a queue that the Master does not have.
    #[error("application {app}: {error}")]
    Queue { app: AppId, error: QueueError },
    /// The Worker of a cluster driver does not exist, or does not have the driver's addresses free.
    #[error("a cluster driver is on worker {worker}, which is not there or has no such addresses free")]
    Driver { worker: WorkerId },
    /// An executor's number is taken, or its Worker, profile or addresses do not exist.
    #[error(
        "executor {executor} has a number that is taken, or a worker, profile or address that is not there"
    )]
    Executor { executor: ExecutorKey },
}

impl Master {
    /// A Master with these tables. Its first event ends with a scheduling pass, as after a recovery.
    ///
    /// # Errors
    /// The snapshot contradicts itself.
    pub fn restore(config: Config, now: Timestamp, snapshot: Snapshot) -> Result<Self, SnapshotError> {
        let durability = config.durability;
        let mut master = Self::new(Config { durability: Durability::Volatile, ..config });
        for worker in snapshot.workers {
            master.restore_worker(now, worker)?;
        }
        for driver in snapshot.drivers {
            master.restore_driver(now, driver)?;
        }
        for application in snapshot.applications {
            master.restore_application(application)?;
        }
        if let Some(app) = snapshot.reserved {
            master.restore_reservation(app);
        }
        master.set_durability(durability);
        master.pass = Pass::Due;
        Ok(master)
    }

    fn restore_worker(&mut self, now: Timestamp, snapshot: WorkerSnapshot) -> Result<(), SnapshotError> {
        let WorkerSnapshot { description, peer, condition } = snapshot;
        let WorkerCondition { presence, excluded_until, impairment } = condition;
        let id = description.id.clone();
        let link = if presence == Presence::Away { Link::RECOVERED } else { peer.into() };
        let taken = self.workers.get(&id).is_some()
            || self.workers.at_address(&description.address()).is_some()
            || self.workers.of_peer(peer).is_some();
        if taken {
            return Err(SnapshotError::WorkerTwice { worker: id });
        }
        let slot = self.add_worker(now, self.workers.registered(), description, link);
        if presence == Presence::Leaving {
            self.workers.decommission(slot);
        } else if let Some(until) = excluded_until {
            self.workers.exclude(slot, until);
        }
        match impairment {
            None => {}
            Some(Impairment::Deaf) => drop(self.workers.set_deaf(slot, true)),
            Some(Impairment::CannotStart(error)) => drop(self.workers.set_cannot_start(slot, Some(error))),
        }
        Ok(())
    }

    /// Restores a cluster driver. Its command is unknown.
    fn restore_driver(&mut self, now: Timestamp, driver: DriverSnapshot) -> Result<(), SnapshotError> {
        let DriverSnapshot { worker, cores, memory, resources } = driver;
        let wrong = || SnapshotError::Driver { worker: worker.clone() };
        let slot = self.workers.slot(&worker).ok_or_else(wrong)?;
        let grant =
            self.workers.grant_exactly(slot, Holding { cores, memory, resources }).ok_or_else(wrong)?;
        let number = self.drivers.submitted();
        let description = DriverDescription {
            user: String::new(),
            command: Command::of(""),
            cores,
            memory,
            supervise: false,
            resources: ResourceAmounts::new(),
        };
        self.add_driver(now, (number, DriverId::new(format!("driver-{number}"))), description);
        self.run_driver(now, number, Run { slot, grant, launched: now, unanswered: None });
        Ok(())
    }

    fn restore_application(&mut self, snapshot: ApplicationSnapshot) -> Result<(), SnapshotError> {
        let ApplicationSnapshot {
            id,
            description,
            submitted,
            peer,
            profiles,
            executors,
            next_executor,
            preempted,
            condition,
        } = snapshot;
        let ApplicationCondition { is_away, cores_spent, failures, relaunch_at, excluded } = condition;
        if self.applications.get(&id).is_some() || self.applications.of_peer(peer).is_some() {
            return Err(SnapshotError::ApplicationTwice { app: id });
        }
        let queue = self.config.queues.find(description.queue.as_deref());
        let queue = queue.map_err(|error| SnapshotError::Queue { app: id.clone(), error })?;
        let max_cores = description.max_cores.unwrap_or(self.config.default_cores);
        let described = weight_of(&description);
        let entry = Entry { queue, max_cores, order: self.config.order, described };
        let link = if is_away { Link::RECOVERED } else { peer.into() };
        let number = self.applications.registered();
        self.add_application(submitted, (number, id.clone()), description, link, &entry);
        let row = self.applications.live_mut(&id);
        row.next_executor = next_executor.0;
        row.cores_spent = cores_spent;
        row.failures.in_a_row = failures;
        for ProfileSnapshot { id, profile, limit } in profiles {
            row.set_target(id, &profile, limit);
        }
        for executor in executors {
            self.restore_executor(number, executor)?;
        }
        let failure_history = |excluded: ExcludedWorker| {
            let slot = self.workers.slot(&excluded.worker)?;
            Some((slot, FailureHistory::excluded(&excluded, next_executor)))
        };
        let failure_history: Vec<_> = excluded.into_iter().filter_map(failure_history).collect();
        self.applications.hold(&id, relaunch_at);
        self.applications.change_exclusions(&id, |exclusions| exclusions.restore(failure_history));
        preempted.into_iter().for_each(|at| self.preempted.add(&id, at));
        self.see_wanted(&id);
        Ok(())
    }

    fn restore_executor(&mut self, app: u64, executor: ExecutorSnapshot) -> Result<(), SnapshotError> {
        let ExecutorSnapshot { id, profile, worker, cores, memory, resources, launched } = executor;
        let Self { applications, workers, records, .. } = self;
        let application = applications.at_mut(app).expect("the application was just restored");
        let key = ExecutorKey { app: application.id.clone(), executor: id };
        let wrong = || SnapshotError::Executor { executor: key.clone() };
        if application.executors.get(id).is_some() || !application.profiles.contains_key(&profile) {
            return Err(wrong());
        }
        let slot = workers.slot(&worker).ok_or_else(wrong)?;
        let grant = match resources {
            HeldResources::Amounts(amounts) => workers.grant_at_once(slot, cores, memory, &amounts),
            HeldResources::These(resources) => {
                workers.grant_exactly(slot, Holding { cores, memory, resources })
            }
        };
        let grant = grant.ok_or_else(wrong)?;
        let worker = (slot, workers.row_mut(slot));
        executors::add(records, launched, application, id, worker, (profile, grant));
        Ok(())
    }
}
