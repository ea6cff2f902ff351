//! Peers that lie: false claims are refused, and their texts do not deceive a terminal.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;

use firesteel_host::plain::is_hidden;
use firesteel_placement::{Cores, MiB, Resources};
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{AppId, ExecutorId, ProfileId, WorkerId};
use firesteel_protocol::messages::{
    DriverToExecutor, ExecutorReport, ExecutorState, ExecutorToDriver, MasterToWorker, Offered,
    RefusedExecutor, RefusedRegistration, WorkerDescription, WorkerToMaster,
};
use firesteel_protocol::process::{StartFailure, StartStep};
use firesteel_protocol::secret::{EXECUTOR_SECRET, Secret};
use firesteel_protocol::wire::{self, MAX_FRAME, Role};
use firesteel_testkit::processes::{children_of, command_line, descendants_of};
use firesteel_testkit::{Daemon, firesteel, run, wait_for};

use crate::daemons::worker::Pair;
use crate::executors::driver::{introduce_as, read_frame, write_frame};

/// A Worker that is played by a test.
struct FakeWorker(TcpStream);

impl FakeWorker {
    fn register(master: &Daemon, name: &str, worker: WorkerDescription) -> Self {
        let mut stream = TcpStream::connect(master.address()).expect("the Master listens");
        introduce_as(&mut stream, Role::Worker, name);
        let mut worker_stream = Self(stream);
        worker_stream.say(&WorkerToMaster::register(worker, Vec::new()));
        worker_stream
    }

    fn say(&mut self, message: &WorkerToMaster) {
        write_frame(&mut self.0, &wire::encode(message, MAX_FRAME).expect("it is short"));
    }

    fn next(&mut self) -> MasterToWorker {
        wire::decode(&read_frame(&mut self.0)).expect("a message")
    }
}

fn worker(id: &str, host: &str) -> WorkerDescription {
    let offered = Offered { cores: Cores(4), memory: MiB(4096), resources: Resources::default() };
    WorkerDescription::new(WorkerId::new(id), Address::new(host, 9), offered, "/work")
}

/// Fails if the text has a control character for terminals.
fn check_plain(what: &str, text: &str) {
    let hidden = text.chars().find(|letter| *letter != '\n' && is_hidden(*letter));
    assert!(hidden.is_none(), "{what} has {hidden:?}: {text:?}");
}

#[test]
fn no_word_of_a_peer_moves_the_cursor_or_forges_a_line() {
    const EVIL: &str = "evil\u{1b}[2J\u{202e}\u{9b}31m\nfiresteel: all is well";
    let master = Daemon::master(&["-vv"]);
    let mut fake = FakeWorker::register(&master, EVIL, worker("worker-1", EVIL));
    assert!(matches!(fake.next(), MasterToWorker::RegisteredWorker { .. }));
    let mut map = firesteel();
    map.args(["map", "--master", master.url(), "--name", EVIL, "--", "true", ":::", "1"]);
    let map = std::thread::spawn(move || run(&mut map));
    // Every executor fails, until the Master ends the application.
    loop {
        match fake.next() {
            MasterToWorker::LaunchExecutor(launch) => {
                let state =
                    ExecutorState::Failed(StartFailure { step: StartStep::Program, error: EVIL.to_owned() });
                let report = ExecutorReport::new(launch.executor, state);
                fake.say(&WorkerToMaster::ExecutorStateChanged(report));
            }
            MasterToWorker::ApplicationFinished { .. } => break,
            _ => {}
        }
    }
    let done = map.join().expect("map ends");
    assert_eq!(done.code(), 1, "{done}");
    assert!(
        done.stderr.contains("evil\u{fffd}[2J\u{fffd}\u{fffd}31m\u{fffd}firesteel: all is well"),
        "{done}"
    );
    check_plain("map", &done.stderr);
    assert!(!done.stderr.lines().any(|line| line == "firesteel: all is well"), "{done}");
    for command in [&["status", "--all"][..], &["status", "--json"], &["top", "--once"]] {
        let done = run(firesteel().args(command).args(["--master", master.url()]));
        assert_eq!(done.code(), 0, "{done}");
        assert!(done.stdout.contains("evil"), "{command:?}: {done}");
        check_plain(&command.join(" "), &done.stdout);
    }
    let app = master.status()["completed"][0]["id"].as_str().expect("it is listed").to_owned();
    for command in ["status", "explain", "logs"] {
        let done = run(firesteel().args([command, &app, "--master", master.url()]));
        check_plain(command, &(done.stdout + &done.stderr));
    }
    assert!(master.log().contains("evil"));
    check_plain("the Master's log", &master.log());
    assert_eq!(master.terminate(), 0);
}

