//! The commands that show and end applications of a running cluster.

use std::io::Read;
use std::path::Path;
use std::process::Stdio;

use firesteel_testkit::{Cluster, Daemon, Finished, Guarded, firesteel, processes, run, wait_for};
use serde_json::Value;

fn cluster() -> Cluster {
    Cluster::plan().worker(&["--cores", "4", "--memory", "2g"]).start(1)
}

/// An application with executors of two cores, which run until they are ended.
fn application(cluster: &Cluster, name: &str, cores: &str) -> Daemon {
    let mut command = firesteel();
    command.args(["map", "--master", cluster.master.url(), "--name", name]);
    command.args(["--executor-cores", "2", "--total-executor-cores", cores]);
    let application = Daemon::spawn(command.args(["--", "sleep", "1000", ":::", "1", "2", "3", "4"]));
    wait_for("the application to register", || id(cluster, name));
    application
}

/// The id of the live application of that name.
fn id(cluster: &Cluster, name: &str) -> Option<String> {
    let status = cluster.master.status();
    let found = status["applications"].as_array()?.iter().find(|app| app["name"] == name)?["id"].clone();
    Some(found.as_str()?.to_owned())
}

fn wait_for_executors(cluster: &Cluster, count: usize) {
    wait_for("the executors to run", || {
        let status = cluster.master.status();
        let all = status["applications"].as_array()?.iter();
        let running = all
            .flat_map(|app| app["executors"].as_array().cloned().unwrap_or_default())
            .filter(|executor| executor["state"] == "RUNNING");
        (running.count() == count).then_some(())
    });
}

fn words(finished: &Finished, code: i32, words: &[&str]) {
    assert_eq!(finished.code(), code, "{finished}");
    for word in words {
        assert!(finished.stdout.contains(word) || finished.stderr.contains(word), "{word:?}: {finished}");
    }
}

#[test]
fn a_killed_application_ends_with_its_executors_and_stays_visible() {
    let cluster = cluster();
    let mut application = application(&cluster, "sums", "4");
    wait_for_executors(&cluster, 2);
    let id = id(&cluster, "sums").expect("it is live");
    let pids = cluster.executors(0);
    assert_eq!(pids.len(), 2);

    let killed = cluster.ask(&["kill", "sums"]);
    words(&killed, 0, &[&format!("killed {id}, which had 2 executors with 4 cores\n")]);
    assert_eq!(killed.stderr, "");
    assert_eq!(application.wait(), 143);
    assert!(application.log().contains("the application was killed by "), "{}", application.log());
    wait_for("its executors to end", || pids.iter().all(|pid| !processes::is_alive(*pid)).then_some(()));

    // After its end it is found by its id.
    let detail = wait_for("the ends of the executors", || {
        let detail = cluster.json(&["status", &id]);
        let ends = detail["application"]["executors"].as_array()?.iter().map(|it| it["state"].clone());
        ends.into_iter().all(|state| state == "KILLED").then_some(detail)
    });
    assert_eq!((&detail["schema"], &detail["application"]["state"]), (&4.into(), &"KILLED".into()));
    words(&cluster.ask(&["status", &id]), 0, &[", KILLED: it was killed by", "it was killed by", "KILLED"]);
    words(&cluster.ask(&["explain", &id]), 0, &[", KILLED: it was killed by", "It had 2 executors: "]);
    words(&cluster.ask(&["status"]), 0, &["Completed applications", "KILLED"]);

    let again = cluster.ask(&["kill", &id, "nobody"]);
    words(
        &again,
        1,
        &[&format!("{id} had already ended: KILLED at "), "no application has the id or name \"nobody\""],
    );
    assert_eq!(again.stdout, "");
}

