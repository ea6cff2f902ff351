//! A live cluster driver: one that waits for a Worker or runs on one.

use firesteel_placement::index::Slot;
use firesteel_placement::{Cores, Demand, ExecutorLimit, ExecutorSize, ResourceAmounts};

use super::capacity::Grant;
use super::link::Link;
use super::worker_row::WorkerRow;
use crate::ids::DriverId;
use crate::messages::{DriverDescription, DriverLaunch, DriverPlace, DriverState, DriverView};
use crate::time::Timestamp;

/// A cluster driver that has not ended.
#[derive(Debug)]
pub(super) struct ClusterDriver {
    /// Its number in the order of submission, by which records name it.
    pub(super) number: u64,
    pub(super) id: DriverId,
    pub(super) description: DriverDescription,
    pub(super) submitted: Timestamp,
    /// Whether somebody asked for its end.
    pub(super) kill_asked: bool,
    /// `None` while it waits for a Worker.
    pub(super) run: Option<Run>,
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
            resources: ResourceAmounts::new(),
            cores_left: Cores::UNLIMITED,
            limit: ExecutorLimit::AtMost(1),
            held: 0,
        }
    }

    /// The order to start it.
    pub(super) fn order(&self) -> Box<DriverLaunch> {
        Box::new(DriverLaunch { driver: self.id.clone(), description: self.description.clone() })
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
