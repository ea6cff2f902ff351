//! The entries of a file and their fields.

use std::collections::BTreeMap;

use firesteel_placement::Policy;
use serde::Deserialize;

use super::At;
use super::scalar::{AddressAmount, Addresses, Memory, Positive};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct DraftFile {
    pub(super) default_cores: Option<Positive>,
    pub(super) queues: Option<At<String>>,
    pub(super) backfill: Option<bool>,
    #[serde(default)]
    pub(super) workers: Vec<At<WorkerEntry>>,
    #[serde(default)]
    pub(super) applications: Vec<At<ApplicationEntry>>,
}

/// An entry that describes equal Workers.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct WorkerEntry {
    pub(super) name: Option<String>,
    pub(super) host: Option<String>,
    pub(super) count: Option<Positive>,
    pub(super) cores: Positive,
    pub(super) memory: Memory,
    #[serde(default)]
    pub(super) resources: BTreeMap<String, Addresses>,
}

/// An entry that describes equal applications.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ApplicationEntry {
    pub(super) name: Option<String>,
    pub(super) count: Option<Positive>,
    #[serde(alias = "total-executor-cores")]
    pub(super) max_cores: Option<Positive>,
    pub(super) executor_cores: Option<Positive>,
    pub(super) executor_memory: Option<Memory>,
    #[serde(default)]
    pub(super) resources: BTreeMap<String, AddressAmount>,
    pub(super) num_executors: Option<u64>,
    pub(super) placement_policy: Option<Policy>,
    pub(super) queue: Option<String>,
    #[serde(default)]
    pub(super) priority: i32,
    pub(super) gang: Option<Positive>,
    #[serde(default)]
    pub(super) running: Vec<RunningEntry>,
}

/// An entry that describes executors that already run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RunningEntry {
    pub(super) worker: At<String>,
    pub(super) executors: Option<Positive>,
    pub(super) cores: Option<Positive>,
}
