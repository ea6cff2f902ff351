//! Cluster drivers of Spark: `spark-submit --deploy-mode cluster`, by REST and by the classic gateway.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use firesteel_testkit::wait::wait;
use firesteel_testkit::{clean, processes};
use libtest_mimic::Trial;
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::cluster::{
    Driver, LONGEST, MAIN, SPARK, SparkCluster, app, home, in_surroundings, releases, running_within,
    scala_apps,
};
use crate::standalone::{Manager, on_both_with_rest};

pub(crate) fn trials() -> Vec<Trial> {
    SPARK.trials(&[
        ("a_supervised_driver_goes_on_whatever_is_killed", supervised),
        ("drivers_have_gpus_of_their_own", gpus),
        ("the_classic_gateway_takes_drivers_and_is_fallen_back_to", classic),
        ("a_client_of_the_classic_gateway_logs_no_error_when_all_is_well", in_silence),
        ("submissions_by_rest_are_answered_as_by_spark_s_own_master", same_json),
    ])
}

/// Makes Spark's clients print the Master's answers: by default `--status` and `--kill` print nothing.
const LOG: &str = "rootLogger.level = info
rootLogger.appenderRef.stdout.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %p %m%n
logger.deploy.name = org.apache.spark.deploy
logger.deploy.level = info
";

/// A client program of Spark, with little memory.
fn client(version: &str, program: &str) -> Command {
    let settings = Path::new(env!("CARGO_TARGET_TMPDIR")).join("spark-clients-log4j2.properties");
    fs::write(&settings, LOG).expect("it is written");
    let mut command = clean(home(version).join("bin").join(program));
    command
        .env("JDK_JAVA_OPTIONS", format!("-Xmx256m -Dlog4j2.configurationFile=file:{}", settings.display()));
    in_surroundings(version, command)
}

/// A `spark-submit` for a driver that runs on the cluster until this file exists.
pub(crate) fn submission(version: &str, master: &str, file: &Path, words: &[&str]) -> Command {
    let mut command = client(version, "spark-submit");
    command.args(["--master", master, "--deploy-mode", "cluster", "--class", "Submitted"]);
    command.args(["--driver-memory", "512m", "--executor-memory", "512m", "--total-executor-cores", "1"]);
    command.args(["--conf", "spark.ui.enabled=false"]).args(words);
    command.arg(format!("file:{}", scala_apps(version).display())).arg(file);
    command.env("SECRET_TOKEN", "s3cret").env("SPARK_OF_CLIENT", "1");
    command
}

/// Runs a program to its end. Returns its exit code and its whole output.
pub(crate) fn run(command: Command) -> (i32, String) {
    let mut client = Driver::start(command);
    wait("the end of a client of Spark's", LONGEST, || (!client.0.is_alive()).then_some(()));
    let code = client.0.wait();
    (code, format!("{}\n{}", client.0.output(), client.0.log()))
}

/// The id of a cluster driver in a client's output.
pub(crate) fn id_in(text: &str) -> String {
    let at = text.find("driver-2").unwrap_or_else(|| panic!("no id is in {text}"));
    text[at..]
        .chars()
        .take_while(|character| character.is_ascii_alphanumeric() || *character == '-')
        .collect()
}

/// The directories of cluster drivers in a work directory.
fn drivers_in(work: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(work).into_iter().flatten().flatten().map(|entry| entry.path());
    entries
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("driver-")))
        .collect()
}

/// The contents of a log in a cluster driver's directory.
fn written(directory: &Path, log: &str) -> String {
    fs::read_to_string(directory.join(log)).unwrap_or_default()
}

/// Waits until a cluster driver has run its first job this many times.
pub(crate) fn wait_until_ready(directory: &Path, times: usize) -> String {
    wait("a cluster driver to run its job", LONGEST, || {
        let stdout = written(directory, "stdout");
        (stdout.matches("\nready ").count() == times).then_some(stdout)
    })
}

/// The process of a cluster driver.
fn process_of(directory: &Path) -> u32 {
    wait("the process of a cluster driver", LONGEST, || {
        running_within(directory, "DriverWrapper").first().copied()
    })
}

