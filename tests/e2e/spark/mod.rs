//! Peers that speak Spark's RPC: messages of real drivers and executors, sent again to a Master and a Worker.

mod rest;
mod shuffle_service;

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use firesteel_spark::envelope::{Address, Envelope};
use firesteel_spark::frame::Frame;
use firesteel_spark::java::{self, Bounds, Node};
use firesteel_spark::messages::answer;
use firesteel_testkit::{
    Cluster, Daemon, firesteel, processes, run, scratch_of_applications, wait_for, write_program,
};
use nix::sys::signal::Signal;

/// The longest frame that is accepted.
const MOST: usize = 1 << 20;

/// A recorded stream of a release, from its first byte.
fn recorded(release: &str, name: &str) -> Vec<u8> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/spark");
    fs::read(root.join(release).join(format!("{name}.bin"))).expect("it was recorded")
}

fn frames(bytes: &[u8]) -> Vec<Frame> {
    let mut bytes = BytesMut::from(bytes);
    let next = || Frame::decode(&mut bytes, MOST).expect("it is a frame");
    std::iter::from_fn(next).collect()
}

/// One end of a connection.
struct Peer {
    stream: TcpStream,
    received: BytesMut,
}

impl Peer {
    fn connect(daemon: &Daemon) -> Self {
        let stream = TcpStream::connect(daemon.address()).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("it is a socket");
        Self { stream, received: BytesMut::new() }
    }

    fn send(&mut self, frame: &Frame) {
        let mut bytes = BytesMut::new();
        frame.encode(&mut bytes);
        self.stream.write_all(&bytes).expect("the other side reads");
    }

    /// The next frame; `None` at the end of the connection.
    fn next(&mut self) -> Option<Frame> {
        loop {
            if let Some(frame) = Frame::decode(&mut self.received, MOST).expect("it is a frame") {
                return Some(frame);
            }
            let mut bytes = [0; 4096];
            let count = self.stream.read(&mut bytes).expect("an answer within 20 s");
            if count == 0 {
                return None;
            }
            self.received.extend_from_slice(&bytes[..count]);
        }
    }

    /// The object of the next message, which must have this class.
    fn message(&mut self, class: &str) -> Bytes {
        loop {
            let frame = self.next().unwrap_or_else(|| panic!("the connection ends without {class}"));
            let Frame::OneWay { mut body } = frame else { continue };
            Envelope::decode(&mut body).expect("it has an envelope");
            if class_of(&body).ends_with(class) {
                return body;
            }
        }
    }
}

fn class_of(object: &Bytes) -> String {
    let (graph, value) = java::read(object, Bounds::default()).expect("it is an object");
    Node { graph: &graph, value }.class_name().expect("it has a class").to_owned()
}

