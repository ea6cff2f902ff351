//! One scheduling pass: all applications over all workers.

use std::collections::{BTreeMap, BTreeSet};

use firesteel_placement::{Cores, ExecutorLimit, MiB, ResourceAmounts, Resources, Strategy, WorkerOrder};
use serde::{Deserialize, Deserializer, Serialize};

/// All applications over all workers: what is launched where?
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "PassLine")]
pub struct SchedulePass {
    /// Number of the case, repeated in the answer.
    pub i: u64,
    /// Name of what the case was made to try.
    pub group: Option<String>,
    /// How executors are given out.
    pub strategy: Strategy,
    /// In which order workers are taken.
    pub order: WorkerOrder,
    /// Most cores of applications that set no maximum.
    pub default_cores: Cores,
    /// The workers, in any order.
    pub workers: Vec<PassWorker>,
    /// The applications in the order in which they came.
    pub apps: Vec<PassApp>,
    /// The answer that was recorded with the case.
    pub recorded: Option<PassAnswer>,
}

/// A worker.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct PassWorker {
    /// Its id.
    pub id: String,
    /// Where it stands. Only living workers are given executors.
    pub state: WorkerStanding,
    /// Cores in all.
    pub cores: Cores,
    /// Free cores.
    pub cores_free: Cores,
    /// Memory in all.
    #[serde(rename = "memory_mb")]
    pub memory: MiB,
    /// Free memory.
    #[serde(rename = "memory_free_mb")]
    pub memory_free: MiB,
    /// Addresses of its resources by name; none if left out.
    #[serde(default)]
    pub resources: BTreeMap<String, PassAddresses>,
}

/// The addresses of one resource.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct PassAddresses {
    /// All of them, in any order.
    pub addresses: BTreeSet<String>,
    /// The free ones, in any order.
    pub free: BTreeSet<String>,
}

/// Where a worker stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum WorkerStanding {
    /// It takes executors.
    Alive,
    /// It is gone.
    Dead,
    /// It is leaving, and takes no more.
    Decommissioned,
    /// It has not been heard from since its Master started.
    Unknown,
}

/// An application.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct PassApp {
    /// Most cores that it may hold; null: the pass's default.
    #[serde(deserialize_with = "Option::deserialize")]
    pub cores_max: Option<Cores>,
    /// Its resource profiles: first the default one, then others by any number.
    #[serde(deserialize_with = "at_least_one")]
    pub profiles: Vec<PassProfile>,
    /// What it holds; nothing if left out.
    #[serde(default)]
    pub existing_executors: Vec<HeldExecutors>,
    /// The id that its next executor gets.
    pub next_executor_id: u32,
}

/// A resource profile, as the application sent it: what it leaves open is filled in from the default profile.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct PassProfile {
    /// Its number; 0 is the default profile.
    pub rp_id: u32,
    /// Cores of an executor; null: those of the default profile, or no fixed number.
    #[serde(deserialize_with = "Option::deserialize")]
    pub cores: Option<Cores>,
    /// Memory of an executor; null: that of the default profile, or 1 GiB.
    #[serde(rename = "memory_mb", deserialize_with = "Option::deserialize")]
    pub memory: Option<MiB>,
    /// Addresses for each executor; none if left out, whatever the default profile has.
    #[serde(default)]
    pub resources: ResourceAmounts,
    /// Most executors of this profile; null: no limit.
    #[serde(rename = "executor_limit", deserialize_with = "limit")]
    pub limit: ExecutorLimit,
}

/// Executors that an application holds. They are on no worker that is listed: free amounts are net of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct HeldExecutors {
    /// Their profile.
    pub rp_id: u32,
    /// Cores of each.
    pub cores: Cores,
    /// How many.
    pub count: u16,
}

impl HeldExecutors {
    /// The cores of all of them.
    pub(super) fn all_cores(&self) -> Cores {
        Cores(self.cores.0.saturating_mul(self.count.into()))
    }
}

/// The answer to a pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassAnswer {
    /// Number of the case.
    pub i: u64,
    /// The executors in the order in which they are launched.
    pub launches: Vec<Launch>,
    /// Each application after the pass.
    pub apps_after: Vec<AppAfter>,
}

/// An executor to launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// Index of its application in the pass.
    pub app: usize,
    /// Id of its worker.
    pub worker: String,
    /// Its number within the application.
    pub exec_id: u32,
    /// Its cores.
    pub cores: Cores,
    /// Its memory.
    #[serde(rename = "memory_mb")]
    pub memory: MiB,
    /// Its profile.
    pub rp_id: u32,
    /// Its addresses.
    #[serde(default, skip_serializing_if = "Resources::is_empty")]
    pub resources: Resources,
}

/// An application after a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppAfter {
    /// Cores that it may still get.
    pub cores_left: Cores,
    /// Whether it was given something.
    pub state: AppStanding,
}

/// Whether an application was given something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum AppStanding {
    /// Not in this pass.
    Waiting,
    /// An executor at least.
    Running,
}

/// The cores that an application may still get: its maximum, or the default one, less what it holds.
pub(super) fn cores_left(own: Option<Cores>, default: Option<Cores>, held: &[HeldExecutors]) -> Cores {
    own.or(default).unwrap_or(Cores::UNLIMITED) - held.iter().map(HeldExecutors::all_cores).sum()
}

/// The line as it is written.
#[derive(Deserialize)]
struct PassLine {
    i: u64,
    group: Option<String>,
    spread_out: bool,
    policy: WorkerOrder,
    #[serde(deserialize_with = "Option::deserialize")]
    default_cores: Option<Cores>,
    workers: Vec<PassWorker>,
    apps: Vec<PassApp>,
    launches: Option<Vec<Launch>>,
    apps_after: Option<Vec<AppAfter>>,
}

impl From<PassLine> for SchedulePass {
    fn from(line: PassLine) -> Self {
        let recorded = line.launches.zip(line.apps_after);
        Self {
            i: line.i,
            group: line.group,
            strategy: if line.spread_out { Strategy::SpreadOut } else { Strategy::Consolidate },
            order: line.policy,
            default_cores: line.default_cores.unwrap_or(Cores::UNLIMITED),
            workers: line.workers,
            apps: line.apps,
            recorded: recorded.map(|(launches, apps_after)| PassAnswer { i: line.i, launches, apps_after }),
        }
    }
}

fn at_least_one<'de, D: Deserializer<'de>>(profiles: D) -> Result<Vec<PassProfile>, D::Error> {
    let profiles = Vec::deserialize(profiles)?;
    if profiles.is_empty() {
        return Err(serde::de::Error::invalid_length(0, &"the default profile at least"));
    }
    Ok(profiles)
}

fn limit<'de, D: Deserializer<'de>>(limit: D) -> Result<ExecutorLimit, D::Error> {
    Ok(Option::deserialize(limit)?.map_or(ExecutorLimit::Unlimited, ExecutorLimit::AtMost))
}
