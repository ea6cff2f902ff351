//! A live cluster driver: one that waits for a Worker or runs on one.

use std::iter;

use firesteel_placement::index::Slot;
use firesteel_placement::{Cores, Demand, ExecutorLimit, ExecutorSize, ResourceAmounts, Resources};

use super::capacity::Grant;
use super::link::Link;
use super::record::Record;
use super::worker_row::WorkerRow;
use crate::ids::DriverId;
use crate::messages::{
    DRIVER_NAME, DriverDescription, DriverLaunch, DriverPlace, DriverRestarts, DriverState, DriverView,
    MasterToWorker,
};
use crate::time::Timestamp;

/// A cluster driver that has not ended.
#[derive(Debug)]
pub(super) struct ClusterDriver {
    /// Its number in the order of submission, by which records name it.
    pub(super) number: u64,
    pub(super) id: DriverId,
    pub(super) description: DriverDescription,
    /// The custom resources that it needs.
    pub(super) needs: ResourceAmounts,
    pub(super) submitted: Timestamp,
    /// Whether somebody asked for its end.
    pub(super) kill_asked: bool,
    /// `None` while it waits for a Worker.
    pub(super) run: Option<Run>,
    /// How often it was started again on its Worker, as that says.
    pub(super) restarts: Option<DriverRestarts>,
}

/// The record of the custom resources that a cluster driver needs, if it needs any.
pub(super) fn needs(driver: u64, needs: &ResourceAmounts) -> Option<Record> {
    (!needs.is_empty()).then(|| Record::DriverNeeds { driver, resources: needs.clone() })
}

/// The record of the addresses that a cluster driver has, if it has any.
pub(super) fn has(driver: u64, has: &Resources) -> Option<Record> {
    (!has.is_empty()).then(|| Record::DriverHas { driver, resources: has.clone() })
}

/// A cluster driver's stay on a Worker.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) slot: Slot,
    pub(super) grant: Grant,
    pub(super) launched: Timestamp,
    /// The heartbeats of the Worker since it was told to start it, until it reports on it. `None`: it has.
    pub(super) unanswered: Option<u32>,
}

impl ClusterDriver {
    /// What it needs, as a demand for one executor.
    pub(super) fn demand(&self) -> Demand {
        Demand {
            size: ExecutorSize::Fixed(self.description.cores),
            memory: self.description.memory,
            resources: self.needs.clone(),
            cores_left: Cores::UNLIMITED,
            limit: ExecutorLimit::AtMost(1),
            held: 0,
        }
    }

    /// The records of its submission.
    pub(super) fn submission(&self) -> impl Iterator<Item = Record> {
        let (driver, id, description) = (self.number, self.id.clone(), Box::new(self.description.clone()));
        iter::once(Record::DriverSubmitted { driver, id, description }).chain(needs(driver, &self.needs))
    }

    /// The records of its launch on the Worker with this number.
    pub(super) fn launch(&self, worker: u64) -> impl Iterator<Item = Record> {
        let driver = self.number;
        iter::once(Record::DriverLaunched { driver, worker }).chain(has(driver, self.has()))
    }

    /// The order to start it, which names its addresses as they were asked for.
    pub(super) fn order(&self) -> MasterToWorker {
        let launch =
            Box::new(DriverLaunch { driver: self.id.clone(), description: self.description.clone() });
        match self.has() {
            has if has.is_empty() => MasterToWorker::LaunchDriver(launch),
            has => {
                let resources = has.as_asked(&self.needs);
                MasterToWorker::LaunchDriverWithResources { launch, resources }
            }
        }
    }

    /// The name under which it was submitted, if it was given one.
    pub(super) fn name(&self) -> Option<&str> {
        self.description.command.environment.get(DRIVER_NAME).map(String::as_str)
    }

    /// The addresses of custom resources that it has.
    pub(super) fn has(&self) -> &Resources {
        self.run.as_ref().map_or(Resources::NONE, |run| run.grant.resources())
    }

    /// A copy for clients. `worker` is the one that it runs on.
    pub(super) fn view(&self, worker: Option<&WorkerRow>) -> DriverView {
        let DriverDescription { user, command, cores, memory, supervise } = &self.description;
        let state = match worker.map(|row| row.link) {
            None => DriverState::Submitted,
            Some(Link::Here(_)) => DriverState::Running,
            Some(Link::Away) => DriverState::Unknown,
        };
        DriverView {
            id: self.id.clone(),
            user: user.clone(),
            command: command.to_string(),
            cores: *cores,
            memory: *memory,
            supervise: *supervise,
            state,
            submitted: self.submitted,
            launched: self.run.as_ref().map(|run| run.launched),
            ended: None,
            worker: worker.map(|row| DriverPlace {
                worker: row.description.id.clone(),
                host: row.description.host.clone(),
                port: row.description.port,
                directory: match row.description.work_dir.as_str() {
                    // A Worker of Spark's does not say where it has them.
                    "" => String::new(),
                    work => format!("{work}/{}", self.id),
                },
            }),
        }
    }
}
