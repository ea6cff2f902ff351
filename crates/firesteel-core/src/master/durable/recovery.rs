//! How a Master is recovered from its records, and what it does until all have returned.
//!
//! ```text
//!   records --> tables, with everybody away
//!                 |  Workers return with what runs there, drivers with what they know: each is served at once
//!                 v
//!   all are back, or the time is over: who is still away is lost
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use firesteel_placement::index::Slot;
use firesteel_placement::{Cores, ExecutorLimit, Resources};

use crate::ids::{AppId, DriverId, ExecutorId, ExecutorKey, ProfileId, WorkerId};
use crate::kind::Kind;
use crate::last_heard::LastHeard;
use crate::master::config::Foreign;
use crate::master::durable::record::{
    ApplicationImage, Counters, EndedDriver, EndedImage, ExecutorImage, ProfileImage, Record,
};
use crate::master::tables::applications::application::{Application, Entry, Profile};
use crate::master::tables::applications::ended::Ended;
use crate::master::tables::applications::standing::ApplicationStanding;
use crate::master::tables::applications::wishes::Wishes;
use crate::master::tables::capacity::Amounts;
use crate::master::tables::drivers::cluster_driver::{ClusterDriver, Run};
use crate::master::tables::drivers::table::PastDriver;
use crate::master::tables::executors::executor::Probation;
use crate::master::tables::executors::record::ExecutorRecord;
use crate::master::tables::link::Link;
use crate::master::tables::workers::row::{Availability, WorkerRow};
use crate::master::tables::workers::standing::WorkerStanding;
use crate::master::{Config, Durability, Master, Note, Pass};
use crate::messages::{
    ApplicationDescription, ApplicationEnd, ApplicationState, DepartureCause, DriverDescription, LossReason,
    Resumption, WorkerDescription,
};
use crate::time::Timestamp;

/// Records that contradict each other: they are not those of one Master, or some are missing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("record {number} ({kind}) contradicts those before it: {contradiction}")]
pub struct RecoveryError {
    /// The record's number, counted from 1.
    pub number: u64,
    /// The record's kind.
    pub kind: &'static str,
    /// What is wrong.
    pub contradiction: Contradiction,
}

/// What is wrong with a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contradiction {
    /// It names a Worker that is not there.
    NoWorker(u64),
    /// It names an application that is not there.
    NoApplication(u64),
    /// It names an executor that is not there.
    NoExecutor(u64, ExecutorId),
    /// What it adds is there already.
    Twice,
    /// The Worker has no such addresses free.
    NoAddresses,
    /// The application has no such resource profile.
    NoProfile,
    /// The Worker or the application still has executors.
    HasExecutors,
    /// It names a cluster driver that is not there, or does not run.
    NoDriver(u64),
    /// The Worker still has cluster drivers.
    HasDrivers,
}

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoWorker(worker) => write!(f, "there is no Worker {worker}"),
            Self::NoApplication(app) => write!(f, "there is no application {app}"),
            Self::NoExecutor(app, executor) => write!(f, "application {app} has no executor {executor}"),
            Self::Twice => f.write_str("what it adds is already there"),
            Self::NoAddresses => f.write_str("the Worker does not have these addresses free"),
            Self::NoProfile => f.write_str("the application does not have this resource profile"),
            Self::HasExecutors => f.write_str("it still has executors"),
            Self::NoDriver(driver) => {
                write!(f, "there is no cluster driver {driver} of which this can be true")
            }
            Self::HasDrivers => f.write_str("it still has cluster drivers"),
        }
    }
}

/// A Master that is being recovered.
struct Recovery {
    master: Master,
    /// The time of the record at hand.
    time: Timestamp,
    /// The latest time of all records.
    latest: Timestamp,
    /// The Workers by number, lost ones too.
    workers: BTreeMap<u64, Arc<WorkerDescription>>,
    /// Where the living ones are.
    slots: BTreeMap<u64, Slot>,
    /// The number of the application that registered last.
    app: u64,
    /// Whether executors of another state are left alone.
    holds_foreign: bool,
}

