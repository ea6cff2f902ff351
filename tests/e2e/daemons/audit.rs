//! The log as JSON, and its audit lines: who requested what.

use firesteel_testkit::{Daemon, firesteel, run, wait_for};
use serde_json::{Value, json};

/// The lines of a log. Each is a JSON object.
fn lines(log: &str) -> Vec<Value> {
    let parsed = log.lines().map(|line| {
        let value: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        for key in ["time", "level", "component", "module", "message"] {
            assert!(value[key].is_string(), "no {key}: {line}");
        }
        value
    });
    parsed.collect()
}

/// The audit lines of a log: the request, its object, and its outcome.
fn audits(daemon: &Daemon) -> Vec<Value> {
    lines(&daemon.log()).into_iter().filter(|line| line["audit"].is_string()).collect()
}

#[test]
fn every_line_of_a_json_log_is_an_object_and_each_change_leaves_an_audit_line() {
    let work = tempfile::tempdir().expect("a temporary directory");
    let master = Daemon::master(&["--log-format", "json"]);
    let mut command = firesteel();
    command
        .env("FIRESTEEL_LOG_FORMAT", "json")
        .args(["worker", "--port", "0", "--cores", "2", "--memory", "1g"]);
    command.args(["--host", "127.0.0.1", "--work-dir"]).arg(work.path()).arg(master.url());
    let worker = Daemon::start(&mut command);
    master.wait_for_workers(1);
    let on_master = |arguments: &[&str]| run(firesteel().args(arguments).args(["--master", master.url()]));

    let map = run(firesteel().args([
        "map",
        "--quiet",
        "--master",
        master.url(),
        "--name",
        "a \"name\"",
        "--",
        "true",
        ":::",
        "1",
    ]));
    assert_eq!(map.code(), 0, "{map}");
    assert_eq!(on_master(&["kill", "nobody"]).code(), 1);
    let submitted = run(firesteel().args([
        "submit",
        "--deploy-mode",
        "cluster",
        "--driver-memory",
        "256m",
        "--master",
        master.url(),
        "--",
        "sleep",
        "1000",
    ]));
    let driver = submitted.stdout.trim().to_owned();
    assert_eq!(submitted.code(), 0, "{submitted}");
    assert_eq!(on_master(&["submit", "--kill", &driver, "--wait"]).code(), 143);
    let id = master.status()["workers"][0]["id"].as_str().expect("it has an id").to_owned();
    assert_eq!(on_master(&["decommission", "127.0.0.1"]).code(), 0);

    let found = wait_for("five audit lines", || Some(audits(&master)).filter(|audits| audits.len() >= 5));
    let app = found[0]["app"].as_str().expect("it has an id").to_owned();
    let short = |line: &Value| {
        let keys = ["audit", "target", "outcome", "app", "driver", "worker"];
        json!(keys.map(|key| line[key].clone()))
    };
    assert_eq!(
        found.iter().map(short).collect::<Vec<_>>(),
        [
            json!(["register-application", "a \"name\"", "done", app, null, null]),
            json!(["kill-application", "nobody", "refused", null, null, null]),
            json!(["submit-driver", "sleep", "done", null, driver, null]),
            json!(["kill-driver", driver, "done", null, driver, null]),
            json!(["decommission-workers", "127.0.0.1", "done", null, null, id]),
        ]
    );
    for line in &found {
        assert!(line["from"].as_str().is_some_and(|from| from.starts_with("127.0.0.1:")), "{line}");
        let event = line["spans"]["event"]["kind"].as_str().expect("it has an event");
        assert!(event.starts_with("Client/") || event == "Driver/RegisterApplication", "{line}");
    }
    for line in &found[1..] {
        let who = line["who"].as_str().expect("somebody asked");
        assert!(who.contains('@'), "a user and a host: {line}");
    }

    // Both daemons' lines have the ids as fields.
    let registered = lines(&master.log()).into_iter().find(|line| line["worker"] == id.as_str());
    assert_eq!(registered.expect("a line about the Worker")["component"], "master");
    let started = lines(&worker.log());
    let started = started.iter().find(|line| line["app"] == app.as_str() && line["executor"] == "0");
    assert_eq!(started.expect("a line about the executor")["component"], "worker");
}

#[test]
fn audit_lines_stay_in_a_quiet_log_and_text_has_no_fields_for_programs() {
    let master = Daemon::master(&["-qq"]);
    assert_eq!(run(firesteel().args(["kill", "nobody", "--master", master.url()])).code(), 1);
    assert_eq!(run(firesteel().args(["decommission", "nobody", "--master", master.url()])).code(), 1);
    let line = master.wait_for_line(&["decommission-workers"]);
    assert!(line.contains("audit: 127.0.0.1:") && line.contains(" says it is "), "{line}");
    let line = master.wait_for_line(&["kill-application"]);
    assert!(
        line.contains(": kill-application \"nobody\": refused: no application has this id or name"),
        "{line}"
    );
    assert!(line.contains("audit: 127.0.0.1:") && !line.contains("id."), "{line}");
    assert_eq!(master.log().lines().count(), 2, "{}", master.log());
}

#[test]
fn why_a_daemon_ends_is_a_line_of_its_json_log_too() {
    let work = tempfile::tempdir().expect("a temporary directory");
    let mut command = firesteel();
    command.args(["worker", "--log-format", "json", "--port", "0", "--work-dir"]).arg(work.path());
    command.args(["--conf", "spark.worker.maxRegistrationRetries=1", "spark://127.0.0.1:1"]);
    let done = run(&mut command);
    assert_eq!(done.code(), 69, "{done}");
    let lines = lines(&done.stderr);
    let last = lines.last().expect("it says why");
    assert_eq!((&last["level"], &last["component"]), (&"error".into(), &"worker".into()));
    assert!(
        last["message"].as_str().is_some_and(|words| words.contains("no Master accepted this Worker")),
        "{last}"
    );
}

#[test]
fn an_unknown_form_of_the_log_is_wrong_usage_and_in_the_variable_a_warning() {
    let done = run(firesteel().args(["master", "--log-format", "xml"]));
    assert_eq!(done.code(), 2, "{done}");
    let done = run(firesteel().env("FIRESTEEL_LOG_FORMAT", "xml").args([
        "status",
        "--master",
        "spark://127.0.0.1:1",
    ]));
    assert!(done.stderr.contains("FIRESTEEL_LOG_FORMAT=xml is ignored: write text or json"), "{done}");
}
