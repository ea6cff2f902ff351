//! Replays the records of a Master: a record changes the tables in the same way as the original decision.

use std::collections::BTreeMap;
use std::sync::Arc;

use firesteel_placement::advanced::index::Slot;
use firesteel_placement::{Cores, Resources};
use firesteel_protocol::ids::{AppId, DriverId, ExecutorId, ExecutorKey, ProfileId, WorkerId};
use firesteel_protocol::last_seen::LastSeen;
use firesteel_protocol::messages::{
    ApplicationDescription, ApplicationState, DepartureCause, DriverDescription, WorkerDescription,
};
use firesteel_protocol::time::Timestamp;

use super::changes::executors;
use super::contradiction::Contradiction;
use crate::durable::record::{
    ApplicationImage, Counters, EndedDriver, EndedImage, ExecutorImage, ProfileImage, Record,
};
use crate::limits::weight_of;
use crate::tables::applications::application::{Application, Entry, Profile};
use crate::tables::applications::ended::Ended;
use crate::tables::applications::health::ApplicationHealth;
use crate::tables::applications::host_preferences::LimitedPreferences;
use crate::tables::capacity::Holding;
use crate::tables::drivers::cluster_driver::Run;
use crate::tables::drivers::table::PastDriver;
use crate::tables::executors::executor::Probation;
use crate::tables::executors::record::ExecutorRecord;
use crate::tables::link::Link;
use crate::tables::workers::health::WorkerHealth;
use crate::{Config, Durability, Master};

/// A Master that is being recovered.
pub(super) struct Replay {
    pub(super) master: Master,
    time: Timestamp,
    /// The latest time of all records.
    pub(super) latest: Timestamp,
    /// The Workers by number, including lost ones.
    workers: BTreeMap<u64, Arc<WorkerDescription>>,
    /// The slots of the living Workers.
    slots: BTreeMap<u64, Slot>,
    app: u64,
    /// Whether executors that belong to another state of a Master are left alone.
    pub(super) holds_foreign: bool,
}

impl Replay {
    /// A Master without Workers and applications. It does not record again the records that it replays.
    pub(super) fn new(config: Config) -> Self {
        let master = Master::new(Config { durability: Durability::Volatile, ..config });
        let (time, latest) = Default::default();
        let (workers, slots) = Default::default();
        Self { master, time, latest, workers, slots, app: 0, holds_foreign: true }
    }
}

/// Whether a record requires that a cluster driver runs, that it waits, or only that it is live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stay {
    Waits,
    Runs,
    Any,
}

