//! The properties of Spark that Firesteel does not read, each with the reason. Properties that ask for protection are
//! in [`protection`], too.

pub mod protection;

use super::key::matched;

/// How Firesteel treats a Spark property that is not in the table of [`keys`](super::keys).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// The property concerns something that Firesteel does not have. Spark may read the same file, so there is no
    /// warning.
    NotOurs,
    /// Spark's applications use the property. Firesteel's own applications do not use it, and the user gets a warning.
    SparkApplications,
    /// The property concerns something that Firesteel has, but the property has no effect. The user gets a warning.
    NoEffect,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub name: &'static str,
    pub treatment: Treatment,
    /// Values, in lower case, that request only what Firesteel does anyway.
    pub harmless: &'static [&'static str],
    pub why: &'static str,
}

const fn row(
    name: &'static str,
    treatment: Treatment,
    harmless: &'static [&'static str],
    why: &'static str,
) -> Row {
    Row { name, treatment, harmless, why }
}

use Treatment::{NoEffect, NotOurs, SparkApplications};

/// Why a daemon does not read a property of [`Treatment::SparkApplications`].
pub const OF_APPLICATIONS: &str = "for Spark's applications";

const OWN_JOURNAL: &str = "a Master writes a journal of its own format";
const OWN_PAGES: &str = "Firesteel has pages of its own";
const REST: &str = "the REST port is served by one thread";
const IDS: &str = "ids always have Spark's default pattern";
const NO_JVM: &str = "for Spark's drivers and executors; Firesteel's own have no JVM";
const SHUFFLE: &str = "for Spark's drivers and executors; Firesteel's own applications have no shuffles";
const NO_KERBEROS: &str = "Firesteel does not support Kerberos";
const OWN_PROTOCOL: &str = "Firesteel's own applications have their own protocol";
const DECOMMISSION: &str = "a Worker always obeys firesteel decommission, and is given no signal for it";

