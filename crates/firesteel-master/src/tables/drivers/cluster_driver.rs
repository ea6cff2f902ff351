//! A live cluster driver, which waits for a Worker or runs on one.

use firesteel_placement::advanced::index::Slot;
use firesteel_placement::{Cores, Demand, ExecutorLimit, ExecutorSize, Resources};
use firesteel_protocol::ids::DriverId;
use firesteel_protocol::messages::{
    DRIVER_NAME, DriverDescription, DriverLaunch, DriverLocation, DriverRestarts, DriverState, DriverView,
    DriverWait, MasterToWorker,
};
use firesteel_protocol::time::Timestamp;

use crate::limits;
use crate::tables::capacity::Grant;
use crate::tables::link::Link;
use crate::tables::workers::row::WorkerRow;

#[derive(Debug)]
pub(crate) struct ClusterDriver {
    /// The driver's number in the order of submission. Records refer to the driver by this number.
    pub(crate) number: u64,
    pub(crate) id: DriverId,
    pub(crate) description: DriverDescription,
    pub(crate) submitted: Timestamp,
    pub(crate) kill_asked: bool,
    /// The driver's Worker and amounts. `None` while it waits for a Worker.
    pub(crate) run: Option<Run>,
    /// How often the Worker has started the driver again, as the Worker reports it.
    pub(crate) restarts: Option<DriverRestarts>,
}

/// The Worker of a running cluster driver, and the amounts that the driver takes there.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) slot: Slot,
    pub(crate) grant: Grant,
    pub(crate) launched: Timestamp,
    /// The number of the Worker's heartbeats since the order to start the driver. `None`: the Worker has reported on
    /// the driver.
    pub(crate) unanswered: Option<u32>,
}

impl ClusterDriver {
    /// The memory that the description takes, in bytes.
    pub(crate) fn weight(&self) -> u64 {
        limits::weight_of(&self.description)
    }

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

    /// The order to start the driver. It contains the driver's addresses, under the names that the driver asked for.
    pub(crate) fn order(&self) -> MasterToWorker {
        let resources = self.has().as_asked(&self.description.resources);
        let (driver, description) = (self.id.clone(), self.description.clone());
        MasterToWorker::LaunchDriver(Box::new(DriverLaunch { driver, description, resources }))
    }

    fn name(&self) -> Option<&str> {
        self.description.command.environment.get(DRIVER_NAME).map(String::as_str)
    }

    pub(crate) fn has(&self) -> &Resources {
        self.run.as_ref().map_or(Resources::NONE, |run| run.grant.resources())
    }

    /// A copy for clients. `worker` is the Worker on which the driver runs. Without a Worker, `wait` is the reason why
    /// it waits.
    pub(crate) fn view(&self, worker: Option<&WorkerRow>, wait: Option<DriverWait>) -> DriverView {
        let DriverDescription { user, command, cores, memory, supervise, resources } = &self.description;
        let state = match worker.map(|row| row.link) {
            None => DriverState::Submitted,
            Some(Link::Here(_)) => DriverState::Running,
            Some(Link::Away(_)) => DriverState::Unknown,
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
            worker: worker.map(|row| DriverLocation {
                worker: row.description.id.clone(),
                host: row.description.host.clone(),
                port: row.description.port,
                directory: match row.description.work_dir.as_str() {
                    // Spark's Workers do not report their directories.
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