/// Otherwise everybody who can register could let the Master search the network behind it.
#[test]
fn a_master_connects_only_to_workers_that_have_connected_from_where_they_say_that_they_are() {
    let there = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = there.local_addr().expect("it is bound").port();
    // No machine of this network has the first address (RFC 5737).
    for (host, is_reached) in [("192.0.2.1", false), ("127.0.0.1", true), ("localhost", true)] {
        let master = Daemon::master(&[]);
        let mut description = worker("worker-1", host);
        description.port = port;
        let mut fake = FakeWorker::register(&master, "worker-1", description);
        assert!(matches!(fake.next(), MasterToWorker::RegisteredWorker { .. }));
        let mut map = firesteel();
        map.args(["map", "-q", "--master", master.url(), "--", "true", ":::", "1"]);
        let _map = Daemon::spawn(&mut map);
        let launch = loop {
            if let MasterToWorker::LaunchExecutor(launch) = fake.next() {
                break launch;
            }
        };
        let path = format!("/log/?appId={}&executorId=0&logType=stdout", launch.executor.app);
        let accepted = there.try_clone().expect("it is open");
        let accepting = is_reached.then(|| std::thread::spawn(move || accepted.accept().map(drop)));
        let (status, text) = master.get(&path);
        assert_eq!(status, 200, "{text}");
        let refused = format!(
            "the Master does not connect to {host}, because the peer that names it has connected from"
        );
        assert_eq!(text.contains(&refused), !is_reached, "{host}: {text}");
        if let Some(accepting) = accepting {
            accepting.join().expect("it does not panic").expect("the Master has connected");
        }
    }
}

/// An application whose only item waits for a file.
fn waiting_map(pair: &Pair, gate: &Path) -> Daemon {
    let script = format!(
        "until [ -e {} ]; do sleep 0.05; done; echo secret=[$FIRESTEEL_EXECUTOR_SECRET]",
        gate.display()
    );
    let mut map = firesteel();
    map.args([
        "map",
        "--master",
        pair.master.url(),
        "--total-executor-cores",
        "1",
        "--",
        "sh",
        "-c",
        &script,
        ":::",
        "1",
    ]);
    Daemon::spawn(&mut map)
}

/// The executor's process, and its driver's address.
fn executor_of(pair: &Pair) -> (u32, String) {
    wait_for("an executor to run", || {
        descendants_of(pair.worker.pid()).into_iter().find_map(|pid| {
            let words = command_line(pid);
            let flag = words.iter().position(|word| word == "--driver-url")?;
            Some((pid, words.get(flag + 1)?.clone()))
        })
    })
}

/// Registers at a driver as an executor. Returns the driver's answer.
fn claim(driver: &str, app: &str, executor: u32, secret: &str) -> DriverToExecutor {
    let mut stream = TcpStream::connect(driver).expect("the driver listens");
    introduce_as(&mut stream, Role::Executor, "a stranger");
    let register = ExecutorToDriver::RegisterExecutor {
        app: AppId::new(app),
        executor: ExecutorId(executor),
        profile: ProfileId::DEFAULT,
        worker: WorkerId::new("worker-1"),
        host: "nowhere".to_owned(),
        cores: Cores(64),
        resources: Resources::default(),
        secret: Secret::new(secret),
        received: Some(0),
    };
    write_frame(&mut stream, &wire::encode(&register, MAX_FRAME).expect("it is short"));
    wire::decode(&read_frame(&mut stream)).expect("a message")
}

