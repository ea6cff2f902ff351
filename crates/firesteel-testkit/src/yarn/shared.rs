//! One YARN cluster for all tests, because its start takes seconds. The first test that needs the cluster starts it,
//! and the last test ends it.
//!
//! Each test begins when the cluster is ready. If the cluster does not start, one test fails with the reason, and the
//! others do not run. A test that fails ends the cluster, and the next test starts another cluster.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::ExitCode;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use libtest_mimic::{Arguments, Trial};

use super::{YarnCluster, class_path};
use crate::component::{Component, Readiness};

/// The tests' component: Java, and Maven with Hadoop's jars.
pub const YARN: Component = Component { name: "yarn", look: can_start, prepare };

/// The class path of Hadoop's jars, determined once.
static CLASS_PATH: OnceLock<Result<String, String>> = OnceLock::new();

static CLUSTER: Mutex<Cluster> = Mutex::new(Cluster::NotStarted);

enum Cluster {
    NotStarted,
    Up(YarnCluster),
    /// The cluster did not start, for this reason.
    Down(String),
}

/// Checks that a cluster can be started.
///
/// # Errors
/// The names of the missing programs or jars.
pub fn can_start() -> Result<(), String> {
    CLASS_PATH.get_or_init(class_path).clone().map(drop)
}

/// Waits until the cluster is ready. Starts a cluster if there is none, or if one of its processes has ended.
pub fn prepare() -> Readiness {
    let mut cluster = cluster();
    match &mut *cluster {
        Cluster::Down(reason) => return Readiness::NotRun(not_run("the cluster", reason)),
        Cluster::Up(up) => {
            if up.wait_until_up().is_ok() {
                return Readiness::Ready;
            }
        }
        Cluster::NotStarted => {}
    }
    // The rest of the old cluster ends first.
    *cluster = Cluster::NotStarted;
    let class_path = CLASS_PATH.get_or_init(class_path).as_ref().expect("it was found");
    match YarnCluster::start(class_path) {
        Ok(up) => {
            *cluster = Cluster::Up(up);
            Readiness::Ready
        }
        Err(reason) => {
            *cluster = Cluster::Down(reason.clone());
            Readiness::Failed(reason)
        }
    }
}

/// The reason for tests that do not run because something did not start: the first line of `reason`.
pub fn not_run(what: &str, reason: &str) -> String {
    format!("{what} did not come up: {}", reason.lines().next().unwrap_or_default())
}

/// Uses the cluster, which must be ready. If `what` fails, shows the daemons' last lines, and ends the cluster.
pub fn with<T>(what: impl FnOnce(&mut YarnCluster) -> T) -> T {
    let mut cluster = cluster();
    let Cluster::Up(up) = &mut *cluster else { panic!("no test runs before the cluster is up") };
    catch_unwind(AssertUnwindSafe(|| what(up))).unwrap_or_else(|panic| {
        if let Cluster::Up(up) = &*cluster {
            eprintln!("{}", up.last_words());
        }
        *cluster = Cluster::NotStarted;
        resume_unwind(panic)
    })
}

/// Runs the tests one at a time, because they share a cluster. Then ends the cluster.
pub fn run(trials: impl IntoIterator<Item = Trial>) -> ExitCode {
    let arguments = Arguments { test_threads: Some(1), ..Arguments::from_args() };
    let code = crate::component::run(&arguments, trials.into_iter().collect());
    *cluster() = Cluster::NotStarted;
    code
}

fn cluster() -> MutexGuard<'static, Cluster> {
    CLUSTER.lock().unwrap_or_else(PoisonError::into_inner)
}
