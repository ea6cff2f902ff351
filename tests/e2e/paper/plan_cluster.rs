//! `firesteel plan` for people: a cluster from a file or from a Master, as tables, as JSON and as a picture.

use std::path::{Path, PathBuf};

use firesteel_testkit::{Daemon, firesteel, run, run_with_input, wait_for};
use serde_json::Value;

use super::pictures;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The command's output for the committed example.
fn planned(options: &[&str]) -> String {
    planned_of("cluster", options)
}

/// The command's output for a committed cluster.
fn planned_of(name: &str, options: &[&str]) -> String {
    let file = format!("fixtures/plan/{name}.toml");
    let done = run(firesteel().current_dir(root()).args(["plan", &file]).args(options));
    assert_eq!((done.code(), done.stderr.as_str()), (0, ""), "{options:?}");
    done.stdout
}

/// The pictures in the docs equal the ones that are drawn now.
#[test]
fn the_committed_pictures_are_those_that_are_drawn() {
    let folder = tempfile::tempdir().expect("a folder");
    for (cluster, policies, name) in [
        ("cluster", "spark,spark-consolidate,best-fit", "plan"),
        ("shares", "spark,best-fit,learned-fragmentation", "shares"),
    ] {
        let drawn = folder.path().join(name);
        planned_of(cluster, &["--compare", policies, "--svg", drawn.to_str().expect("it is text")]);
        let drawn = std::fs::read_to_string(drawn).expect("it was written");
        pictures::check(&drawn);
        let committed = root().join(format!("docs/pictures/{name}.svg"));
        if std::env::var("UPDATE_GOLDEN").is_ok_and(|value| value == "1") {
            std::fs::write(&committed, &drawn).expect("the picture can be written");
        }
        let committed = std::fs::read_to_string(committed).unwrap_or_default();
        let differs = drawn.lines().zip(committed.lines()).find(|(now, then)| now != then);
        assert!(
            drawn == committed,
            "docs/pictures/{name}.svg is another one: {differs:?}; UPDATE_GOLDEN=1 draws it"
        );
    }
}

#[test]
fn json_has_what_the_tables_have() {
    let value: Value = serde_json::from_str(&planned(&["--json"])).expect("it is JSON");
    assert_eq!(value["schema"], 3);
    let [plan] = &value["plans"].as_array().expect("a list")[..] else { panic!("{value}") };
    assert_eq!(plan["policy"], "spark");
    assert_eq!(plan["applications"][3]["name"], "training");
    assert!(
        plan["applications"][3]["reasons"][0].as_str().expect("a sentence").contains("5 of 11 executors")
    );
    assert_eq!(plan["applications"][1]["reasons"], Value::Array(Vec::new()));
    let cores = |worker: &Value| {
        let executors = worker["executors"].as_array().expect("a list").iter();
        let used: i64 = executors.map(|executor| executor["cores"].as_i64().expect("a number")).sum();
        assert_eq!(used + worker["cores_free"].as_i64().expect("a number"), worker["cores"], "{worker}");
        used
    };
    let used: i64 = plan["workers"].as_array().expect("a list").iter().map(cores).sum();
    assert_eq!(plan["metrics"]["cores_used"], used);
}

/// Ten thousand Workers fold into a few rows, and names in a file cannot escape their element.
#[test]
fn a_large_cluster_is_folded_and_names_are_escaped() {
    let cluster = "[[workers]]\nname = \"<b>&#\"\ncount = 10000\ncores = 64\nmemory = \"256g\"\n\
                   [[applications]]\nname = \"</text><script>\"\nexecutor-cores = 7\nnum-executors = 25000\n";
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("large.svg");
    let done =
        run_with_input(firesteel().args(["plan", "-", "--svg"]).arg(&path), cluster.as_bytes().to_vec());
    assert_eq!((done.code(), done.stderr.as_str()), (0, ""));
    assert!(done.stdout.lines().count() < 40, "{}", done.stdout);
    assert!(done.stdout.contains(" and 4999 more"), "{}", done.stdout);
    let picture = std::fs::read_to_string(path).expect("it was written");
    assert!(picture.len() < 50_000 && !picture.contains("<script") && !picture.contains("<b>"), "{picture}");
}

