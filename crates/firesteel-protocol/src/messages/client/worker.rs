//! A Worker, as status clients see it.

use firesteel_placement::{Cores, MiB, Resources};
use serde::{Deserialize, Serialize};

use crate::ids::WorkerId;
use crate::messages::{TimedReport, WorkerDescription, WorkerRemark};
use crate::scheduling::label::Label;
use crate::time::Timestamp;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerView {
    pub id: WorkerId,
    pub host: String,
    pub port: u16,
    pub state: WorkerState,
    pub cores: Cores,
    /// The number of cores that the Worker's executors and cluster drivers hold.
    pub cores_used: Cores,
    pub memory: MiB,
    /// The amount of memory that the Worker's executors and cluster drivers hold.
    pub memory_used: MiB,
    pub resources: Resources,
    /// The addresses that the Worker's executors hold.
    pub resources_used: Resources,
    pub last_heartbeat: Timestamp,
    /// The number of live applications that exclude the Worker, because their executors ended there too early.
    pub excluded_for: u64,
    /// When the Worker's exclusion for all applications ends, if it is excluded.
    pub excluded_until: Option<Timestamp>,
    /// Why the Worker gets no new executors for now, if something is wrong with it.
    pub impairment: Option<Impairment>,
    /// Restricts the Worker to applications with this label. `None`: it runs executors of all applications.
    pub label: Option<Label>,
    /// What is unusual about the Worker, if anything.
    pub remark: Option<WorkerRemark>,
    /// The Worker's latest report, if it is alive and has sent one.
    pub report: Option<Box<TimedReport>>,
    /// When the connection of a living Worker ended, if it has not returned since.
    #[serde(default)]
    pub away_since: Option<Timestamp>,
}

/// Why a living Worker gets no new executors for the moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, crate::Display)]
pub enum Impairment {
    /// The Worker sends heartbeats, but does not answer orders to launch executors.
    #[display("does not answer")]
    Deaf,
    /// The Worker can start no executors, for this reason.
    #[display("cannot start executors: {_0}")]
    CannotStart(String),
}

impl WorkerView {
    /// A living Worker without executors, which sent its last heartbeat at this time.
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
            away_since: None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum WorkerState {
    /// The Worker is registered and sends heartbeats.
    Alive,
    /// The Worker is about to end, and gets no more executors.
    Decommissioned,
    /// The Worker is lost. The Master remembers it for a while.
    Dead,
    /// The Worker has not returned since the Master was restarted, or runs executors of another Master.
    Unknown,
    /// The Worker has left in order. The Master remembers it for a while.
    Left,
}

impl WorkerState {
    #[must_use]
    pub fn is_gone(self) -> bool {
        matches!(self, Self::Dead | Self::Left)
    }
}
