//! A cluster of two adjacent versions: peers of the previous version, played by this test with its recorded messages, and
//! daemons of this one.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use firesteel_core::address::Address;
use firesteel_core::ids::WorkerId;
use firesteel_core::messages::{
    ApplicationDescription, ClientToMaster, Deciding, DriverToMaster, ExecutorReport, ExecutorState,
    MasterToClient, MasterToDriver, MasterToWorker, Offered, Placing, ResourceProfile, StateHead, StatePage,
    StatePlace, StateRow, StateTotals, Submitter, WantedExecutors, Work, WorkerDescription, WorkerToMaster,
};
use firesteel_core::process::Command;
use firesteel_core::version::Version;
use firesteel_core::wire::{self, Hello, MAX_HELLO, Message, Role};
use firesteel_core::{Kind, Timestamp};
use firesteel_placement::shortfall::Reason;
use firesteel_placement::{Cores, MiB, Resources};
use serde::de::DeserializeOwned;

use crate::cluster::{DEADLINE, Daemon, firesteel, run};
use crate::wire::{frame, hello, message};

/// The version that the test plays.
const PREVIOUS: Version = Version::OLDEST;

/// A connection of a peer of the previous version.
struct Old(TcpStream);

impl Old {
    /// Dials as version 6 does: it sends preamble and hello at once, and takes no other version for an answer.
    fn dial(address: SocketAddr, role: Role) -> Self {
        let mut old = Self::of(TcpStream::connect(address).expect("the daemon listens"));
        old.send(&[&wire::preamble(PREVIOUS)[..], &hello(role)].concat());
        assert_eq!(old.bytes(8), wire::preamble(PREVIOUS), "it is answered in its own version");
        let _: Hello = old.receive();
        old
    }

    fn of(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(DEADLINE)).expect("a time-out can be set");
        Self(stream)
    }

    fn send(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).expect("the daemon reads");
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.0.read_exact(&mut bytes).expect("the daemon goes on");
        bytes
    }

    /// The next message. It is one that the previous version can read.
    fn receive<M: DeserializeOwned>(&mut self) -> M {
        loop {
            let header = self.bytes(12);
            let length = u32::from_be_bytes([header[0], header[1], header[2], header[3]]);
            // A frame without a body is a sign of life.
            if length > 0 {
                let body = self.bytes(length as usize);
                return wire::decode(&body).expect("it is a message");
            }
        }
    }

    /// The next message that is one of these; on the way to it, nothing newer than the previous version comes.
    fn wait_for<M: DeserializeOwned + Message + Kind, T>(&mut self, wanted: impl Fn(M) -> Option<T>) -> T {
        loop {
            let message: M = self.receive();
            assert!(message.since() <= PREVIOUS, "{} is too new", message.kind());
            if let Some(found) = wanted(message) {
                return found;
            }
        }
    }
}

fn worker() -> WorkerDescription {
    WorkerDescription::new(
        WorkerId::new("worker-old"),
        Address::new("somewhere", 1),
        Offered { cores: Cores(2), memory: MiB(1024), resources: Resources::default() },
        "/work",
    )
}

fn application() -> ApplicationDescription {
    let profile =
        ResourceProfile { cores: Some(Cores(2)), memory: Some(MiB(512)), ..ResourceProfile::default() };
    ApplicationDescription::new(
        Submitter::new("old", "ann"),
        WantedExecutors { max_cores: Some(Cores(2)), profile, ..WantedExecutors::default() },
        Placing::default(),
        Work::of(Command::of("work")),
    )
}

#[test]
fn worker_driver_and_client_of_the_previous_version_work_with_this_master() {
    let master = Daemon::master(&[]);
    let mut worker_peer = Old::dial(master.address(), Role::Worker);
    worker_peer.send(&message(&WorkerToMaster::register(worker(), Vec::new())));
    worker_peer.wait_for(|it| matches!(it, MasterToWorker::RegisteredWorker { .. }).then_some(()));

    let mut driver = Old::dial(master.address(), Role::Driver);
    driver.send(&message(&DriverToMaster::RegisterApplication(Box::new(application()))));
    driver.wait_for(|it| matches!(it, MasterToDriver::RegisteredApplication { .. }).then_some(()));
    let executor = worker_peer.wait_for(|it| match it {
        MasterToWorker::LaunchExecutor(launch) => Some(launch.executor),
        _ => None,
    });
    let report = ExecutorReport { executor, state: ExecutorState::Running };
    worker_peer.send(&message(&WorkerToMaster::ExecutorStateChanged(report)));
    driver.wait_for(|it| matches!(it, MasterToDriver::ExecutorUpdated { .. }).then_some(()));

    let mut client = Old::dial(master.address(), Role::Client);
    client.send(&message(&ClientToMaster::RequestMasterState { from: StatePlace::beginning() }));
    let page = client.wait_for(|it| match it {
        MasterToClient::MasterStateResponse(page) => Some(page),
        _ => None,
    });
    let workers = page.rows.iter().filter(|row| matches!(row, StateRow::Worker(_))).count();
    assert_eq!((workers, page.rows.len(), page.next), (1, 3, None), "a Worker, an application, an executor");
    assert_eq!(master.status()["applications"][0]["cores_granted"], 2);

    let mut waiting = Old::dial(master.address(), Role::Driver);
    waiting.send(&message(&DriverToMaster::RegisterApplication(Box::new(application()))));
    let app = waiting.wait_for(|it| match it {
        MasterToDriver::RegisteredApplication { app, .. } => Some(app),
        _ => None,
    });
    waiting.send(&message(&DriverToMaster::RequestShortfall { app }));
    let shortfalls = waiting.wait_for(|it| match it {
        MasterToDriver::Shortfalls(shortfalls) => Some(shortfalls),
        _ => None,
    });
    assert!(matches!(shortfalls[0].1.reason, Reason::Busy { .. }), "{shortfalls:?}");
    assert_eq!(master.terminate(), 0);
}

