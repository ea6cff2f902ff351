//! The settings of an application, from properties.
//!
//! - [`ApplicationSettings`]: all settings of an application, wherever its executors run.
//! - `allocation`, `amounts`, `exclusion`, [`listen`]: parts of these settings.
//! - [`description`]: the description of an application for its Master.
//! - [`yarn`], [`application_master`]: the settings of an application on YARN, and of its ApplicationMaster.
//! - [`cluster_driver`]: the settings of a cluster driver.

mod allocation;
pub(super) mod amounts;
pub mod application_master;
pub mod cluster_driver;
pub mod description;
mod exclusion;
pub mod listen;
pub mod yarn;

use std::collections::BTreeMap;
use std::time::Duration;

use firesteel_engine::driver::{
    Allocation, DynamicAllocation, ExclusionPolicy, ExitCodes, Heartbeats, LocalityWait, TaskNeeds,
};
use firesteel_placement::advanced::locality::Topology;
use firesteel_placement::advanced::resources::{TaskResources, without_kind};
use firesteel_placement::{Cores, ExecutorLimit, MiB, Policy, ResourceAmounts};
use firesteel_protocol::scheduling::run_time;

use crate::resources::GPU;
use crate::values::duration::Unit;
use crate::values::size;
use crate::{Origin, Properties, SettingError, keys};

/// The variable with which an application requests CUDA's variables for a resource. Its value is the name of the
/// resource.
pub const CUDA: &str = "FIRESTEEL_CUDA";

/// The accepted syntax of exit codes, for error messages.
const EXIT_CODES: &str = "numbers from 1 to 255 and ranges, such as 2,124-126, or none";
/// The exit code of the program `timeout` when the time limit has passed.
const TIMED_OUT: u8 = 124;

/// The settings of an application that come from properties. Some flags of submit commands set the same
/// properties: `--total-executor-cores` sets `spark.cores.max`, `--executor-cores` sets
/// `spark.executor.cores`, `--executor-memory` sets `spark.executor.memory`, `--num-executors` sets
/// `spark.executor.instances`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApplicationSettings {
    pub name: Option<String>,
    pub master: Option<String>,
    /// The maximum number of cores, from `spark.cores.max`. `None`: the Master's default.
    pub max_cores: Option<Cores>,
    /// The cores per executor, from `spark.executor.cores`. `None`: one executor on each Worker.
    pub executor_cores: Option<Cores>,
    /// The memory per executor, from `spark.executor.memory`; 1 GiB by default.
    pub executor_memory: MiB,
    /// The number of executors at the start, from `spark.executor.instances`. If it is not set, as many executors as
    /// the cores allow. Spark's Standalone mode reads this only together with dynamic allocation.
    pub executors: ExecutorLimit,
    /// The policy, from `firesteel.placement.policy`. `None`: the Master's policy.
    pub policy: Option<Policy>,
    pub queue: Option<String>,
    /// The application's priority in its queue, from `firesteel.app.priority`; 0 by default. Higher numbers run first.
    pub priority: i32,
    /// The number of executors that start together or not at all, from `firesteel.app.gang`. The default 1 means that
    /// executors start one by one.
    pub gang: u64,
    /// How the number of executors changes during the run, from `spark.dynamicAllocation.*`.
    pub allocation: Allocation,
    /// The custom resources per executor, from `spark.executor.resource.NAME.amount`.
    pub executor_resources: ResourceAmounts,
    /// The custom resources per task, from `spark.task.resource.NAME.amount`.
    pub task_resources: TaskResources,
    /// The variables of executors, from `spark.executorEnv.NAME`.
    pub executor_environment: BTreeMap<String, String>,
    pub files: Vec<String>,
    pub archives: Vec<String>,
    /// The cores per task, from `spark.task.cpus`; 1 by default.
    pub task_cores: Cores,
    /// The maximum number of failures of a task, from `spark.task.maxFailures`; 4 by default, at least 1.
    pub max_task_failures: u32,
    /// The exit codes after which a task is not retried, from `firesteel.task.fatalExitCodes`; 124 by
    /// default.
    pub fatal_exit_codes: ExitCodes,
    /// How long a disconnected executor may take to end before it counts as lost, from
    /// `spark.standalone.executorRemoveDelayOnDisconnection`; 5 s by default.
    pub loss_delay: Duration,
    /// How long an executor may take to return after its connection broke, from `firesteel.executor.awayTimeout`; 30 s
    /// by default.
    pub away_timeout: Duration,
    /// How long an executor may take to register, from `firesteel.driver.executorTimeout`; 120 s by default.
    pub executor_timeout: Duration,
    /// The times from `spark.executor.heartbeatInterval`, `spark.network.timeout` and
    /// `spark.executor.heartbeat.maxFailures`; 10 s, 120 s and 60 intervals by default.
    pub heartbeats: Heartbeats,
    /// How long to wait until a message says that no executor has registered, from `spark.starvation.timeout`; 15 s by
    /// default.
    pub starvation_timeout: Duration,
    /// The waits from `spark.locality.wait.node` and `.rack`. The default of both is `spark.locality.wait`, or 3 s.
    pub locality_wait: LocalityWait,
    /// The exclusion policy, from `spark.excludeOnFailure.*`; on by default.
    pub exclusion: ExclusionPolicy,
    /// The racks in the file that `firesteel.topology.table` names; empty if not set.
    pub topology: Topology,
    /// How long to try to reach a Master before giving up, from `firesteel.driver.registrationTimeout`; 60 s by
    /// default.
    pub registration_timeout: Duration,
    /// The number of bytes of a task's output that may be in transit, from `firesteel.task.outputCredit`; 1 MiB by
    /// default.
    pub output_credit: u64,
    /// The number of bytes of output that `firesteel shell` keeps, from `firesteel.shell.keptOutput`; 1 GiB by default.
    pub kept_output: u64,
}

