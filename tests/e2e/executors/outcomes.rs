//! Lists show the outcome of an application's work beside its state, and whether it has executors.

use std::fs;
use std::path::Path;

use firesteel_testkit::{Cluster, Daemon, Finished, run, wait_for};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

fn cluster() -> Cluster {
    Cluster::plan().worker(&["--cores", "4", "--memory", "2g"]).start(1)
}

/// A command of this cluster, in its directory.
fn command(cluster: &Cluster, arguments: &[&str]) -> std::process::Command {
    let mut command = cluster.command(arguments);
    command.current_dir(cluster.directory.path());
    command
}

fn asked(cluster: &Cluster, arguments: &[&str]) -> Finished {
    let done = run(&mut cluster.command(arguments));
    assert_eq!(done.code(), 0, "{done}");
    done
}

/// A map over the items 1 to 400, one at a time, with a record in `left`.
fn map_400(cluster: &Cluster, script: &str) -> Daemon {
    let items: String = (1..=400).map(|number| format!("{number}\n")).collect();
    fs::write(cluster.path("items"), items).expect("a file");
    let map = ["map", "--name", "sums", "--total-executor-cores", "1", "-i", "items", "--failed", "left"];
    Daemon::spawn(&mut command(cluster, &[&map[..], &["--", "sh", "-c", script]].concat()))
}

/// State, end, outcome and message of the application that ended last.
fn ended(cluster: &Cluster) -> Value {
    let status = wait_for("an application to end", || {
        let status = cluster.master.status();
        let is_one = status["completed"].as_array().is_some_and(|completed| !completed.is_empty());
        is_one.then_some(status)
    });
    let row = status["completed"].as_array().and_then(|all| all.last()).expect("it was there").clone();
    json!([row["state"], row["end"], row["outcome"], row["outcome_words"]])
}

/// Checks every list and sentence about the outcome of the application with this name.
fn all_say(cluster: &Cluster, name: &str, outcome: &str, words: &str) {
    let table = asked(cluster, &["status"]).stdout;
    let row = table.lines().find(|line| line.contains(name)).unwrap_or_else(|| panic!("{table}"));
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells[3..5], ["FINISHED", outcome], "{table}");
    assert!(row.ends_with(words), "{table}");
    let (which, how) = (format!("({name}) ended "), format!(", FINISHED ({outcome}: {words})"));
    for ask in [["status", name], ["explain", name]] {
        let text = asked(cluster, &ask).stdout;
        let is_said = |line: &str| line.contains(&which) && line.contains(&how);
        assert!(text.lines().next().is_some_and(is_said), "{text}");
    }
    let explained: Value =
        serde_json::from_str(&asked(cluster, &["explain", "--json", name]).stdout).expect("JSON");
    assert_eq!((&explained["outcome"], &explained["outcome_words"]), (&outcome.into(), &words.into()));
}

fn wait_for_file(path: &Path) {
    wait_for(&format!("{}", path.display()), || path.exists().then_some(()));
}

#[test]
fn a_map_whose_every_item_failed_is_finished_and_failed() {
    let cluster = cluster();
    let done = run(&mut command(
        &cluster,
        &["map", "--name", "sums", "--", "sh", "-c", "exit 124", ":::", "1", "2", "3"],
    ));
    assert_eq!(done.code(), 1, "{done}");
    assert_eq!(ended(&cluster), json!(["FINISHED", null, "failed", "3 of 3 items failed"]));
    all_say(&cluster, "sums", "failed", "3 of 3 items failed");
    cluster.master.wait_for_line(&["removed app-", ": finished; failed: 3 of 3 items failed"]);
    let killed = run(&mut command(&cluster, &["kill", "sums"]));
    let too_late = " had already ended: FINISHED (failed: 3 of 3 items failed) at ";
    assert!(killed.code() == 1 && killed.stderr.contains(too_late), "{killed}");

    asked(&cluster, &["map", "--name", "fine", "--", "true", ":::", "1", "2", "3"]);
    assert_eq!(ended(&cluster), json!(["FINISHED", null, "succeeded", null]));
}