#[test]
fn who_does_not_know_the_secret_is_no_executor_of_a_driver() {
    let pair = Pair::new(&[]);
    let gate = pair.work.path().join("gate");
    let mut map = waiting_map(&pair, &gate);
    let (pid, driver) = executor_of(&pair);
    let running = || {
        let status = pair.master.status();
        let app = status["applications"][0].clone();
        (app["executors"][0]["state"] == "RUNNING").then(|| app["id"].as_str().expect("an id").to_owned())
    };
    let app = wait_for("the executor to run", running);
    // The executor runs before it has registered with its driver. A task comes only then.
    wait_for("its task", || (!children_of(pid).is_empty()).then_some(()));
    // The number of the real executor, and one that the Master never gave.
    for executor in [0, 99] {
        for secret in ["", "0123456789abcdef0123456789abcdef"] {
            let refused = DriverToExecutor::RegisterExecutorFailed(RefusedExecutor::WrongSecret);
            assert_eq!(claim(&driver, &app, executor, secret), refused, "executor {executor}");
        }
    }
    map.wait_for_line(&["refused executor 99", "it does not know the application's secret"]);

    // The secret is in the executor's environment, and nowhere else that other users can see.
    let environment = fs::read(format!("/proc/{pid}/environ")).expect("it runs");
    let environment = String::from_utf8_lossy(&environment).into_owned();
    let entry = environment.split('\0').find_map(|entry| entry.strip_prefix(&format!("{EXECUTOR_SECRET}=")));
    let secret = entry.expect("the executor knows the secret").to_owned();
    assert_eq!(secret.len(), 32);
    let header = fs::read_to_string(pair.work.path().join(&app).join("0").join("stderr")).expect("its log");
    assert!(header.contains(&format!("{EXECUTOR_SECRET}=*********(redacted)")), "{header}");
    let shown = [
        command_line(pid).join(" "),
        header,
        pair.master.status().to_string(),
        pair.master.log(),
        pair.worker.log(),
        map.log(),
    ];
    assert!(shown.iter().all(|text| !text.contains(&secret)), "{shown:?}");
    let taken = DriverToExecutor::RegisterExecutorFailed(RefusedExecutor::NumberTaken);
    assert_eq!(claim(&driver, &app, 0, &secret), taken, "a second connection for executor 0");

    fs::write(&gate, "").expect("it can be made");
    assert_eq!(map.wait(), 0, "{}", map.log());
    assert_eq!(
        map.output_so_far(),
        "secret=[]\n",
        "only the real executor's task printed, and it has no secret"
    );
}

#[test]
fn a_second_worker_with_the_id_of_a_connected_one_is_refused() {
    let pair = Pair::new(&[]);
    pair.master.wait_for_workers(1);
    let id = pair.master.status()["workers"][0]["id"].as_str().expect("an id").to_owned();
    for token in ["", "0123456789abcdef0123456789abcdef"] {
        let thief = worker(&id, "elsewhere").with_token(Secret::new(token));
        let mut thief = FakeWorker::register(&pair.master, "a thief", thief);
        assert_eq!(thief.next(), MasterToWorker::RegisterWorkerFailed(RefusedRegistration::IdTaken));
    }
    pair.master.wait_for_line(&[&id, "another Worker with this id is connected"]);
    let status = pair.master.status();
    let workers = status["workers"].as_array().expect("a list");
    assert_eq!(workers.len(), 1, "{status}");
    assert_eq!((&workers[0]["state"], &workers[0]["cores"]), (&"ALIVE".into(), &4.into()));
    assert_eq!(
        run(firesteel().args(["map", "--master", pair.master.url(), "--", "true", ":::", "1"])).code(),
        0
    );
}

#[test]
fn a_worker_that_claims_more_than_is_plausible_is_refused_with_the_name_of_the_setting() {
    let master = Daemon::master(&["--conf", "firesteel.master.maxWorkerMemory=8g"]);
    for (cores, memory, sentence) in [
        (65_536, 4096, "65536 cores are more than the Master takes: firesteel.master.maxWorkerCores is 4096"),
        (
            4,
            8193,
            "8193 MiB of memory are more than the Master takes: firesteel.master.maxWorkerMemory is 8192",
        ),
    ] {
        let mut stranger = worker("worker-1", "host");
        (stranger.cores, stranger.memory) = (Cores(cores), MiB(memory));
        let mut stranger = FakeWorker::register(&master, "a stranger", stranger);
        match stranger.next() {
            MasterToWorker::RegisterWorkerFailed(reason) => assert_eq!(reason.to_string(), sentence),
            other => panic!("{other:?}"),
        }
        master.wait_for_line(&["worker-1", sentence]);
    }
    // A real Worker reports this, too.
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut worker = firesteel();
    worker
        .args(["worker", "--port", "0", "--memory", "9g", "--work-dir"])
        .arg(directory.path())
        .arg(master.url());
    let done = run(&mut worker);
    assert_eq!(done.code(), 1, "{done}");
    assert!(done.stderr.contains("the Master rejected this Worker: 9216 MiB of memory"), "{done}");
    assert_eq!(master.status()["workers"], serde_json::json!([]));
}