impl Replay {
    /// Replays the next record.
    ///
    /// # Errors
    /// The record contradicts the records before it.
    pub(super) fn replay(&mut self, record: Record) -> Result<(), Contradiction> {
        match record {
            Record::Time(time) => {
                self.time = time;
                self.latest = self.latest.max(time);
            }
            Record::Founded(Counters { first_application, applications, workers, executors, state }) => {
                (self.master.lineage.executors, self.master.lineage.state) = (executors, state);
                self.master.config.first_application = first_application;
                self.master.applications.count_from(applications);
                self.master.workers.count_from(workers);
            }
            Record::WorkerRegistered { worker, description } => self.add_worker(worker, *description)?,
            Record::WorkerChanged { worker, health } => {
                let slot = self.slot(worker)?;
                self.set_worker_health(slot, *health);
            }
            Record::WorkerRemoved { worker, cause, last_seen } => {
                self.take_out_worker(worker, cause, last_seen)?;
            }
            Record::ApplicationRegistered { app, id, max_cores, description } => {
                self.add_application(app, id, max_cores, *description)?;
            }
            Record::TargetsSet { app, targets } => {
                self.application(app)?;
                self.master.set_targets(self.time, app, targets);
            }
            Record::HostsPreferred { app, preferences } => {
                self.application(app)?;
                self.master.set_preferences(self.time, app, LimitedPreferences::new(*preferences));
            }
            Record::ApplicationChanged { app, health } => self.set_application_health(app, *health)?,
            Record::ExecutorLaunched { app, executor, worker, profile, cores, memory, resources } => {
                let resources = resources.unwrap_or_default();
                let share = Holding { cores, memory, resources };
                self.launch(app, executor, worker, profile, share)?;
            }
            Record::ExecutorStarted { app, executor } => {
                let Master { applications, records, .. } = &mut self.master;
                let application = applications.recorded_mut(app).ok_or(Contradiction::NoApplication(app))?;
                if !executors::start(records, self.time, application, executor) {
                    return Err(Contradiction::NoExecutor(app, executor));
                }
            }
            Record::ExecutorEnded { app, executor, state, used } => {
                let key = self.executor(app, executor)?;
                self.master.release_numbered(self.time, app, &key, (state, used));
            }
            Record::EndLearned { app, executor, status, used } => {
                let app = self.master.applications.id_of(app).ok_or(Contradiction::NoApplication(app))?;
                self.master.amend_end(self.time, &ExecutorKey { app, executor }, status, used);
            }
            Record::ApplicationEnded { app, end } => {
                let application = self.application(app)?;
                let (id, has_executors) = (application.id.clone(), !application.executors.is_empty());
                if has_executors {
                    return Err(Contradiction::HasExecutors);
                }
                self.master.retire_application(self.time, &id, &end);
            }
            Record::FormerWorker { worker, description } => {
                self.workers.insert(worker, Arc::from(description));
            }
            Record::DeadWorker { view, forgotten_at } => {
                self.master.workers.retire_view(*view, forgotten_at);
            }
            Record::ApplicationRestored(image) => self.restore_application(*image)?,
            Record::EndedRestored(image) => self.restore_ended(*image)?,
            Record::DriverSubmitted { driver, id, description } => {
                self.add_driver(driver, id, *description)?;
            }
            Record::DriverLaunched { driver, worker, resources } => {
                self.launch_driver(driver, worker, resources)?;
            }
            Record::DriverReturned { driver } => {
                self.driver(driver, Stay::Runs)?;
                self.master.take_back_driver(self.time, driver);
            }
            Record::DriverKillAsked { driver } => {
                self.driver(driver, Stay::Runs)?;
                self.master.ask_driver_to_end(self.time, driver);
            }
            Record::DriverEnded { driver, end } => {
                self.driver(driver, Stay::Any)?;
                self.master.retire_driver(self.time, driver, *end);
            }
            Record::EndedDriverRestored(image) => {
                let EndedDriver { driver, view, used } = *image;
                if self.master.drivers.is_known(driver, &view.id) {
                    return Err(Contradiction::Twice);
                }
                let ended = PastDriver { view, used };
                let dropped = self.master.drivers.retire(driver, ended, self.master.config.retained_drivers);
                self.master.archive_drivers(self.time, dropped);
            }
            Record::Archived(row) => {
                self.master.archive.insert(self.time, *row, self.master.config.history);
            }
            Record::CompletedCleared => self.master.clear_completed(self.time),
            Record::ForeignHeld(held) => self.holds_foreign = held,
            Record::NumbersLeftOut { given, recovered } => {
                self.master.leave_out_numbers(self.time, given, recovered);
            }
            Record::DriversCounted { drivers, last_worker } => {
                self.master.drivers.count_from(drivers);
                self.master.drivers.last_worker = last_worker;
            }
        }
        Ok(())
    }

    fn add_worker(&mut self, worker: u64, description: WorkerDescription) -> Result<(), Contradiction> {
        let workers = &self.master.workers;
        let address = description.address();
        if workers.get(&description.id).is_some() || workers.at_address(&address).is_some() {
            return Err(Contradiction::Twice);
        }
        let slot = self.master.add_worker(self.time, worker, description, Link::RECOVERED);
        self.workers.insert(worker, Arc::clone(&self.master.workers.row(slot).description));
        self.slots.insert(worker, slot);
        Ok(())
    }

    /// Removes a Worker that is lost or has left, and has no executors or cluster drivers any more.
    fn take_out_worker(
        &mut self,
        worker: u64,
        cause: DepartureCause,
        last_seen: Timestamp,
    ) -> Result<(), Contradiction> {
        let slot = self.slot(worker)?;
        let row = self.master.workers.row_mut(slot);
        row.last_heartbeat = LastSeen::at(last_seen);
        let has_executors = row.executors.len() > 0;
        let has_drivers = row.drivers.len() > 0;
        if has_executors {
            return Err(Contradiction::HasExecutors);
        }
        if has_drivers {
            return Err(Contradiction::HasDrivers);
        }
        self.slots.remove(&worker);
        self.master.retire_worker(self.time, slot, cause);
        Ok(())
    }

