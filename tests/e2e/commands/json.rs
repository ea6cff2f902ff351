//! Checks every JSON value that a command prints against docs/JSON.md. Its schema comes first; each name is in the
//! tables there and means the same everywhere; and measured values have the unit in their name's suffix.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use firesteel_testkit::{Daemon, firesteel, run, wait_for};
use serde_json::Value;

/// Fields whose keys are names of users: properties, custom resources, hosts.
const MAPS: [&str; 9] = [
    "settings",
    "resources",
    "resources_used",
    "resources_free",
    "resources_stranded",
    "more_free_resources",
    "executor_resources",
    "hosts",
    "where",
];

/// Suffixes of units that are not used.
const WRONG_UNITS: [&str; 9] =
    ["_s", "_sec", "_secs", "_seconds", "_millis", "_kib", "_mb", "_gb", "_memory"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The names of the tables, each with its meaning.
fn words() -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(root().join("docs/JSON.md")).expect("it is there");
    let rows =
        text.lines().filter_map(|line| line.strip_prefix("| `")?.strip_suffix(" |")?.split_once("` | "));
    // The table of commands has one more column.
    let rows = rows.filter(|(_, meaning)| !meaning.contains(" | "));
    let mut words = BTreeMap::new();
    for (word, meaning) in rows {
        let before = words.insert(word.to_owned(), meaning.to_owned());
        assert!(before.is_none(), "docs/JSON.md: {word} stands there twice");
    }
    words
}

#[derive(Default)]
struct Printed(Vec<(String, String)>);

impl Printed {
    /// Runs a command that prints one value, and returns it.
    fn of(&mut self, command: &mut Command, code: i32) -> Value {
        let done = run(command);
        assert_eq!(done.code(), code, "{done}");
        let name = format!("{:?}", command.get_args().collect::<Vec<_>>());
        if code != 0 {
            let [error] = done.stderr.lines().collect::<Vec<_>>()[..] else { panic!("one error: {done}") };
            self.0.push((name.clone(), error.to_owned()));
        }
        let value = serde_json::from_str(&done.stdout).unwrap_or_else(|error| panic!("{error}: {done}"));
        self.0.push((name, done.stdout));
        value
    }

    /// Adds the values of a command that prints one JSON value per line.
    fn lines(&mut self, name: &str, text: &str) {
        assert!(!text.is_empty(), "{name} prints some");
        self.0.extend(text.lines().map(|line| (name.to_owned(), line.to_owned())));
    }
}

