//! Spark's environment variables: which variables Firesteel reads, and why it ignores the others.

use firesteel_protocol::byte_text;
use std::collections::BTreeMap;

use crate::key::Reader;
use crate::keys;

/// The environment of a process. Empty variables count as unset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment(BTreeMap<String, String>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    pub name: &'static str,
    pub readers: &'static [Reader],
    pub role: Role,
    /// The purpose of the variable, or why it is ignored.
    pub meaning: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The variable replaces a flag. If the flag is given, it takes precedence.
    Flag(&'static str),
    /// The variable sets a property, if the property is set nowhere else.
    Property(&'static str),
    /// The variable sets a property. Only `--conf` takes precedence over it.
    Override(&'static str),
    /// The variable contains `-D` options, which set properties.
    Options,
    /// The variable names a place where files are.
    Place,
    /// The variable is meant for the JVMs that a Worker starts.
    Java,
    /// The variable contains options for the JVMs that a Worker starts.
    JavaOptions,
    Ignored,
}

impl Environment {
    /// The environment of this process. Its texts can represent [any bytes](byte_text).
    #[must_use]
    pub fn of_this_process() -> Self {
        std::env::vars_os().map(|(name, value)| (byte_text::of_os(name), byte_text::of_os(value))).collect()
    }

    /// The value of a variable that is set and not empty.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

impl FromIterator<(String, String)> for Environment {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(variables: I) -> Self {
        Self(variables.into_iter().filter(|(_, value)| !value.is_empty()).collect())
    }
}

const MASTER: &[Reader] = &[Reader::Master];
const WORKER: &[Reader] = &[Reader::Worker];
const DAEMONS: &[Reader] = &[Reader::Master, Reader::Worker];
const APPLICATION: &[Reader] = &[Reader::Application];
const CLASS_PATHS: &[Reader] = &[Reader::Worker, Reader::Application];
const ALL: &[Reader] = &Reader::ALL;

const fn row(name: &'static str, readers: &'static [Reader], role: Role, meaning: &'static str) -> Variable {
    Variable { name, readers, role, meaning }
}

const NO_SCRIPT: &str = "only firesteel cluster and the scripts of firesteel sbin read it";
const NO_JVM: &str = "Firesteel has no JVM";

/// The variables that Firesteel reads, and Spark's variables that it ignores. If several variables replace the same
/// flag, the first variable that is set counts.
pub const TABLE: &[Variable] = &[
    row(
        "FIRESTEEL_CREDENTIALS_FILE",
        ALL,
        Role::Property(keys::CREDENTIALS_FILE),
        "file with the secrets of the cluster",
    ),
    row("SPARK_MASTER_HOST", MASTER, Role::Flag("--host"), "host name or address to listen on"),
    row("SPARK_MASTER_PORT", MASTER, Role::Flag("--port"), "port to listen on"),
    row("SPARK_WORKER_HOST", WORKER, Role::Flag("--host"), "host name or address to listen on"),
    row("SPARK_WORKER_PORT", WORKER, Role::Flag("--port"), "port to listen on"),
    row("SPARK_WORKER_CORES", WORKER, Role::Flag("--cores"), "cores for executors"),
    row("SPARK_WORKER_MEMORY", WORKER, Role::Flag("--memory"), "memory for executors"),
    row("SPARK_WORKER_DIR", WORKER, Role::Flag("--work-dir"), "directory of the executors' directories"),
    row(
        "SPARK_LOCAL_DIRS",
        WORKER,
        Role::Override(keys::LOCAL_DIRECTORIES),
        "directories for the scratch files of Spark's executors",
    ),
    row("MASTER", WORKER, Role::Property(keys::MASTER), "Masters to register with"),
    row("SPARK_LOCAL_HOSTNAME", DAEMONS, Role::Flag("--host"), "host name of this machine"),
    row("SPARK_LOCAL_IP", DAEMONS, Role::Flag("--host"), "address of this machine to listen on"),
    row(
        "SPARK_LOCAL_IP",
        APPLICATION,
        Role::Property(keys::DRIVER_HOST),
        "address of this machine to listen on",
    ),
    row("MASTER", APPLICATION, Role::Property(keys::MASTER), "the Master"),
    row("SPARK_EXECUTOR_CORES", APPLICATION, Role::Property(keys::EXECUTOR_CORES), "cores of each executor"),
    row(
        "SPARK_EXECUTOR_MEMORY",
        APPLICATION,
        Role::Property(keys::EXECUTOR_MEMORY),
        "memory of each executor",
    ),
    row("SPARK_DAEMON_JAVA_OPTS", DAEMONS, Role::Options, "-D options for every daemon"),
    row(
        "SPARK_MASTER_OPTS",
        MASTER,
        Role::Options,
        "-D options for a Master; they override SPARK_DAEMON_JAVA_OPTS",
    ),
    row(
        "SPARK_WORKER_OPTS",
        WORKER,
        Role::Options,
        "-D options for a Worker; they override SPARK_DAEMON_JAVA_OPTS",
    ),
    row(
        "SPARK_SHUFFLE_OPTS",
        WORKER,
        Role::JavaOptions,
        "options of the external shuffle service; they override SPARK_DAEMON_JAVA_OPTS",
    ),
    row("SPARK_DAEMON_MEMORY", MASTER, Role::Ignored, NO_JVM),
    row("SPARK_DAEMON_MEMORY", WORKER, Role::Java, "memory of the external shuffle service"),
    row(
        "SPARK_DAEMON_CLASSPATH",
        WORKER,
        Role::Java,
        "class path of the external shuffle service, before Spark's own",
    ),
    row(
        "SPARK_DIST_CLASSPATH",
        WORKER,
        Role::Java,
        "class path of Spark's executors and of the external shuffle service, after Spark's own",
    ),
    row("SPARK_CONF_DIR", ALL, Role::Place, "directory of spark-defaults.conf"),
    row(
        "SPARK_HOME",
        ALL,
        Role::Place,
        "Spark installation: has conf (see SPARK_CONF_DIR) and a Worker's work (see --work-dir); runs Spark's executors",
    ),
    row(
        "HADOOP_CONF_DIR",
        CLASS_PATHS,
        Role::Place,
        "on YARN, directory of Hadoop's settings files; a Worker puts it into the class path of Spark's executors",
    ),
    row(
        "YARN_CONF_DIR",
        CLASS_PATHS,
        Role::Place,
        "on YARN, directory of settings files that $HADOOP_CONF_DIR does not have; a Worker puts it into that class path",
    ),
    row("SPARK_MASTER_WEBUI_PORT", MASTER, Role::Property(keys::MASTER_UI_PORT), "port for HTTP"),
    row("SPARK_WORKER_WEBUI_PORT", WORKER, Role::Property(keys::WORKER_UI_PORT), "port for HTTP"),
    row(
        "SPARK_PUBLIC_DNS",
        MASTER,
        Role::Property(keys::UI_ALLOWED_HOSTS),
        "name by which readers of the pages may call the Master; links name the host that --host says",
    ),
    row(
        "SPARK_WORKER_INSTANCES",
        WORKER,
        Role::Ignored,
        "the scripts of firesteel sbin start as many Workers; firesteel cluster starts one on each host",
    ),
    row("SPARK_DRIVER_MEMORY", APPLICATION, Role::Ignored, NO_JVM),
    row(
        "SPARK_LOG_DIR",
        DAEMONS,
        Role::Ignored,
        "the log goes to standard error; firesteel cluster and the scripts of firesteel sbin write it to a file there",
    ),
    row(
        "SPARK_LOG_MAX_FILES",
        DAEMONS,
        Role::Ignored,
        "the scripts of firesteel sbin keep as many logs, and firesteel cluster five",
    ),
    row("SPARK_PID_DIR", DAEMONS, Role::Ignored, NO_SCRIPT),
    row("SPARK_IDENT_STRING", DAEMONS, Role::Ignored, NO_SCRIPT),
    row(
        "SPARK_NICENESS",
        DAEMONS,
        Role::Ignored,
        "start the daemon with nice, as firesteel cluster and the scripts of firesteel sbin do",
    ),
    row(
        "SPARK_NO_DAEMONIZE",
        DAEMONS,
        Role::Ignored,
        "daemons stay in the foreground, except those of firesteel cluster and of scripts of firesteel sbin",
    ),
    row("SPARK_SSH_FOREGROUND", DAEMONS, Role::Ignored, NO_SCRIPT),
    row("SPARK_SSH_OPTS", DAEMONS, Role::Ignored, NO_SCRIPT),
];

pub fn of(reader: Reader) -> impl Iterator<Item = &'static Variable> {
    TABLE.iter().filter(move |variable| variable.readers.contains(&reader))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_variable_counts_as_unset() {
        let pairs = [("A", ""), ("B", "1")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        let environment = Environment::from_iter(pairs);
        assert_eq!((environment.get("A"), environment.get("B")), (None, Some("1")));
    }

    /// Checks all variables in Spark's documentation of Standalone mode.
    #[test]
    fn every_variable_of_spark_standalone_is_honoured_or_ignored_for_a_reason() {
        let listed = "SPARK_HOME SPARK_CONF_DIR SPARK_MASTER_HOST SPARK_MASTER_PORT SPARK_MASTER_WEBUI_PORT \
            SPARK_MASTER_OPTS SPARK_WORKER_CORES SPARK_WORKER_MEMORY SPARK_WORKER_PORT SPARK_WORKER_WEBUI_PORT \
            SPARK_WORKER_DIR SPARK_WORKER_OPTS SPARK_WORKER_INSTANCES SPARK_DAEMON_MEMORY SPARK_DAEMON_JAVA_OPTS \
            SPARK_DAEMON_CLASSPATH SPARK_DIST_CLASSPATH SPARK_LOCAL_DIRS SPARK_LOCAL_IP SPARK_PUBLIC_DNS SPARK_LOG_DIR SPARK_LOG_MAX_FILES \
            SPARK_PID_DIR SPARK_IDENT_STRING SPARK_NICENESS SPARK_NO_DAEMONIZE SPARK_SSH_FOREGROUND HADOOP_CONF_DIR \
            YARN_CONF_DIR MASTER";
        for name in listed.split_whitespace() {
            assert!(TABLE.iter().any(|variable| variable.name == name), "{name}");
        }
    }
}