    fn set_worker_health(&mut self, slot: Slot, health: WorkerHealth) {
        let workers = &mut self.master.workers;
        workers.set_health(slot, health.clone());
        let is_clean = health == WorkerHealth::default();
        workers.row_mut(slot).recorded = (!is_clean).then(|| Box::new(health));
    }

    fn add_application(
        &mut self,
        app: u64,
        id: AppId,
        max_cores: Cores,
        description: ApplicationDescription,
    ) -> Result<(), Contradiction> {
        if self.master.applications.get(&id).is_some() || self.master.applications.is_numbered(app) {
            return Err(Contradiction::Twice);
        }
        let config = &self.master.config;
        // The settings may no longer contain the application's queue.
        let queue = config.queues.find(description.queue.as_deref()).or_else(|_| config.queues.find(None));
        let described = weight_of(&description);
        let entry = Entry { queue: queue.unwrap_or(0), max_cores, order: config.order, described };
        self.app = app;
        self.master.add_application(self.time, (app, id), description, Link::RECOVERED, &entry);
        Ok(())
    }

    fn set_application_health(&mut self, app: u64, health: ApplicationHealth) -> Result<(), Contradiction> {
        let ApplicationHealth { in_a_row, hold_until, proven_until, failure_history } = health.clone();
        let failure_history: Result<Vec<_>, _> = failure_history
            .into_iter()
            .map(|(worker, failure_history)| Ok((self.slot(worker)?, failure_history)))
            .collect();
        let failure_history = failure_history?;
        let application = self.application(app)?;
        application.recorded = (health != ApplicationHealth::default()).then(|| Box::new(health));
        application.failures.in_a_row = in_a_row;
        if let Some(until) = proven_until {
            application.prove_until(until);
        }
        let id = application.id.clone();
        self.master.applications.hold(&id, hold_until);
        self.master.applications.change_exclusions(&id, |exclusions| exclusions.restore(failure_history));
        Ok(())
    }

    fn launch(
        &mut self,
        app: u64,
        executor: ExecutorId,
        worker: u64,
        profile: ProfileId,
        share: Holding,
    ) -> Result<(), Contradiction> {
        let slot = self.slot(worker)?;
        let Master { applications, workers, records, lineage, .. } = &mut self.master;
        let application = applications.at_mut(app).ok_or(Contradiction::NoApplication(app))?;
        if application.executors.get(executor).is_some() {
            return Err(Contradiction::Twice);
        }
        if !application.profiles.contains_key(&profile) {
            return Err(Contradiction::NoProfile);
        }
        let grant = workers.grant_exactly(slot, share).ok_or(Contradiction::NoAddresses)?;
        let worker = (slot, workers.row_mut(slot));
        executors::add(records, self.time, application, executor, worker, (profile, grant));
        lineage.see_executor(executor);
        Ok(())
    }

    fn restore_application(&mut self, image: ApplicationImage) -> Result<(), Contradiction> {
        let ApplicationImage {
            begun,
            next_executor,
            cores_spent,
            profiles,
            workers,
            lost_workers,
            ended,
            forgotten,
        } = image;
        let ended: Result<Vec<_>, _> = ended.into_iter().map(|image| self.record(image)).collect();
        let living: Result<Vec<WorkerId>, _> =
            workers.into_iter().map(|worker| self.worker_id(worker)).collect();
        let (ended, living) = (ended?, living?);
        for executor in &ended {
            self.master.preempted.see(executor.ended.unwrap_or_default(), &executor.state);
        }
        let application = self.application(self.app)?;
        if begun {
            application.state = ApplicationState::Running;
        }
        application.next_executor = next_executor;
        application.cores_spent = cores_spent;
        let profile = |(id, image): (_, ProfileImage)| {
            let ProfileImage { size, memory, resources, limit } = image;
            (id, Profile { size, memory, resources, limit, held: 0, most_wanted: 0 })
        };
        application.profiles = profiles.into_iter().map(profile).collect();
        living.into_iter().chain(lost_workers).for_each(|id| application.workers.insert(id));
        application.ended = ended.into();
        application.forgotten = forgotten;
        Ok(())
    }

