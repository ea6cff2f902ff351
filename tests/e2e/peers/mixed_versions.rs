//! A cluster of this version and of a later one. The later one's messages have more fields. The test plays the peers of
//! the later one. `heavy/previous.rs` tests whole daemons of another version.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use firesteel_placement::explain::shortfall::Reason;
use firesteel_placement::{Cores, MiB, Resources};
use firesteel_protocol::Timestamp;
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::WorkerId;
use firesteel_protocol::messages::{
    ApplicationDescription, ClientToMaster, DriverToMaster, ExecutorReport, ExecutorState, MasterToClient,
    MasterToDriver, MasterToWorker, Offered, Placing, ResourceProfile, StateCursor, StateHead, StatePage,
    StateRow, StateTotals, Submitter, WantedExecutors, Work, WorkerDescription, WorkerToMaster, WorkerView,
};
use firesteel_protocol::process::Command;
use firesteel_protocol::scheduling::SchedulingSettings;
use firesteel_protocol::version::Version;
use firesteel_protocol::wire::{self, Hello, Role};
use firesteel_testkit::{DEADLINE, Daemon, firesteel, run};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::wire::frame;

/// The version that the test plays.
const LATER: Version = Version(Version::CURRENT.0 + 1);

/// An additional field in each struct of the later version.
const MORE: &[u8] = b"\x05later";

/// A message of the later version.
fn message(message: &impl Serialize) -> Vec<u8> {
    frame(&wire::encode_with_later_fields(message, MORE))
}

/// A connection of a peer of the later version.
struct Later(TcpStream);

impl Later {
    fn dial(address: SocketAddr, role: Role) -> Self {
        let mut later = Self::of(TcpStream::connect(address).expect("the daemon listens"));
        later.send(&wire::preamble(LATER));
        assert_eq!(later.bytes(8), wire::PREAMBLE, "it is answered with the lower version");
        later.send(&message(&Hello::new(role, "later")));
        let _: Hello = later.receive();
        later
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

    /// The next message. A later version knows all of them.
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

    /// The next message for which `wanted` returns a value.
    fn wait_for<M: DeserializeOwned, T>(&mut self, wanted: impl Fn(M) -> Option<T>) -> T {
        loop {
            if let Some(found) = wanted(self.receive()) {
                return found;
            }
        }
    }
}

fn worker() -> WorkerDescription {
    WorkerDescription::new(
        WorkerId::new("worker-later"),
        Address::new("somewhere", 1),
        Offered { cores: Cores(2), memory: MiB(1024), resources: Resources::default() },
        "/work",
    )
}

fn application() -> ApplicationDescription {
    let profile =
        ResourceProfile { cores: Some(Cores(2)), memory: Some(MiB(512)), ..ResourceProfile::default() };
    ApplicationDescription::new(
        Submitter::new("later", "ann"),
        WantedExecutors { max_cores: Some(Cores(2)), profile, ..WantedExecutors::default() },
        Placing::default(),
        Work::of(Command::of("work")),
    )
}

#[test]
fn worker_driver_and_client_of_a_later_version_work_with_this_master() {
    let master = Daemon::master(&[]);
    let mut worker_peer = Later::dial(master.address(), Role::Worker);
    worker_peer.send(&message(&WorkerToMaster::register(worker(), Vec::new())));
    worker_peer.wait_for(|it| matches!(it, MasterToWorker::RegisteredWorker { .. }).then_some(()));

    let mut driver = Later::dial(master.address(), Role::Driver);
    driver.send(&message(&DriverToMaster::RegisterApplication(Box::new(application()))));
    driver.wait_for(|it| matches!(it, MasterToDriver::RegisteredApplication { .. }).then_some(()));
    let executor = worker_peer.wait_for(|it| match it {
        MasterToWorker::LaunchExecutor(launch) => Some(launch.executor),
        _ => None,
    });
    let report = ExecutorReport::new(executor, ExecutorState::Running);
    worker_peer.send(&message(&WorkerToMaster::ExecutorStateChanged(report)));
    driver.wait_for(|it| matches!(it, MasterToDriver::ExecutorUpdated { .. }).then_some(()));

    let mut client = Later::dial(master.address(), Role::Client);
    client.send(&message(&ClientToMaster::RequestMasterState { from: StateCursor::beginning() }));
    let page = client.wait_for(|it| match it {
        MasterToClient::MasterStateResponse(page) => Some(page),
        _ => None,
    });
    let workers = page.rows.iter().filter(|row| matches!(row, StateRow::Worker(_))).count();
    assert_eq!((workers, page.rows.len(), page.next), (1, 3, None), "a Worker, an application, an executor");
    assert_eq!(master.status()["applications"][0]["cores_granted"], 2);

    let mut waiting = Later::dial(master.address(), Role::Driver);
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
    assert!(matches!(shortfalls[0].1.reason, Reason::Held { .. }), "{shortfalls:?}");
    assert_eq!(master.terminate(), 0);
}

/// Accepts a connection of a peer with this role, as a Master of the later version.
fn accept_as_master(listener: &TcpListener, role: Role) -> Later {
    let mut later = Later::of(listener.accept().expect("a peer dials").0);
    assert_eq!(later.bytes(8), wire::PREAMBLE);
    let hello = message(&Hello::new(Role::Master, "later"));
    later.send(&[&wire::PREAMBLE[..], &hello].concat());
    let peer: Hello = later.receive();
    assert_eq!(peer.role, role);
    later
}

#[test]
fn this_worker_works_with_a_master_of_a_later_version() {
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
    let (heartbeat_millis, duplicate, web_address) = (50, false, None);
    let registered = MasterToWorker::RegisteredWorker {
        master_url: url,
        heartbeat_millis,
        duplicate,
        web_address,
        mark: None,
    };
    master.send(&message(&registered));
    worker.wait_for_line(&["registered"]);
    for _ in 0..100 {
        let from = master.wait_for(|it| match it {
            WorkerToMaster::Heartbeat { worker, .. } => Some(worker),
            _ => None,
        });
        assert_eq!(from, id);
    }
    assert_eq!(worker.terminate(), 0);
}

#[test]
fn status_of_this_version_is_answered_by_a_master_of_a_later_one() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let url = format!("spark://{}", listener.local_addr().expect("it is bound"));
    let head = StateHead {
        url: url.clone(),
        web_address: None,
        scheduling: SchedulingSettings::default(),
        reserved: Vec::new(),
        lag_millis: 0,
        totals: StateTotals::default(),
        is_exposed: false,
    };
    let rows = vec![StateRow::Worker(Box::new(WorkerView::unused(&worker(), Timestamp::default())))];
    let page = StatePage { now: Timestamp::default(), head: Some(head), rows, next: None };
    let page = message(&MasterToClient::MasterStateResponse(page));
    let master = std::thread::spawn(move || {
        let mut client = accept_as_master(&listener, Role::Client);
        client.wait_for(|it| matches!(it, ClientToMaster::RequestMasterState { .. }).then_some(()));
        client.send(&page);
    });
    let done = run(firesteel().args(["status", "--json", "--master", &url]));
    assert_eq!(done.code(), 0, "{done}");
    let status: serde_json::Value = serde_json::from_str(&done.stdout).expect("it is JSON");
    assert_eq!(status["workers"][0]["id"], "worker-later");
    master.join().expect("the question is the only one");
}