fn read<T>(object: &Bytes, field: &str, read: impl Fn(Node<'_>) -> Option<T>) -> T {
    let (graph, value) = java::read(object, Bounds::default()).expect("it is an object");
    let node = Node { graph: &graph, value }.field(field).expect("it has this field");
    read(node).expect("it is of this kind")
}

fn text(object: &Bytes, field: &str) -> String {
    read(object, field, |node| node.text().map(str::to_owned))
}

fn number(object: &Bytes, field: &str) -> i32 {
    read(object, field, |node| node.int())
}

/// The frames of a driver up to its registration.
fn registration(release: &str) -> Vec<Frame> {
    let all = frames(&recorded(release, "driver-to-master"));
    let is_registration = |frame: &Frame| match frame {
        Frame::OneWay { body } => body.windows(19).any(|window| window == b"RegisterApplication"),
        _ => false,
    };
    let last = all.iter().position(is_registration).expect("the driver registers");
    all[..=last].to_vec()
}

/// A Master, and a Worker with a Java that only reports its start.
fn cluster(version: &str) -> Cluster {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let java = directory.path().join("jdk/bin/java");
    let jar = directory.path().join(format!("spark/jars/spark-core_2.1x-{version}.jar"));
    for (path, text) in [(&java, "#!/bin/sh\necho \"$@\"\nexec sleep 600\n"), (&jar, "")] {
        write_program(path, text);
    }
    let plan = Cluster::plan().worker(&["--cores", "2", "--memory", "4g"]);
    let plan = plan.variable("SPARK_HOME", directory.path().join("spark"));
    let plan = plan.variable("JAVA_HOME", directory.path().join("jdk"));
    plan.variable("SPARK_LOCAL_DIRS", directory.path().join("local")).start_in(directory, 1)
}

/// A driver of this release, which has registered.
fn driver(cluster: &Cluster, release: &str) -> Peer {
    let mut driver = Peer::connect(&cluster.master);
    registration(release).iter().for_each(|frame| driver.send(frame));
    driver
}

fn kill(cluster: &Cluster, app: &str) {
    let killing = run(firesteel().args(["kill", "--master", cluster.master.url(), app]));
    assert_eq!(killing.code(), 0, "{killing}");
}

/// The remaining scratch directories.
fn scratch(cluster: &Cluster) -> Vec<PathBuf> {
    scratch_of_applications(&cluster.path("local"))
}

#[test]
fn a_driver_of_spark_s_gets_an_executor_and_loses_it_with_its_connection() {
    for (release, version) in [("spark-3.5.7", "3.5.9"), ("spark-4.0.1", "4.0.0"), ("spark-4.3.0", "4.3.0")] {
        let cluster = cluster(version);
        let mut driver = driver(&cluster, release);
        let registered = driver.message("RegisteredApplication");
        let app = text(&registered, "appId");
        let added = driver.message("ExecutorAdded");
        assert_eq!(text(&added, "hostPort"), cluster.workers[0].address().to_string());
        driver.message("ExecutorUpdated");

        // A repeated registration, as after a late answer, belongs to the same application.
        driver.send(registration(release).last().expect("there is one"));
        assert_eq!(text(&driver.message("RegisteredApplication"), "appId"), app);
        let status = cluster.master.status();
        assert_eq!(status["applications"].as_array().map(Vec::len), Some(1), "{status}");

        let directory = cluster.work(0).join(&app).join("0");
        let words = wait_for("the executor's words", || {
            let words = fs::read_to_string(directory.join("stdout")).ok()?;
            words.ends_with('\n').then_some(words)
        });
        let url = format!("--worker-url spark://Worker@{}", cluster.workers[0].address());
        for expected in ["CoarseGrainedExecutorBackend", "--executor-id 0", &url, &format!("--app-id {app}")]
        {
            assert!(words.contains(expected), "{expected}: {words}");
        }
        assert_eq!(scratch(&cluster).len(), 1);
        assert_eq!(processes::within(&directory).len(), 1);
        drop(driver);
        wait_for("the end of what the driver had", || {
            let idle = processes::within(&directory).is_empty() && scratch(&cluster).is_empty();
            (idle && cluster.master.status()["workers"][0]["cores_used"] == 0).then_some(())
        });
    }
}

#[test]
fn flags_of_spark_s_daemons_are_taken() {
    let master = Daemon::master(&["-i", "127.0.0.1", "--webui-port", "0"]);
    master.wait_for_line(&["serving pages, JSON, health and metrics at http://127.0.0.1:"]);
    let work = tempfile::tempdir().expect("a temporary directory");
    let worker = Daemon::worker(&master, work.path(), &["--ip", "127.0.0.1", "--webui-port", "0"]);
    worker.wait_for_line(&["serving pages, JSON, health and metrics at http://127.0.0.1:"]);
}

#[test]
fn an_application_whose_spark_is_nowhere_fails_and_says_what_was_sought() {
    let cluster = cluster("3.5.7");
    let mut driver = driver(&cluster, "spark-4.0.1");
    let updated = driver.message("ExecutorUpdated");
    let removed = driver.message("ApplicationRemoved");
    let message = text(&removed, "message");
    assert!(message.starts_with("FAILED: "), "{message}");
    let home = cluster.path("spark");
    let sought =
        format!("Spark 4.0, which its driver has, is not installed here: {} has 3.5.7", home.display());
    assert!(message.contains(&sought), "{message}");
    assert!(class_of(&updated).ends_with("ExecutorUpdated"));
}

#[test]
fn a_driver_whose_application_was_killed_may_register_another_on_its_connection() {
    let cluster = cluster("4.0.1");
    let mut driver = driver(&cluster, "spark-4.0.1");
    let app = text(&driver.message("RegisteredApplication"), "appId");
    kill(&cluster, &app);
    let message = text(&driver.message("ApplicationRemoved"), "message");
    assert!(message.starts_with("KILLED: it was killed by"), "{message}");
    driver.send(registration("spark-4.0.1").last().expect("there is one"));
    let next = text(&driver.message("RegisteredApplication"), "appId");
    assert_ne!(next, app);
    driver.message("ExecutorAdded");
    let mut master = cluster.master;
    master.signal(Signal::SIGTERM);
    assert_eq!(master.wait(), 0);
    assert!(!master.log().contains("did not read"), "{}", master.log());
}

/// The first request of this class in a recording of dynamic allocation, for another application.
fn request(class: &str, app: &str) -> Frame {
    const RECORDED: &[u8] = b"app-20261120162401-0000";
    let bytes = recorded("spark-4.0.1", "dynalloc-driver-to-fakemaster");
    let bytes = replaced(bytes, RECORDED, app.as_bytes());
    let has_class = |body: &Bytes| body.windows(class.len()).any(|window| window == class.as_bytes());
    let is_request = |frame: &Frame| matches!(frame, Frame::Request { body, .. } if has_class(body));
    frames(&bytes).into_iter().find(is_request).expect("it was recorded")
}

#[test]
fn requests_of_a_driver_of_spark_s_are_answered_also_when_its_application_has_ended() {
    let cluster = cluster("4.0.1");
    let mut driver = driver(&cluster, "spark-4.0.1");
    let app = text(&driver.message("RegisteredApplication"), "appId");
    let asks = ["RequestExecutors", "KillExecutors"].map(|class| request(class, &app));
    let mut answered = |ask: &Frame, expected: bool| {
        let Frame::Request { id, .. } = ask else { panic!("it is a request") };
        let expected = Frame::Response { id: *id, body: answer(expected).into() };
        driver.send(ask);
        let found = wait_for("the answer", || match driver.next().expect("the connection stays") {
            Frame::OneWay { .. } => None,
            found => Some(found),
        });
        assert_eq!(found, expected);
    };
    asks.iter().for_each(|ask| answered(ask, true));
    kill(&cluster, &app);
    asks.iter().for_each(|ask| answered(ask, false));
}

/// The bytes with one text replaced everywhere by another of the same length.
fn replaced(mut bytes: Vec<u8>, old: &[u8], new: &[u8]) -> Vec<u8> {
    assert_eq!(old.len(), new.len());
    while let Some(at) = bytes.windows(old.len()).position(|window| window == old) {
        bytes[at..at + new.len()].copy_from_slice(new);
    }
    bytes
}

/// A Worker of Spark, as recorded: it asks whether there is a Master, and registers.
fn spark_worker(master: &Daemon, release: &str) -> Peer {
    let mut worker = Peer::connect(master);
    frames(&recorded(release, "worker-to-master"))[..2].iter().for_each(|frame| worker.send(frame));
    worker.message("RegisteredWorker");
    worker
}

/// The recorded reports of a Worker on its executor 0, changed to another application's: start, then end.
fn reports(release: &str, app: &str) -> Vec<Frame> {
    let bytes = recorded(release, "worker-to-master");
    let at = bytes.windows(7).position(|window| window == b"app-202").expect("it names an application");
    let old = bytes[at..at + app.len()].to_owned();
    let all = frames(&replaced(bytes, &old, app.as_bytes())).into_iter();
    let is_report = |frame: &Frame| match frame {
        Frame::Request { body, .. } => body.windows(20).any(|window| window == b"ExecutorStateChanged"),
        _ => false,
    };
    all.filter(is_report).collect()
}

#[test]
fn a_worker_of_spark_s_own_runs_executors_of_its_release_and_of_no_other() {
    let master = Daemon::master(&[]);
    let mut worker = spark_worker(&master, "spark-4.0.1");
    let row = master.status()["workers"][0].clone();
    assert_eq!((&row["state"], &row["label"]), (&"ALIVE".into(), &"Spark 4.0".into()), "{row}");

    let mut other = Peer::connect(&master);
    registration("spark-3.5.7").iter().for_each(|frame| other.send(frame));
    let waiting = text(&other.message("RegisteredApplication"), "appId");
    let explained = run(firesteel().args(["explain", "--master", master.url(), &waiting]));
    let why = "1 Worker has room, but runs only executors of Spark 4.0";
    assert!(explained.stdout.contains(why), "{explained}");

    let mut driver = Peer::connect(&master);
    registration("spark-4.0.1").iter().for_each(|frame| driver.send(frame));
    let app = text(&driver.message("RegisteredApplication"), "appId");
    assert_eq!(text(&worker.message("LaunchExecutor"), "appId"), app);
    assert_eq!(text(&driver.message("ExecutorAdded"), "hostPort"), "127.0.0.1:17079");
    let logs = run(firesteel().args(["logs", "--master", master.url(), &app]));
    assert!(
        logs.stderr.contains("is one of Spark's own: its web page and its work directory on 127.0.0.1"),
        "{logs}"
    );
    let reports = reports("spark-4.0.1", &app);
    for report in &reports {
        let Frame::Request { id, .. } = report else { unreachable!("reports are requests") };
        worker.send(report);
        let answered = wait_for("the answer", || match worker.next().expect("the connection stays") {
            Frame::Response { id, body } => Some((id, body)),
            _ => None,
        });
        assert_eq!(answered, (*id, Bytes::from(answer(true))));
        driver.message("ExecutorUpdated");
    }
    assert!(reports.len() > 1, "it starts and ends");
    // The executor has ended, so there is another one.
    worker.message("LaunchExecutor");
    let killing = run(firesteel().args(["kill", "--master", master.url(), &app]));
    assert_eq!(killing.code(), 0, "{killing}");
    worker.message("KillExecutor");
    assert_eq!(text(&worker.message("ApplicationFinished"), "id"), app);
    drop(worker);
    wait_for("the loss of the Worker", || (master.status()["workers"][0]["state"] == "DEAD").then_some(()));
}

#[test]
fn a_worker_of_spark_s_own_is_heard_over_each_connection_that_it_registers_over() {
    let master = Daemon::master(&[]);
    let mut first = spark_worker(&master, "spark-4.0.1");
    let mut driver = Peer::connect(&master);
    registration("spark-4.0.1").iter().for_each(|frame| driver.send(frame));
    let app = text(&driver.message("RegisteredApplication"), "appId");
    first.message("LaunchExecutor");
    // While the order is in transit, the Worker registers over another connection, and reports that it runs nothing.
    let mut second = spark_worker(&master, "spark-4.0.1");
    second.send(&frames(&recorded("spark-4.0.1", "worker-to-master"))[2]);
    second.message("LaunchExecutor");
    let [runs, ends @ ..] = &reports("spark-4.0.1", &app)[..] else { panic!("it starts") };
    // The order arrived after all. The executor now runs elsewhere, so this one is ended.
    second.send(runs);
    let ended = second.message("KillExecutor");
    assert_eq!(number(&ended, "execId"), 0);
    // Messages in transit on the first connection are still handled and answered there.
    first.send(runs);
    assert_eq!(number(&second.message("KillExecutor"), "execId"), 0);
    first.send(&ends[0]);
    let answers = std::iter::from_fn(|| first.next()).filter(|frame| matches!(frame, Frame::Response { .. }));
    assert_eq!(answers.take(2).count(), 2);
    drop(first);
    let alive = || master.status()["workers"][0]["state"] == "ALIVE";
    assert!(alive());
    drop(second);
    wait_for("the loss of the Worker", || (!alive()).then_some(()));
    assert_eq!(master.terminate(), 0);
}

#[test]
fn a_worker_of_spark_s_own_that_the_master_knows_no_more_is_told_to_register() {
    let master = Daemon::master(&["--conf", "spark.worker.timeout=1"]);
    let mut worker = spark_worker(&master, "spark-4.0.1");
    wait_for("the loss of the Worker", || (master.status()["workers"][0]["state"] == "DEAD").then_some(()));
    let said = frames(&recorded("spark-4.0.1", "worker-to-master"));
    worker.send(&said[3]);
    worker.message("ReconnectWorker");
    worker.send(&said[1]);
    worker.message("RegisteredWorker");
    // It does not delay the Master's end.
    wait_for("the loss of the Worker", || (master.status()["workers"][0]["state"] == "DEAD").then_some(()));
    assert_eq!(master.terminate(), 0);
    assert!(std::iter::from_fn(|| worker.next()).count() < 10, "the connection ends");
}

/// The question whether a Master works, as Spark's own tools ask it.
fn readyz(id: i64) -> Frame {
    let named = |name: &str| {
        let length = u16::try_from(name.len()).expect("it is short");
        [&length.to_be_bytes()[..], name.as_bytes()].concat()
    };
    let serial = |number: i64| number.to_be_bytes().to_vec();
    let object = [
        vec![0xac, 0xed, 0, 5, 0x73, 0x72],
        named("scala.runtime.ModuleSerializationProxy"),
        serial(1),
        vec![2, 0, 1, b'L'],
        named("moduleClass"),
        vec![0x74],
        named("Ljava/lang/Class;"),
        vec![0x78, 0x70, 0x76, 0x72],
        named("org.apache.spark.deploy.DeployMessages$RequestReadyz$"),
        serial(7_372_794_124_295_618_119),
        vec![2, 0, 0, 0x78, 0x70],
    ];
    let address = Some(Address { host: "127.0.0.1".to_owned(), port: 7077 });
    let envelope = Envelope { sender: None, receiver: address, endpoint: "Master".to_owned() };
    let mut body = BytesMut::new();
    envelope.encode(&mut body);
    body.extend_from_slice(&object.concat());
    Frame::Request { id, body: body.freeze() }
}

#[test]
fn who_asks_whether_a_master_works_is_answered_behind_what_came_before() {
    let master = Daemon::master(&[]);
    let mut driver = Peer::connect(&master);
    for round in 0..20 {
        registration("spark-4.0.1").iter().for_each(|frame| driver.send(frame));
        driver.send(&readyz(round));
        let answered = wait_for("the answer", || match driver.next().expect("the connection stays") {
            Frame::Response { id, body } if id == round => Some(body),
            _ => None,
        });
        assert_eq!(answered, answer(true));
        let known = master.status()["applications"].as_array().map(Vec::len);
        assert_eq!(known, Some(1), "it was registered before the answer");
    }
}

#[test]
fn an_executor_is_told_that_its_worker_is_there_and_shares_its_fate() {
    let cluster = cluster("4.0.1");
    let mut executor = Peer::connect(&cluster.workers[0]);
    executor.stream.write_all(&recorded("spark-4.0.1", "executor-to-worker")).expect("it is read");
    let answer = executor.next().expect("an answer");
    assert_eq!(vec![answer], frames(&recorded("spark-4.0.1", "worker-to-executor")));
    drop(cluster.workers);
    assert_eq!(executor.next(), None);
}

#[test]
fn who_asks_for_authentication_or_tls_without_credentials_is_told_that_there_is_none() {
    let master = Daemon::master(&[]);
    for first in [0xea, 0xfb] {
        let mut driver = Peer::connect(&master);
        driver.send(&Frame::Request { id: 7, body: Bytes::from(vec![first, 0, 0, 0, 13]) });
        let Some(Frame::Failure { id: 7, reason }) = driver.next() else { panic!("it is refused") };
        assert!(reason.contains("there is no secret here that could be proven"), "{reason}");
    }
    let mut client = TcpStream::connect(master.address()).expect("it listens");
    client.write_all(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc").expect("it is read");
    master.wait_for_line(&["the peer speaks TLS, which is not here yet"]);
}

#[test]
fn what_no_driver_would_say_harms_nobody_else_on_the_port() {
    let cluster = cluster("4.0.1");
    let mut driver = driver(&cluster, "spark-4.0.1");
    let app = text(&driver.message("RegisteredApplication"), "appId");
    let whole = recorded("spark-4.0.1", "driver-to-master");
    for step in 0..200 {
        let place = step * whole.len() / 200;
        let mut bent = whole.clone();
        bent[place] ^= 1 << (step % 8);
        for bytes in [&bent[..], &whole[..place]] {
            let stranger = TcpStream::connect(cluster.master.address()).expect("it listens");
            // The Master may end the connection before everything is written.
            let _ = (&stranger).write_all(bytes);
            let _ = stranger.shutdown(Shutdown::Write);
        }
    }
    // The application lives, and its driver gets answers.
    let asks = frames(&whole).into_iter().filter(|frame| matches!(frame, Frame::Request { .. }));
    let ask = asks.last().expect("a driver asks whether there is a Master");
    driver.send(&ask);
    wait_for("an answer", || match driver.next() {
        Some(Frame::Response { .. }) => Some(()),
        Some(_) => None,
        None => panic!("the connection ended: {}", cluster.master.log()),
    });
    let status = cluster.master.status();
    let applications = status["applications"].as_array().expect("a list");
    assert!(applications.iter().any(|row| row["id"] == app.as_str()), "{status}");
    assert!(!cluster.master.log().contains("panicked"), "{}", cluster.master.log());
}
