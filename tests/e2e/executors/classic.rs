//! The classic experiment of Spark Standalone, with real processes.

use firesteel_placement::Cores;
use firesteel_protocol::messages::{ApplicationDescription, DriverToMaster, ExecutorState, MasterToDriver};
use firesteel_testkit::processes::{command_line, descendants_of};
use firesteel_testkit::{Cluster, Daemon, wait_for};

use super::driver::{Driver, script};

/// A Master, and Workers of this number of cores each.
fn cluster(workers: usize, cores: &str) -> Cluster {
    Cluster::plan().worker(&["--cores", cores, "--memory", "8g"]).start(workers)
}

/// Registers an application with idle executors.
fn register(cluster: &Cluster, max: i64, each: i64) -> Driver {
    let mut application: ApplicationDescription = script("exec sleep 1000", 0);
    application.max_cores = Some(Cores(max));
    application.profile.cores = Some(Cores(each));
    application.initial_limit = firesteel_placement::ExecutorLimit::Unlimited;
    Driver::register(cluster.master.address(), application)
}

/// The cores of the application, as the Master shows them.
fn held(cluster: &Cluster, driver: &Driver) -> i64 {
    let status = cluster.master.status();
    let applications = status["applications"].as_array().expect("a list").clone();
    let own = applications.iter().find(|app| app["id"] == driver.app.as_str()).expect("it is there");
    own["cores_granted"].as_i64().expect("a number")
}

/// The number of `sleep`s on each Worker, in the order of the Workers.
fn executors(cluster: &Cluster) -> Vec<usize> {
    let is_executor = |pid: &u32| command_line(*pid).first().is_some_and(|word| word == "sleep");
    let count = |worker: &Daemon| descendants_of(worker.pid()).iter().filter(|pid| is_executor(pid)).count();
    cluster.workers.iter().map(count).collect()
}

fn wait_for_executors(cluster: &Cluster, total: usize) -> Vec<usize> {
    wait_for(&format!("{total} executors to run"), || {
        let executors = executors(cluster);
        (executors.iter().sum::<usize>() == total).then_some(executors)
    })
}

/// There are 4 Workers of 8 cores. The first application takes 4 cores on one of them. The second wants four executors
/// of 6 cores and finds room for three. When the first ends, the fourth executor starts in its place.
#[test]
fn the_fourth_executor_comes_when_the_first_application_ends() {
    let cluster = cluster(4, "8");
    let mut first = register(&cluster, 4, 4);
    first.until(|state| *state == ExecutorState::Running);
    let mut second = register(&cluster, 24, 6);
    for _ in 0..3 {
        second.until(|state| *state == ExecutorState::Running);
    }
    assert_eq!(held(&cluster, &first), 4);
    assert_eq!(held(&cluster, &second), 18);
    assert_eq!(wait_for_executors(&cluster, 4), [1, 1, 1, 1]);

    first.send(&DriverToMaster::UnregisterApplication { app: first.app.clone(), outcome: None });
    let added = loop {
        if let MasterToDriver::ExecutorAdded { executor, cores, .. } = second.next() {
            break (executor.0, cores);
        }
    };
    assert_eq!(added, (3, Cores(6)));
    second.until(|state| *state == ExecutorState::Running);
    assert_eq!(held(&cluster, &second), 24);
    assert_eq!(wait_for_executors(&cluster, 4), [1, 1, 1, 1]);
}

/// There are 4 Workers of 16 cores, and an application of 48 cores in executors of 16: it takes three whole Workers.
/// Dealing single cores would have given 12 on each and no executor (SPARK-8881).
#[test]
fn executors_are_dealt_whole() {
    let cluster = cluster(4, "16");
    let mut application = register(&cluster, 48, 16);
    for _ in 0..3 {
        application.until(|state| *state == ExecutorState::Running);
    }
    assert_eq!(held(&cluster, &application), 48);
    let mut executors = wait_for_executors(&cluster, 3);
    executors.sort_unstable();
    assert_eq!(executors, [0, 1, 1, 1]);
}