impl Master {
    /// Recovers a Master from the records of its journal, or makes a new one if there are none. Its applications and Workers
    /// are away until they return; at the end of `recovery_timeout` the others are lost. While the state is new, executors that
    /// it does not know are left alone for as long.
    ///
    /// # Errors
    /// The records contradict each other.
    pub fn recover(
        config: Config,
        now: Timestamp,
        records: impl IntoIterator<Item = Record>,
    ) -> Result<Self, RecoveryError> {
        let durability = config.durability;
        let master = Self::new(Config { durability: Durability::Volatile, ..config });
        let (time, latest) = Default::default();
        let (workers, slots) = Default::default();
        let mut recovery = Recovery { master, time, latest, workers, slots, app: 0, holds_foreign: true };
        for (number, record) in (1..).zip(records) {
            if number == 1 {
                // The state is not new.
                recovery.holds_foreign = false;
            }
            let kind = record.kind();
            let result = recovery.replay(record);
            result.map_err(|contradiction| RecoveryError { number, kind, contradiction })?;
        }
        let Recovery { mut master, latest, holds_foreign, .. } = recovery;
        // The notes of what happened before.
        drop(master.effects.take());
        drop(master.records.take());
        master.set_durability(durability);
        master.applications.forget_profiles();
        let apps: Vec<AppId> =
            master.applications.queue().map(|application| application.id.clone()).collect();
        apps.iter().for_each(|app| master.see_wanted(app));
        master.now = now.max(latest);
        master.stopped = latest;
        if master.is_anyone_away() {
            master.away_until = Some(master.now + master.config.recovery_timeout);
        }
        if holds_foreign && master.config.foreign == Foreign::Held {
            master.hold_foreign_until(Some(master.now + master.config.recovery_timeout));
        }
        master.pass = Pass::Due;
        Ok(master)
    }

    /// Its settings.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The time of the latest event, or of the latest record.
    #[must_use]
    pub fn time(&self) -> Timestamp {
        self.now
    }

    /// The applications whose drivers wait to be called, each as its driver brings it back.
    #[must_use]
    pub fn to_call(&self) -> Vec<Resumption> {
        let waits = |app: &&Application| !app.link.is_here() && !app.description.callback.is_empty();
        let resumption = |app: &Application| Resumption {
            app: app.id.clone(),
            executors: Vec::new(),
            description: Box::new(app.description.clone()),
        };
        self.applications.queue().filter(waits).map(resumption).collect()
    }

    /// The Workers that wait to be called.
    #[must_use]
    pub fn workers_to_call(&self) -> Vec<WorkerDescription> {
        let waits = |row: &&WorkerRow| !row.link.is_here() && !row.description.callback.is_empty();
        self.workers.iter().filter(waits).map(|row| WorkerDescription::clone(&row.description)).collect()
    }

    /// The number of Workers, of applications and of executors that are away.
    #[must_use]
    pub fn away(&self) -> Away {
        let away = |row: &&WorkerRow| !row.link.is_here();
        let executors = self.workers.iter().filter(away).map(|row| row.executors.len()).sum();
        Away { workers: self.workers.away(), applications: self.applications.away(), executors }
    }

    fn is_anyone_away(&self) -> bool {
        self.workers.away() > 0 || self.applications.away() > 0
    }

    /// When those who are away are lost.
    pub(crate) fn next_loss(&self) -> Option<Timestamp> {
        self.away_until
    }

    /// Ends the recovery if all are back.
    pub(crate) fn see_returned(&mut self) {
        if self.away_until.is_some() && !self.is_anyone_away() {
            self.away_until = None;
            self.effects.note(Note::Recovered);
        }
    }

