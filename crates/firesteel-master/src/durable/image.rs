//! The image of a Master: the state at the beginning of a journal, as records that produce the Master's tables.

use std::collections::BTreeMap;
use std::sync::Arc;

use firesteel_protocol::messages::{ApplicationState, WorkerDescription};
use firesteel_protocol::time::Timestamp;

use crate::Master;
use crate::durable::record::{
    ApplicationImage, Counters, EndedDriver, EndedImage, ExecutorImage, ProfileImage, Record,
};
use crate::tables::applications::application::{Application, Profile};
use crate::tables::applications::health::ApplicationHealth;
use crate::tables::capacity::Holding;
use crate::tables::drivers::cluster_driver::ClusterDriver;
use crate::tables::drivers::table::PastDriver;
use crate::tables::executors::record::ExecutorRecord;
use crate::tables::workers::health::WorkerHealth;

/// The records of an image under construction, and the Workers that they have named so far.
struct Image {
    records: Vec<Record>,
    /// The time in the image's last time record.
    time: Option<Timestamp>,
    workers: BTreeMap<*const WorkerDescription, u64>,
    next_worker: u64,
}

impl Image {
    fn at(&mut self, time: Timestamp) {
        if self.time != Some(time) {
            self.time = Some(time);
            self.records.push(Record::Time(time));
        }
    }

    /// The number of an executor's Worker. A lost Worker gets a new number that no other Worker has.
    fn number(&mut self, worker: &Arc<WorkerDescription>) -> u64 {
        let key = Arc::as_ptr(worker);
        if let Some(number) = self.workers.get(&key) {
            return *number;
        }
        let number = self.next_worker;
        self.next_worker += 1;
        self.workers.insert(key, number);
        let description = Box::new(WorkerDescription::clone(worker));
        self.records.push(Record::FormerWorker { worker: number, description });
        number
    }

    fn executor(&mut self, record: &ExecutorRecord) -> ExecutorImage {
        let worker = self.number(&record.worker);
        let ExecutorRecord { id, worker: _, profile, share, state, launched, started, ended, used } = record;
        let Holding { cores, memory, resources } = share;
        ExecutorImage {
            id: *id,
            worker,
            profile: *profile,
            cores: *cores,
            memory: *memory,
            resources: resources.clone(),
            state: state.clone(),
            launched: *launched,
            started: *started,
            ended: *ended,
            used: *used,
        }
    }
}

impl Master {
    /// The records that produce these tables. A journal begins with them.
    #[must_use]
    pub fn image(&self) -> Vec<Record> {
        let counters = Counters {
            first_application: self.config.first_application,
            applications: self.applications.registered(),
            workers: self.workers.registered(),
            executors: self.lineage.executors,
            state: self.lineage.state,
        };
        let mut image = Image {
            records: vec![Record::Founded(counters)],
            time: None,
            workers: BTreeMap::new(),
            next_worker: counters.workers,
        };
        if self.holds_foreign() {
            image.records.push(Record::ForeignHeld(true));
        }
        self.write_workers(&mut image);
        let archived = self.archive.iter().map(|row| Record::Archived(Box::new(row.clone())));
        image.records.extend(archived);
        for (_, ended) in self.applications.ended().iter() {
            let executors = ended.executors.iter().map(|record| image.executor(record)).collect();
            let (app, end, row) = (ended.sequence, ended.end.clone(), ended.row.clone());
            image.records.push(Record::EndedRestored(Box::new(EndedImage { app, end, row, executors })));
        }
        for application in self.applications.queue() {
            self.write_application(&mut image, application);
        }
        self.write_drivers(&mut image);
        image.at(self.now);
        image.records
    }