impl ApplicationSettings {
    /// Reads the settings. Settings that are not set have Spark's default.
    ///
    /// # Errors
    /// The first value that cannot be used.
    pub fn of(properties: &Properties) -> Result<Self, SettingError> {
        let seconds = |key, default| {
            properties.duration(key, Unit::Seconds).map(|set| set.unwrap_or(Duration::from_secs(default)))
        };
        let text = |key| properties.get(key).map(str::to_owned);
        let bytes = |text: &str| size::bytes(text, size::Unit::Bytes).ok().filter(|bytes| *bytes > 0);
        let executors = properties
            .count(keys::EXECUTOR_INSTANCES)?
            .map_or(ExecutorLimit::Unlimited, |count| ExecutorLimit::AtMost(count.into()));
        let gang = properties.positive(keys::GANG)?.unwrap_or(1);
        let executor_resources = amounts::of_executors(properties)?;
        let settings = Self {
            name: text(keys::APP_NAME),
            master: text(keys::MASTER),
            max_cores: properties.cores(keys::CORES_MAX)?,
            executor_cores: properties.cores(keys::EXECUTOR_CORES)?,
            executor_memory: properties.memory(keys::EXECUTOR_MEMORY)?.unwrap_or(MiB(1024)),
            executors,
            policy: properties.policy()?,
            queue: text(keys::QUEUE),
            priority: properties
                .read(keys::PRIORITY, "a whole number from -2147483648 to 2147483647", |text| {
                    text.parse().ok()
                })?
                .unwrap_or(0),
            gang: gang.into(),
            allocation: starting_with(gang.into(), allocation::of(properties, executors)?),
            task_resources: amounts::of_tasks(properties, &executor_resources)?,
            executor_resources,
            executor_environment: with_run_time(
                environment(properties),
                properties.period(keys::RUN_TIME, Unit::Seconds)?,
            ),
            files: list(properties, keys::FILES),
            archives: list(properties, keys::ARCHIVES),
            task_cores: properties.cores(keys::TASK_CPUS)?.unwrap_or(Cores(1)),
            max_task_failures: properties.positive(keys::TASK_MAX_FAILURES)?.unwrap_or(4),
            fatal_exit_codes: properties
                .read(keys::FATAL_EXIT_CODES, EXIT_CODES, |text| text.parse().ok())?
                .unwrap_or_else(|| [TIMED_OUT].into_iter().collect()),
            loss_delay: seconds(keys::REMOVE_DELAY, 5)?,
            away_timeout: seconds(keys::EXECUTOR_AWAY_TIMEOUT, 30)?,
            executor_timeout: properties
                .period(keys::EXECUTOR_TIMEOUT, Unit::Seconds)?
                .unwrap_or(Duration::from_secs(120)),
            heartbeats: heartbeats(properties)?,
            starvation_timeout: seconds(keys::STARVATION_TIMEOUT, 15)?,
            locality_wait: locality_wait(properties)?,
            exclusion: exclusion::of(properties)?,
            topology: topology(properties)?,
            registration_timeout: seconds(keys::REGISTRATION_TIMEOUT, 60)?,
            output_credit: properties.read(keys::OUTPUT_CREDIT, size::EXPECTED, bytes)?.unwrap_or(1 << 20),
            kept_output: properties.read(keys::KEPT_OUTPUT, size::EXPECTED, bytes)?.unwrap_or(1 << 30),
        };
        settings.check(properties)?;
        Ok(settings)
    }

