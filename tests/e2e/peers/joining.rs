//! Machines that get the credentials of a Worker when an administrator admits them.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use firesteel_testkit::{CREDENTIALS, Daemon, firesteel, run, wait_for};
use serde_json::Value;

use super::secured::Secured;

/// A Worker that asks to join. Its credentials are to be in the file of this name.
fn newcomer(cluster: &Secured, name: &str) -> Command {
    let mut worker = firesteel();
    worker.args(["worker", "--join", cluster.master.url(), "--port", "0", "--webui-port", "none"]);
    worker
        .args(["--cores", "2", "--memory", "1g", "--work-dir"])
        .arg(cluster.path(&format!("work of {name}")));
    worker.env(CREDENTIALS, cluster.path(name));
    worker
}

/// The number that a machine shows.
fn number(machine: &Daemon) -> String {
    let line = machine.wait_for_line(&["admits this machine", "firesteel approve "]);
    let (_, number) = line.trim_end().rsplit_once(' ').expect("a number at the end");
    number.to_owned()
}

fn waiting(cluster: &Secured) -> Vec<Value> {
    let listed = run(&mut cluster.command(Some("admin"), &["approve", "--json"]));
    let listed: Value = serde_json::from_str(&listed.stdout).expect("it is JSON");
    listed["waiting"].as_array().expect("a list").clone()
}

#[test]
fn a_machine_joins_when_an_administrator_gives_its_number() {
    let cluster = Secured::start();
    cluster.name("ann");
    wait_for("the Master to know ann", || {
        (run(&mut cluster.command(Some("ann"), &["status"])).code() == 0).then_some(())
    });
    let machine = Daemon::spawn(&mut newcomer(&cluster, "new"));
    let number = number(&machine);
    let all = waiting(&cluster);
    assert_eq!((all.len(), all[0]["from"].as_str()), (1, Some("127.0.0.1")));
    assert!(!all[0].to_string().contains(&number), "the number is read at the machine");
    let other = "0000-0000-0000-0000";
    for (holder, number, code, words) in [
        (Some("user"), &*number, 1, "only an administrator may admit machines"),
        (Some("ann"), &*number, 1, "only an administrator may admit machines"),
        (Some("worker"), &*number, 76, "does not allow it to connect"),
        (Some("other"), &*number, 76, "another secret"),
        (None, &*number, 78, "firesteel.credentials.file"),
        (Some("admin"), other, 1, "no machine that waits has this number"),
        (Some("admin"), "12", 2, "a number has 16 digits"),
    ] {
        let done = run(&mut cluster.command(holder, &["approve", number]));
        assert!(done.code() == code && done.stderr.contains(words), "{holder:?} {number}: {done}");
    }
    assert!(!cluster.path("new").exists(), "nobody has admitted it");
    let done = run(&mut cluster.command(Some("admin"), &["approve", &number.replace('-', "")]));
    assert!(done.code() == 0 && done.stdout.starts_with("admitted "), "{done}");
    cluster.master.wait_for_workers(2);
    let mode = std::fs::metadata(cluster.path("new")).expect("it was written").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(waiting(&cluster), Vec::<Value>::new());
    let again = run(&mut cluster.command(Some("admin"), &["approve", &number]));
    assert!(again.code() == 1 && again.stderr.contains("no machine that waits"), "{again}");
    cluster.master.wait_for_line(&[" says it is ", "approve-worker", "done: "]);
    cluster.master.wait_for_line(&["approve-worker", "refused: only an administrator"]);
    // Who has credentials asks for none, and what he has got is what a Worker was granted.
    drop(machine);
    let started = Daemon::spawn(&mut newcomer(&cluster, "new"));
    wait_for("the Worker to register again", || {
        let status = cluster.status();
        let workers = status["workers"].as_array().expect("a list").clone();
        let alive = workers.iter().filter(|worker| worker["state"] == "ALIVE").count();
        (alive == 2).then_some(())
    });
    assert_eq!(waiting(&cluster), Vec::<Value>::new(), "{} asks for nothing", started.pid());
    let refused = run(&mut cluster.command(Some("new"), &["status"]));
    assert!(refused.code() != 0 && refused.stderr.contains("does not allow it"), "{refused}");
}

#[test]
fn a_machine_that_leaves_or_asks_where_no_secret_is_is_not_admitted() {
    let cluster = Secured::start();
    let machine = Daemon::spawn(&mut newcomer(&cluster, "gone"));
    let number = number(&machine);
    drop(machine);
    wait_for("the Master to see it leave", || waiting(&cluster).is_empty().then_some(()));
    let done = run(&mut cluster.command(Some("admin"), &["approve", &number]));
    assert!(done.code() == 1 && done.stderr.contains("no machine that waits"), "{done}");
    let open = Daemon::master(&[]);
    let mut worker = firesteel();
    worker.args(["worker", "--join", open.url()]).env(CREDENTIALS, cluster.path("nothing"));
    let refused = run(&mut worker);
    assert!(refused.code() == 1 && refused.stderr.contains("it has no secret"), "{refused}");
    let refused = run(firesteel().args(["worker", "--join", open.url()]).env(CREDENTIALS, "nowhere/file"));
    assert!(refused.code() == 78 && refused.stderr.contains("cannot write nowhere/file"), "{refused}");
    let refused = run(firesteel().args(["worker", "--join", open.url()]));
    assert!(refused.code() == 78 && refused.stderr.contains("--join needs a file"), "{refused}");
}