    /// The time of those who are away may be over. Nobody is judged by what has not been handled: everything that arrived before
    /// `heard_until` has been.
    ///
    /// Source: Spark Master, 4.0.1, which serves nobody before this time or before all are back.
    pub(crate) fn lose_absent(&mut self, now: Timestamp, heard_until: Timestamp) {
        let Some(until) = self.away_until.filter(|until| *until <= now) else { return };
        if until > heard_until {
            self.away_until = Some(now + until.since(heard_until));
            return;
        }
        self.away_until = None;
        let absent = |row: &&WorkerRow| !row.link.is_here();
        let workers: Vec<WorkerId> =
            self.workers.iter().filter(absent).map(|row| row.description.id.clone()).collect();
        for worker in workers {
            self.remove_worker(now, &worker, LossReason::NotBack);
        }
        let absent = |app: &&Application| !app.link.is_here();
        let apps: Vec<AppId> = self.applications.queue().filter(absent).map(|app| app.id.clone()).collect();
        for app in apps {
            self.remove_application(now, &app, ApplicationEnd::NotBack);
        }
    }
}

/// Numbers of those who are away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Away {
    /// The number of Workers.
    pub workers: usize,
    /// The number of applications.
    pub applications: usize,
    /// The number of executors on these Workers.
    pub executors: usize,
}

/// Where a cluster driver has to be for a record to be true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stay {
    Waits,
    Runs,
    Any,
}

impl Recovery {
    fn replay(&mut self, record: Record) -> Result<(), Contradiction> {
        match record {
            Record::Time(time) => {
                self.time = time;
                self.latest = self.latest.max(time);
            }
            Record::Founded(Counters { first_application, applications, workers }) => {
                self.master.config.first_application = first_application;
                self.master.applications.count_from(applications);
                self.master.workers.count_from(workers);
            }
            Record::WorkerRegistered { worker, description } => self.add_worker(worker, *description)?,
            Record::WorkerChanged { worker, standing } => {
                let slot = self.slot(worker)?;
                self.set_worker_standing(slot, *standing);
            }
            Record::WorkerRemoved { worker, cause, last_heard } => {
                self.take_out_worker(worker, cause, last_heard)?;
            }
            Record::ApplicationRegistered { app, id, max_cores, description } => {
                self.add_application(app, id, max_cores, *description)?;
            }
            Record::TargetsSet { app, targets } => {
                let application = self.application(app)?;
                application.forget_profiles();
                for target in targets {
                    application.set_target(target.id, &target.profile, ExecutorLimit::AtMost(target.total));
                }
            }
            Record::HostsPreferred { app, wishes } => self.application(app)?.wishes = Wishes::new(*wishes),
            Record::ApplicationChanged { app, standing } => self.set_application_standing(app, *standing)?,
            Record::ExecutorLaunched { app, executor, worker, profile, cores, memory, resources } => {
                let resources = resources.unwrap_or_default();
                let share = Amounts { cores, memory, resources };
                self.launch(app, executor, worker, profile, share)?;
            }
            Record::ExecutorStarted { app, executor } => {
                let time = self.time;
                let application = self.recorded(app)?;
                if !application.start_probation(time, executor) {
                    return Err(Contradiction::NoExecutor(app, executor));
                }
            }
            Record::ExecutorEnded { app, executor, state, used } => {
                let key = self.executor(app, executor)?;
                self.master.preemption_ended(self.time, &state);
                self.master.release_numbered(self.time, app, &key, (state, used));
            }
            Record::EndLearned { app, executor, status, used } => {
                let id = self.master.applications.id_of(app).ok_or(Contradiction::NoApplication(app))?;
                let key = ExecutorKey { app: id, executor };
                if let Some((_, record)) = self.master.applications.ended_executor(&key) {
                    record.learn(self.time, status, used);
                }
            }
            Record::ApplicationEnded { app, end } => {
                let application = self.application(app)?;
                let (id, has_executors) = (application.id.clone(), !application.executors.is_empty());
                if has_executors {
                    return Err(Contradiction::HasExecutors);
                }
                self.master.remove_application(self.time, &id, end);
            }
            Record::FormerWorker { worker, description } => {
                self.workers.insert(worker, Arc::from(description));
            }
            Record::DeadWorker { view, forgotten_at } => {
                self.master.workers.bury_view(*view, forgotten_at);
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
                self.master.take_back_driver(driver);
            }
            Record::DriverKillAsked { driver } => {
                self.driver(driver, Stay::Runs)?;
                self.master.drivers.live_mut(driver).kill_asked = true;
            }
            Record::DriverEnded { driver, end } => {
                self.driver(driver, Stay::Any)?;
                self.master.bury_driver(self.time, driver, *end);
            }
            Record::EndedDriverRestored(image) => {
                let EndedDriver { driver, view, used } = *image;
                if self.master.drivers.is_known(driver, &view.id) {
                    return Err(Contradiction::Twice);
                }
                let ended = PastDriver { view, used };
                let dropped = self.master.drivers.bury(driver, ended, self.master.config.retained_drivers);
                self.master.archive_drivers(self.time, dropped);
            }
            Record::Archived(row) => {
                self.master.archive.insert(self.time, *row, self.master.config.history);
            }
            Record::CompletedCleared => self.master.clear_completed(self.time),
            Record::ForeignHeld(held) => self.holds_foreign = held,
            Record::DriversCounted { drivers, last_worker } => {
                self.master.drivers.count_from(drivers);
                self.master.drivers.last_worker = last_worker;
            }
        }
        Ok(())
    }

