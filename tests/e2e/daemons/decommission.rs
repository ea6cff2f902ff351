//! Workers that leave in order.

use std::path::Path;

use firesteel_testkit::{Daemon, Finished, firesteel, run, wait_for};

fn command(master: &Daemon, arguments: &[&str]) -> std::process::Command {
    let mut command = firesteel();
    command.args(&arguments[..1]).args(["--master", master.url()]).args(&arguments[1..]);
    command
}

fn ask(master: &Daemon, arguments: &[&str]) -> Finished {
    run(&mut command(master, arguments))
}

/// A Worker of two cores, and its id.
fn worker(master: &Daemon, directory: &Path) -> (Daemon, String) {
    let worker = Daemon::worker(master, directory, &["--cores", "2", "--memory", "1g"]);
    let line = worker.wait_for_line(&["listens on"]);
    let id = line.split_whitespace().find(|word| word.starts_with("worker-")).expect("the log names it");
    (worker, id.to_owned())
}

#[test]
fn a_worker_that_is_asked_to_leave_ends_after_its_tasks_and_the_others_go_on_without_it() {
    let master = Daemon::master(&[]);
    let root = tempfile::tempdir().expect("a temporary directory");
    let (mut first, id) = worker(&master, &root.path().join("first"));
    let (_second, other) = worker(&master, &root.path().join("second"));
    master.wait_for_workers(2);
    // Each task prints where it runs, and waits until it may end.
    let gate = root.path().join("gate");
    let line = format!("echo $FIRESTEEL_WORKER_ID; while [ ! -e {} ]; do sleep 0.05; done", gate.display());
    let items = [":::", "1", "2", "3", "4", "5", "6", "7", "8"];
    let mut map = command(
        &master,
        &["map", "--executor-cores", "1", "--executor-memory", "64m", "--", "sh", "-c", &line, "sh"],
    );
    let map = std::thread::spawn(move || run(map.args(items)));
    wait_for("four executors", || {
        let applications = master.status()["applications"].clone();
        (applications[0]["executors_live"] == 4).then_some(())
    });
    wait_for("the tasks to run", || (tasks_of(first.pid()) == 2).then_some(()));
    let asked = ask(&master, &["decommission", &id]);
    assert_eq!(
        (asked.code(), asked.stdout.as_str()),
        (0, format!("{id} leaves: it ends when 2 executors have ended\n").as_str())
    );
    let status = ask(&master, &["status"]).stdout;
    assert!(status.contains("DECOMMISSIONED"), "{status}");
    assert!(first.is_alive(), "its tasks go on: {}", first.log());
    std::fs::write(&gate, "").expect("the directory is there");
    assert_eq!(first.wait(), 0, "{}", first.log());
    let done = map.join().expect("it does not panic");
    assert_eq!(done.code(), 0, "{done}");
    assert!(done.stderr.contains("8 succeeded, 0 failed") && !done.stderr.contains("retries"), "{done}");
    let ran = |id: &str| done.stdout.lines().filter(|line| *line == id).count();
    assert_eq!((ran(&id), ran(&other)), (2, 6), "{done}");
    master.wait_for_line(&[&id, "has left"]);
    assert!(!master.log().contains("removed worker-"), "it was not lost: {}", master.log());
    let left = &master.status()["workers"][1];
    assert_eq!((&left["state"], &left["gone_why"]), (&"LEFT".into(), &"it was asked to leave".into()));
    let status = ask(&master, &["status"]).stdout;
    assert!(
        status.contains("LEFT ") && status.contains("ago: it was asked to leave") && !status.contains("DEAD"),
        "{status}"
    );
}

/// The number of tasks whose shells wait below a Worker.
fn tasks_of(worker: u32) -> usize {
    let waits =
        |pid: &u32| firesteel_testkit::processes::command_line(*pid).first().is_some_and(|word| word == "sh");
    firesteel_testkit::processes::descendants_of(worker).iter().filter(|pid| waits(pid)).count()
}

#[test]
fn what_still_runs_at_the_deadline_is_ended_with_the_worker() {
    let master = Daemon::master(&[]);
    let root = tempfile::tempdir().expect("a temporary directory");
    let (mut first, id) = worker(&master, root.path());
    master.wait_for_workers(1);
    let mut launch = Daemon::spawn(&mut command(
        &master,
        &["launch", "--num-executors", "1", "--executor-cores", "1", "--", "sleep", "1000"],
    ));
    wait_for("its executor", || launch.output_so_far().contains("running after").then_some(()));
    let nobody = ask(&master, &["decommission", "worker-of-nobody"]);
    assert_eq!(nobody.code(), 1, "{nobody}");
    assert!(nobody.stderr.contains("no living Worker has the id or host \"worker-of-nobody\""), "{nobody}");
    let asked = ask(&master, &["decommission", "127.0.0.1", "--deadline", "200ms"]);
    assert_eq!(asked.stdout, format!("{id} leaves: it ends when 1 executor has ended\n"), "{asked}");
    assert_eq!(first.wait(), 0, "{}", first.log());
    first.wait_for_line(&["asked to leave", "what runs after 0.2 s is ended"]);
    assert!(launch.is_alive(), "its executor waits for another Worker");
}

#[test]
fn a_worker_without_executors_leaves_at_once() {
    let master = Daemon::master(&[]);
    let root = tempfile::tempdir().expect("a temporary directory");
    let (mut first, id) = worker(&master, root.path());
    master.wait_for_workers(1);
    let asked = ask(&master, &["decommission", &id]);
    assert_eq!(asked.stdout, format!("{id} ends now: it has no executor\n"), "{asked}");
    assert_eq!(first.wait(), 0, "{}", first.log());
}