    fn restore_ended(&mut self, image: EndedImage) -> Result<(), Contradiction> {
        let EndedImage { app, end, row, executors } = image;
        let executors: Result<Vec<_>, _> = executors.into_iter().map(|image| self.record(image)).collect();
        let ended = Ended { sequence: app, end, row, executors: executors? };
        for executor in &ended.executors {
            self.master.preempted.see(executor.ended.unwrap_or_default(), &executor.state);
        }
        self.master.retire(self.time, ended);
        Ok(())
    }

    fn add_driver(
        &mut self,
        number: u64,
        id: DriverId,
        description: DriverDescription,
    ) -> Result<(), Contradiction> {
        if self.master.drivers.is_known(number, &id) {
            return Err(Contradiction::Twice);
        }
        self.master.add_driver(self.time, (number, id), description);
        Ok(())
    }

    fn launch_driver(&mut self, number: u64, worker: u64, resources: Resources) -> Result<(), Contradiction> {
        self.driver(number, Stay::Waits)?;
        let slot = self.slot(worker)?;
        let DriverDescription { cores, memory, .. } = self.master.drivers.live(number).description;
        let share = Holding { cores, memory, resources };
        let grant = self.master.workers.grant_exactly(slot, share).ok_or(Contradiction::NoAddresses)?;
        self.master.run_driver(
            self.time,
            number,
            Run { slot, grant, launched: self.time, unanswered: Some(0) },
        );
        Ok(())
    }

    /// Checks that a cluster driver is live, and runs or waits as the record requires.
    fn driver(&self, number: u64, stay: Stay) -> Result<(), Contradiction> {
        let driver = self.master.drivers.get(number).ok_or(Contradiction::NoDriver(number))?;
        match (stay, driver.run.is_some()) {
            (Stay::Any, _) | (Stay::Waits, false) | (Stay::Runs, true) => Ok(()),
            (Stay::Waits, true) | (Stay::Runs, false) => Err(Contradiction::NoDriver(number)),
        }
    }

    fn record(&self, image: ExecutorImage) -> Result<ExecutorRecord, Contradiction> {
        let ExecutorImage {
            id,
            worker,
            profile,
            cores,
            memory,
            resources,
            state,
            launched,
            started,
            ended,
            used,
        } = image;
        let worker = self.workers.get(&worker).ok_or(Contradiction::NoWorker(worker))?;
        let (worker, share) = (Arc::clone(worker), Holding { cores, memory, resources });
        Ok(ExecutorRecord { id, worker, profile, share, state, launched, started, ended, used })
    }

    fn worker_id(&self, worker: u64) -> Result<WorkerId, Contradiction> {
        Ok(self.workers.get(&worker).ok_or(Contradiction::NoWorker(worker))?.id.clone())
    }

    fn slot(&self, worker: u64) -> Result<Slot, Contradiction> {
        self.slots.get(&worker).copied().ok_or(Contradiction::NoWorker(worker))
    }

    fn application(&mut self, app: u64) -> Result<&mut Application, Contradiction> {
        self.master.applications.at_mut(app).ok_or(Contradiction::NoApplication(app))
    }

    /// Finds an application for a change that does not affect scheduling passes.
    fn recorded(&mut self, app: u64) -> Result<&mut Application, Contradiction> {
        self.master.applications.recorded_mut(app).ok_or(Contradiction::NoApplication(app))
    }

    fn executor(&mut self, app: u64, executor: ExecutorId) -> Result<ExecutorKey, Contradiction> {
        let application = self.recorded(app)?;
        let key = ExecutorKey { app: application.id.clone(), executor };
        application.executors.get(executor).ok_or(Contradiction::NoExecutor(app, executor))?;
        Ok(key)
    }
}

impl Application {
    /// Marks all executors that started at or before this time as proven.
    fn prove_until(&mut self, until: Timestamp) {
        while let Some(id) = self.failures.probation.front().copied() {
            if let Some(executor) = self.executors.get_mut(id)
                && let Probation::Running { started } = executor.probation
            {
                if started > until {
                    break;
                }
                executor.probation = Probation::Proven { started };
                self.failures.proven += 1;
            }
            self.failures.probation.pop_front();
        }
    }
}