    /// The resources that a task needs on an executor of the default profile.
    #[must_use]
    pub fn task_needs(&self) -> TaskNeeds {
        let (cores, resources) = (self.task_cores, self.task_resources.clone());
        TaskNeeds { cores, resources, ..TaskNeeds::default() }
    }

    /// A message about resources that stay idle on every executor, because another resource limits its number of tasks.
    #[must_use]
    pub fn idle_resources(&self) -> Option<String> {
        let cores = self.executor_cores.map(|each| (each, self.task_cores));
        amounts::idle(cores, &self.executor_resources, &self.task_resources)
    }

    /// Whether the application has files or archives.
    #[must_use]
    pub fn brings_files(&self) -> bool {
        !self.files.is_empty() || !self.archives.is_empty()
    }

    /// Checks that the application can run at all. Otherwise it would wait forever.
    fn check(&self, properties: &Properties) -> Result<(), SettingError> {
        amounts::check(&self.executor_resources, &self.task_resources, properties)?;
        let Some(each) = self.executor_cores else { return Ok(()) };
        let is_written = |key| properties.origin(key).is_some_and(Origin::is_command_line);
        let at_least = |cores: Cores, less, than: Cores, more, so| match cores < than {
            true => {
                let is_usage = is_written(less) || is_written(more);
                Err(SettingError::Contradiction { less, fewer: cores.0, more, greater: than.0, so, is_usage })
            }
            false => Ok(()),
        };
        if let Some(max) = self.max_cores {
            at_least(max, keys::CORES_MAX, each, keys::EXECUTOR_CORES, "no executor could ever start")?;
        }
        at_least(each, keys::EXECUTOR_CORES, self.task_cores, keys::TASK_CPUS, "no executor could run a task")
    }
}

/// The variables, with the estimated run time added. The Master reads the run time from these variables.
fn with_run_time(
    mut variables: BTreeMap<String, String>,
    estimate: Option<Duration>,
) -> BTreeMap<String, String> {
    variables.extend(estimate.map(|estimate| (run_time::RUN_TIME.to_owned(), run_time::value(estimate))));
    variables
}

