//! Masters and applications as JSON: the values of `status` and `explain`. Field names end in their
//! unit, and states are the words of the tables.

mod next_executor;
mod usage;

use std::collections::BTreeMap;
use std::io::{self, Write as _};

use firesteel_core::Timestamp;
use firesteel_core::ids::{AppId, DriverId, ExecutorId, ProfileId, WorkerId};
use firesteel_core::messages::{
    ApplicationDetail, ApplicationState, ApplicationView, ClusterView, DriverState, DriverView, EarlyEnd,
    ExcludedWorker, ExecutorState, ExecutorView, Holder, ImpairedWorker, MasterView, Outcome, ProfileView,
    SchedulingStatus, WorkerRemark, WorkerState, WorkerView,
};
use firesteel_core::process::ExitStatus;
use firesteel_placement::advice::{Advice, Change};
use firesteel_placement::{ExecutorLimit, ExecutorSize, ResourceAmounts, Resources};
use firesteel_settings::scheduling::settings;
use firesteel_settings::secrets::shown_text;
use serde::Serialize;

use firesteel_daemons::wording::application::shown_state;
use firesteel_host::plain;
use next_executor::NextExecutor;
use usage::WorkerUsage;

/// The part of the help that describes these JSON values.
pub(super) const HELP: &str = "\
In JSON, schema is incremented on incompatible changes. Names end in their unit: _ms, _mib and, for what is measured, _bytes; a point in time is in \
milliseconds since 1970 (UTC). The rows of a large cluster are read one page at a time, between began_ms and now_ms; a row that existed the \
whole time appears exactly once. lag_ms says how long messages of Workers and drivers recently waited for the Master. States \
have the names of the tables. settings has the properties by which the Master's scheduler decides, with their values.

An executor has id, worker, profile, state, exit_code (128 + N for signal N; null while it runs), error, cores, memory_mib, \
resources, host, port, directory, launched_ms, started_ms, ended_ms.

A Worker has excluded_for, the number of applications for which it is excluded. It may have excluded_until_ms (it is excluded \
for all applications until then), impairment (it is given nothing new, because something is wrong with it), label (it runs \
only Spark executors of these releases), and once it is lost or has left gone_ms and gone_why.

An application has id, name, user, state, end, outcome (succeeded, failed, cancelled, or null if its driver does not say), \
outcome_words, submitted_ms, ended_ms, queue, priority, gang, max_cores, cores_granted, executor_memory_mib, \
executors_live, executors_ended, executors_forgotten, executors.

A driver that was submitted with firesteel submit has id, user, command, cores, memory_mib, resources (the addresses that it was \
given), supervise, state, exit_code, error, successor (the driver that took its place), worker, host, port, directory, submitted_ms, \
launched_ms, ended_ms.

A row of usage has worker, web_address, reported_ms, machine (cores, cpu_millicores in use, memory), disk (of the work directory), \
executors (app, executor, cpu_ms, cpu_millicores, memory_bytes, peak_memory_bytes) and drivers. Memory and disk have total_bytes \
and available_bytes. Workers measure every 5 s. A Worker that has reported nothing has no row.";

/// A JSON value of a command: its schema, and what it says.
#[derive(Serialize)]
pub(in crate::cli) struct Document<T> {
    pub(in crate::cli) schema: u32,
    #[serde(flatten)]
    pub(in crate::cli) value: T,
}

/// Writes a JSON value of this schema to standard output.
pub(in crate::cli) fn print(schema: u32, value: impl Serialize) -> io::Result<()> {
    let mut stdout = plain::json();
    serde_json::to_writer_pretty(&mut stdout, &Document { schema, value })?;
    writeln!(stdout)
}

/// The tables of a Master.
#[derive(Serialize)]
pub(in crate::cli) struct Master<'a> {
    schema: u32,
    url: &'a str,
    /// The Master's time when it made the first row.
    began_ms: u64,
    /// The Master's time when it made the last row.
    now_ms: u64,
    /// How long messages of Workers and drivers waited lately until the Master handled them.
    lag_ms: u64,
    /// The settings of its scheduler, as properties.
    settings: BTreeMap<&'static str, String>,
    workers: Vec<Worker<'a>>,
    applications: Vec<Application<'a>>,
    completed: Vec<Application<'a>>,
    /// The cluster drivers, live and ended, in the order of their submission.
    drivers: Vec<Driver<'a>>,
    /// What living Workers reported last.
    usage: Vec<WorkerUsage<'a>>,
}

