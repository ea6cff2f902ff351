//! How an application is scheduled, as JSON: the facts on which the Master bases its decisions, and the limits on the
//! application's executors.

use firesteel_placement::explain::advice::{Advice, Change};
use firesteel_placement::{ExecutorLimit, ExecutorSize, ResourceAmounts};
use firesteel_protocol::Timestamp;
use firesteel_protocol::ids::{ProfileId, WorkerId};
use firesteel_protocol::messages::{
    ClusterView, EarlyEnd, ExcludedWorker, Holder, ImpairedWorker, ProfileView, SchedulingStatus,
};
use serde::Serialize;

use super::next_executor::NextExecutor;

#[derive(Serialize)]
pub(in crate::cli::client) struct Scheduling<'a> {
    profiles: Vec<Profile<'a>>,
    cores_spent: i64,
    failed_in_a_row: u32,
    relaunch_at_ms: Option<u64>,
    excluded: Vec<Excluded<'a>>,
    more_excluded: u64,
    impaired: Vec<Impaired<'a>>,
    ahead: u64,
    /// The reason why the application waits, other than a lack of free resources, as text.
    waits_for: Option<String>,
    cluster: Cluster,
    holders: &'a [Holder],
    more_holders: u64,
}

impl<'a> Scheduling<'a> {
    pub(in crate::cli::client) fn of(scheduling: &'a SchedulingStatus) -> Self {
        let SchedulingStatus {
            policy: _,
            profiles,
            cores_spent,
            failures,
            relaunch_at,
            excluded,
            more_excluded,
            impaired,
            ahead,
            blocker,
            cluster,
            holders,
            more_holders,
            late: _,
            expected_start: _,
        } = scheduling;
        let ClusterView { workers, cores, cores_free, memory, memory_free } = cluster;
        Self {
            profiles: profiles.iter().map(Profile::of).collect(),
            cores_spent: cores_spent.0,
            failed_in_a_row: *failures,
            relaunch_at_ms: relaunch_at.map(Timestamp::millis),
            excluded: excluded.iter().map(Excluded::of).collect(),
            more_excluded: *more_excluded,
            impaired: impaired.iter().map(Impaired::of).collect(),
            ahead: *ahead,
            waits_for: blocker.as_ref().map(ToString::to_string),
            cluster: Cluster {
                workers: *workers,
                cores: cores.0,
                cores_free: cores_free.0,
                memory_mib: memory.0,
                memory_free_mib: memory_free.0,
            },
            holders,
            more_holders: *more_holders,
        }
    }
}

#[derive(Serialize)]
struct Excluded<'a> {
    worker: &'a WorkerId,
    early_end: EarlyEnd,
    times: u32,
    until_ms: u64,
    for_all: bool,
}

impl<'a> Excluded<'a> {
    fn of(view: &'a ExcludedWorker) -> Self {
        let ExcludedWorker { worker, end, times, until, for_all } = view;
        Self { worker, early_end: *end, times: *times, until_ms: until.millis(), for_all: *for_all }
    }
}

/// A Worker that gets no new executors because of a defect.
#[derive(Serialize)]
struct Impaired<'a> {
    worker: &'a WorkerId,
    impairment: String,
}

impl<'a> Impaired<'a> {
    fn of(view: &'a ImpairedWorker) -> Self {
        Self { worker: &view.worker, impairment: view.impairment.to_string() }
    }
}

#[derive(Serialize)]
struct Cluster {
    workers: u64,
    cores: i64,
    cores_free: i64,
    memory_mib: i64,
    memory_free_mib: i64,
}

#[derive(Serialize)]
struct Profile<'a> {
    id: ProfileId,
    /// Cores per executor. `None`: all cores of a Worker.
    executor_cores: Option<i64>,
    executor_memory_mib: i64,
    resources: &'a ResourceAmounts,
    /// Maximum number of executors. `None`: unlimited.
    limit: Option<u64>,
    held: u64,
    may_have_more: bool,
    large_enough: u64,
    with_room: u64,
    /// The reason why there are fewer executors than requested, as text.
    shortfall: Option<String>,
    next_executor: Option<NextExecutor<'a>>,
    advice: Vec<AdvisedChange>,
}

impl<'a> Profile<'a> {
    fn of(view: &'a ProfileView) -> Self {
        Self {
            id: view.id,
            executor_cores: match view.size {
                ExecutorSize::Fixed(cores) => Some(cores.0),
                ExecutorSize::OnePerWorker => None,
            },
            executor_memory_mib: view.memory.0,
            resources: &view.resources,
            limit: match view.limit {
                ExecutorLimit::Unlimited => None,
                ExecutorLimit::AtMost(limit) => Some(limit),
            },
            held: view.held,
            may_have_more: view.may_have_more,
            large_enough: view.large_enough,
            with_room: view.with_room,
            shortfall: view.shortfall.as_ref().map(ToString::to_string),
            next_executor: view.outlook.as_ref().map(NextExecutor::of),
            advice: view.advice.iter().map(AdvisedChange::of).collect(),
        }
    }
}

/// A change to the request, and the immediate result of the change. Fields that are `None` stay unchanged.
#[derive(Default, Serialize)]
struct AdvisedChange {
    executor_cores: Option<i64>,
    executor_memory_mib: Option<i64>,
    more_cores: Option<i64>,
    limit: Option<u64>,
    brings_executors: u64,
    brings_cores: i64,
}

impl AdvisedChange {
    fn of(advice: &Advice) -> Self {
        let brings =
            Self { brings_executors: advice.executors, brings_cores: advice.cores.0, ..Self::default() };
        match advice.change {
            Change::ExecutorCores(cores) => Self { executor_cores: Some(cores.0), ..brings },
            Change::ExecutorMemory(memory) => Self { executor_memory_mib: Some(memory.0), ..brings },
            Change::ExecutorCoresAndMemory(cores, memory) => {
                Self { executor_cores: Some(cores.0), executor_memory_mib: Some(memory.0), ..brings }
            }
            Change::MoreCores(more) => Self { more_cores: Some(more.0), ..brings },
            Change::ExecutorLimit(limit) => Self { limit: Some(limit), ..brings },
        }
    }
}