    fn add_worker(&mut self, worker: u64, description: WorkerDescription) -> Result<(), Contradiction> {
        let workers = &mut self.master.workers;
        let address = description.address();
        if workers.get(&description.id).is_some() || workers.at_address(&address).is_some() {
            return Err(Contradiction::Twice);
        }
        let mut row = WorkerRow::new(description, Link::Away, self.time);
        row.number = worker;
        self.workers.insert(worker, Arc::clone(&row.description));
        let slot = workers.insert_numbered(row, self.master.config.worker_timeout);
        self.slots.insert(worker, slot);
        Ok(())
    }

    /// A Worker without executors and cluster drivers is lost, or has left.
    fn take_out_worker(
        &mut self,
        worker: u64,
        cause: DepartureCause,
        last_heard: Timestamp,
    ) -> Result<(), Contradiction> {
        let slot = self.slot(worker)?;
        let row = self.master.workers.row_mut(slot);
        row.last_heartbeat = LastHeard::at(last_heard);
        let (id, has_executors) = (row.description.id.clone(), row.executors.len() > 0);
        let has_drivers = row.drivers.len() > 0;
        if has_executors {
            return Err(Contradiction::HasExecutors);
        }
        if has_drivers {
            return Err(Contradiction::HasDrivers);
        }
        self.slots.remove(&worker);
        self.master.take_out_worker(self.time, &id, cause);
        Ok(())
    }

    fn set_worker_standing(&mut self, slot: Slot, standing: WorkerStanding) {
        let WorkerStanding { leaving, asked, distrust } = standing.clone();
        let workers = &mut self.master.workers;
        workers.forget_exclusion(slot);
        let until = distrust.until;
        let row = workers.row_mut(slot);
        row.recorded = (standing != WorkerStanding::default()).then(|| Box::new(standing));
        row.asked = asked;
        row.distrust = distrust;
        row.distrust.until = None;
        match (leaving, until) {
            (true, _) => {
                workers.set_availability(slot, Availability::Decommissioning);
            }
            (false, Some(until)) => workers.exclude(slot, until),
            (false, None) => {
                workers.set_availability(slot, Availability::Serving);
            }
        }
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
        // The settings may no longer have its queue.
        let queue = config.queues.find(description.queue.as_deref()).or_else(|_| config.queues.find(None));
        let entry =
            Entry { queue: queue.unwrap_or(0), default_cores: config.default_cores, order: config.order };
        let mut row = Application::new(id, description, Link::Away, self.time, &entry);
        row.max_cores = max_cores;
        row.sequence = app;
        self.app = app;
        self.master.applications.insert_numbered(row);
        Ok(())
    }

