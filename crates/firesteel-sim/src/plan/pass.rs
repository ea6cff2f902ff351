//! A scheduling pass: all applications over all Workers.

use std::collections::{BTreeMap, BTreeSet};

use firesteel_placement::{Cores, ExecutorLimit, MiB, ResourceAmounts, Resources, Strategy, WorkerOrder};
use serde::{Deserialize, Deserializer, Serialize};

/// A question about all applications and all Workers: which executors are launched, and where?
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "PassLine")]
pub struct SchedulePass {
    pub i: u64,
    /// What the case tests, as text for a human reader.
    pub group: Option<String>,
    pub strategy: Strategy,
    /// The order in which Workers are considered.
    pub order: WorkerOrder,
    /// The maximum number of cores of applications that set no maximum.
    pub default_cores: Cores,
    /// The Workers, in any order.
    pub workers: Vec<PassWorker>,
    /// The applications in order of submission.
    pub apps: Vec<PassApp>,
    pub recorded: Option<PassAnswer>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct PassWorker {
    pub id: String,
    /// State of the Worker. Only Workers that are alive get executors.
    pub state: PassWorkerState,
    pub cores: Cores,
    pub cores_free: Cores,
    #[serde(rename = "memory_mb")]
    pub memory: MiB,
    #[serde(rename = "memory_free_mb")]
    pub memory_free: MiB,
    /// The addresses of the Worker's resources by name. Default: none.
    #[serde(default)]
    pub resources: BTreeMap<String, PassAddresses>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct PassAddresses {
    /// All addresses, in any order.
    pub addresses: BTreeSet<String>,
    /// The free addresses, in any order.
    pub free: BTreeSet<String>,
}

/// The state of a Worker. Only live Workers take executors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum PassWorkerState {
    Alive,
    Dead,
    /// The Worker is being decommissioned and takes no new executors.
    Decommissioned,
    /// The Worker has not reported since the Master started.
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct PassApp {
    /// The maximum number of cores. `null`: the default of the pass.
    #[serde(deserialize_with = "Option::deserialize")]
    pub cores_max: Option<Cores>,
    /// The application's resource profiles. The default profile comes first.
    #[serde(deserialize_with = "at_least_one")]
    pub profiles: Vec<PassProfile>,
    /// The executors that the application already has. Default: none.
    #[serde(default)]
    pub existing_executors: Vec<HeldExecutors>,
    pub next_executor_id: u32,
}

/// A resource profile as the application sent it. Fields that are null are taken from the default profile.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct PassProfile {
    /// The number of the profile. 0 is the default profile.
    pub rp_id: u32,
    /// The cores of an executor. `null`: the cores of the default profile, or no fixed number.
    #[serde(deserialize_with = "Option::deserialize")]
    pub cores: Option<Cores>,
    /// The memory of an executor. `null`: the memory of the default profile, or 1 GiB.
    #[serde(rename = "memory_mb", deserialize_with = "Option::deserialize")]
    pub memory: Option<MiB>,
    /// The addresses of an executor. Default: none, even if the default profile has some.
    #[serde(default)]
    pub resources: ResourceAmounts,
    /// The maximum number of executors of this profile. `null`: no limit.
    #[serde(rename = "executor_limit", deserialize_with = "limit")]
    pub limit: ExecutorLimit,
}

/// Executors that an application already has. The free amounts of the listed Workers do not include the resources of
/// these executors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct HeldExecutors {
    pub rp_id: u32,
    pub cores: Cores,
    pub count: u16,
}

impl HeldExecutors {
    pub(super) fn all_cores(&self) -> Cores {
        Cores(self.cores.0.saturating_mul(self.count.into()))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassAnswer {
    pub i: u64,
    /// The executors that are launched, in order.
    pub launches: Vec<Launch>,
    /// The state of each application after the pass.
    pub apps_after: Vec<AppAfter>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    pub app: usize,
    pub worker: String,
    /// Number of the executor within the application.
    pub exec_id: u32,
    pub cores: Cores,
    #[serde(rename = "memory_mb")]
    pub memory: MiB,
    pub rp_id: u32,
    #[serde(default, skip_serializing_if = "Resources::is_empty")]
    pub resources: Resources,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppAfter {
    /// Cores that the application may still get.
    pub cores_left: Cores,
    /// Whether the application got executors in this pass.
    pub state: PassAppState,
}

/// Whether an application got executors in this pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum PassAppState {
    Waiting,
    /// The application got at least one executor.
    Running,
}

/// The cores that an application may still get: its maximum (or the default maximum) minus the cores that it already
/// has.
pub(super) fn cores_left(own: Option<Cores>, default: Option<Cores>, held: &[HeldExecutors]) -> Cores {
    own.or(default).unwrap_or(Cores::UNLIMITED) - held.iter().map(HeldExecutors::all_cores).sum()
}

/// The JSON form of a pass.
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