/// By REST, with Spark 3.5 on Java 17: the driver is killed, the Master is killed and restarted, and the Worker is
/// killed.
fn supervised() {
    let version = "3.5.9";
    let mut cluster = SparkCluster::durable_with_rest(2, 2);
    let master = format!("spark://127.0.0.1:{}", cluster.rest);
    let file = cluster.root.path().join("go");
    let by_rest = ["--supervise", "--conf", "spark.master.rest.enabled=true"];
    let (code, text) = run(submission(version, &master, &file, &by_rest));
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("\"success\" : true"), "{text}");
    let id = id_in(&text);
    let has = |number: &usize| cluster.work(*number).join(&id).is_dir();
    let number = wait("the driver's directory", LONGEST, || (0..2).find(has));
    let directory = cluster.work(number).join(&id);
    let stdout = wait_until_ready(&directory, 1);
    let expected = format!("master {}\nvariables SPARK_OF_CLIENT\nsum 285\n", cluster.master.url());
    assert!(stdout.starts_with(&expected), "{stdout}");

    processes::signal(process_of(&directory), Signal::SIGKILL).expect("it runs");
    wait_until_ready(&directory, 2);
    cluster.restart_master();
    // At the port of the RPC, where Spark's own Master does not answer; and another Master of the list is not there.
    let masters = format!("{},127.0.0.1:1", cluster.master.url());
    let ask = |word: &str, id: &str| {
        let mut command = client(version, "spark-submit");
        command.args(["--master", &masters, word, id]);
        let (code, text) = run(command);
        assert_eq!(code, 0, "{text}");
        text
    };
    let status = |id: &str| {
        wait("the state of a driver", LONGEST, || {
            let state =
                rest(cluster.rest, "GET", &format!("/v1/submissions/status/{id}"), "").1["driverState"]
                    .clone();
            (state != "UNKNOWN").then(|| state.as_str().unwrap_or_default().to_owned())
        })
    };
    assert_eq!(status(&id), "RUNNING");
    let told = ask("--status", &id);
    assert!(told.contains("RUNNING"), "{told}");

    let before = process_of(&directory);
    cluster.workers[number].signal(Signal::SIGKILL);
    let other = cluster.work(1 - number);
    let successor = wait("the driver on the other Worker", LONGEST, || drivers_in(&other).pop());
    wait_until_ready(&successor, 1);
    assert!(!processes::is_alive(before), "the first process is gone");
    assert_eq!(status(&id), "RELAUNCHING");
    let successor_id = successor.file_name().expect("a name").to_string_lossy().into_owned();
    let told = ask("--kill", &successor_id);
    assert!(told.contains(&format!("Kill request for {successor_id} submitted")), "{told}");
    wait("the end of the driver", LONGEST, || (status(&successor_id) == "KILLED").then_some(()));
    let told = ask("--status", &successor_id);
    assert!(told.contains("KILLED"), "{told}");
    wait("the end of all processes", LONGEST, || cluster.processes().is_empty().then_some(()));
}

/// Cluster drivers with custom resources, by the classic gateway and by REST: each finds its own address in Spark's
/// way. A restarted Master knows who has which address. A driver for which no address is left waits.
fn gpus() {
    let mut cluster = SparkCluster::durable_with_rest(0, 0);
    let gpus = "spark.worker.resource.gpu.amount=2";
    cluster = cluster.and_worker(&["--cores", "6", "--memory", "8g", "--conf", gpus]);
    let by_rest = format!("spark://127.0.0.1:{}", cluster.rest);
    let classic = cluster.master.url().to_owned();
    let file = cluster.root.path().join("go");
    let one = ["--conf", "spark.driver.resource.gpu.amount=1"];
    let with_rest = [&one[..], &["--conf", "spark.master.rest.enabled=true"]].concat();
    let mut ids = Vec::new();
    for (version, master, words, address) in
        [("4.3.0", &classic, &one[..], "0"), ("3.5.9", &by_rest, &with_rest, "1")]
    {
        let (code, text) = run(submission(version, master, &file, words));
        assert_eq!(code, 0, "{text}");
        let id = id_in(&text);
        let stdout = wait_until_ready(&cluster.work(0).join(&id), 1);
        assert!(stdout.contains(&format!("\ngpus {address}\n")), "{version}: {stdout}");
        ids.push(id);
    }
    cluster.restart_master();
    let (code, text) = run(submission("3.5.9", &by_rest, &file, &with_rest));
    assert_eq!(code, 0, "{text}");
    let last = id_in(&text);
    let state = || {
        let path = format!("/v1/submissions/status/{last}");
        rest(cluster.rest, "GET", &path, "").1["driverState"].clone()
    };
    let row = |id: &str| {
        let drivers = cluster.master.status()["drivers"].clone();
        drivers.as_array().and_then(|rows| rows.iter().find(|row| row["id"] == id).cloned())
    };
    wait("the Worker", LONGEST, || row(&ids[0]).filter(|row| row["state"] == "RUNNING"));
    assert_eq!(state(), "SUBMITTED", "no gpu is left");
    assert_eq!(row(&ids[0]).expect("it is known")["resources"], json!({"gpu": ["0"]}));
    let killed = rest(cluster.rest, "POST", &format!("/v1/submissions/kill/{}", ids[0]), "").1;
    assert_eq!(killed["success"], true, "{killed}");
    let stdout = wait_until_ready(&cluster.work(0).join(&last), 1);
    assert!(stdout.contains("\ngpus 0\n"), "{stdout}");
}

