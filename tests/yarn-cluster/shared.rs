//! One cluster for all tests, since it takes seconds to start: the first that needs it starts it, the last ends it.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::ExitCode;
use std::sync::{Mutex, OnceLock, PoisonError};

use libtest_mimic::{Arguments, Trial};

use crate::cluster::{YarnCluster, class_path};
use crate::component::Component;

/// What the tests need: Java, and Maven with Hadoop's jars.
pub(crate) const YARN: Component = Component { name: "yarn", look: can_start };

/// Hadoop's jars, found once.
static CLASS_PATH: OnceLock<Result<String, String>> = OnceLock::new();

static CLUSTER: Mutex<Option<YarnCluster>> = Mutex::new(None);

fn can_start() -> Result<(), String> {
    CLASS_PATH.get_or_init(class_path).clone().map(drop)
}

/// Does something with the cluster. If that fails, the daemons' last words are shown.
pub(crate) fn with<T>(what: impl FnOnce(&mut YarnCluster) -> T) -> T {
    let mut cluster = CLUSTER.lock().unwrap_or_else(PoisonError::into_inner);
    let cluster = cluster.get_or_insert_with(|| {
        let class_path = CLASS_PATH.get_or_init(class_path).as_ref().expect("it was found");
        YarnCluster::start(class_path).expect("its processes start")
    });
    catch_unwind(AssertUnwindSafe(|| what(&mut *cluster))).unwrap_or_else(|panic| {
        eprintln!("{}", cluster.last_words());
        resume_unwind(panic)
    })
}

/// Runs the tests one at a time, since they have one cluster, and ends it.
pub(crate) fn run(trials: impl IntoIterator<Item = Vec<Trial>>) -> ExitCode {
    let arguments = Arguments { test_threads: Some(1), ..Arguments::from_args() };
    let conclusion = libtest_mimic::run(&arguments, trials.into_iter().flatten().collect());
    drop(CLUSTER.lock().unwrap_or_else(PoisonError::into_inner).take());
    conclusion.exit_code()
}