/// The allocation for an application with a gang. The gang's executors are requested at once, and not one after the
/// other as the demand grows.
fn starting_with(gang: u64, allocation: Allocation) -> Allocation {
    match allocation {
        Allocation::Dynamic(dynamic) if gang > 1 => {
            let initial = dynamic.initial.max(gang.min(dynamic.max));
            Allocation::Dynamic(DynamicAllocation { initial, ..dynamic })
        }
        Allocation::Dynamic(_) | Allocation::Fixed => allocation,
    }
}

fn heartbeats(properties: &Properties) -> Result<Heartbeats, SettingError> {
    let default = Heartbeats::default();
    let heartbeats = Heartbeats {
        interval: properties.period(keys::HEARTBEAT_INTERVAL, Unit::Millis)?.unwrap_or(default.interval),
        timeout: properties.period(keys::NETWORK_TIMEOUT, Unit::Seconds)?.unwrap_or(default.timeout),
        max_failures: properties.positive(keys::HEARTBEAT_FAILURES)?.unwrap_or(default.max_failures),
    };
    if heartbeats.timeout <= heartbeats.interval {
        let is_written = |key| properties.origin(key).is_some_and(Origin::is_command_line);
        return Err(SettingError::TimeoutTooShort {
            timeout: heartbeats.timeout,
            interval: heartbeats.interval,
            is_usage: is_written(keys::NETWORK_TIMEOUT) || is_written(keys::HEARTBEAT_INTERVAL),
        });
    }
    Ok(heartbeats)
}

fn locality_wait(properties: &Properties) -> Result<LocalityWait, SettingError> {
    let wait = |key| properties.duration(key, Unit::Millis);
    let both = wait(keys::LOCALITY_WAIT)?.unwrap_or(Duration::from_secs(3));
    Ok(LocalityWait {
        node: wait(keys::LOCALITY_WAIT_NODE)?.unwrap_or(both),
        rack: wait(keys::LOCALITY_WAIT_RACK)?.unwrap_or(both),
    })
}

fn topology(properties: &Properties) -> Result<Topology, SettingError> {
    let key = keys::TOPOLOGY_TABLE;
    let Some(path) = properties.get(key) else { return Ok(Topology::default()) };
    let failed = |error: String| SettingError::File { key, path: path.to_owned(), error };
    let table = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    Topology::parse(&table).map_err(|error| failed(error.to_string()))
}

fn environment(properties: &Properties) -> BTreeMap<String, String> {
    let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    let is_gpu = |(name, _): (&str, &str)| without_kind(name) == GPU;
    let default = properties.family(keys::EXECUTOR_RESOURCE).any(is_gpu).then_some(GPU);
    let cuda = properties.get(keys::EXECUTOR_CUDA).or(default).map(|name| (CUDA, name));
    properties.family(keys::EXECUTOR_ENV).chain(cuda).map(owned).collect()
}

