//! A cluster's sums of Workers and cores are the same wherever they are shown.

use firesteel_testkit::{Daemon, firesteel, run, wait_for};
use serde_json::Value;

use crate::commands::terminal::Terminal;

/// The text of a page, with one blank for each tag and each run of spaces.
fn text_of(page: &str) -> String {
    let body = page.split_once("</head>").map_or(page, |(_, body)| body);
    let words: String = body.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text)).fold(
        String::new(),
        |mut all, text| {
            all.push_str(text);
            all.push(' ');
            all
        },
    );
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The number of Workers in this state, their cores and used cores.
fn of_state(status: &Value, state: &str) -> (usize, i64, i64) {
    let workers = status["workers"].as_array().expect("there are Workers");
    let these: Vec<&Value> = workers.iter().filter(|worker| worker["state"] == state).collect();
    let sum = |key: &str| these.iter().map(|worker| worker[key].as_i64().expect("a number")).sum();
    (these.len(), sum("cores"), sum("cores_used"))
}

#[test]
fn a_cluster_of_workers_in_all_states_has_the_same_sums_in_every_view() {
    let master = Daemon::master(&["--conf", "spark.worker.timeout=4s"]);
    let root = tempfile::tempdir().expect("a temporary directory");
    let worker = |cores: &str| {
        let arguments = ["--cores", cores, "--memory", "1g"];
        Daemon::worker(&master, &root.path().join(cores), &arguments)
    };
    let (_stays, leaves, mut dies) = (worker("6"), worker("2"), worker("1"));
    master.wait_for_workers(3);
    let asked = |words: &[&str]| {
        let mut command = firesteel();
        command.arg(words[0]).args(["--master", master.url()]).args(&words[1..]);
        command
    };
    // A cluster driver, an application with all that it asks for, and one that waits for a whole Worker.
    let driver = ["submit", "--deploy-mode", "cluster", "--driver-memory", "64m", "--", "sleep", "1000"];
    let done = run(&mut asked(&driver));
    assert_eq!(done.code(), 0, "{done}");
    wait_for("the driver to run", || (master.status()["drivers"][0]["state"] == "RUNNING").then_some(()));
    // An item says by a file that it runs.
    let items = tempfile::tempdir().expect("a temporary directory");
    let script = format!("touch {}/$1; exec sleep 1000", items.path().display());
    let map = |name: &str, cores: &str, most: &str| {
        let sizes = ["--executor-cores", cores, "--total-executor-cores", most, "--executor-memory", "64m"];
        let mut map = asked(&["map", "--name", name]);
        map.args(sizes).args(["--", "sh", "-c", &script, "item", "{}", ":::", "1", "2", "3", "4", "5"]);
        Daemon::spawn(&mut map)
    };
    let _full = map("full", "1", "5");
    // An executor that has no item yet when its Worker is to leave would end.
    wait_for("five items to run", || {
        (1..=5).all(|item| items.path().join(item.to_string()).exists()).then_some(())
    });
    let line = leaves.wait_for_line(&["listens on"]);
    let id = line.split_whitespace().find(|word| word.starts_with("worker-")).expect("the log names it");
    let done = run(&mut asked(&["decommission", id]));
    assert_eq!(done.code(), 0, "{done}");
    dies.signal(nix::sys::signal::Signal::SIGKILL);
    assert_eq!(dies.wait(), 137);
    wait_for("a dead Worker", || (of_state(&master.status(), "DEAD").0 == 1).then_some(()));
    let _waits = map("waits", "6", "6");
    wait_for("the second application", || {
        let status = master.status();
        let full = &status["applications"][0];
        (status["applications"][1]["name"] == "waits" && full["executors_live"] == 5).then_some(())
    });

    let status = master.status();
    let (workers, cores, used) = of_state(&status, "ALIVE");
    assert_eq!((workers, cores), (1, 6), "{status:#}");
    assert!(used > 0 && of_state(&status, "DECOMMISSIONED").2 > 0, "sums differ if all count: {status:#}");
    let free = cores - used;
    let waiting = status["applications"][1]["id"].as_str().expect("it has an id");
    let explained = run(&mut asked(&["explain", waiting])).stdout;
    let start = format!("The cluster has 1 Worker with {cores} cores");
    assert!(explained.contains(&start), "{explained}");
    let left = match free {
        0 => "of which 0 cores".to_owned(),
        1 => "of which 1 core ".to_owned(),
        free => format!("of which {free} cores"),
    };
    assert!(explained.contains(&left), "{explained}");
    let page = |path: &str| {
        let (code, page) = master.get(path);
        assert_eq!(code, 200, "{path}");
        text_of(&page)
    };
    let first = page("/");
    assert!(first.contains("Workers 1 alive 1 decommissioned 1 dead"), "{first}");
    assert!(first.contains(&format!("Cores {used} of {cores} used")), "{first}");
    let picture = page("/picture/");
    assert!(picture.contains("Workers 1 alive"), "{picture}");
    assert!(picture.contains(&format!("Cores held {used} of {cores} Cores free {free}")), "{picture}");
    let policies = page("/policies/");
    assert!(policies.contains(&format!("cores used {used} ")), "{policies}");
    let (code, json) = master.get("/json/");
    let json: Value = serde_json::from_str(&json).expect("it is JSON");
    assert_eq!(code, 200);
    assert_eq!(
        (&json["aliveworkers"], &json["cores"], &json["coresused"]),
        (&1.into(), &cores.into(), &used.into())
    );
    let mut top = asked(&["top", "--interval", "100ms"]);
    top.env("LC_ALL", "C.UTF-8");
    let mut top = Terminal::start(top, 24, 110);
    let screen = top.wait_for(&["workers 1", &format!(" {used}/{cores}")]);
    let head = screen.lines().next().unwrap_or_default();
    assert!(head.contains("workers 1") && head.contains(&format!(" {used}/{cores}")), "{screen}");
    top.type_keys("q");
    assert_eq!(top.wait(), Some(0));
}