/// All rows, from special to general: the first row that matches a name counts.
pub const TABLE: &[Row] = &[
    row(
        "spark.authenticate*",
        NoEffect,
        &["false", ""],
        "peers prove secrets with firesteel.credentials.file",
    ),
    row(
        "spark.ssl.*",
        NoEffect,
        &["false", ""],
        "Firesteel has TLS for pages and Spark's applications, with PEM files",
    ),
    row(
        "spark.network.crypto.*",
        NotOurs,
        &["false"],
        "a Master or Worker finds out how an application of Spark's encrypts; Firesteel's own encrypt otherwise",
    ),
    row(
        "spark.network.sasl.serverAlwaysEncrypt",
        NoEffect,
        &["false"],
        "Firesteel has encryption of its own: firesteel.credentials.file",
    ),
    row(
        "spark.io.encryption.*",
        SparkApplications,
        &["false"],
        "Firesteel's own applications do not encrypt files",
    ),
    row(
        "spark.acls.enable",
        NoEffect,
        &["false"],
        "YARN's own setting decides on YARN; other clusters have no access control",
    ),
    row("spark.ui.acls.enable", NoEffect, &["false"], "an old name of spark.acls.enable"),
    // Properties of a Master.
    row("spark.deploy.recoveryMode.factory", NoEffect, &[], OWN_JOURNAL),
    row("spark.deploy.recoveryCompressionCodec", NoEffect, &[], OWN_JOURNAL),
    row("spark.deploy.recoverySerializationFilter", NoEffect, &[], OWN_JOURNAL),
    row("spark.deploy.driverIdPattern", NoEffect, &[], IDS),
    row("spark.deploy.appIdPattern", NoEffect, &["app-%s-%04d"], IDS),
    row("spark.deploy.appNumberModulo", NoEffect, &[], IDS),
    row("spark.worker.idPattern", NoEffect, &["worker-%s-%s-%d"], IDS),
    row("spark.master.useAppNameAsAppId.enabled", NoEffect, &["false"], IDS),
    row(
        "spark.master.useDriverIdAsAppName.enabled",
        NoEffect,
        &["false"],
        "cluster drivers are programs, which name their applications themselves",
    ),
    row("spark.master.rest.*", NoEffect, &[], REST),
    row("spark.master.ui.*", NoEffect, &[], OWN_PAGES),
    // Properties of a Worker.
    row("spark.worker.initialRegistrationRetries", NoEffect, &[], "see spark.worker.maxRegistrationRetries"),
    row(
        "spark.worker.preferConfiguredMasterAddress",
        NoEffect,
        &[],
        "a Worker always uses the Master's configured address",
    ),
    row(
        "spark.worker.executorStateSync.maxAttempts",
        NoEffect,
        &[],
        "a Worker reports the end of an executor until the Master has it",
    ),
    row("spark.worker.decommission.*", NoEffect, &[], DECOMMISSION),
    row("spark.worker.resource.*", NoEffect, &[], "the amount and the discovery script are read"),
    row("spark.worker.ui.*", NoEffect, &[], OWN_PAGES),
    row("spark.decommission.*", SparkApplications, &["false"], DECOMMISSION),
    row("spark.storage.decommission.*", NotOurs, &[], SHUFFLE),
    // Properties of an application.
    row("spark.standalone.submit.*", NoEffect, &["false"], "firesteel submit waits with --wait"),
    row("spark.dynamicAllocation.*", NotOurs, &[], SHUFFLE),
    row(
        "spark.locality.wait.process",
        SparkApplications,
        &[],
        "Firesteel's own tasks keep no data in executors",
    ),
    row(
        "spark.excludeOnFailure.stage.*",
        SparkApplications,
        &[],
        "Firesteel's own applications have no stages",
    ),
    row(
        "spark.excludeOnFailure.killExcludedExecutors*",
        SparkApplications,
        &["false"],
        "Firesteel's own applications keep an excluded executor as a last resort",
    ),
    row(
        "spark.excludeOnFailure.application.fetchFailure.enabled",
        SparkApplications,
        &["false"],
        "Firesteel's own applications have no shuffles",
    ),
    row(
        "spark.speculation*",
        SparkApplications,
        &["false"],
        "Firesteel's own applications run no task twice",
    ),
    row(
        "spark.scheduler.minRegisteredResourcesRatio",
        SparkApplications,
        &["0", "0.0"],
        "tasks of Firesteel's own applications start with the first executor",
    ),
    row(
        "spark.scheduler.maxRegisteredResourcesWaitingTime",
        SparkApplications,
        &[],
        "tasks of Firesteel's own applications start with the first executor",
    ),
    row("spark.scheduler.*", NotOurs, &[], "for the job scheduler inside a Spark application"),
    row(
        "spark.task.resource.*",
        SparkApplications,
        &[],
        "Firesteel's own applications read only spark.task.resource.NAME.amount",
    ),
    row(
        "spark.executor.resource.*",
        SparkApplications,
        &[],
        "Firesteel's own applications read only spark.executor.resource.NAME.amount",
    ),
    row(
        "spark.driver.resource.*",
        SparkApplications,
        &[],
        "Firesteel's own drivers read only spark.driver.resource.NAME.amount",
    ),
    row("spark.rpc.*", SparkApplications, &[], OWN_PROTOCOL),
    row("spark.network.*", SparkApplications, &[], OWN_PROTOCOL),
    // Properties of parts that Firesteel does not have.
    row("spark.ui.*", NotOurs, &[], OWN_PAGES),
    row("spark.storage.*", NotOurs, &[], SHUFFLE),
    row("spark.driver.*", NotOurs, &[], NO_JVM),
    row("spark.executor.*", NotOurs, &[], NO_JVM),
    row("spark.memory.*", NotOurs, &[], NO_JVM),
    row("spark.metrics.*", NotOurs, &[], "Firesteel has no metrics sinks"),
    row("spark.eventLog.*", NotOurs, &[], "Firesteel writes no event log"),
    row("spark.history.*", NotOurs, &[], "for Spark's history server"),
    row("spark.yarn.jars", NotOurs, &[], NO_JVM),
    row("spark.yarn.archive", NotOurs, &[], NO_JVM),
    row("spark.yarn.dist.*", NotOurs, &[], NO_JVM),
    row("spark.yarn.populateHadoopClasspath", NotOurs, &[], NO_JVM),
    row("spark.yarn.user.*", NotOurs, &[], NO_JVM),
    row("spark.yarn.am.extra*", NotOurs, &[], NO_JVM),
    row("spark.yarn.metrics.*", NotOurs, &[], "Firesteel has no metrics sinks"),
    row("spark.yarn.historyServer.*", NotOurs, &[], "for Spark's history server"),
    row("spark.yarn.includeDriverLogsLink", NotOurs, &[], OWN_PAGES),
    row("spark.yarn.cache.*", NotOurs, &[], "spark-submit sets it"),
    row("spark.yarn.client.statCache.*", NotOurs, &[], "Firesteel requests the status of each file once"),
    row("spark.yarn.keytab", NoEffect, &[], NO_KERBEROS),
    row("spark.yarn.principal", NoEffect, &[], NO_KERBEROS),
    row("spark.yarn.access.*", NoEffect, &[], NO_KERBEROS),
    row("spark.yarn.am.tokenConfRegex", NoEffect, &[], NO_KERBEROS),
    row("spark.yarn.am.resource.*", NoEffect, &[], "an ApplicationMaster has only memory and cores"),
    row("spark.yarn.driver.resource.*", NoEffect, &[], "an ApplicationMaster has only memory and cores"),
    row(
        "spark.yarn.executor.resource.*",
        NoEffect,
        &[],
        "only spark.yarn.executor.resource.NAME.amount is read",
    ),
    row(
        "spark.yarn.am.clientModeExitOnError",
        NoEffect,
        &["true"],
        "a command always ends with its application",
    ),
    row("spark.yarn.config.*", NoEffect, &[], "Firesteel uses the same paths on all nodes"),
    row("spark.yarn.submit.file.replication", NoEffect, &[], "set spark.hadoop.dfs.replication"),
    row("spark.yarn.launchContainers", NoEffect, &["true"], "for Spark's tests"),
    row("spark.yarn.blacklist.*", NoEffect, &[], "see spark.yarn.executor.launch.excludeOnFailure.enabled"),
    row("spark.yarn.max.executor.failures", NoEffect, &[], "see spark.executor.maxNumFailures"),
    row(
        "spark.yarn.executor.failuresValidityInterval",
        NoEffect,
        &[],
        "see spark.executor.failuresValidityInterval",
    ),
    row("spark.yarn.executor.memoryOverhead", NoEffect, &[], "see spark.executor.memoryOverhead"),
    row("spark.yarn.driver.memoryOverhead", NoEffect, &[], "see spark.driver.memoryOverhead"),
    row("spark.yarn.*", NotOurs, &[], "not implemented"),
    row("spark.kubernetes.*", NotOurs, &[], "for Kubernetes"),
    row("spark.hive.*", NotOurs, &[], "for Hive"),
    row("spark.jars*", NotOurs, &[], NO_JVM),
    row("spark.submit.*", NotOurs, &[], "for spark-submit"),
    row("spark.sql.*", NotOurs, &[], ENGINE),
    row("spark.streaming.*", NotOurs, &[], ENGINE),
    row("spark.serializer*", NotOurs, &[], ENGINE),
    row("spark.kryo*", NotOurs, &[], ENGINE),
    row("spark.default.parallelism", NotOurs, &[], ENGINE),
    row("spark.broadcast.*", NotOurs, &[], ENGINE),
    row("spark.rdd.*", NotOurs, &[], ENGINE),
    row("spark.io.*", NotOurs, &[], ENGINE),
    row("spark.files.*", NotOurs, &[], ENGINE),
    row("spark.cleaner.*", NotOurs, &[], ENGINE),
    row("spark.reducer.*", NotOurs, &[], ENGINE),
    row("spark.blockManager.*", NotOurs, &[], ENGINE),
    row("spark.pyspark.*", NotOurs, &[], ENGINE),
    row("spark.python.*", NotOurs, &[], ENGINE),
    row("spark.r.*", NotOurs, &[], ENGINE),
    row("spark.graphx.*", NotOurs, &[], ENGINE),
    row("spark.ml.*", NotOurs, &[], ENGINE),
    row("spark.connect.*", NotOurs, &[], ENGINE),
    row("spark.log.*", NotOurs, &[], "RUST_LOG sets what Firesteel logs"),
    row("spark.redaction.*", NotOurs, &[], ENGINE),
    row("spark.stage.*", NotOurs, &[], ENGINE),
    row("spark.job.*", NotOurs, &[], ENGINE),
    row("spark.barrier.*", NotOurs, &[], ENGINE),
    row("spark.task.*", NotOurs, &[], ENGINE),
    row("spark.stageMaxConsecutiveAttempts", NotOurs, &[], ENGINE),
    row("spark.checkpoint.*", NotOurs, &[], ENGINE),
    row("spark.plugins*", NotOurs, &[], ENGINE),
    row("spark.extraListeners", NotOurs, &[], ENGINE),
    row("spark.repl.*", NotOurs, &[], ENGINE),
];

const ENGINE: &str = "for the engine inside a Spark application";

impl Row {
    #[must_use]
    pub fn is_family(&self) -> bool {
        self.name.ends_with(".*") && self.treatment == Treatment::NotOurs
    }
}

/// The row of a property. `None` if no row matches.
#[must_use]
pub fn find(name: &str) -> Option<&'static Row> {
    TABLE.iter().find(|row| matched(row.name, name).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys;

    #[test]
    fn what_is_read_is_not_said_to_have_no_effect() {
        for row in TABLE {
            assert_eq!(keys::find(row.name), None, "{} is in settings/keys.rs: take it out here", row.name);
        }
    }

    #[test]
    fn no_row_stands_behind_one_that_has_it_already() {
        for (at, row) in TABLE.iter().enumerate() {
            let hidden = TABLE[..at].iter().find(|earlier| matched(earlier.name, row.name).is_some());
            assert_eq!(hidden, None, "{}", row.name);
        }
    }
}