/// The values of a list separated by commas.
pub fn list(properties: &Properties, key: &str) -> Vec<String> {
    let words = properties.get(key).unwrap_or_default().split(',').map(str::trim);
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use firesteel_engine::driver::Exclusion;
    use firesteel_placement::Amount;
    use firesteel_placement::advanced::resources::TaskAmount;

    use super::*;

    fn parsed(pairs: &[&str]) -> Result<ApplicationSettings, SettingError> {
        ApplicationSettings::of(&Properties::parse(pairs.iter().copied())?)
    }

    fn defaults() -> ApplicationSettings {
        ApplicationSettings {
            name: None,
            master: None,
            max_cores: None,
            executor_cores: None,
            executor_memory: MiB(1024),
            executors: ExecutorLimit::Unlimited,
            policy: None,
            queue: None,
            priority: 0,
            gang: 1,
            allocation: Allocation::Fixed,
            executor_resources: ResourceAmounts::new(),
            task_resources: TaskResources::new(),
            executor_environment: BTreeMap::new(),
            files: Vec::new(),
            archives: Vec::new(),
            task_cores: Cores(1),
            max_task_failures: 4,
            fatal_exit_codes: [124].into_iter().collect(),
            loss_delay: Duration::from_secs(5),
            away_timeout: Duration::from_secs(30),
            executor_timeout: Duration::from_secs(120),
            heartbeats: Heartbeats::default(),
            starvation_timeout: Duration::from_secs(15),
            locality_wait: LocalityWait { node: Duration::from_secs(3), rack: Duration::from_secs(3) },
            exclusion: ExclusionPolicy::default(),
            topology: Topology::default(),
            registration_timeout: Duration::from_secs(60),
            output_credit: 1 << 20,
            kept_output: 1 << 30,
        }
    }

    #[test]
    fn what_could_never_run_is_told() {
        let said = |pairs: &[&str]| parsed(pairs).expect_err("it cannot run").to_string();
        assert_eq!(
            said(&["spark.cores.max=2", "spark.executor.cores=4"]),
            "spark.cores.max is 2 and spark.executor.cores is 4: no executor could ever start; raise one or lower \
             the other"
        );
        assert_eq!(
            said(&["spark.executor.cores=1", "spark.task.cpus=2"]),
            "spark.executor.cores is 1 and spark.task.cpus is 2: no executor could run a task; raise one or lower \
             the other"
        );
        assert!(parsed(&["spark.cores.max=4", "spark.executor.cores=4", "spark.task.cpus=4"]).is_ok());
        assert_eq!(
            said(&["spark.network.timeout=10s"]),
            "spark.network.timeout is 10s and spark.executor.heartbeatInterval is 10s: the timeout must be longer than \
             the interval; raise one or lower the other"
        );
        assert!(parsed(&["spark.network.timeout=10s", "spark.executor.heartbeatInterval=9999"]).is_ok());
    }

    #[test]
    fn every_key_reaches_its_field() {
        assert_eq!(parsed(&[]), Ok(defaults()));
        let pairs = [
            "spark.app.name=sums",
            "spark.master=spark://h:7077",
            "spark.cores.max=24",
            "spark.executor.cores=6",
            "spark.executor.memory=2g",
            "spark.executor.instances=3",
            "firesteel.app.queue=prod",
            "firesteel.app.priority=-5",
            "firesteel.app.gang=3",
            "firesteel.app.runTime=10m",
            "spark.executor.resource.gpu.amount=2",
            "spark.task.resource.gpu.amount=0.25",
            "spark.task.resource.nic.amount=0",
            "spark.executorEnv.LANG=C",
            "spark.files=a, dir/b#c,,",
            "spark.archives=d.zip",
            "spark.task.cpus=2",
            "spark.task.maxFailures=1",
            "firesteel.task.fatalExitCodes=2,64-66",
            "spark.standalone.executorRemoveDelayOnDisconnection=1s",
            "spark.starvation.timeout=2",
            "firesteel.executor.awayTimeout=0",
            "firesteel.driver.executorTimeout=1min",
            "spark.executor.heartbeatInterval=2000",
            "spark.network.timeout=30",
            "spark.executor.heartbeat.maxFailures=5",
            "spark.excludeOnFailure.enabled=false",
            "spark.excludeOnFailure.timeout=1min",
            "spark.excludeOnFailure.application.maxFailedTasksPerExecutor=3",
            "spark.excludeOnFailure.application.maxFailedExecutorsPerNode=4",
            "spark.excludeOnFailure.task.maxTaskAttemptsPerExecutor=5",
            "spark.excludeOnFailure.task.maxTaskAttemptsPerNode=6",
            "firesteel.placement.policy=Spread-Held",
            "spark.locality.wait=2500",
            "spark.locality.wait.node=1s",
            "firesteel.driver.registrationTimeout=3s",
            "firesteel.task.outputCredit=64k",
            "firesteel.shell.keptOutput=1m",
        ];
        let expected = ApplicationSettings {
            name: Some("sums".to_owned()),
            master: Some("spark://h:7077".to_owned()),
            max_cores: Some(Cores(24)),
            executor_cores: Some(Cores(6)),
            executor_memory: MiB(2048),
            executors: ExecutorLimit::AtMost(3),
            policy: Some(Policy::SpreadHeld),
            queue: Some("prod".to_owned()),
            priority: -5,
            gang: 3,
            allocation: Allocation::Fixed,
            executor_resources: ResourceAmounts::from([("gpu".to_owned(), Amount::Whole(2))]),
            task_resources: TaskResources::from([("gpu".to_owned(), TaskAmount::Shared(4))]),
            executor_environment: BTreeMap::from([
                ("FIRESTEEL_CUDA".to_owned(), "gpu".to_owned()),
                ("FIRESTEEL_RUN_TIME".to_owned(), "600".to_owned()),
                ("LANG".to_owned(), "C".to_owned()),
            ]),
            files: vec!["a".to_owned(), "dir/b#c".to_owned()],
            archives: vec!["d.zip".to_owned()],
            task_cores: Cores(2),
            max_task_failures: 1,
            fatal_exit_codes: [2, 64, 65, 66].into_iter().collect(),
            loss_delay: Duration::from_secs(1),
            away_timeout: Duration::ZERO,
            executor_timeout: Duration::from_secs(60),
            heartbeats: Heartbeats {
                interval: Duration::from_secs(2),
                timeout: Duration::from_secs(30),
                max_failures: 5,
            },
            starvation_timeout: Duration::from_secs(2),
            locality_wait: LocalityWait { node: Duration::from_secs(1), rack: Duration::from_millis(2500) },
            exclusion: ExclusionPolicy {
                exclusion: Exclusion::Off,
                timeout: Duration::from_secs(60),
                max_failed_tasks_per_executor: 3,
                max_failed_executors_per_host: 4,
                max_task_attempts_per_executor: 5,
                max_task_attempts_per_host: 6,
            },
            topology: Topology::default(),
            registration_timeout: Duration::from_secs(3),
            output_credit: 64 << 10,
            kept_output: 1 << 20,
        };
        assert_eq!(parsed(&pairs), Ok(expected));
    }

    #[test]
    fn a_topology_is_read_and_what_is_wrong_with_it_is_told() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let path = file.path().display();
        std::fs::write(file.path(), "h1 /r1\n").expect("written");
        let pair = format!("firesteel.topology.table={path}");
        assert_eq!(parsed(&[&pair]).expect("a table").topology.rack("h1"), Some("/r1"));
        std::fs::write(file.path(), "h1\n").expect("written");
        assert_eq!(
            parsed(&[&pair]).expect_err("no rack").to_string(),
            format!(
                "firesteel.topology.table: {path}: line 1 is \"h1\": write a host and its rack with a blank between, \
                 such as \"node-1 /rack-1\""
            )
        );
        assert_eq!(
            parsed(&["firesteel.topology.table=/nowhere/racks"]).expect_err("no file").to_string(),
            "firesteel.topology.table: /nowhere/racks: No such file or directory (os error 2)"
        );
    }

    #[test]
    fn memory_alone_counts_mebibytes() {
        assert_eq!(parsed(&["spark.executor.memory=512"]).map(|s| s.executor_memory), Ok(MiB(512)));
    }

    #[test]
    fn unusable_values_are_refused() {
        for pair in [
            "spark.executor.memory=1.5g",
            "spark.executor.cores=-1",
            "spark.executor.instances=-1",
            "spark.task.maxFailures=0",
            "spark.executor.heartbeatInterval=0",
            "spark.executor.heartbeat.maxFailures=0",
            "firesteel.task.fatalExitCodes=0",
            "spark.executor.resource.gpu.amount=two",
            "firesteel.task.outputCredit=0",
        ] {
            assert!(parsed(&[pair]).is_err(), "{pair}");
        }
    }
}