/// A cluster driver.
#[derive(Serialize)]
pub(in crate::cli) struct Driver<'a> {
    id: &'a DriverId,
    user: &'a str,
    /// Without its secrets.
    pub(super) command: String,
    cores: i64,
    memory_mib: i64,
    /// The addresses of custom resources that it has, or had when it ended.
    resources: &'a Resources,
    supervise: bool,
    state: &'static str,
    /// The name under which it was submitted.
    name: Option<&'a str>,
    /// How often it was started again on its Worker.
    restarts: u32,
    /// How its process ended before the last start or pause. 128 + N for signal N.
    last_exit_code: Option<i32>,
    /// When it is started again, while it pauses.
    next_start_ms: Option<u64>,
    /// Why it waits for a Worker.
    waits_for: Option<String>,
    /// 128 + N for signal N.
    pub(super) exit_code: Option<i32>,
    /// Why it is in state ERROR.
    pub(super) error: Option<String>,
    /// The cluster driver that took its place, if it was relaunched.
    successor: Option<&'a DriverId>,
    worker: Option<&'a WorkerId>,
    host: Option<&'a str>,
    port: Option<u16>,
    directory: Option<&'a str>,
    submitted_ms: u64,
    launched_ms: Option<u64>,
    ended_ms: Option<u64>,
}

impl<'a> Driver<'a> {
    /// Version of the value of one cluster driver.
    pub(in crate::cli) const SCHEMA: u32 = 1;

    /// Its command, after its name if it has one.
    pub(super) fn named_command(&self) -> String {
        self.name.map_or_else(|| self.command.clone(), |name| format!("{name}: {}", self.command))
    }

    pub(in crate::cli) fn of(view: &'a DriverView) -> Self {
        let DriverView {
            id,
            user,
            command,
            cores,
            memory,
            supervise,
            state,
            submitted,
            launched,
            ended,
            worker,
            name,
            needs: _,
            has,
            restarts,
            wait,
        } = view;
        let place = worker.as_ref();
        Self {
            id,
            user,
            command: shown_text(command),
            cores: cores.0,
            memory_mib: memory.0,
            resources: has,
            supervise: *supervise,
            state: state.name(),
            name: name.as_deref(),
            restarts: restarts.map_or(0, |it| it.restarts),
            last_exit_code: restarts.map(|it| it.last.shell_code()),
            next_start_ms: restarts.and_then(|it| it.until).map(Timestamp::millis),
            waits_for: wait.map(|wait| wait.to_string()),
            exit_code: state.exit_status().map(ExitStatus::shell_code),
            error: match state {
                DriverState::Error(error) => Some(error.to_string()),
                _ => None,
            },
            successor: match state {
                DriverState::Relaunching { successor } => Some(successor),
                _ => None,
            },
            worker: place.map(|place| &place.worker),
            host: place.map(|place| place.host.as_str()),
            port: place.map(|place| place.port),
            directory: place.map(|place| place.directory.as_str()),
            submitted_ms: submitted.millis(),
            launched_ms: launched.map(Timestamp::millis),
            ended_ms: ended.map(Timestamp::millis),
        }
    }
}

/// One application, live or ended.
#[derive(Serialize)]
pub(super) struct Detail<'a> {
    schema: u32,
    now_ms: u64,
    master: &'a str,
    application: Application<'a>,
    scheduling: Option<Scheduling<'a>>,
}

/// The scheduling status of a live application.
#[derive(Serialize)]
pub(super) struct Scheduling<'a> {
    profiles: Vec<Profile<'a>>,
    cores_spent: i64,
    failed_in_a_row: u32,
    relaunch_at_ms: Option<u64>,
    excluded: Vec<Excluded<'a>>,
    more_excluded: u64,
    impaired: Vec<Impaired<'a>>,
    ahead: u64,
    /// What the application waits for besides room, in words.
    waits_for: Option<String>,
    cluster: Cluster,
    holders: &'a [Holder],
    more_holders: u64,
}