#[test]
fn a_file_that_cannot_be_used_is_one_line_and_wrong_usage() {
    let cluster = "[[workers]]\ncores = 8\nmemory = \"1.5g\"\n";
    let done = run_with_input(firesteel().args(["plan", "-"]), cluster.as_bytes().to_vec());
    assert_eq!((done.code(), done.stdout.as_str()), (2, ""));
    assert_eq!(
        done.stderr,
        "firesteel: standard input: line 3: workers[0].memory: invalid value: string \"1.5g\", expected an amount of \
         memory, at least 1 MiB, such as \"64g\" or \"512m\"\n"
    );
}

/// An application of this name, which runs or waits.
fn launch(master: &Daemon, name: &str, options: &[&str]) -> Daemon {
    let mut command = firesteel();
    command.args(["launch", "--master", master.url(), "--name", name]).args(options);
    let launch = Daemon::spawn(command.args(["--", "sleep", "1000"]));
    wait_for("the application to be there", || {
        let status = master.status();
        status["applications"].as_array()?.iter().any(|app| app["name"] == name).then_some(())
    });
    launch
}

#[test]
fn a_running_masters_plan_has_what_others_wait_for() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let master = Daemon::master(&[]);
    let _worker = Daemon::worker(&master, directory.path(), &["--cores", "4", "--memory", "4g"]);
    master.wait_for_workers(1);
    let _holds = launch(&master, "holds", &["--executor-cores", "2", "--num-executors", "1"]);
    let _gang = launch(&master, "gang", &["--executor-cores", "1", "--gang", "3", "--num-executors", "3"]);
    let plan = ["plan", "--master", master.url(), "--executor-cores", "1", "--num-executors", "1"];
    let done = run(firesteel().args(plan));
    assert_eq!(done.code(), 0, "{done}");
    assert!(
        done.stdout.contains("Free capacity is reserved for the gang of B (gang), which comes first"),
        "{done}"
    );
    assert!(done.stdout.contains("B gang: It needs 3 executors together, but there is room for 2"), "{done}");
    assert!(!done.stdout.contains("nothing more"), "{done}");
}

#[test]
fn a_plan_for_a_running_master_serves_in_its_order() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for (order, given) in [("registration", "No new executor"), ("shortest", "1 new executor")] {
        let master = Daemon::master(&["--conf", &format!("firesteel.master.order={order}")]);
        let work = directory.path().join(order);
        std::fs::create_dir(&work).expect("it can be made");
        let _worker = Daemon::worker(&master, &work, &["--cores", "4", "--memory", "4g"]);
        master.wait_for_workers(1);
        let _holds = launch(&master, "holds", &["--executor-cores", "2", "--num-executors", "1"]);
        // It is due after three hours, and the new application after an hour and a minute.
        let gang = ["--executor-cores", "1", "--gang", "3", "--num-executors", "3", "--run-time", "1h"];
        let _gang = launch(&master, "gang", &gang);
        let plan = ["plan", "--master", master.url(), "--executor-cores", "1", "--num-executors", "1"];
        let done = run(firesteel().args(plan).args(["--run-time", "1m"]));
        assert_eq!(done.code(), 0, "{done}");
        assert!(done.stdout.contains(given), "{order}: {done}");
        let words = ["firesteel.master.order", order, "by those that they wanted first"];
        assert_eq!(words.map(|word| done.stdout.contains(word)), [order == "shortest"; 3], "{done}");
        let settings = &master.status()["settings"];
        assert_eq!(
            (settings["firesteel.master.order"].as_str(), settings["firesteel.master.reservations"].as_str()),
            (Some(order), Some("1"))
        );
    }
}