#[test]
fn a_launch_and_a_script_that_are_killed_end_as_a_map_does() {
    let cluster = cluster();
    for (words, name) in [
        (&["launch", "--name", "doors", "--", "sleep", "1000"][..], "doors"),
        (&["shell", "--name", "steps", "--command", "map sleep ::: 1000 1000"], "steps"),
    ] {
        let mut command = firesteel();
        command.arg(words[0]).args(["--master", cluster.master.url()]).args(&words[1..]);
        let mut application = Daemon::spawn(&mut command);
        wait_for("the application to register", || id(&cluster, name));
        wait_for_executors(&cluster, 1);
        assert_eq!(cluster.ask(&["kill", name]).code(), 0);
        assert_eq!(application.wait(), 143, "{}", application.log());
        let log = application.log();
        assert_eq!(log.matches("the application was killed by ").count(), 1, "{log}");
    }
}

#[test]
fn a_reader_that_has_gone_is_no_failure_of_what_only_shows() {
    let cluster = cluster();
    let _application = application(&cluster, "sums", "2");
    wait_for_executors(&cluster, 1);
    let master = cluster.master.url();
    for words in [
        &["status", "--master", master][..],
        &["status", "--json", "--master", master, "sums"],
        &["explain", "--master", master, "sums"],
        &["top", "--once", "--master", master],
        &["logs", "--stderr", "--follow", "--master", master, "sums", "0"],
        &["config", "show"],
        &["completions", "bash"],
        &["--help"],
    ] {
        let (reader, writer) = nix::unistd::pipe().expect("there are pipes");
        drop(reader);
        let mut child = Guarded::spawn(
            firesteel().args(words).stdin(Stdio::null()).stdout(writer).stderr(Stdio::piped()),
        );
        let status = wait_for("the command to end", || child.try_wait().expect("it is our child"));
        let mut said = String::new();
        child.stderr.take().expect("it is piped").read_to_string(&mut said).expect("it is text");
        assert_eq!((status.code(), said.as_str()), (Some(0), ""), "{words:?}");
    }
}

#[test]
fn several_applications_are_killed_at_once_and_every_failure_is_named() {
    let cluster = cluster();
    let _one = application(&cluster, "one", "2");
    let _two = application(&cluster, "two", "2");
    wait_for_executors(&cluster, 2);
    let done = cluster.ask(&["kill", "one", "nobody", "two"]);
    words(&done, 1, &["no application has the id or name \"nobody\""]);
    assert_eq!(done.stdout.lines().count(), 2, "{done}");
    wait_for("both to end", || cluster.master.status()["applications"].as_array()?.is_empty().then_some(()));
}

#[test]
fn a_name_that_two_applications_have_means_neither() {
    let cluster = cluster();
    let _one = application(&cluster, "same", "2");
    let first = id(&cluster, "same").expect("it is live");
    let mut command = firesteel();
    command.args(["map", "--master", cluster.master.url(), "--name", "same", "--total-executor-cores", "1"]);
    let _two = Daemon::spawn(command.args(["--", "sleep", "1000", ":::", "1"]));
    wait_for("both to register", || {
        (cluster.master.status()["applications"].as_array()?.len() == 2).then_some(())
    });
    for command in ["kill", "status", "explain"] {
        let done = cluster.ask(&[command, "same"]);
        words(&done, 1, &["\"same\" is the name of several applications: ", &first, "; use the id of one"]);
        words(&cluster.ask(&[command, "nobody"]), 1, &["no application has the id or name \"nobody\""]);
    }
    words(&cluster.ask(&["status", &first]), 0, &[&first, "(same) is RUNNING"]);
}

