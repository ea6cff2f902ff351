//! A live cluster driver: one that waits for a Worker or runs on one.

use firesteel_placement::advanced::index::Slot;
use firesteel_placement::{Cores, Demand, ExecutorLimit, ExecutorSize, Resources};
use firesteel_protocol::ids::DriverId;
use firesteel_protocol::messages::{
    DRIVER_NAME, DriverDescription, DriverLaunch, DriverPlace, DriverRestarts, DriverState, DriverView,
    DriverWait, MasterToWorker,
};
use firesteel_protocol::time::Timestamp;

use crate::tables::capacity::Grant;
use crate::tables::link::Link;
use crate::tables::workers::row::WorkerRow;

/// A cluster driver that has not ended.
#[derive(Debug)]
pub(crate) struct ClusterDriver {
    /// Its number in the order of submission, by which records name it.
    pub(crate) number: u64,
    pub(crate) id: DriverId,
    pub(crate) description: DriverDescription,
    pub(crate) submitted: Timestamp,
    /// Whether somebody asked for its end.
    pub(crate) kill_asked: bool,
    /// `None` while it waits for a Worker.
    pub(crate) run: Option<Run>,
    /// How often it was started again on its Worker, as that says.
    pub(crate) restarts: Option<DriverRestarts>,
}

/// A cluster driver's stay on a Worker.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) slot: Slot,
    pub(crate) grant: Grant,
    pub(crate) launched: Timestamp,
    /// The heartbeats of the Worker since it was told to start it, until it reports on it. `None`: it has.
    pub(crate) unanswered: Option<u32>,
}

impl ClusterDriver {
    /// What it needs, as a demand for one executor.
    pub(crate) fn demand(&self) -> Demand {
        Demand {
            size: ExecutorSize::Fixed(self.description.cores),
            memory: self.description.memory,
            resources: self.description.resources.clone(),
            cores_left: Cores::UNLIMITED,
            limit: ExecutorLimit::AtMost(1),
            held: 0,
        }
    }

    /// The order to start it, which names its addresses as they were asked for.
    pub(crate) fn order(&self) -> MasterToWorker {
        let resources = self.has().as_asked(&self.description.resources);
        let (driver, description) = (self.id.clone(), self.description.clone());
        MasterToWorker::LaunchDriver(Box::new(DriverLaunch { driver, description, resources }))
    }

    /// The name under which it was submitted, if it was given one.
    fn name(&self) -> Option<&str> {
        self.description.command.environment.get(DRIVER_NAME).map(String::as_str)
    }

    /// The addresses of custom resources that it has.
    pub(crate) fn has(&self) -> &Resources {
        self.run.as_ref().map_or(Resources::NONE, |run| run.grant.resources())
    }

    /// A copy for clients. `worker` is the one that it runs on, and otherwise `wait` says why it has none.
    pub(crate) fn view(&self, worker: Option<&WorkerRow>, wait: Option<DriverWait>) -> DriverView {
        let DriverDescription { user, command, cores, memory, supervise, resources } = &self.description;
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
            name: self.name().map(str::to_owned),
            needs: resources.clone(),
            has: self.has().clone(),
            restarts: self.restarts,
            wait,
        }
    }
}