#[test]
fn an_interrupted_map_is_finished_and_says_how_many_items_are_not_done() {
    let cluster = cluster();
    let mut map = map_400(&cluster, "[ $0 -le 3 ] && exit; exec sleep 1000");
    wait_for("three items to be done", || {
        let account = fs::read_to_string(cluster.path("left.unfinished")).unwrap_or_default();
        (1..=3).all(|number| account.contains(&format!("- {number} {number}\n"))).then_some(())
    });
    map.signal(Signal::SIGINT);
    assert_eq!(map.wait(), 130);
    let words = "interrupted, 397 of 400 items not done";
    assert_eq!(ended(&cluster), json!(["FINISHED", null, "cancelled", words]));
    all_say(&cluster, "sums", "cancelled", words);
}

#[test]
fn a_map_that_is_cancelled_before_an_item_is_done_says_so() {
    let cluster = cluster();
    let began = cluster.path("began");
    let mut map = map_400(&cluster, &format!("touch {}; exec sleep 1000", began.display()));
    wait_for_file(&began);
    map.signal(Signal::SIGTERM);
    assert_eq!(map.wait(), 143);
    let words = "terminated, none of 400 items done";
    assert_eq!(ended(&cluster), json!(["FINISHED", null, "cancelled", words]));
    all_say(&cluster, "sums", "cancelled", words);
}

#[test]
fn a_launch_tells_how_its_commands_ended() {
    let cluster = cluster();
    let launch = ["launch", "--name", "servers", "--executor-cores", "2", "--total-executor-cores", "4"];
    let failing = run(&mut command(&cluster, &[&launch[..], &["--", "sh", "-c", "exit 3"]].concat()));
    assert_eq!(failing.code(), 3, "{failing}");
    assert_eq!(ended(&cluster), json!(["FINISHED", null, "failed", "exit code 3"]));
    all_say(&cluster, "servers", "failed", "exit code 3");
    asked(&cluster, &[&launch[..], &["--", "true"]].concat());
    assert_eq!(ended(&cluster), json!(["FINISHED", null, "succeeded", null]));
}

#[test]
fn of_an_application_that_was_killed_only_its_end_is_said() {
    let cluster = cluster();
    let began = cluster.path("began");
    let mut map = map_400(&cluster, &format!("touch {}; exec sleep 1000", began.display()));
    wait_for_file(&began);
    asked(&cluster, &["kill", "sums"]);
    assert_eq!(map.wait(), 143);
    let ended = ended(&cluster);
    assert_eq!((&ended[0], &ended[2], &ended[3]), (&"KILLED".into(), &Value::Null, &Value::Null));
    assert!(ended[1].as_str().is_some_and(|end| end.starts_with("it was killed by ")), "{ended}");
}

#[test]
fn an_application_that_lost_its_executors_is_running_with_0_executors() {
    let cluster = cluster();
    let began = cluster.path("began");
    let _map = map_400(&cluster, &format!("touch {}; exec sleep 1000", began.display()));
    wait_for_file(&began);
    let first_line = |arguments: &[&str]| asked(&cluster, arguments).stdout.lines().next().map(str::to_owned);
    assert!(!first_line(&["status", "sums"]).is_some_and(|line| line.contains("0 executors")));
    cluster.workers[0].signal(Signal::SIGKILL);
    wait_for("the executor to be lost", || {
        let app = cluster.master.status()["applications"][0].clone();
        (app["state"] == "RUNNING" && app["executors_live"] == 0).then_some(())
    });
    for ask in [["status", "sums"], ["explain", "sums"]] {
        let line = first_line(&ask).expect("it is known");
        assert!(line.contains("(sums) is RUNNING (0 executors), submitted "), "{line}");
    }
    for ask in [&["status"][..], &["top", "--once"]] {
        let table = asked(&cluster, ask).stdout;
        let row = table.lines().find(|line| line.contains("sums")).unwrap_or_else(|| panic!("{table}"));
        assert!(row.contains("  RUNNING (0 executors)  "), "{table}");
    }
}