/// A Worker that is excluded for the application.
#[derive(Serialize)]
struct Excluded<'a> {
    worker: &'a WorkerId,
    early_end: EarlyEnd,
    times: u32,
    until_ms: u64,
    for_all: bool,
}

/// A Worker that is given nothing new because something is wrong with it.
#[derive(Serialize)]
struct Impaired<'a> {
    worker: &'a WorkerId,
    impairment: String,
}

#[derive(Serialize)]
struct Worker<'a> {
    id: &'a WorkerId,
    host: &'a str,
    port: u16,
    state: WorkerState,
    /// LATE: two heartbeats are missing. FOREIGN: it runs executors of another Master. LEFT or LOST: it is gone.
    remark: Option<&'static str>,
    /// When it was lost or left.
    gone_ms: Option<u64>,
    /// Why that was.
    gone_why: Option<String>,
    cores: i64,
    cores_used: i64,
    memory_mib: i64,
    memory_used_mib: i64,
    resources: &'a Resources,
    resources_used: &'a Resources,
    last_heartbeat_ms: u64,
    excluded_for: u64,
    excluded_until_ms: Option<u64>,
    impairment: Option<String>,
    label: Option<String>,
}

#[derive(Serialize)]
pub(super) struct Application<'a> {
    pub(super) id: &'a AppId,
    pub(super) name: &'a str,
    pub(super) user: &'a str,
    state: ApplicationState,
    end: Option<&'a str>,
    outcome: Option<&'static str>,
    outcome_words: Option<&'a str>,
    submitted_ms: u64,
    ended_ms: Option<u64>,
    queue: Option<&'a str>,
    priority: i32,
    gang: u64,
    max_cores: Option<i64>,
    cores_granted: i64,
    executor_memory_mib: i64,
    executors_live: u64,
    executors_ended: u64,
    executors_forgotten: u64,
    executors: Vec<Executor<'a>>,
}

#[derive(Serialize)]
struct Executor<'a> {
    id: ExecutorId,
    worker: &'a WorkerId,
    profile: ProfileId,
    state: &'static str,
    exit_code: Option<i32>,
    error: Option<String>,
    cores: i64,
    memory_mib: i64,
    resources: &'a Resources,
    host: &'a str,
    port: u16,
    directory: &'a str,
    launched_ms: u64,
    started_ms: Option<u64>,
    ended_ms: Option<u64>,
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
    /// Why there are fewer executors than requested, in words.
    shortfall: Option<String>,
    next_executor: Option<NextExecutor<'a>>,
    advice: Vec<Advised>,
}

/// A change to the request and its immediate result. Fields that are `None` stay unchanged.
#[derive(Default, Serialize)]
struct Advised {
    executor_cores: Option<i64>,
    executor_memory_mib: Option<i64>,
    more_cores: Option<i64>,
    limit: Option<u64>,
    brings_executors: u64,
    brings_cores: i64,
}

#[derive(Serialize)]
struct Cluster {
    workers: u64,
    cores: i64,
    cores_free: i64,
    memory_mib: i64,
    memory_free_mib: i64,
}

impl<'a> Master<'a> {
    /// Version of the value. 5: one word for one thing.
    const SCHEMA: u32 = 5;

    pub(in crate::cli) fn of(view: &'a MasterView) -> Self {
        let MasterView {
            url,
            began,
            now,
            web_address: _,
            scheduling,
            reserved: _,
            lag_millis,
            workers,
            applications,
            completed,
            drivers,
            unread_executors: _,
        } = view;
        Self {
            schema: Self::SCHEMA,
            url,
            began_ms: began.millis(),
            now_ms: now.millis(),
            lag_ms: *lag_millis,
            settings: settings(scheduling).into_iter().collect(),
            workers: workers.iter().map(Worker::of).collect(),
            applications: applications.iter().map(Application::of).collect(),
            completed: completed.iter().map(Application::of).collect(),
            drivers: drivers.iter().map(Driver::of).collect(),
            usage: workers.iter().filter_map(|it| it.report.as_deref()).map(WorkerUsage::of).collect(),
        }
    }
}

