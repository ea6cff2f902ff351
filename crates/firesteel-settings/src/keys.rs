//! The properties that Firesteel reads: one table, of which everything else that names properties is made: `--help`,
//! man pages, `firesteel config`, docs/SETTINGS.md, and the warning about those that nobody reads.
//!
//! A row is the property's meaning (one sentence, which is also the constant's documentation), the constant, the
//! name, who reads it, and what counts where it is not set: `Value("60s")` as it would be written, or
//! `Otherwise("no limit")` in words. After a new row run `UPDATE_GOLDEN=1 cargo test -p firesteel --test e2e
//! settings`, which writes docs/SETTINGS.md.

use firesteel_placement::{policy_names, worker_order_names};

use super::key::Default::{Otherwise, Value};
use super::key::Reader::{Application, Master, Worker};
use super::key::{Key, matched};

macro_rules! table {
    ($($(#[doc = $meaning:expr])+ $constant:ident: $name:literal, [$($reader:ident),+], $default:expr;)+) => {
        $($(#[doc = $meaning])+ pub const $constant: &str = $name;)+

        /// Every row, in the order of the source.
        pub static TABLE: &[Key] = &[
            $(Key {
                name: $name,
                readers: &[$($reader),+],
                default: $default,
                doc: concat!($($meaning),+),
            },)+
        ];
    };
}

table! {
    /// A Worker that sends no heartbeat for so long is lost.
    WORKER_TIMEOUT: "spark.worker.timeout", [Master], Value("60s");
    /// Whether an application's executors are spread over many Workers, or put on few.
    SPREAD_OUT: "spark.deploy.spreadOutApps", [Master], Value("true");
    /// The old name of spark.deploy.spreadOutApps, which counts where that is not set.
    SPREAD_OUT_OLD: "spark.deploy.spreadOut", [Master], Otherwise("not set");
    #[doc = concat!("Which Workers are taken first: ", worker_order_names!(), ".")]
    WORKER_ORDER: "spark.deploy.workerSelectionPolicy", [Master], Value("CORES_FREE_DESC");
    #[doc = concat!("The rule by which Workers are chosen: ", policy_names!(), " (--placement-policy).")]
    PLACEMENT_POLICY: "firesteel.placement.policy", [Master, Application], Otherwise("spark, or for an application its Master's");
    /// The cores in all of an application that does not set spark.cores.max.
    DEFAULT_CORES: "spark.deploy.defaultCores", [Master], Otherwise("no limit");
    /// An application is given up when so many of its executors ended one after the other; -1 is never.
    MAX_EXECUTOR_RETRIES: "spark.deploy.maxExecutorRetries", [Master], Value("10");
    /// How many ended applications are remembered.
    RETAINED_APPLICATIONS: "spark.deploy.retainedApplications", [Master], Value("200");
    /// A lost Worker is remembered for so many spark.worker.timeout.
    DEAD_WORKER_PERSISTENCE: "spark.dead.worker.persistence", [Master], Value("15");
    /// An executor that ran so long is no failure to start, for spark.deploy.maxExecutorRetries.
    PROVEN_AFTER: "firesteel.executor.provenAfter", [Master], Value("5s");

    /// Queues that share the cluster by their weights, such as prod=3,dev=1; an application names one (--queue).
    QUEUES: "firesteel.master.queues", [Master], Otherwise("no queues: first come, first served");
    /// Whether applications behind a gang that waits may have what is not reserved for it.
    BACKFILL: "firesteel.master.backfill", [Master], Value("true");

    /// How many executors of lower priority may end for one application within the interval below; 0 is never.
    PREEMPTION: "firesteel.master.preemption", [Master], Value("0");
    /// The interval in which firesteel.master.preemption counts.
    PREEMPTION_INTERVAL: "firesteel.master.preemption.interval", [Master], Value("60s");

    /// How often a Worker asks its Masters to register it before it gives up.
    MAX_REGISTRATION_RETRIES: "spark.worker.maxRegistrationRetries", [Worker], Value("16");
    /// How long an executor may take to end when it is asked to, before it is killed.
    KILL_GRACE: "firesteel.worker.killGrace", [Worker], Value("10s");

    /// Whether directories of applications that ended are removed, and when: see the next two.
    CLEANUP_ENABLED: "spark.worker.cleanup.enabled", [Worker], Value("true");
    /// How often a Worker looks for directories to remove.
    CLEANUP_INTERVAL: "spark.worker.cleanup.interval", [Worker], Value("1800s");
    /// A directory in which nothing was written for so long is removed.
    CLEANUP_TTL: "spark.worker.cleanup.appDataTtl", [Worker], Value("604800s");
    /// How many executors that ended a Worker remembers.
    RETAINED_EXECUTORS: "spark.worker.ui.retainedExecutors", [Worker], Value("1000");
    /// When an executor's log goes on in another file: by time or by size.
    ROLLING_STRATEGY: "spark.executor.logs.rolling.strategy", [Worker], Otherwise("never");
    /// By time: daily, hourly, minutely, or a number of seconds, at least 60.
    ROLLING_INTERVAL: "spark.executor.logs.rolling.time.interval", [Worker], Value("daily");
    /// By size: the most that one file has, at least 80 KiB.
    ROLLING_SIZE: "spark.executor.logs.rolling.maxSize", [Worker], Value("1048576");
    /// How many rolled files of a log are kept; -1 is all.
    ROLLING_RETAINED: "spark.executor.logs.rolling.maxRetainedFiles", [Worker], Value("-1");
    /// Whether rolled files are compressed.
    ROLLING_COMPRESSION: "spark.executor.logs.rolling.enableCompression", [Worker], Value("false");

    /// The application's name (--name).
    APP_NAME: "spark.app.name", [Application], Otherwise("the command's name");
    /// The Master (--master): spark://HOST:PORT[,HOST:PORT..], for an application also local-cluster[WORKERS,CORES,MEMORY-IN-MIB].
    MASTER: "spark.master", [Application, Worker], Otherwise("for an application a local cluster as large as this machine");
    /// Cores of all its executors together (--total-executor-cores).
    CORES_MAX: "spark.cores.max", [Application], Otherwise("the Master's spark.deploy.defaultCores");
    /// Cores of one executor (--executor-cores).
    EXECUTOR_CORES: "spark.executor.cores", [Application], Otherwise("one executor on each Worker, with all its cores");
    /// Memory of one executor (--executor-memory).
    EXECUTOR_MEMORY: "spark.executor.memory", [Application], Value("1g");
    /// How many executors (--num-executors); Spark's Standalone mode counts cores only.
    EXECUTOR_INSTANCES: "spark.executor.instances", [Application], Otherwise("as many as the cores allow");
    /// The Master's queue that it is in (--queue).
    QUEUE: "firesteel.app.queue", [Application], Otherwise("the queue called default, or the first one");
    /// Who comes first in its queue: the highest (--priority).
    PRIORITY: "firesteel.app.priority", [Application], Value("0");
    /// It begins with so many executors at once, or not at all (--gang); then they come one by one.
    GANG: "firesteel.app.gang", [Application], Value("1");
    /// Whether there are as many executors as there is work for; otherwise their number is fixed.
    DYNAMIC_ALLOCATION: "spark.dynamicAllocation.enabled", [Application], Value("false");
    /// Dynamic allocation never asks for fewer executors.
    MIN_EXECUTORS: "spark.dynamicAllocation.minExecutors", [Application], Value("0");
    /// Dynamic allocation never asks for more executors.
    MAX_EXECUTORS: "spark.dynamicAllocation.maxExecutors", [Application], Value("infinity");
    /// How many executors dynamic allocation begins with, if that is more than spark.executor.instances.
    INITIAL_EXECUTORS: "spark.dynamicAllocation.initialExecutors", [Application], Otherwise("spark.dynamicAllocation.minExecutors");
    /// Dynamic allocation asks for executors when tasks have waited so long.
    BACKLOG_TIMEOUT: "spark.dynamicAllocation.schedulerBacklogTimeout", [Application], Value("1s");
    /// While tasks still wait, dynamic allocation asks again after so long, for twice as many.
    SUSTAINED_BACKLOG_TIMEOUT: "spark.dynamicAllocation.sustainedSchedulerBacklogTimeout", [Application], Otherwise("spark.dynamicAllocation.schedulerBacklogTimeout");
    /// Dynamic allocation ends an executor that had nothing to do for so long.
    IDLE_TIMEOUT: "spark.dynamicAllocation.executorIdleTimeout", [Application], Value("60s");
    /// Which part of the executors that tasks could keep busy dynamic allocation asks for.
    ALLOCATION_RATIO: "spark.dynamicAllocation.executorAllocationRatio", [Application], Value("1");
    /// How many of a custom resource, such as gpu, a Worker has: addresses 0, 1 and so on (--resource names others).
    WORKER_RESOURCE: "spark.worker.resource.NAME.amount", [Worker], Otherwise("none");
    /// How many of a custom resource, such as gpu, each executor has.
    EXECUTOR_RESOURCE: "spark.executor.resource.NAME.amount", [Application], Otherwise("none");
    /// How many of its executor's addresses of a custom resource a task takes, or which part of one, at most 0.5.
    TASK_RESOURCE: "spark.task.resource.NAME.amount", [Application], Otherwise("none; it may use all that its executor has");
    /// A variable in the environment of the executors.
    EXECUTOR_ENV: "spark.executorEnv.NAME", [Application], Otherwise("not set");
    /// Files that its executors find in their directories: PATH or PATH#NAME, with commas between (--files).
    FILES: "spark.files", [Application], Otherwise("none");
    /// Archives that its executors find unpacked there, likewise (--archives).
    ARCHIVES: "spark.archives", [Application], Otherwise("none");
    /// Cores of an executor that one task takes.
    TASK_CPUS: "spark.task.cpus", [Application], Value("1");
    /// A task that failed so often is given up.
    TASK_MAX_FAILURES: "spark.task.maxFailures", [Application], Value("4");
    /// Exit codes after which a task is not retried, such as 2,124-126, or none; 124 is a timeout (--fatal-exit-codes).
    FATAL_EXIT_CODES: "firesteel.task.fatalExitCodes", [Application], Value("124");
    /// How long to wait for the Master's word on an executor that was disconnected.
    REMOVE_DELAY: "spark.standalone.executorRemoveDelayOnDisconnection", [Application], Value("5s");
    /// When to say why no executor comes.
    STARVATION_TIMEOUT: "spark.starvation.timeout", [Application], Value("15s");
    /// How long cores are kept free for tasks that could be nearer to the hosts that they prefer.
    LOCALITY_WAIT: "spark.locality.wait", [Application], Value("3s");
    /// The same until tasks run in the rack of such a host instead of on it.
    LOCALITY_WAIT_NODE: "spark.locality.wait.node", [Application], Otherwise("spark.locality.wait");
    /// The same until they run anywhere, after that.
    LOCALITY_WAIT_RACK: "spark.locality.wait.rack", [Application], Otherwise("spark.locality.wait");
    /// Whether an executor or host where tasks fail that succeed elsewhere gets no more of them for a while.
    EXCLUDE: "spark.excludeOnFailure.enabled", [Application], Value("true");
    /// How long an executor or host is excluded, and how long a failure counts.
    EXCLUDE_TIMEOUT: "spark.excludeOnFailure.timeout", [Application], Value("1h");
    /// So many tasks that failed on an executor and succeeded elsewhere exclude it.
    EXCLUDE_TASKS: "spark.excludeOnFailure.application.maxFailedTasksPerExecutor", [Application], Value("2");
    /// So many excluded executors, or executors in a row that do not start, exclude their host.
    EXCLUDE_EXECUTORS: "spark.excludeOnFailure.application.maxFailedExecutorsPerNode", [Application], Value("2");
    /// A task that failed so often on an executor does not run there again while there is another one.
    ATTEMPTS_PER_EXECUTOR: "spark.excludeOnFailure.task.maxTaskAttemptsPerExecutor", [Application], Value("1");
    /// A task that failed so often on a host does not run there again while there is another one.
    ATTEMPTS_PER_HOST: "spark.excludeOnFailure.task.maxTaskAttemptsPerNode", [Application], Value("2");
    /// A file that says which host is in which rack: a host and its rack on each line, with a blank between.
    TOPOLOGY_TABLE: "firesteel.topology.table", [Application], Otherwise("no host has a rack");
    /// How long to look for a Master.
    REGISTRATION_TIMEOUT: "firesteel.driver.registrationTimeout", [Application], Value("60s");
    /// An executor that runs and has not registered with its driver for so long is ended, and another one is asked for.
    EXECUTOR_TIMEOUT: "firesteel.driver.executorTimeout", [Application], Value("120s");
    /// How many bytes of a task's output may be under way.
    OUTPUT_CREDIT: "firesteel.task.outputCredit", [Application], Value("1m");
    /// How many bytes a shell keeps of the outputs of tasks in the background; those that ended first are forgotten.
    KEPT_OUTPUT: "firesteel.shell.keptOutput", [Application], Value("1g");
    /// The host by which executors reach the driver.
    DRIVER_HOST: "spark.driver.host", [Application], Otherwise("the address from which this machine reaches the Master");
    /// The address that the driver listens on.
    DRIVER_BIND_ADDRESS: "spark.driver.bindAddress", [Application], Otherwise("spark.driver.host");
    /// The port that the driver listens on; 0 is any free one.
    DRIVER_PORT: "spark.driver.port", [Application], Value("0");

    /// On YARN: a property of Hadoop's, which beats that of the same name in yarn-site.xml and core-site.xml.
    HADOOP: "spark.hadoop.NAME", [Application], Otherwise("as in Hadoop's files");
    /// Where its driver runs: client, which is where it is submitted, or on YARN also cluster, which is in a container (--deploy-mode).
    DEPLOY_MODE: "spark.submit.deployMode", [Application], Value("client");
    /// On YARN: the cluster's queue that it is in (--queue).
    YARN_QUEUE: "spark.yarn.queue", [Application], Value("default");
    /// On YARN: who comes first in its queue: the highest (--priority).
    YARN_PRIORITY: "spark.yarn.priority", [Application], Otherwise("the queue's");
    /// On YARN: what kind of application it is listed as, cut to 20 characters.
    YARN_TYPE: "spark.yarn.applicationType", [Application], Value("FIRESTEEL");
    /// On YARN: words by which it is found, with commas between.
    YARN_TAGS: "spark.yarn.tags", [Application], Otherwise("none");
    /// On YARN: how many ApplicationMasters it may have, one after the other.
    YARN_MAX_ATTEMPTS: "spark.yarn.maxAppAttempts", [Application], Otherwise("the cluster's yarn.resourcemanager.am.max-attempts");
    /// On YARN: an ApplicationMaster that failed so long ago does not count among those that it may have.
    YARN_ATTEMPT_WINDOW: "spark.yarn.am.attemptFailuresValidityInterval", [Application], Otherwise("all count");
    /// On YARN: whether the ApplicationMaster is a part of the command that submits, and not a container.
    YARN_UNMANAGED: "spark.yarn.unmanagedAM.enabled", [Application], Value("false");
    /// On YARN in client mode: memory of the ApplicationMaster.
    YARN_MASTER_MEMORY: "spark.yarn.am.memory", [Application], Value("512m");
    /// On YARN in client mode: memory of the ApplicationMaster's container besides that.
    YARN_MASTER_OVERHEAD: "spark.yarn.am.memoryOverhead", [Application], Otherwise("a tenth, at least 384 MiB");
    /// On YARN in client mode: virtual cores of the ApplicationMaster.
    YARN_MASTER_CORES: "spark.yarn.am.cores", [Application], Value("1");
    /// On YARN: the label of nodes where the ApplicationMaster may run.
    YARN_MASTER_LABEL: "spark.yarn.am.nodeLabelExpression", [Application], Otherwise("the queue's");
    /// On YARN: a variable in the environment of the ApplicationMaster, and in cluster mode of the driver.
    YARN_MASTER_ENV: "spark.yarn.appMasterEnv.NAME", [Application], Otherwise("not set");
    /// On YARN: how long the ApplicationMaster waits for its driver.
    YARN_WAIT_TIME: "spark.yarn.am.waitTime", [Application], Value("100s");
    /// On YARN in client mode: whether an application whose driver has vanished without a word has failed.
    YARN_SILENCE: "spark.yarn.am.clientModeTreatDisconnectAsFailed", [Application], Value("false");
    /// On YARN: the longest message that the cluster is told about the application's end.
    YARN_LONGEST_MESSAGE: "spark.yarn.am.finalMessageLimit", [Application], Value("1m");
    /// On YARN in cluster mode: memory of the ApplicationMaster and the driver together.
    DRIVER_MEMORY: "spark.driver.memory", [Application], Value("1g");
    /// On YARN in cluster mode: memory of their container besides that.
    DRIVER_OVERHEAD: "spark.driver.memoryOverhead", [Application], Otherwise("spark.driver.memoryOverheadFactor of spark.driver.memory");
    /// On YARN in cluster mode: the part of spark.driver.memory that their container has besides that.
    DRIVER_OVERHEAD_FACTOR: "spark.driver.memoryOverheadFactor", [Application], Value("0.1");
    /// On YARN in cluster mode: the least that their container has besides that.
    DRIVER_LEAST_OVERHEAD: "spark.driver.minMemoryOverhead", [Application], Value("384m");
    /// On YARN in cluster mode: virtual cores of the ApplicationMaster and the driver together.
    DRIVER_CORES: "spark.driver.cores", [Application], Value("1");
    /// On YARN: memory of an executor's container besides spark.executor.memory.
    EXECUTOR_OVERHEAD: "spark.executor.memoryOverhead", [Application], Otherwise("spark.executor.memoryOverheadFactor of spark.executor.memory");
    /// On YARN: the part of spark.executor.memory that an executor's container has besides that.
    EXECUTOR_OVERHEAD_FACTOR: "spark.executor.memoryOverheadFactor", [Application], Value("0.1");
    /// On YARN: the least that an executor's container has besides spark.executor.memory.
    EXECUTOR_LEAST_OVERHEAD: "spark.executor.minMemoryOverhead", [Application], Value("384m");
    /// On YARN: another resource of an executor's container, by YARN's name, such as 2 or 2G.
    YARN_EXECUTOR_RESOURCE: "spark.yarn.executor.resource.NAME.amount", [Application], Otherwise("none");
    /// On YARN: what the cluster calls the resource gpu.
    YARN_GPU_NAME: "spark.yarn.resourceGpuDeviceName", [Application], Value("yarn.io/gpu");
    /// On YARN: what the cluster calls the resource fpga.
    YARN_FPGA_NAME: "spark.yarn.resourceFpgaDeviceName", [Application], Value("yarn.io/fpga");
    /// On YARN, where its ACLs are on: users who may look at the application and end it, with commas between, or * for all.
    ADMIN_ACLS: "spark.admin.acls", [Application], Otherwise("who submitted it");
    /// On YARN: groups whose members may do the same.
    ADMIN_ACLS_GROUPS: "spark.admin.acls.groups", [Application], Otherwise("none");
    /// On YARN: users who may look at the application and its logs, besides those.
    VIEW_ACLS: "spark.ui.view.acls", [Application], Otherwise("none");
    /// On YARN: groups whose members may do the same.
    VIEW_ACLS_GROUPS: "spark.ui.view.acls.groups", [Application], Otherwise("none");
    /// On YARN: users who may end the application, besides those. On other clusters whoever reaches the Master's port may.
    MODIFY_ACLS: "spark.modify.acls", [Application], Otherwise("none");
    /// On YARN: groups whose members may do the same.
    MODIFY_ACLS_GROUPS: "spark.modify.acls.groups", [Application], Otherwise("none");
    /// On YARN: the label of nodes where executors may run.
    YARN_EXECUTOR_LABEL: "spark.yarn.executor.nodeLabelExpression", [Application], Otherwise("the queue's");
    /// On YARN: hosts where no executor runs, with commas between.
    YARN_EXCLUDED: "spark.yarn.exclude.nodes", [Application], Otherwise("none");
    /// On YARN: whether hosts where executors fail are avoided for spark.excludeOnFailure.timeout.
    YARN_EXCLUDE_HOSTS: "spark.yarn.executor.launch.excludeOnFailure.enabled", [Application], Value("false");
    /// On YARN: so many executors that fail end the application.
    YARN_MAX_FAILURES: "spark.executor.maxNumFailures", [Application], Otherwise("twice the executors, at least 3");
    /// On YARN: an executor that failed so long ago does not count among those.
    YARN_FAILURE_WINDOW: "spark.executor.failuresValidityInterval", [Application], Otherwise("all count");
    /// On YARN: the longest time between two calls of an ApplicationMaster to its ResourceManager.
    YARN_HEARTBEAT: "spark.yarn.scheduler.heartbeat.interval-ms", [Application], Value("3s");
    /// On YARN: the time between two such calls at first, while containers are waited for.
    YARN_INITIAL_PAUSE: "spark.yarn.scheduler.initial-allocation.interval", [Application], Value("200ms");
    /// On YARN: so many such calls that fail in a row end the ApplicationMaster.
    YARN_MAX_ERRORS: "spark.yarn.scheduler.reporterThread.maxFailures", [Application], Value("5");
    /// On YARN: so many containers are started at once.
    YARN_LAUNCHES: "spark.yarn.containerLauncherMaxThreads", [Application], Value("25");
    /// On YARN: the directory, which all nodes have, in which files are put for the containers.
    YARN_STAGING: "spark.yarn.stagingDir", [Application], Otherwise("the home directory");
    /// On YARN: whether those files are kept when the application is over.
    YARN_PRESERVE: "spark.yarn.preserve.staging.files", [Application], Value("false");
    /// On YARN: a firesteel program that all nodes have at this path, which then is not put there for each application.
    YARN_BINARY: "firesteel.yarn.binary", [Application], Otherwise("a copy of this one is put into the staging directory");
    /// On YARN: how many hosts a request for a container names, of those where tasks would like to run: many, as Spark does, or one.
    YARN_HOSTS: "firesteel.yarn.hosts.per.request", [Application], Value("many");
    /// On YARN: more files that its executors find in their directories, besides spark.files.
    YARN_FILES: "spark.yarn.dist.files", [Application], Otherwise("none");
    /// On YARN: more archives that its executors find unpacked, besides spark.archives.
    YARN_ARCHIVES: "spark.yarn.dist.archives", [Application], Otherwise("none");
    /// On YARN in cluster mode: whether the command that submits stays until the application is over.
    YARN_WAIT: "spark.yarn.submit.waitAppCompletion", [Application], Value("true");
    /// On YARN: how often the ResourceManager is asked how the application stands.
    YARN_REPORT: "spark.yarn.report.interval", [Application], Value("1s");
    /// On YARN in client mode: the same until it runs.
    YARN_LAUNCH_REPORT: "spark.yarn.clientLaunchMonitorInterval", [Application], Value("1s");
    /// On YARN: the state is told again after so many answers without news.
    YARN_REPORTS_BETWEEN: "spark.yarn.report.loggingFrequency", [Application], Value("30");
    /// On YARN: which files of logs are collected while the application runs, as a pattern of Java's.
    YARN_ROLLED_INCLUDE: "spark.yarn.rolledLog.includePattern", [Application], Otherwise("none");
    /// On YARN: which of those are not.
    YARN_ROLLED_EXCLUDE: "spark.yarn.rolledLog.excludePattern", [Application], Otherwise("none");
}

/// The row of a property. `None`: nobody reads it.
#[must_use]
pub fn find(name: &str) -> Option<&'static Key> {
    TABLE.iter().find(|key| matched(key.name, name).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::application::ApplicationSettings;
    use crate::key::Default;
    use crate::yarn::YarnSettings;
    use crate::{Properties, SettingError, WorkerSettings, master};

    #[test]
    fn every_row_is_one_sentence_about_one_property() {
        for (at, key) in TABLE.iter().enumerate() {
            let Key { name, .. } = key;
            assert!(name.starts_with("spark.") || name.starts_with("firesteel."), "{name}");
            assert!(key.meaning().ends_with('.') && key.meaning().len() < 140, "{name}: {}", key.meaning());
            assert!(
                TABLE[..at].iter().all(|other| matched(other.name, name).is_none()),
                "{name} is there twice"
            );
        }
    }

    #[test]
    fn the_table_says_the_defaults_that_the_code_has() -> Result<(), SettingError> {
        let unset = Properties::default();
        let values = TABLE.iter().filter_map(|key| match key.default {
            Default::Value(value) => Some(format!("{}={value}", key.name)),
            Default::Otherwise(_) => None,
        });
        let values: Vec<String> = values.collect();
        let set = Properties::parse(values.iter().map(String::as_str))?;
        assert_eq!(master::config(&set, String::new())?, master::config(&unset, String::new())?);
        assert_eq!(WorkerSettings::of(&set)?, WorkerSettings::of(&unset)?);
        let (one, other) = (ApplicationSettings::of(&set)?, ApplicationSettings::of(&unset)?);
        assert_eq!(one, other);
        assert_eq!(YarnSettings::of(&set, &one)?, YarnSettings::of(&unset, &other)?);
        Ok(())
    }
}
