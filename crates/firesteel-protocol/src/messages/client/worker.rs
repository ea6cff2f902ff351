//! A Worker, as status clients see it.

use firesteel_placement::{Cores, MiB, Resources};
use serde::{Deserialize, Serialize};

use crate::ids::WorkerId;
use crate::messages::{TimedReport, WorkerDescription, WorkerRemark};
use crate::scheduling::label::Label;
use crate::time::Timestamp;

/// A Worker as its Master sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerView {
    /// The Worker's id.
    pub id: WorkerId,
    /// The host's name.
    pub host: String,
    /// The port's number.
    pub port: u16,
    /// The Worker's state.
    pub state: WorkerState,
    /// The number of cores.
    pub cores: Cores,
    /// The number of cores that its executors and cluster drivers hold.
    pub cores_used: Cores,
    /// The amount of memory.
    pub memory: MiB,
    /// The amount of memory that its executors and cluster drivers hold.
    pub memory_used: MiB,
    /// The addresses of its custom resources.
    pub resources: Resources,
    /// The addresses that its executors hold.
    pub resources_used: Resources,
    /// The time of its last heartbeat.
    pub last_heartbeat: Timestamp,
    /// The number of live applications for which it is excluded, since their executors ended there too early.
    pub excluded_for: u64,
    /// The end of its exclusion for all applications, if it is excluded.
    pub excluded_until: Option<Timestamp>,
    /// Why it is given nothing new for now, if something is wrong with it.
    pub impairment: Option<Impairment>,
    /// What the Worker runs only, if it does not run executors of all applications.
    pub label: Option<Label>,
    /// How it is, if that is out of the ordinary.
    pub remark: Option<WorkerRemark>,
    /// What it reported of itself last, if it is alive and has.
    pub report: Option<Box<TimedReport>>,
}

/// Why a living Worker is given nothing new until that is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, crate::Display)]
pub enum Impairment {
    /// Its heartbeats come, and it does not answer orders to launch executors.
    #[display("does not answer")]
    Deaf,
    /// It can start no executors, for this reason.
    #[display("cannot start executors: {_0}")]
    CannotStart(String),
}

impl WorkerView {
    /// A living Worker without executors, which was heard at this time.
    #[must_use]
    pub fn unused(worker: &WorkerDescription, last_heartbeat: Timestamp) -> Self {
        Self {
            id: worker.id.clone(),
            host: worker.host.clone(),
            port: worker.port,
            state: WorkerState::Alive,
            cores: worker.cores,
            cores_used: Cores::ZERO,
            memory: worker.memory,
            memory_used: MiB(0),
            resources: worker.resources.clone(),
            resources_used: Resources::default(),
            last_heartbeat,
            excluded_for: 0,
            excluded_until: None,
            impairment: None,
            label: worker.label.clone(),
            remark: None,
            report: None,
        }
    }
}

/// The state of a Worker at its Master.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum WorkerState {
    /// The Worker is registered and sends heartbeats.
    Alive,
    /// The Worker is about to end, and is given no more executors.
    Decommissioned,
    /// The Worker is lost. It is remembered for a while.
    Dead,
    /// The Worker has not returned since the Master was restarted, or runs executors of another Master.
    Unknown,
    /// The Worker has left in order. It is remembered for a while.
    Left,
}

impl WorkerState {
    /// Whether the Worker is lost or has left.
    #[must_use]
    pub fn is_gone(self) -> bool {
        matches!(self, Self::Dead | Self::Left)
    }
}
