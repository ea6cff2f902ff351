//! Cluster drivers: `firesteel submit`.

use std::fs;
use std::path::Path;

use firesteel_testkit::{Cluster, Daemon, Finished, binary, firesteel, processes, run, wait_for};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

/// A Master that keeps its state, without Workers.
fn cluster() -> Cluster {
    Cluster::plan().durable().start(0)
}

fn start_worker(cluster: &Cluster, name: &str) -> Daemon {
    start_worker_with(cluster, name, &[])
}

fn start_worker_with(cluster: &Cluster, name: &str, options: &[&str]) -> Daemon {
    let arguments = [&["--cores", "2", "--memory", "4g"], options].concat();
    let worker = Daemon::worker(&cluster.master, &cluster.path(name), &arguments);
    worker.wait_for_line(&["registered with"]);
    worker
}

fn submit(cluster: &Cluster, options: &[&str], script: &str) -> String {
    let options = [&["--deploy-mode", "cluster"], options, &["--", "sh", "-c", script]].concat();
    let done = run(&mut cluster.command(&[&["submit"][..], &options].concat()));
    assert_eq!(done.code(), 0, "{done}");
    done.stdout.trim().to_owned()
}

fn ask(cluster: &Cluster, arguments: &[&str]) -> Finished {
    cluster.ask(&[&["submit"][..], arguments].concat())
}

fn state_of(cluster: &Cluster, id: &str) -> Value {
    let done = ask(cluster, &["--status", id, "--json"]);
    assert_eq!(done.code(), 0, "{done}");
    serde_json::from_str(&done.stdout).expect("it is JSON")
}

fn wait_for_state(cluster: &Cluster, id: &str, state: &str) -> Value {
    wait_for(state, || Some(state_of(cluster, id)).filter(|driver| driver["state"] == state))
}