/// Spark's clients use the classic gateway unless they are told to use REST. If the port does not serve REST, they fall
/// back to the classic gateway.
fn classic() {
    let cluster = SparkCluster::start(1, 2);
    let master = cluster.master.url().to_owned();
    let file = cluster.root.path().join("go");
    let (code, text) = run(submission("3.5.9", &master, &file, &[]));
    assert_eq!(code, 0, "{text}");
    let id = id_in(&text);
    assert!(text.contains(&format!("Driver successfully submitted as {id}")), "{text}");
    assert!(text.contains(&format!("State of {id} is RUNNING")), "{text}");
    let stdout = wait_until_ready(&cluster.work(0).join(&id), 1);
    assert!(stdout.contains("variables SPARK_OF_CLIENT\n"), "{stdout}");
    let mut kill = client("3.5.9", "spark-class");
    kill.args(["org.apache.spark.deploy.Client", "kill", &master, &id]);
    let (_, text) = run(kill);
    assert!(text.contains(&format!("Kill request for {id} submitted")), "{text}");
    wait("the end of the driver", LONGEST, || {
        let drivers = cluster.master.status()["drivers"].clone();
        drivers
            .as_array()?
            .iter()
            .any(|row| row["id"] == id.as_str() && row["state"] == "KILLED")
            .then_some(())
    });

    fs::write(&file, "0").expect("it is written");
    let completion = "spark.standalone.submit.waitAppCompletion=true";
    let wait_for_it = ["--conf", "spark.master.rest.enabled=true", "--conf", completion];
    let (code, text) = run(submission("4.3.0", &master, &file, &wait_for_it));
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("Falling back to legacy submission gateway"), "{text}");
    assert!(text.contains("FINISHED"), "{text}");
    let stdout = wait_until_ready(&cluster.work(0).join(id_in(&text)), 1);
    assert!(stdout.contains("sum 285\n"), "{stdout}");

    let mut refused = client("4.3.0", "spark-submit");
    refused.args(["--master", &master, "--deploy-mode", "cluster", "--class", "Submitted"]);
    let (code, text) = run({
        refused.args(["--conf", "spark.master.rest.enabled=false", "hdfs://nowhere/x.jar"]);
        refused
    });
    assert_ne!(code, 0, "{text}");
    assert!(text.contains("the driver's jar cannot be fetched from hdfs:"), "{text}");
}

/// The Master learns a client's release without an error in the client's log.
fn in_silence() {
    let cluster = SparkCluster::without_workers(&[]);
    for version in releases() {
        let file = cluster.root.path().join("go");
        let by_rpc = ["--conf", "spark.master.rest.enabled=false"];
        let (code, text) = run(submission(&version, cluster.url(), &file, &by_rpc));
        assert_eq!(code, 0, "{version}: {text}");
        let id = id_in(&text);
        let words = [
            format!("INFO Driver successfully submitted as {id}"),
            format!("INFO State of {id} is SUBMITTED"),
        ];
        assert!(words.iter().all(|words| text.contains(words)), "{version}: {text}");
        assert!(!text.lines().any(|line| line.starts_with("ERROR")), "{version}: {text}");
        assert!(!text.contains("Exception"), "{version}: {text}");
    }
}

/// Sends a request to a Master's REST port. Returns the status and the JSON of the answer.
pub(crate) fn rest(port: u16, method: &str, path: &str, body: &str) -> (u16, Value) {
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let url = format!("http://127.0.0.1:{port}{path}");
    let answer = match method {
        "POST" => agent.post(&url).send(body),
        _ => agent.get(&url).call(),
    };
    let mut answer = answer.unwrap_or_else(|error| panic!("{url}: {error}"));
    let text = answer.body_mut().read_to_string().expect("a text");
    (answer.status().as_u16(), serde_json::from_str(&text).unwrap_or(Value::Null))
}