#[test]
fn a_plan_for_a_running_master_knows_its_expression() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let expression = "expr:abs(total.cores - 3)";
    let master = Daemon::master(&["--placement-policy", expression]);
    let sizes = [("2", "2g"), ("3", "4g"), ("4", "1g")];
    let _workers = sizes.map(|(cores, memory)| {
        Daemon::worker(&master, directory.path(), &["--cores", cores, "--memory", memory])
    });
    master.wait_for_workers(3);
    let plan = ["plan", "--master", master.url(), "--executor-cores", "1", "--executor-memory", "512m"];
    let done = run(firesteel().args(plan).args(["--num-executors", "3"]));
    assert_eq!(done.code(), 0, "{done}");
    assert!(done.stdout.contains(&format!("under the policy {expression}: ")), "{done}");
    let [used] = &done.stdout.lines().filter(|line| line.contains("AAA")).collect::<Vec<_>>()[..] else {
        panic!("{done}")
    };
    assert!(used.contains("3 of 3"), "{done}");
    let named = ["--policy", "best-fit", "--num-executors", "1", "--placement-policy", expression];
    let refused = run(firesteel().args(plan).args(named));
    assert_eq!(refused.code(), 2, "{refused}");
    assert!(refused.stderr.contains("only a Master takes an expression"), "{refused}");
}

/// The bars, the picture and JSON include cluster drivers, and show a leaving Worker as such.
#[test]
fn a_plan_for_a_running_master_shows_cluster_drivers_and_workers_that_leave() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let master = Daemon::master(&[]);
    let size = ["--cores", "4", "--memory", "4g", "--resource", "gpu=0,1"];
    let works = ["stays", "leaves"].map(|name| directory.path().join(name));
    for work in &works {
        std::fs::create_dir(work).expect("it can be made");
    }
    let _stays = Daemon::worker(&master, &works[0], &size);
    master.wait_for_workers(1);
    let needs = ["--driver-cores", "3", "--driver-memory", "1g", "--driver-resource", "gpu=1"];
    let submit = ["submit", "--master", master.url(), "--deploy-mode", "cluster"];
    let submitted = run(firesteel().args(submit).args(needs).args(["--", "sleep", "1000"]));
    assert_eq!(submitted.code(), 0, "{submitted}");
    let driver = submitted.stdout.trim();
    let _leaves = Daemon::worker(&master, &works[1], &size);
    master.wait_for_workers(2);
    let leaving = master.status()["workers"].as_array().expect("a list").iter().find_map(|worker| {
        (worker["cores_used"] == 0).then(|| worker["id"].as_str().expect("an id").to_owned())
    });
    let _holds = launch(&master, "holds", &["--executor-cores", "4", "--num-executors", "1"]);
    let leaving = leaving.expect("the driver is on the other one");
    let asked = run(firesteel().args(["decommission", "--master", master.url(), &leaving]));
    assert_eq!(asked.code(), 0, "{asked}");

    let picture = directory.path().join("plan.svg");
    let plan = ["plan", "--master", master.url(), "--executor-cores", "1", "--svg"];
    let done = run(firesteel().args(plan).arg(&picture));
    assert_eq!(done.code(), 0, "{done}");
    let lines: Vec<&str> = done.stdout.lines().collect();
    let line = |words: &[&str]| lines.iter().any(|line| words.iter().all(|word| line.contains(word)));
    assert!(line(&[" B=== ", " 4 of 4 ", "gpu 1/2"]), "{done}");
    assert!(line(&[&leaving, " aaaa ", "DECOMMISSIONED"]), "{done}");
    assert!(line(&["= stands for cores of cluster drivers."]), "{done}");
    let drawn = std::fs::read_to_string(&picture).expect("it was written");
    assert!(drawn.contains("cluster drivers 3 cores") && drawn.contains("Grey: cluster drivers."), "{drawn}");
    assert!(drawn.contains(">DECOMMISSIONED<"), "{drawn}");
    let _ = run(firesteel().args(["submit", "--master", master.url(), "--kill", driver, "--wait"]));
}
