//! The environment of a local cluster's daemons.
//!
//! Tasks inherit the environment of their Worker. On a real cluster, the submitter's environment is not passed to the
//! Worker. A local cluster follows the same rule, so a command behaves in the same way on both. The daemons of a local
//! cluster get only the variables that a login or a service manager would also set.

use std::ffi::OsString;

use firesteel_daemons::executor::task_runner::{TASK_ATTEMPT, TASK_ID};
use firesteel_daemons::worker::environment::{APP_ID, EXECUTOR_ID, WORKER_ID};

/// Variables for the user, the directories and the language.
const LOGIN: &[&str] =
    &["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "XDG_RUNTIME_DIR"];

/// Variables that control the daemons' log.
const LOG: &[&str] = &["RUST_LOG", "RUST_BACKTRACE", "FIRESTEEL_LOG_FORMAT"];

/// Variables by which an executor finds processes that its tasks left behind. They are passed on because a task may
/// itself start a local cluster.
const MARKER: &[&str] = &[APP_ID, EXECUTOR_ID, WORKER_ID, TASK_ID, TASK_ATTEMPT];

/// The variables of this process that the daemons inherit.
pub(super) fn inherited() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_inherited))
}

fn is_inherited(name: &str) -> bool {
    [LOGIN, LOG, MARKER].concat().contains(&name) || name.starts_with("LC_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn daemons_get_what_a_login_sets_and_nothing_else() {
        for name in ["PATH", "HOME", "LC_ALL", "RUST_LOG", "FIRESTEEL_APP_ID"] {
            assert!(is_inherited(name), "{name}");
        }
        for name in
            ["FOO", "LD_LIBRARY_PATH", "FIRESTEEL_CORES", "FIRESTEEL_RESOURCE_GPU", "SPARK_LOCAL_DIRS"]
        {
            assert!(!is_inherited(name), "{name}");
        }
    }
}
