//! The keys that Firesteel reads.

/// A Master's: when a silent Worker is lost.
pub const WORKER_TIMEOUT: &str = "spark.worker.timeout";
/// A Master's: `true` spreads out, `false` consolidates.
pub const SPREAD_OUT: &str = "spark.deploy.spreadOutApps";
/// The same, by its old name.
pub const SPREAD_OUT_OLD: &str = "spark.deploy.spreadOut";
/// A Master's: the order in which Workers are taken.
pub const WORKER_ORDER: &str = "spark.deploy.workerSelectionPolicy";
/// A Master's: cores of an application that names no maximum.
pub const DEFAULT_CORES: &str = "spark.deploy.defaultCores";
/// A Master's: when an application is given up; -1 is never.
pub const MAX_EXECUTOR_RETRIES: &str = "spark.deploy.maxExecutorRetries";
/// A Master's: how many ended applications are remembered.
pub const RETAINED_APPLICATIONS: &str = "spark.deploy.retainedApplications";
/// A Master's: for how many time-outs a lost Worker is remembered.
pub const DEAD_WORKER_PERSISTENCE: &str = "spark.dead.worker.persistence";
/// A Master's: an executor that ran so long is proven.
pub const PROVEN_AFTER: &str = "firesteel.executor.provenAfter";

/// A Worker's: when it gives up looking for a Master.
pub const MAX_REGISTRATION_RETRIES: &str = "spark.worker.maxRegistrationRetries";
/// A Worker's: how long an executor may take to end when asked.
pub const KILL_GRACE: &str = "firesteel.worker.killGrace";

/// An application's: its name.
pub const APP_NAME: &str = "spark.app.name";
/// An application's: the Master.
pub const MASTER: &str = "spark.master";
/// An application's: cores in all.
pub const CORES_MAX: &str = "spark.cores.max";
/// An application's: cores of an executor.
pub const EXECUTOR_CORES: &str = "spark.executor.cores";
/// An application's: memory of an executor.
pub const EXECUTOR_MEMORY: &str = "spark.executor.memory";
/// An application's: `spark.executor.resource.NAME.amount`.
pub const EXECUTOR_RESOURCE: &str = "spark.executor.resource.";
/// The end of the former.
pub const AMOUNT: &str = ".amount";
/// An application's: `spark.executorEnv.NAME`.
pub const EXECUTOR_ENV: &str = "spark.executorEnv.";
/// An application's: cores of a task.
pub const TASK_CPUS: &str = "spark.task.cpus";
/// An application's: how often a task may fail.
pub const TASK_MAX_FAILURES: &str = "spark.task.maxFailures";
/// An application's: how long to wait for the Master's word on a lost executor.
pub const REMOVE_DELAY: &str = "spark.standalone.executorRemoveDelayOnDisconnection";
/// An application's: when it says why no executor comes.
pub const STARVATION_TIMEOUT: &str = "spark.starvation.timeout";
/// An application's: how long to look for a Master.
pub const REGISTRATION_TIMEOUT: &str = "firesteel.driver.registrationTimeout";
/// An application's: bytes of output that a task may have under way.
pub const OUTPUT_CREDIT: &str = "firesteel.task.outputCredit";

/// A driver's: where its executors dial it.
pub const DRIVER_HOST: &str = "spark.driver.host";
/// A driver's: where it listens, if that is not its host.
pub const DRIVER_BIND_ADDRESS: &str = "spark.driver.bindAddress";
/// A driver's: the port that it listens on.
pub const DRIVER_PORT: &str = "spark.driver.port";

const ALL: [&str; 25] = [
    WORKER_TIMEOUT,
    SPREAD_OUT,
    SPREAD_OUT_OLD,
    WORKER_ORDER,
    DEFAULT_CORES,
    MAX_EXECUTOR_RETRIES,
    RETAINED_APPLICATIONS,
    DEAD_WORKER_PERSISTENCE,
    PROVEN_AFTER,
    MAX_REGISTRATION_RETRIES,
    KILL_GRACE,
    APP_NAME,
    MASTER,
    CORES_MAX,
    EXECUTOR_CORES,
    EXECUTOR_MEMORY,
    TASK_CPUS,
    TASK_MAX_FAILURES,
    REMOVE_DELAY,
    STARVATION_TIMEOUT,
    REGISTRATION_TIMEOUT,
    OUTPUT_CREDIT,
    DRIVER_HOST,
    DRIVER_BIND_ADDRESS,
    DRIVER_PORT,
];

/// Whether some daemon or application reads the key. A Master is told nothing of a Worker's keys that it is
/// given: one set of properties may serve all.
#[must_use]
pub fn is_known(key: &str) -> bool {
    let resource = || key.strip_prefix(EXECUTOR_RESOURCE).is_some_and(|rest| rest.ends_with(AMOUNT));
    ALL.contains(&key) || key.starts_with(EXECUTOR_ENV) || resource()
}