/// The body of a request to run a class with these arguments and properties.
pub(crate) fn creation(jar: &str, class: &str, arguments: &[&str], properties: Value) -> String {
    let mut all = json!({
        "spark.app.name": "submitted", "spark.driver.memory": "512m", "spark.executor.memory": "512m",
        "spark.cores.max": "1", "spark.ui.enabled": "false", "spark.jars": jar,
    });
    all.as_object_mut().expect("an object").extend(properties.as_object().expect("an object").clone());
    json!({
        "action": "CreateSubmissionRequest", "clientSparkVersion": MAIN, "appResource": jar, "mainClass": class,
        "appArgs": arguments, "sparkProperties": all,
        "environmentVariables": {"PYSPARK_PYTHON": home(MAIN).join("../../../../bin/python"), "SPARK_LOCAL_IP": "1.2.3.4"},
    })
    .to_string()
}

/// A REST client that records the Master's answers, with words in place of ids and addresses.
struct RestLog<'a> {
    manager: &'a dyn Manager,
    noted: Vec<(String, u16, Value)>,
}

impl RestLog<'_> {
    fn ask(&self, method: &str, action: &str, body: &str) -> (u16, Value) {
        rest(self.manager.rest(), method, &format!("/v1/submissions/{action}"), body)
    }

    fn note(&mut self, what: &str, (status, mut answer): (u16, Value), id: &str) {
        if let Some(fields) = answer.as_object_mut() {
            for (name, value) in fields {
                let Some(text) = value.as_str() else { continue };
                *value = match name.as_str() {
                    "workerId" | "workerHostPort" => format!("a {name}").into(),
                    // The reason why a driver could not be started is worded differently.
                    _ => text.split('\n').next().unwrap_or_default().replace(id, "ID").into(),
                };
            }
        }
        self.noted.push((what.to_owned(), status, answer));
    }

    /// Submits a cluster driver. Returns its id.
    fn create(&mut self, what: &str, body: &str) -> String {
        let answer = self.ask("POST", "create", body);
        let id = answer.1["submissionId"].as_str().unwrap_or_default().to_owned();
        self.note(what, answer, &id);
        id
    }

    /// Waits until a cluster driver is in this state, and records the status.
    fn status(&mut self, what: &str, id: &str, state: &str) {
        let answer = wait(&format!("{what}: {state}"), LONGEST, || {
            let answer = self.ask("GET", &format!("status/{id}"), "");
            (answer.1["driverState"] == state).then_some(answer)
        });
        self.note(what, answer, id);
    }
}

fn same_json() {
    let (ours, theirs) = on_both_with_rest(&[], talk);
    for (one, other) in ours.iter().zip(&theirs) {
        assert_eq!(one, other);
    }
    assert_eq!(ours.len(), theirs.len());
    println!("{} answers are the same", ours.len());
}

fn talk(manager: &mut dyn Manager) -> Vec<(String, u16, Value)> {
    manager.add_worker(0, "127.0.0.1", 2);
    let jar = format!("file:{}", scala_apps(MAIN).display());
    let mut talk = RestLog { manager, noted: Vec::new() };
    let ready = talk.ask("GET", "readyz", "");
    talk.note("ready", ready, "");
    let missing =
        talk.create("create without a jar", &creation("file:/nowhere/x.jar", "Main", &[], json!({})));
    talk.status("without a jar", &missing, "ERROR");
    let body = creation(&jar, "Submitted", &["/nowhere/go"], json!({}));
    let id = talk.create("create", &body);
    talk.status("runs", &id, "RUNNING");
    let killed = talk.ask("POST", &format!("kill/{id}"), "");
    talk.note("kill", killed, &id);
    talk.status("killed", &id, "KILLED");
    let again = talk.ask("POST", &format!("kill/{id}"), "");
    talk.note("kill again", again, &id);
    let no_main = talk.create("create without main", &creation(&jar, "Nothing", &[], json!({})));
    talk.status("without main", &no_main, "FAILED");
    let large = creation(&jar, "Submitted", &[], json!({"spark.driver.memory": "1000g"}));
    let large = talk.create("create a large one", &large);
    talk.status("waits", &large, "SUBMITTED");
    let all = talk.ask("POST", "killall", "");
    talk.note("kill all", all, "");
    talk.status("killed with all", &large, "KILLED");
    let url = talk.manager.url().to_owned();
    let file = app("squares.py").display().to_string();
    let python = ["--master", &url, "--conf", "spark.driver.memory=512m", &file, &url];
    let python = creation("", "org.apache.spark.deploy.SparkSubmit", &python, json!({}));
    let python = talk.create("create in Python", &python);
    talk.status("in Python", &python, "FINISHED");
    let cleared = talk.ask("POST", "clear", "");
    talk.note("clear", cleared, "");
    let unknown = talk.ask("GET", &format!("status/{id}"), "");
    talk.note("cleared", unknown, &id);
    talk.noted
}