    fn write_drivers(&self, image: &mut Image) {
        if self.drivers.submitted() == 0 {
            return;
        }
        for (driver, PastDriver { view, used }) in self.drivers.ended_in_order() {
            let (view, used) = (view.clone(), *used);
            image.records.push(Record::EndedDriverRestored(Box::new(EndedDriver { driver, view, used })));
        }
        for driver in self.drivers.iter() {
            image.at(driver.submitted);
            image.records.push(driver.submission());
            if let Some(run) = &driver.run {
                image.at(run.launched);
                image.records.push(driver.launch(self.workers.row(run.slot).number));
            }
            if driver.kill_asked {
                image.records.push(Record::DriverKillAsked { driver: driver.number });
            }
        }
        let (drivers, last_worker) = (self.drivers.submitted(), self.drivers.last_worker.clone());
        image.records.push(Record::DriversCounted { drivers, last_worker });
    }

    fn write_workers(&self, image: &mut Image) {
        for (view, forgotten_at) in self.workers.dead(self.now) {
            image.records.push(Record::DeadWorker { view: Box::new(view.clone()), forgotten_at });
        }
        for row in self.workers.iter() {
            let worker = row.number;
            image.workers.insert(Arc::as_ptr(&row.description), worker);
            let resources = row.capacity().total().resources.clone();
            let mut description = WorkerDescription::clone(&row.description);
            description.resources = resources;
            let description = Box::new(description);
            image.records.push(Record::WorkerRegistered { worker, description });
            let health = row.health();
            if *health != WorkerHealth::default() {
                let health = Box::new(health.clone());
                image.records.push(Record::WorkerChanged { worker, health });
            }
        }
    }

    fn write_application(&self, image: &mut Image, application: &Application) {
        let app = application.sequence;
        image.at(application.submitted);
        image.records.push(Record::ApplicationRegistered {
            app,
            id: application.id.clone(),
            max_cores: application.max_cores,
            description: Box::new(application.description.clone()),
        });
        let ended = application.ended.iter().map(|record| image.executor(record)).collect();
        let (mut workers, mut lost_workers) = (Vec::new(), Vec::new());
        for id in application.workers.iter() {
            match self.workers.get(id) {
                Some(row) => workers.push(row.number),
                None => lost_workers.push(id.clone()),
            }
        }
        workers.sort_unstable();
        let profile = |Profile { size, memory, resources, limit, held: _, most_wanted: _ }: &Profile| {
            ProfileImage { size: *size, memory: *memory, resources: resources.clone(), limit: *limit }
        };
        image.records.push(Record::ApplicationRestored(Box::new(ApplicationImage {
            begun: application.state == ApplicationState::Running,
            next_executor: application.next_executor,
            cores_spent: application.cores_spent,
            profiles: application.profiles.iter().map(|(id, row)| (*id, profile(row))).collect(),
            workers,
            lost_workers,
            ended,
            forgotten: application.forgotten,
        })));
        if !application.preferences.is_empty() {
            let preferences = Box::new(application.preferences.to_message());
            image.records.push(Record::HostsPreferred { app, preferences });
        }
        for (executor, row) in application.executors.iter() {
            image.at(row.launched);
            let Holding { cores, memory, resources } = row.grant.amounts();
            image.records.push(Record::ExecutorLaunched {
                app,
                executor,
                worker: self.workers.row(row.slot).number,
                profile: row.profile,
                cores,
                memory,
                resources: row.grant.has_resources().then_some(resources),
            });
        }
        // The executors are in the order of their starts, which is also the order in which they become proven.
        let started = |id| application.executors.get(id)?.probation.started().map(|started| (started, id));
        let mut starts: Vec<_> = application.executors.iter().filter_map(|(id, _)| started(id)).collect();
        starts.sort_unstable();
        for (started, executor) in starts {
            image.at(started);
            image.records.push(Record::ExecutorStarted { app, executor });
        }
        let health = application.health(&self.workers);
        if health != ApplicationHealth::default() {
            let health = Box::new(health);
            image.records.push(Record::ApplicationChanged { app, health });
        }
    }
}

impl ClusterDriver {
    pub(crate) fn submission(&self) -> Record {
        let (driver, id, description) = (self.number, self.id.clone(), Box::new(self.description.clone()));
        Record::DriverSubmitted { driver, id, description }
    }

    pub(crate) fn launch(&self, worker: u64) -> Record {
        Record::DriverLaunched { driver: self.number, worker, resources: self.has().clone() }
    }
}