/// A Master of the previous version, to which a peer of this role connects: it says its opening at once, and hangs up on every other
/// version.
fn accept_as_master(listener: &TcpListener, role: Role) -> Old {
    let mut refused = 0;
    loop {
        let mut old = Old::of(listener.accept().expect("a peer dials").0);
        let hello = frame(&wire::encode(&Hello::new(Role::Master, "old"), MAX_HELLO).expect("it is short"));
        old.send(&[&wire::preamble(PREVIOUS)[..], &hello].concat());
        if old.bytes(8) == wire::preamble(PREVIOUS) {
            let peer: Hello = old.receive();
            assert_eq!((peer.role, refused), (role, 1), "it offers its own version first");
            return old;
        }
        refused += 1;
    }
}

#[test]
fn this_worker_works_with_a_master_of_the_previous_version() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let url = format!("spark://{}", listener.local_addr().expect("it is bound"));
    let work = tempfile::tempdir().expect("a temporary directory");
    let mut command = firesteel();
    command.args(["worker", "--port", "0", "--cores", "2", "--memory", "1g", "--work-dir"]);
    let worker = Daemon::start(command.arg(work.path()).arg(&url));

    let mut master = accept_as_master(&listener, Role::Worker);
    let id = master.wait_for(|it| match it {
        WorkerToMaster::RegisterWorker { worker, .. } => Some(worker.id),
        _ => None,
    });
    let registered =
        MasterToWorker::RegisteredWorker { master_url: url, heartbeat_millis: 50, duplicate: false };
    master.send(&message(&registered));
    worker.wait_for_line(&["registered"]);
    // Whatever it says for many heartbeats, the previous version can read it.
    for _ in 0..100 {
        let from = master.wait_for(|it| match it {
            WorkerToMaster::Heartbeat { worker, .. } => Some(worker),
            _ => None,
        });
        assert_eq!(from, id);
    }
    assert_eq!(worker.terminate(), 0);
}

/// A Master of the previous version is asked for what it knows. It has no other settings than the defaults.
#[test]
fn status_and_plan_of_this_version_are_answered_by_a_master_of_the_previous_one() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let url = format!("spark://{}", listener.local_addr().expect("it is bound"));
    let head = StateHead {
        url: url.clone(),
        deciding: Deciding::default(),
        lag_millis: 0,
        totals: StateTotals::default(),
    };
    let page = StatePage { now: Timestamp::default(), head: Some(head), rows: Vec::new(), next: None };
    let page = message(&MasterToClient::MasterStateResponse(page));
    // On each connection of status and plan, the number of questions that the previous version knows.
    let master = std::thread::spawn(move || {
        for questions in [1, 1, 0, 0] {
            let mut client = accept_as_master(&listener, Role::Client);
            for _ in 0..questions {
                client.wait_for(|it| matches!(it, ClientToMaster::RequestMasterState { .. }).then_some(()));
                client.send(&page);
            }
        }
    });
    let ask = |words: &[&str]| {
        let done = run(firesteel().args(words).args(["--master", &url]));
        assert_eq!(done.code(), 0, "{done}");
        done.stdout
    };
    let status: serde_json::Value = serde_json::from_str(&ask(&["status", "--json"])).expect("it is JSON");
    assert_eq!(status["settings"]["firesteel.master.order"], "registration");
    assert_eq!(status["settings"]["firesteel.placement.policy"], "spark");
    let plan = ask(&["plan", "--executor-cores", "1"]);
    assert!(plan.contains("under the policy spark") && !plan.contains("Scheduling settings"), "{plan}");
    master.join().expect("nothing too new was asked");
}
