//! Peers that lie: what they claim is refused, and what they write does not deceive who reads it.

use std::net::TcpStream;

use firesteel_core::address::Address;
use firesteel_core::ids::WorkerId;
use firesteel_core::messages::{
    ExecutorReport, ExecutorState, MasterToWorker, Offered, WorkerDescription, WorkerToMaster,
};
use firesteel_core::process::{StartFailure, StartStep};
use firesteel_core::wire::{self, MAX_FRAME, Role};
use firesteel_host::plain::is_hidden;
use firesteel_placement::{Cores, MiB, Resources};

use crate::cluster::{Daemon, firesteel, run};
use crate::driver::{introduce_as, read_frame, write_frame};

/// A Worker that is played by a test.
struct FakeWorker(TcpStream);

impl FakeWorker {
    /// Registers it.
    fn register(master: &Daemon, name: &str, worker: WorkerDescription) -> Self {
        let mut stream = TcpStream::connect(master.address()).expect("the Master listens");
        introduce_as(&mut stream, Role::Worker, name);
        let mut worker_stream = Self(stream);
        worker_stream.say(&WorkerToMaster::RegisterWorker { worker, executors: Vec::new() });
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

/// Fails if the text has a character that a terminal would obey.
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
                fake.say(&WorkerToMaster::ExecutorStateChanged(ExecutorReport {
                    executor: launch.executor,
                    state,
                }));
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
