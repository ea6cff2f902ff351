//! The properties of applications on YARN.

use super::super::key::Default::{Otherwise, Value};
use super::super::key::Key;
use super::super::key::Reader::Application;

table! {
    /// On YARN: a property of Hadoop, which overrides yarn-site.xml and core-site.xml.
    HADOOP: "spark.hadoop.NAME", [Application], Otherwise("as in Hadoop's files");
    /// On YARN: the cluster's queue for the application (--queue).
    YARN_QUEUE: "spark.yarn.queue", [Application], Value("default");
    /// On YARN: priority in the queue; higher numbers run first (--priority).
    YARN_PRIORITY: "spark.yarn.priority", [Application], Otherwise("the queue's");
    /// On YARN: type under which the application is listed, cut to 20 characters.
    YARN_TYPE: "spark.yarn.applicationType", [Application], Value("FIRESTEEL");
    /// On YARN: tags of the application, separated by commas.
    YARN_TAGS: "spark.yarn.tags", [Application], Otherwise("none");
    /// On YARN: maximum number of attempts, each with an ApplicationMaster of its own.
    YARN_MAX_ATTEMPTS: "spark.yarn.maxAppAttempts", [Application], Otherwise("the cluster's yarn.resourcemanager.am.max-attempts");
    /// On YARN: a failed attempt no longer counts after this time.
    YARN_ATTEMPT_WINDOW: "spark.yarn.am.attemptFailuresValidityInterval", [Application], Otherwise("all count");
    /// On YARN: whether the ApplicationMaster runs in the submitting command instead of a container.
    YARN_UNMANAGED: "spark.yarn.unmanagedAM.enabled", [Application], Value("false");
    /// On YARN in client mode: memory of the ApplicationMaster.
    YARN_MASTER_MEMORY: "spark.yarn.am.memory", [Application], Value("512m");
    /// On YARN in client mode: additional memory of the ApplicationMaster's container.
    YARN_MASTER_OVERHEAD: "spark.yarn.am.memoryOverhead", [Application], Otherwise("a tenth, at least 384 MiB");
    /// On YARN in client mode: virtual cores of the ApplicationMaster.
    YARN_MASTER_CORES: "spark.yarn.am.cores", [Application], Value("1");
    /// On YARN: label of the nodes where the ApplicationMaster may run.
    YARN_MASTER_LABEL: "spark.yarn.am.nodeLabelExpression", [Application], Otherwise("the queue's");
    /// On YARN: a variable in the environment of the ApplicationMaster, and in cluster mode of the driver.
    YARN_MASTER_ENV: "spark.yarn.appMasterEnv.NAME", [Application], Otherwise("not set");
    /// On YARN: how long the ApplicationMaster waits for the driver.
    YARN_WAIT_TIME: "spark.yarn.am.waitTime", [Application], Value("100s");
    /// On YARN in client mode: whether an application has failed if its driver disconnects unexpectedly.
    YARN_SILENCE: "spark.yarn.am.clientModeTreatDisconnectAsFailed", [Application], Value("false");
    /// On YARN: maximum length of the message about the application's end.
    YARN_LONGEST_MESSAGE: "spark.yarn.am.finalMessageLimit", [Application], Value("1m");
    /// On YARN in cluster mode: additional memory of their container.
    DRIVER_OVERHEAD: "spark.driver.memoryOverhead", [Application], Otherwise("spark.driver.memoryOverheadFactor of spark.driver.memory");
    /// On YARN in cluster mode: additional memory of their container as a share of spark.driver.memory.
    DRIVER_OVERHEAD_FACTOR: "spark.driver.memoryOverheadFactor", [Application], Value("0.1");
    /// On YARN in cluster mode: minimum additional memory of their container.
    DRIVER_LEAST_OVERHEAD: "spark.driver.minMemoryOverhead", [Application], Value("384m");
    /// On YARN: additional memory of an executor's container.
    EXECUTOR_OVERHEAD: "spark.executor.memoryOverhead", [Application], Otherwise("spark.executor.memoryOverheadFactor of spark.executor.memory");
    /// On YARN: additional memory of an executor's container as a share of spark.executor.memory.
    EXECUTOR_OVERHEAD_FACTOR: "spark.executor.memoryOverheadFactor", [Application], Value("0.1");
    /// On YARN: minimum additional memory of an executor's container.
    EXECUTOR_LEAST_OVERHEAD: "spark.executor.minMemoryOverhead", [Application], Value("384m");
    /// On YARN: amount of another resource of an executor's container, by YARN's name, such as 2 or 2G.
    YARN_EXECUTOR_RESOURCE: "spark.yarn.executor.resource.NAME.amount", [Application], Otherwise("none");
    /// On YARN: name of the resource gpu on the cluster.
    YARN_GPU_NAME: "spark.yarn.resourceGpuDeviceName", [Application], Value("yarn.io/gpu");
    /// On YARN: name of the resource fpga on the cluster.
    YARN_FPGA_NAME: "spark.yarn.resourceFpgaDeviceName", [Application], Value("yarn.io/fpga");
    /// On YARN: label of the nodes where executors may run.
    YARN_EXECUTOR_LABEL: "spark.yarn.executor.nodeLabelExpression", [Application], Otherwise("the queue's");
    /// On YARN: hosts where no executor may run, separated by commas.
    YARN_EXCLUDED: "spark.yarn.exclude.nodes", [Application], Otherwise("none");
    /// On YARN: whether to avoid hosts where executors fail, for spark.excludeOnFailure.timeout.
    YARN_EXCLUDE_HOSTS: "spark.yarn.executor.launch.excludeOnFailure.enabled", [Application], Value("false");
    /// On YARN: number of failed executors that ends the application.
    YARN_MAX_FAILURES: "spark.executor.maxNumFailures", [Application], Otherwise("twice the executors, at least 3");
    /// On YARN: a failed executor no longer counts after this time.
    YARN_FAILURE_WINDOW: "spark.executor.failuresValidityInterval", [Application], Otherwise("all count");
    /// On YARN: maximum time between two calls of the ApplicationMaster to the ResourceManager.
    YARN_HEARTBEAT: "spark.yarn.scheduler.heartbeat.interval-ms", [Application], Value("3s");
    /// On YARN: initial time between two such calls while containers are pending.
    YARN_INITIAL_PAUSE: "spark.yarn.scheduler.initial-allocation.interval", [Application], Value("200ms");
    /// On YARN: number of such calls in a row that may fail before the ApplicationMaster ends.
    YARN_MAX_ERRORS: "spark.yarn.scheduler.reporterThread.maxFailures", [Application], Value("5");
    /// On YARN: maximum number of containers to start at the same time.
    YARN_LAUNCHES: "spark.yarn.containerLauncherMaxThreads", [Application], Value("25");
    /// On YARN: directory that all nodes have, for the files of the containers.
    YARN_STAGING: "spark.yarn.stagingDir", [Application], Otherwise("the home directory");
    /// On YARN: whether to keep those files after the application has ended.
    YARN_PRESERVE: "spark.yarn.preserve.staging.files", [Application], Value("false");
    /// On YARN: path of a firesteel program that all nodes have; it is then not copied for each application.
    YARN_BINARY: "firesteel.yarn.binary", [Application], Otherwise("a copy of this program in the staging directory");
    /// On YARN: number of preferred hosts that a request for a container names: many, as in Spark, or one.
    YARN_HOSTS: "firesteel.yarn.hosts.per.request", [Application], Value("many");
    /// On YARN: further files for the executors' directories, besides spark.files.
    YARN_FILES: "spark.yarn.dist.files", [Application], Otherwise("none");
    /// On YARN: further archives for the executors' directories, besides spark.archives.
    YARN_ARCHIVES: "spark.yarn.dist.archives", [Application], Otherwise("none");
    /// On YARN in cluster mode: whether the submitting command waits until the application has ended.
    YARN_WAIT: "spark.yarn.submit.waitAppCompletion", [Application], Value("true");
    /// On YARN: time between two status requests to the ResourceManager.
    YARN_REPORT: "spark.yarn.report.interval", [Application], Value("1s");
    /// On YARN in client mode: time between two status requests until the application runs.
    YARN_LAUNCH_REPORT: "spark.yarn.clientLaunchMonitorInterval", [Application], Value("1s");
    /// On YARN: number of status requests without change after which the state is logged again.
    YARN_REPORTS_BETWEEN: "spark.yarn.report.loggingFrequency", [Application], Value("30");
    /// On YARN: Java pattern of the log files to collect while the application runs.
    YARN_ROLLED_INCLUDE: "spark.yarn.rolledLog.includePattern", [Application], Otherwise("none");
    /// On YARN: Java pattern of the log files not to collect while the application runs.
    YARN_ROLLED_EXCLUDE: "spark.yarn.rolledLog.excludePattern", [Application], Otherwise("none");
}

pub(super) fn rows() -> std::slice::Iter<'static, Key> {
    TABLE.iter()
}