impl<'a> Detail<'a> {
    /// Version of the value. 4: one word for one thing.
    const SCHEMA: u32 = 4;

    pub(super) fn of(detail: &'a ApplicationDetail) -> Self {
        Self {
            schema: Self::SCHEMA,
            now_ms: detail.now.millis(),
            master: &detail.master,
            application: Application::of(&detail.application),
            scheduling: detail.scheduling.as_ref().map(Scheduling::of),
        }
    }
}

impl<'a> Scheduling<'a> {
    pub(super) fn of(scheduling: &'a SchedulingStatus) -> Self {
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
            hindrance,
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
            waits_for: hindrance.as_ref().map(ToString::to_string),
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

impl<'a> Excluded<'a> {
    fn of(view: &'a ExcludedWorker) -> Self {
        let ExcludedWorker { worker, end, times, until, for_all } = view;
        Self { worker, early_end: *end, times: *times, until_ms: until.millis(), for_all: *for_all }
    }
}

impl<'a> Impaired<'a> {
    fn of(view: &'a ImpairedWorker) -> Self {
        Self { worker: &view.worker, impairment: view.impairment.to_string() }
    }
}

impl<'a> Worker<'a> {
    fn of(view: &'a WorkerView) -> Self {
        let remark = view.remark.as_ref();
        let gone = remark.and_then(WorkerRemark::departure);
        Self {
            remark: remark.map(WorkerRemark::name),
            gone_ms: gone.map(|gone| gone.at.millis()),
            gone_why: gone.map(|gone| gone.cause.to_string()),
            id: &view.id,
            host: &view.host,
            port: view.port,
            state: view.state,
            cores: view.cores.0,
            cores_used: view.cores_used.0,
            memory_mib: view.memory.0,
            memory_used_mib: view.memory_used.0,
            resources: &view.resources,
            resources_used: &view.resources_used,
            last_heartbeat_ms: view.last_heartbeat.millis(),
            excluded_for: view.excluded_for,
            excluded_until_ms: view.excluded_until.map(Timestamp::millis),
            impairment: view.impairment.as_ref().map(ToString::to_string),
            label: view.label.as_ref().map(ToString::to_string),
        }
    }
}

impl<'a> Application<'a> {
    pub(super) fn of(view: &'a ApplicationView) -> Self {
        Self {
            id: &view.id,
            name: &view.name,
            user: &view.user,
            state: view.state,
            end: view.end.as_deref(),
            outcome: view.outcome.as_ref().map(Outcome::word),
            outcome_words: view.outcome.as_ref().and_then(Outcome::words),
            submitted_ms: view.submitted.millis(),
            ended_ms: view.ended.map(Timestamp::millis),
            queue: view.queue.as_deref(),
            priority: view.priority,
            gang: view.gang,
            max_cores: view.max_cores.map(|most| most.0),
            cores_granted: view.cores_granted.0,
            executor_memory_mib: view.memory_per_executor.0,
            executors_live: view.executors_live,
            executors_ended: view.executors_ended,
            executors_forgotten: view.executors_forgotten,
            executors: view.executors.iter().map(|executor| Executor::of(view, executor)).collect(),
        }
    }
}

impl<'a> Executor<'a> {
    fn of(application: &ApplicationView, view: &'a ExecutorView) -> Self {
        let error = match &view.state {
            ExecutorState::Failed(failure) => Some(failure.to_string()),
            ExecutorState::Lost(reason) => Some(reason.to_string()),
            ExecutorState::Launching
            | ExecutorState::Running
            | ExecutorState::Killed(_)
            | ExecutorState::Exited(_) => None,
        };
        Self {
            id: view.id,
            worker: &view.worker,
            profile: view.profile,
            state: shown_state(application, view),
            exit_code: view.state.exit_status().map(|status| status.shell_code()),
            error,
            cores: view.cores.0,
            memory_mib: view.memory.0,
            resources: &view.resources,
            host: &view.host,
            port: view.port,
            directory: &view.directory,
            launched_ms: view.launched.millis(),
            started_ms: view.started.map(Timestamp::millis),
            ended_ms: view.ended.map(Timestamp::millis),
        }
    }
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
            advice: view.advice.iter().map(Advised::of).collect(),
        }
    }
}

impl Advised {
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