/// The lines of a driver's standard output so far.
fn output(driver: &Value) -> Vec<String> {
    let directory = driver["directory"].as_str().expect("it was given to a Worker");
    let text = fs::read_to_string(Path::new(directory).join("stdout")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// The lines of a driver's output, once there are this many.
fn wait_for_lines(cluster: &Cluster, id: &str, count: usize) -> Vec<String> {
    wait_for("the output of a driver", || {
        let driver = state_of(cluster, id);
        driver["directory"].as_str()?;
        Some(output(&driver)).filter(|lines| lines.len() >= count)
    })
}

fn kill(pid: &str) {
    let pid = pid.parse().expect("the driver wrote its process id");
    let _ = processes::signal(pid, Signal::SIGKILL);
}

#[test]
fn a_driver_runs_on_a_worker_finds_its_cluster_and_its_exit_code_is_the_commands() {
    let cluster = cluster();
    let _worker = start_worker(&cluster, "work");
    let script =
        format!("echo $FIRESTEEL_DRIVER_ID; {} map --executor-cores 1 -- echo ::: a b; exit 3", binary());
    let options = ["--deploy-mode", "cluster", "--wait", "--", "sh", "-c", &script];
    let done = ask(&cluster, &options);
    assert_eq!(done.code(), 3, "{done}");
    let id = done.stdout.trim();
    let driver = state_of(&cluster, id);
    assert_eq!((&driver["state"], &driver["exit_code"]), (&"FAILED".into(), &3.into()), "{driver}");
    assert_eq!(output(&driver), [id, "a", "b"], "{driver}");
    let status = ask(&cluster, &["--status", id]);
    assert!(status.stdout.contains("state       FAILED (exit code 3)"), "{status}");
    let table = run(firesteel().args(["status", "--master", cluster.master.url()]));
    assert!(table.stdout.contains("\nDrivers\n") && table.stdout.contains(id), "{table}");
    let directory = driver["directory"].as_str().expect("it ran");
    let stderr = fs::read_to_string(Path::new(directory).join("stderr")).expect("it is there");
    assert!(stderr.starts_with("Firesteel Driver Command: sh -c "), "{stderr}");
}

#[test]
fn a_supervised_driver_is_started_again_and_moves_when_its_worker_is_killed() {
    let mut cluster = cluster();
    let first = start_worker(&cluster, "one");
    let id = submit(&cluster, &["--supervise"], "echo $$; exec sleep 1000");
    let pid = wait_for_lines(&cluster, &id, 1).remove(0);
    kill(&pid);
    // On the same Worker, after a second.
    let again = wait_for_lines(&cluster, &id, 2).remove(1);
    assert_ne!(pid, again);
    assert_eq!(state_of(&cluster, &id)["state"], "RUNNING");

    // A restarted Master still has it.
    cluster.restart_master();
    cluster.master.wait_for_line(&["all Workers and applications are back"]);
    assert_eq!(state_of(&cluster, &id)["state"], "RUNNING");
    assert_eq!(output(&state_of(&cluster, &id)), [pid.as_str(), &again]);

    // Its Worker is killed.
    let _second = start_worker(&cluster, "two");
    first.signal(Signal::SIGKILL);
    let old = wait_for_state(&cluster, &id, "RELAUNCHING");
    let successor = old["successor"].as_str().expect("another one takes its place").to_owned();
    let moved = wait_for_lines(&cluster, &successor, 1).remove(0);
    assert!(![&pid, &again].contains(&&moved));
    let directory = state_of(&cluster, &successor)["directory"].as_str().map(str::to_owned);
    assert!(directory.is_some_and(|directory| directory.contains("/two/")));
    // The first id stands for the replacement.
    let killed = ask(&cluster, &["--kill", &id, "--wait"]);
    assert_eq!(killed.code(), 128 + 15, "{killed}");
    assert_eq!(killed.stdout, format!("{successor} is told to end\n"));
    assert_eq!(state_of(&cluster, &successor)["state"], "KILLED");
}

#[test]
fn the_secrets_of_a_command_are_not_shown() {
    let cluster = cluster();
    let id = submit(&cluster, &[], "APP_TOKEN=open-sesame sleep 100");
    let status = run(firesteel().args(["status", "--master", cluster.master.url()]));
    for done in [ask(&cluster, &["--status", &id]), ask(&cluster, &["--status", &id, "--json"]), status] {
        assert!(done.stdout.contains("APP_TOKEN") && !done.stdout.contains("open-sesame"), "{done}");
    }
}

#[test]
fn a_driver_without_supervision_is_in_error_when_its_worker_is_killed() {
    let cluster = cluster();
    let worker = start_worker(&cluster, "one");
    let id = submit(&cluster, &[], "echo $$; exec sleep 1000");
    wait_for_lines(&cluster, &id, 1);
    worker.signal(Signal::SIGKILL);
    let driver = wait_for_state(&cluster, &id, "ERROR");
    assert_eq!(driver["error"], "the Worker's connection ended");
    let waited = ask(&cluster, &["--status", &id, "--wait"]);
    assert_eq!(waited.code(), 1, "{waited}");
    assert!(waited.stderr.contains("is in state ERROR: the Worker's connection ended"), "{waited}");
}

#[test]
fn a_driver_that_waits_is_placed_when_there_is_room_or_killed() {
    let cluster = cluster();
    let waiting = submit(&cluster, &["--driver-cores", "2"], "true");
    let killed = submit(&cluster, &["--driver-cores", "2"], "true");
    assert_eq!(state_of(&cluster, &waiting)["state"], "SUBMITTED");
    let kill = ask(&cluster, &["--kill", &killed]);
    assert_eq!(kill.stdout, format!("killed {killed}, which waited for a Worker\n"), "{kill}");
    let _worker = start_worker(&cluster, "one");
    wait_for_state(&cluster, &waiting, "FINISHED");
    assert_eq!(state_of(&cluster, &killed)["state"], "KILLED");
    let again = ask(&cluster, &["--kill", &killed]);
    assert_eq!(again.code(), 1, "{again}");
    assert_eq!(again.stderr, format!("firesteel: {killed} had already ended: KILLED\n"));
}

#[test]
fn a_driver_has_the_custom_resources_that_it_asks_for_also_when_the_master_was_restarted() {
    let mut cluster = cluster();
    let _worker = start_worker_with(&cluster, "one", &["--resource", "gpu:A100=7,"]);
    let script =
        "echo $FIRESTEEL_RESOURCE_GPU $FIRESTEEL_RESOURCE_GPU_KIND $CUDA_VISIBLE_DEVICES; exec sleep 1000";
    let has = submit(&cluster, &["--driver-resource", "gpu=1"], script);
    assert_eq!(wait_for_lines(&cluster, &has, 1), ["7 A100"]);
    assert_eq!(state_of(&cluster, &has)["resources"], json!({"gpu:A100": ["7"]}));
    let waits = submit(&cluster, &["--conf", "spark.driver.resource.gpu:A100.amount=1"], script);
    cluster.restart_master();
    wait_for_state(&cluster, &has, "RUNNING");
    assert_eq!(state_of(&cluster, &waits)["state"], "SUBMITTED");
    let said = ask(&cluster, &["--status", &waits]).stdout;
    assert!(said.contains("\nresources   gpu:A100 1 (none yet)\n"), "{said}");
    ask(&cluster, &["--kill", &has, "--wait"]);
    assert_eq!(wait_for_lines(&cluster, &waits, 1), ["7 A100"]);
    let ended = state_of(&cluster, &has);
    assert_eq!((&ended["state"], &ended["resources"]), (&json!("KILLED"), &json!({"gpu:A100": ["7"]})));
}

#[test]
fn a_driver_that_cannot_be_submitted_has_a_sentence() {
    let cluster = cluster();
    for (arguments, code, words) in [
        (&["--", "true"][..], 2, "add --deploy-mode cluster"),
        (&["--deploy-mode", "cluster"], 2, "no program given"),
        (&["--deploy-mode", "cluster", "--driver-cores", "0", "--", "true"], 2, "--driver-cores"),
        (
            &["--deploy-mode", "cluster", "--driver-cores", "70000", "--", "true"],
            1,
            "a driver has 1 to 65,536 cores",
        ),
        (&["--status", "driver-1"], 1, "no driver has the id"),
        (&["--kill", "driver-1"], 1, "no driver has the id"),
        (&["--status", "driver-1", "--supervise"], 2, "cannot be used with"),
    ] {
        let done = ask(&cluster, arguments);
        assert!(done.code() == code && done.stderr.contains(words), "{arguments:?}: {done}");
    }
}

/// The log of a cluster driver: by the command, on the Master's page and on the Worker's.
#[test]
fn the_log_of_a_driver_is_shown_while_it_runs_after_its_end_and_after_its_worker_was_restarted() {
    let cluster = cluster();
    let worker = start_worker(&cluster, "work");
    let script = "echo begun; echo trouble >&2; while [ ! -e go ]; do sleep 0.1; done; echo done";
    let id = submit(&cluster, &[], script);
    wait_for_lines(&cluster, &id, 1);
    let logs = |arguments: &[&str]| {
        let mut command = firesteel();
        run(command.args(["logs", "--master", cluster.master.url()]).args(arguments))
    };
    assert_eq!(logs(&[&id]).stdout, "begun\n");
    assert_eq!(logs(&[&id, "--stderr"]).stdout, "trouble\n", "without the header");
    let mut follower = firesteel();
    follower.args(["logs", "--master", cluster.master.url(), "-f", &id]);
    let mut follower = Daemon::spawn(&mut follower);
    let page = format!("/logPage/?driverId={id}&logType=stdout");
    let link = page.trim_start_matches('/').replace('&', "&amp;");
    for daemon in [&cluster.master, &worker] {
        let (_, first) = daemon.get("/");
        assert!(first.contains(&link), "{first}");
        let (status, shown) = daemon.get(&page);
        assert!(status == 200 && shown.contains("begun") && !shown.contains("complete"), "{shown}");
    }
    let directory =
        state_of(&cluster, &id)["directory"].as_str().expect("it was given to a Worker").to_owned();
    fs::write(Path::new(&directory).join("go"), "").expect("it can be written");
    wait_for_state(&cluster, &id, "FINISHED");
    assert_eq!((follower.wait(), follower.output().as_str()), (0, "begun\ndone\n"));

    let over = |daemon: &Daemon| {
        let (_, shown) = daemon.get(&page);
        assert!(shown.contains("begun\ndone\n") && shown.contains("complete"), "{shown}");
        assert!(daemon.get("/").1.contains(&link), "a link on the first page");
    };
    over(&cluster.master);
    over(&worker);
    assert_eq!(logs(&[&id, "--tail", "1"]).stdout, "done\n");
    let list = logs(&[&id, "--list"]).stdout;
    assert!(list.contains("DRIVER") && list.contains("FINISHED") && list.contains(&directory), "{list}");
    drop(worker);
    let _again = start_worker(&cluster, "work");
    wait_for("the new Worker, which has the directory", || {
        cluster.master.get(&page).1.contains("begun\ndone\n").then_some(())
    });
    for (arguments, code, words) in [
        (&[id.as_str(), "3"][..], 2, "has no executors"),
        (&["driver-20261111111111-0000"], 1, "no application has the id or name"),
    ] {
        let done = logs(arguments);
        assert!(done.code() == code && done.stderr.contains(words), "{done}");
    }
}

#[test]
fn a_driver_that_fails_again_and_again_says_so_wherever_it_is_shown() {
    let cluster = cluster();
    let _worker = start_worker(&cluster, "one");
    let id = submit(&cluster, &["--supervise", "--name", "nightly"], "exit 3");
    let driver = wait_for("two restarts", || {
        Some(state_of(&cluster, &id)).filter(|driver| driver["restarts"].as_u64() >= Some(2))
    });
    assert_eq!((&driver["state"], &driver["last_exit_code"]), (&json!("RUNNING"), &json!(3)), "{driver}");
    assert_eq!(driver["name"], "nightly");
    let ask = |command: &str| {
        let asked = run(firesteel().args([command, "--master", cluster.master.url(), &id]));
        assert_eq!(asked.code(), 0, "{asked}");
        asked.stdout
    };
    let shown = ask("status");
    assert!(shown.contains("\nname        nightly\n") && shown.contains("\nrestarts    "), "{shown}");
    assert!(ask("explain").contains("its process ended last with exit code 3"));
    let table = run(firesteel().args(["status", "--master", cluster.master.url()])).stdout;
    assert!(table.contains("restarts, last exit code 3") && table.contains("nightly: sh"), "{table}");
    assert_eq!(ask("kill"), format!("{id} is told to end\n"));
    wait_for_state(&cluster, &id, "KILLED");
    // Its end changes neither its name nor its number of failures.
    let ended = state_of(&cluster, &id);
    assert!(ended["name"] == "nightly" && ended["restarts"].as_u64() >= Some(2), "{ended}");
    let history = |format: &str| {
        run(firesteel().args(["history", "--master", cluster.master.url()]).args(Some(format))).stdout
    };
    assert!(history("--csv").contains("nightly: sh"), "{}", history("--csv"));
    assert!(history("--json").contains("\"name\": \"nightly\""), "{}", history("--json"));
    let page = cluster.master.get("/").1;
    assert!(page.contains("nightly: sh"), "{page}");
}

#[test]
fn a_driver_that_fits_no_worker_is_told_so_at_once() {
    let cluster = cluster();
    let _worker = start_worker(&cluster, "one");
    let options = ["--deploy-mode", "cluster", "--driver-cores", "200", "--", "true"];
    let submitted = ask(&cluster, &options);
    let id = submitted.stdout.trim();
    assert!(submitted.stderr.contains("waits: no Worker is large enough"), "{submitted}");
    let explained = run(firesteel().args(["explain", "--master", cluster.master.url(), id]));
    assert!(explained.stdout.contains("It waits: no Worker is large enough"), "{explained}");
}