/// Checks the fields of a value against their names. Adds the names to `seen`.
fn check(name: &str, value: &Value, seen: &mut BTreeSet<String>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| check(name, value, seen)),
        Value::Object(fields) => {
            for (key, value) in fields {
                seen.insert(key.clone());
                check_value(name, key, value);
                if !(MAPS.contains(&key.as_str()) && value.is_object()) {
                    check(name, value, seen);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Checks a value against its name alone.
fn check_value(name: &str, key: &str, value: &Value) {
    let is = |ok: bool| assert!(ok || value.is_null(), "{name}: {key} is {value}");
    let begins = |word: &str| is(value.as_str().is_some_and(|text| text.starts_with(word)));
    assert!(!WRONG_UNITS.iter().any(|unit| key.ends_with(unit)), "{name}: {key}");
    if key.ends_with("_ms") || key.ends_with("_share") {
        is(value.is_number());
    } else if ["_mib", "_bytes", "_cores"].iter().any(|unit| key.ends_with(unit))
        || key.starts_with("cores") && !key.ends_with("_share")
    {
        is(value.is_i64());
    }
    match key {
        "schema" | "executor" | "exit_code" | "code" | "port" => is(value.is_i64()),
        "app" => begins("app-"),
        "worker" => begins("worker-"),
        "driver" => begins("driver-"),
        "master" => begins("spark://"),
        "host" | "name" | "user" | "state" | "queue" | "directory" => is(value.is_string()),
        _ => {}
    }
}

#[test]
fn every_json_value_has_its_schema_first_and_the_words_of_the_table() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let at = |name: &str| directory.path().join(name);
    let state = format!("spark.deploy.recoveryDirectory={}", at("state").display());
    let master = Daemon::master(&["--conf", &state]);
    let worker =
        Daemon::worker(&master, &at("work"), &["--cores", "4", "--memory", "4g", "--resource", "gpu=0,1"]);
    let line = worker.wait_for_line(&["listens on"]);
    let worker_id =
        line.split_whitespace().find(|word| word.starts_with("worker-")).expect("the log names it");
    master.wait_for_workers(1);
    let ask = |words: &[&str]| {
        let mut command = firesteel();
        let split = words.iter().take_while(|word| !word.starts_with('-')).count().clamp(1, 1);
        command.args(&words[..split]).args(["--master", master.url()]).args(&words[split..]);
        command.env("XDG_STATE_HOME", at("home"));
        command
    };
    let mut printed = Printed::default();

    // An application that runs, one that cannot run, one that has failed, one that is detached; and a driver that runs.
    let serves =
        "--name serves --executor-cores 1 --num-executors 1 --executor-memory 64m --until never --json";
    let serves: Vec<&str> = serves.split(' ').collect();
    let gpu =
        ["--conf", "spark.executor.resource.gpu.amount=1", "--", "sh", "-c", "echo hello; exec sleep 1000"];
    let mut serves = Daemon::spawn(&mut ask(&[&["launch"], &serves[..], &gpu[..]].concat()));
    let waits = ["map", "--name", "waits", "--executor-cores", "64", "--", "true", ":::", "a"];
    let _waits = Daemon::spawn(&mut ask(&waits));
    let failed =
        run(&mut ask(&["launch", "--executor-cores", "1", "--num-executors", "1", "--json", "--", "false"]));
    assert_eq!(failed.code(), 1, "{failed}");
    printed.lines("launch", &failed.stdout);
    let detached = [
        "map",
        "--detach",
        "--executor-memory",
        "64m",
        "--total-executor-cores",
        "1",
        "--",
        "true",
        ":::",
        "a",
    ];
    assert_eq!(run(&mut ask(&detached)).code(), 0);
    let submit =
        "submit --deploy-mode cluster --driver-memory 64m --driver-resource gpu=1 --json -- sleep 1000";
    let submitted = printed.of(&mut ask(&submit.split(' ').collect::<Vec<_>>()), 0);
    let driver = submitted["id"].as_str().expect("it has an id");
    wait_for("a driver, an executor, and what they use", || {
        let status = master.status();
        let live =
            &status["applications"].as_array()?.iter().find(|app| app["name"] == "serves")?["executors_live"];
        let usage = &status["usage"][0];
        let used = usage["executors"].as_array()?.len() + usage["drivers"].as_array()?.len();
        (*live == 1 && used == 2 && !usage["disk"].is_null()).then_some(())
    });
    for words in [
        "status --json",
        "status serves --json",
        "status waits --json",
        "explain serves --json",
        "explain waits --json",
        "logs serves --list --json",
        "attach --json",
        "history --json",
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        let mut command = if words[0] == "attach" { firesteel() } else { ask(&words) };
        if words[0] == "attach" {
            command.args(&words).env("XDG_STATE_HOME", at("home"));
        }
        printed.of(&mut command, 0);
    }
    for words in [["status", driver, "--json"], ["explain", driver, "--json"], ["logs", driver, "--json"]] {
        match words[0] {
            "logs" => printed.of(&mut ask(&[&words[..], &["--list"]].concat()), 0),
            _ => printed.of(&mut ask(&words), 0),
        };
    }
    let asked = printed.of(&mut ask(&["submit", "--status", driver, "--json"]), 0);
    assert_eq!((&asked["id"], &asked["worker"]), (&driver.into(), &worker_id.into()));
    wait_for("a line of the log", || {
        let log = run(&mut ask(&["logs", "serves", "--json"]));
        (!log.stdout.is_empty()).then(|| printed.lines("logs", &log.stdout))
    });

    let leaving = printed.of(&mut ask(&["decommission", worker_id, "nobody", "--json"]), 1);
    assert_eq!(
        (&leaving["leaving"][0]["id"], &leaving["refused"][0]["asked"]),
        (&worker_id.into(), &"nobody".into())
    );
    printed.of(&mut ask(&["explain", "waits", "--json"]), 0);
    let killed = printed.of(&mut ask(&["kill", "serves", driver, "waits", "nobody", "--json"]), 1);
    let kinds = killed["killed"].as_array().expect("a list").iter().map(|row| row["kind"].clone());
    assert_eq!(kinds.collect::<Vec<_>>(), ["application", "driver", "application"]);
    serves.wait();
    printed.lines("launch", &serves.output());
    wait_for("the driver's end", || {
        let history = run(&mut ask(&["history", "--json"]));
        history
            .stdout
            .contains("\"driver\"")
            .then(|| printed.lines("history", &history.stdout.replace('\n', " ")))
    });
    assert_eq!(master.terminate(), 0);

    let plain = |words: &[&str]| {
        let mut command = firesteel();
        command.args(words).env("SPARK_CONF_DIR", at("conf")).env("SPARK_PID_DIR", directory.path());
        command.current_dir(root());
        command
    };
    let journal = at("state").display().to_string();
    printed.of(&mut plain(&["journal", "check", "--json", &journal]), 0);
    printed.of(&mut plain(&["journal", "export", &journal]), 0);
    std::fs::create_dir(at("conf")).expect("it is new");
    std::fs::write(at("conf/workers"), "localhost\n").expect("it can be written");
    std::fs::write(at("conf/spark-defaults.conf"), "spark.executor.memory 1g\n").expect("it can be written");
    let conf = at("conf").display().to_string();
    printed.of(&mut plain(&["cluster", "status", "--json", "--conf-dir", &conf]), 1);
    printed.of(&mut plain(&["config", "check", "--json"]), 0);
    printed.of(&mut plain(&["config", "show", "--json", "--conf", "spark.executor.memory=2g"]), 0);
    let plan = "[[workers]]\nname = \"w-#\"\ncount = 2\ncores = 8\nmemory = \"8g\"\n\n[[applications]]\nname = \"etl\"\n\
                max-cores = 32\nexecutor-cores = 4\nexecutor-memory = \"4g\"\n";
    std::fs::write(at("plan.toml"), plan).expect("it can be written");
    printed.of(&mut plain(&["plan", &at("plan.toml").display().to_string(), "--json"]), 0);
    let week = "simulate fixtures/traces/synthetic --json --policy spark --workers 40x64x256g";
    for more in ["--applications 50 --longest 1h --load 0.5", "--static-fill", "--fewest-workers"] {
        let words: Vec<&str> = week.split(' ').chain(more.split(' ')).collect();
        printed.of(&mut plain(&words), 0);
    }
    let summary = at("summary").display().to_string();
    let map = [
        "map",
        "--summary",
        "json",
        "--summary-file",
        &summary,
        "--",
        "sh",
        "-c",
        "exit $1",
        "sh",
        ":::",
        "0",
        "3",
    ];
    assert_eq!(run(&mut plain(&map)).code(), 1);
    printed.lines("map", &std::fs::read_to_string(&summary).expect("it was written"));
    // Errors have the same form everywhere.
    for words in [
        &["launch", "--json", "--master", "spark://127.0.0.1:1", "--nonsense", "--", "true"][..],
        &["launch", "--json", "--master", "nonsense", "--", "true"],
        &["submit", "--status", "driver-1", "--json", "--master", "spark://127.0.0.1:1"],
        &["kill", "x", "--json", "--master", "spark://127.0.0.1:1"],
        &["logs", "x", "--json", "--master", "spark://127.0.0.1:1"],
        &["decommission", "x", "--json", "--master", "spark://127.0.0.1:1"],
        &["journal", "check", "--json", "/nowhere"],
        &["cluster", "status", "--json", "--conf-dir", "/nowhere"],
        &["yarn", "apps", "--json", "--state", "nonsense"],
        &["status", "--json", "--nonsense"],
    ] {
        let done = run(&mut plain(words));
        let error = done.stderr.lines().last().unwrap_or_default();
        let value: Value =
            serde_json::from_str(error).unwrap_or_else(|cause| panic!("{words:?}: {cause}: {done}"));
        assert_eq!(value["error"]["code"], done.code(), "{done}");
        printed.0.push((format!("{words:?}"), error.to_owned()));
    }

    let (words, mut seen) = (words(), BTreeSet::new());
    for (name, text) in &printed.0 {
        let compact: String = text.chars().filter(|letter| !letter.is_whitespace()).collect();
        assert!(compact.starts_with("{\"schema\":"), "{name}: its schema comes first: {text}");
        let value: Value = serde_json::from_str(text).expect("it is JSON");
        check(name, &value, &mut seen);
    }
    let unknown: Vec<&String> = seen.iter().filter(|word| !words.contains_key(*word)).collect();
    assert!(unknown.is_empty(), "words that do not stand in docs/JSON.md: {unknown:?}");
    let rare: Vec<&str> = words.keys().map(String::as_str).filter(|word| !seen.contains(*word)).collect();
    assert_eq!(rare, RARE, "words of docs/JSON.md that no value has");
}

/// Words of values that this cluster does not bring about: of exclusions, of a torn journal and of YARN, whose
/// words a test beside them holds to the tables.
const RARE: [&str; 15] = [
    "attempt",
    "container",
    "containers",
    "diagnostics",
    "early_end",
    "final_status",
    "for_all",
    "offset_bytes",
    "progress",
    "tags",
    "times",
    "tracking_url",
    "type",
    "until_ms",
    "virtual_cores",
];