    fn set_application_standing(
        &mut self,
        app: u64,
        standing: ApplicationStanding,
    ) -> Result<(), Contradiction> {
        let ApplicationStanding { in_a_row, hold_until, proven_until, blame } = standing.clone();
        let blame: Result<Vec<_>, _> =
            blame.into_iter().map(|(worker, blame)| Ok((self.slot(worker)?, blame))).collect();
        let blame = blame?;
        let application = self.application(app)?;
        application.recorded = (standing != ApplicationStanding::default()).then(|| Box::new(standing));
        application.failures.in_a_row = in_a_row;
        if let Some(until) = proven_until {
            application.prove_until(until);
        }
        let id = application.id.clone();
        self.master.applications.hold(&id, hold_until);
        self.master.applications.change_exclusions(&id, |exclusions| exclusions.restore(blame));
        Ok(())
    }

    fn launch(
        &mut self,
        app: u64,
        executor: ExecutorId,
        worker: u64,
        profile: ProfileId,
        share: Amounts,
    ) -> Result<(), Contradiction> {
        let slot = self.slot(worker)?;
        let application = self.master.applications.at_mut(app).ok_or(Contradiction::NoApplication(app))?;
        if application.executors.get(executor).is_some() {
            return Err(Contradiction::Twice);
        }
        if !application.profiles.contains_key(&profile) {
            return Err(Contradiction::NoProfile);
        }
        let key = ExecutorKey { app: application.id.clone(), executor };
        let grant = self.master.workers.grant_exactly(slot, share).ok_or(Contradiction::NoAddresses)?;
        let row = self.master.workers.row_mut(slot);
        row.executors.insert(key);
        let id = row.description.id.clone();
        application.add_executor(self.time, executor, (id, slot), profile, grant);
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
            self.master.preemption_ended(executor.ended.unwrap_or_default(), &executor.state);
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
            self.master.preemption_ended(executor.ended.unwrap_or_default(), &executor.state);
        }
        self.master.learn_run_time(&ended.row, &ended.executors);
        let dropped = self.master.applications.retire(ended, self.master.config.retained_applications);
        self.master.archive_applications(self.time, dropped);
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
        let (submitted, kill_asked, run, restarts) = (self.time, false, None, None);
        let driver = ClusterDriver { number, id, description, submitted, kill_asked, run, restarts };
        self.master.drivers.insert(driver);
        Ok(())
    }

    fn launch_driver(&mut self, number: u64, worker: u64, resources: Resources) -> Result<(), Contradiction> {
        self.driver(number, Stay::Waits)?;
        let slot = self.slot(worker)?;
        let DriverDescription { cores, memory, .. } = self.master.drivers.live(number).description;
        let share = Amounts { cores, memory, resources };
        let grant = self.master.workers.grant_exactly(slot, share).ok_or(Contradiction::NoAddresses)?;
        self.master.run_driver(number, Run { slot, grant, launched: self.time, unanswered: Some(0) });
        Ok(())
    }

    /// Checks that a cluster driver is live, and whether it runs.
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
        let (worker, share) = (Arc::clone(worker), Amounts { cores, memory, resources });
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

    /// The same, for what no pass looks at.
    fn recorded(&mut self, app: u64) -> Result<&mut Application, Contradiction> {
        self.master.applications.recorded_mut(app).ok_or(Contradiction::NoApplication(app))
    }

    /// The key of a live executor.
    fn executor(&mut self, app: u64, executor: ExecutorId) -> Result<ExecutorKey, Contradiction> {
        let application = self.recorded(app)?;
        let key = ExecutorKey { app: application.id.clone(), executor };
        application.executors.get(executor).ok_or(Contradiction::NoExecutor(app, executor))?;
        Ok(key)
    }
}

impl Application {
    /// Executors that started until then are proven.
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