#[test]
fn a_finished_application_stays_visible_with_exit_codes_times_and_directories() {
    let cluster = cluster();
    let done = run(firesteel()
        .args(["map", "--master", cluster.master.url(), "--name", "done", "--executor-cores", "4"])
        .args(["--", "echo", ":::", "1", "2"]));
    assert_eq!(done.code(), 0, "{done}");
    let status = cluster.master.status();
    let id = status["completed"][0]["id"].as_str().expect("it is remembered").to_owned();
    let executor = wait_for("the executor's end", || {
        let detail = cluster.json(&["status", &id]);
        assert_eq!(detail["application"]["state"], "FINISHED");
        let executor = detail["application"]["executors"][0].clone();
        let over = ["FINISHED", "EXITED"].map(Value::from).contains(&executor["state"]);
        (over && executor["exit_code"] == 0).then_some(executor)
    });
    let time = |name: &str| executor[name].as_u64().unwrap_or_else(|| panic!("{name}: {executor}"));
    assert!(
        time("launched_ms") <= time("started_ms") && time("started_ms") <= time("ended_ms"),
        "{executor}"
    );
    let directory = Path::new(executor["directory"].as_str().expect("a text"));
    assert!(directory.join("stdout").is_file() && directory.join("stderr").is_file(), "{directory:?}");
    assert_eq!(executor["host"], "127.0.0.1");
    let text = cluster.ask(&["status", &id]);
    words(&text, 0, &[", FINISHED (succeeded)", "exit code 0", &directory.display().to_string()]);
    words(&cluster.ask(&["explain", &id]), 0, &[", FINISHED (succeeded)", "It had 1 executor: 1 "]);
}

#[test]
fn an_application_that_waits_is_told_who_holds_the_cores_and_what_would_help() {
    let cluster = cluster();
    let _holder = application(&cluster, "holder", "2");
    wait_for_executors(&cluster, 1);
    let holder = id(&cluster, "holder").expect("it is live");
    let mut command = firesteel();
    command.args(["map", "--master", cluster.master.url(), "--name", "waits", "--executor-cores", "4"]);
    let waits = Daemon::spawn(command.args(["--", "sleep", "1000", ":::", "1"]));
    wait_for("it to register", || id(&cluster, "waits"));
    waits.wait_for_line(&[&format!("; {holder} (holder) holds 2 of the 4 cores; waiting")]);
    let explained = cluster.ask(&["explain", "waits"]);
    words(
        &explained,
        0,
        &[
            "(waits) is WAITING, submitted",
            "It has no executor; it has no maximum of cores.",
            "It wants any number of executors of 4 cores and 1 GiB of memory",
            "No executor could be placed: 1 Worker has 2 cores free, and an executor needs 4 cores.",
            "With --executor-cores 2, 1 executor with 2 cores in all would be placed at once.",
            &format!("Other applications hold cores: {holder} (holder) has 2 cores in 1 executor."),
        ],
    );
    let value = cluster.json(&["explain", "waits"]);
    assert_eq!((&value["schema"], &value["state"]), (&4.into(), &"WAITING".into()));
    assert_eq!(value["scheduling"]["cluster"]["cores_free"], 2);
    assert!(value["sentences"].as_array().is_some_and(|all| all.len() >= 5), "{value}");

    assert_eq!(cluster.ask(&["kill", "holder"]).code(), 0);
    wait_for_executors(&cluster, 1);
    let explained = cluster.ask(&["explain", "waits"]);
    words(&explained, 0, &["(waits) is RUNNING", "It has 1 executor with 4 cores in all"]);
}

#[test]
fn the_second_master_is_asked_when_the_first_is_gone_and_none_is_an_error() {
    let cluster = cluster();
    let both = format!("spark://127.0.0.1:1,{}", cluster.master.url().trim_start_matches("spark://"));
    let done = run(firesteel().args(["status"]).env("MASTER", &both));
    words(&done, 0, &["Workers", "ALIVE"]);
    for command in [&["kill", "a", "b"][..], &["explain", "a"], &["status", "a"], &["top", "--once"]] {
        let done = run(firesteel().args(command).args(["--master", "spark://127.0.0.1:1"]));
        words(&done, 69, &["no Master answered: cannot connect to 127.0.0.1:1"]);
        assert!(command[0] != "kill" || done.stderr.contains("; not killed: a, b"), "{done}");
        assert_eq!(done.stderr.lines().count(), 1, "{done}");
    }
}
