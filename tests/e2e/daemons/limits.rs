//! Limits of a Worker: an executor that takes more memory, threads or disk is killed, and everybody learns why. Limits
//! of a Master: a user gets no more than each may have.

use firesteel_testkit::{Daemon, firesteel, run, wait_for};

/// A program that takes too much, the setting that does not allow it, and what is said of its end.
const TAKERS: [(&str, &str, &str); 3] = [
    // `tail` keeps the last line, which is all of it.
    (
        "head -c 900000000 /dev/zero | tail; sleep 1000",
        "firesteel.worker.memoryOverheadFactor=0.1",
        "more memory than its Worker allows: 448 MiB",
    ),
    (
        "for i in $(seq 50); do sleep 1000 & done; wait",
        "firesteel.worker.maxThreads=20",
        "more threads than its Worker allows: 20",
    ),
    (
        "head -c 30000000 /dev/zero >too-much; sleep 1000",
        "firesteel.worker.maxDiskSize=10m",
        "more disk than its Worker allows: 10 MiB",
    ),
];

#[test]
fn an_executor_that_takes_too_much_is_killed_and_its_neighbour_is_not() {
    for (taker, setting, why) in TAKERS {
        let master = Daemon::master(&[]);
        let work = tempfile::tempdir().expect("a temporary directory");
        let offer = ["--cores", "2", "--memory", "1g", "--conf", setting];
        let worker = Daemon::worker(&master, work.path(), &offer);
        master.wait_for_workers(1);
        let launch = |name: &str, script: &str| {
            let mut launch = firesteel();
            launch.args(["launch", "--num-executors", "1", "--total-executor-cores", "1", "--name", name]);
            launch.args(["--executor-memory", "64m", "--master", master.url(), "--", "sh", "-c", script]);
            Daemon::spawn(&mut launch)
        };
        let mut neighbour = launch("neighbour", "sleep 1000");
        let mut taker = launch("taker", taker);
        worker.wait_for_line(&["killing executor app-", "than its Worker allows", why]);
        assert_ne!(taker.wait(), 0, "{setting}");
        let end = wait_for("the end", || {
            let status = master.status();
            let all = status["completed"].as_array()?;
            all.iter().find(|row| row["name"] == "taker").map(|row| row["id"].as_str().map(str::to_owned))?
        });
        let explained = run(firesteel().args(["status", &end, "--master", master.url()]));
        assert!(
            explained.stdout.contains("LOST") && explained.stdout.contains(why),
            "{setting}: {explained}"
        );
        assert!(neighbour.is_alive(), "{setting}");
    }
}

#[test]
fn a_cluster_driver_that_takes_too_much_is_in_error_with_the_reason() {
    let master = Daemon::master(&[]);
    let work = tempfile::tempdir().expect("a temporary directory");
    let offer = ["--cores", "1", "--memory", "1g", "--conf", "firesteel.worker.maxThreads=20"];
    let worker = Daemon::worker(&master, work.path(), &offer);
    master.wait_for_workers(1);
    let mut submit = firesteel();
    submit.args(["submit", "--deploy-mode", "cluster", "--driver-memory", "64m", "--master", master.url()]);
    submit.args(["--", "sh", "-c", TAKERS[1].0]);
    let done = run(&mut submit);
    assert_eq!(done.code(), 0, "{done}");
    worker.wait_for_line(&["killing driver-", TAKERS[1].2]);
    wait_for("its state", || {
        let status = run(firesteel().args(["status", "--all", "--master", master.url()]));
        (status.stdout.contains("ERROR") && status.stdout.contains(TAKERS[1].2)).then_some(())
    });
}

#[test]
fn an_application_waits_for_the_limit_of_its_user_and_is_told_which() {
    let limits = ["--conf", "firesteel.user.maxCores=1", "--conf", "firesteel.user.maxApplications=2"];
    let master = Daemon::master(&limits);
    let work = tempfile::tempdir().expect("a temporary directory");
    let _worker = Daemon::worker(&master, work.path(), &["--cores", "4", "--memory", "1g"]);
    master.wait_for_workers(1);
    let command = |name: &str| {
        let mut launch = firesteel();
        launch.args(["launch", "--num-executors", "1", "--total-executor-cores", "1", "--name", name]);
        launch.args(["--executor-memory", "64m", "--master", master.url(), "--", "sleep", "1000"]);
        launch
    };
    let first = Daemon::spawn(&mut command("first"));
    wait_for("the first application to run", || {
        (master.status()["applications"][0]["executors_live"] == 1).then_some(())
    });
    let _second = Daemon::spawn(&mut command("second"));
    wait_for("the reason", || {
        let explained = run(firesteel().args(["explain", "second", "--master", master.url()]));
        explained.stdout.contains("each user may have 1 core (firesteel.user.maxCores)").then_some(())
    });
    let third = run(&mut command("third"));
    assert!(third.code() != 0 && third.stderr.contains("(firesteel.user.maxApplications)"), "{third}");
    first.terminate();
    wait_for("the second application to run", || {
        let status = master.status();
        let app = &status["applications"][0];
        (app["name"] == "second" && app["executors_live"] == 1).then_some(())
    });
}

/// Only the kernel can hold a program to its cores, so a Worker does not start without that.
#[test]
fn a_worker_that_cannot_hold_programs_to_their_cores_does_not_start() {
    let work = tempfile::tempdir().expect("a temporary directory");
    let mut worker = firesteel();
    worker.args(["worker", "--port", "0", "--webui-port", "none", "-c", "1", "-m", "1g", "--work-dir"]);
    worker.arg(work.path()).args(["--conf", "firesteel.worker.controlGroups=false"]);
    worker.args(["--conf", "firesteel.worker.cpuQuota=true", "spark://127.0.0.1:1"]);
    let ended = run(&mut worker);
    assert!(ended.code() == 78 && ended.stderr.contains("firesteel.worker.cpuQuota=true needs"), "{ended}");
}
