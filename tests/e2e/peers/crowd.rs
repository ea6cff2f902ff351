//! More connections than a Master may have open files: existing peers stay, and clients still connect.

use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use firesteel_placement::{Cores, MiB, Resources};
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::WorkerId;
use firesteel_protocol::messages::{Offered, WorkerDescription, WorkerToMaster};
use firesteel_protocol::wire::{self, MAX_FRAME, Role};
use firesteel_testkit::{Daemon, firesteel, limited, run, wait_for};
use socket2::{Domain, Socket, Type};

use crate::executors::driver::{introduce_as, write_frame};

/// The open files of the Master: enough for 16 handshakes, 16 clients and 64 others.
const OPEN_FILES: usize = 128;

fn master() -> Daemon {
    let mut master = firesteel();
    master.args(["master", "--host", "127.0.0.1", "--port", "0"]);
    Daemon::start(&mut limited(&format!("-n {OPEN_FILES}"), &master))
}

/// Connects as a Worker and registers.
fn register(master: &Daemon, number: usize) -> TcpStream {
    let stream = TcpStream::connect(master.address()).expect("the Master listens");
    register_on(stream, number)
}

/// Like `register`, from another address of loopback, which looks like another machine.
fn register_from(machine: [u8; 4], master: &Daemon, number: usize) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("the system gives a socket");
    socket.bind(&SocketAddr::from((machine, 0)).into()).expect("all of 127/8 is loopback");
    socket.connect(&master.address().into()).expect("the Master listens");
    register_on(socket.into(), number)
}

fn register_on(mut stream: TcpStream, number: usize) -> TcpStream {
    introduce_as(&mut stream, Role::Worker, "a Worker");
    let offered = Offered { cores: Cores(4), memory: MiB(4096), resources: Resources::default() };
    let address = Address::new(format!("host{number}"), 9);
    let worker = WorkerDescription::new(WorkerId::new(format!("worker-{number}")), address, offered, "/work");
    let message = WorkerToMaster::register(worker, Vec::new());
    write_frame(&mut stream, &wire::encode(&message, MAX_FRAME).expect("it is short"));
    stream
}

fn alive(master: &Daemon) -> usize {
    let status = run(firesteel().args(["status", "--json", "--master", master.url()]));
    assert_eq!(status.code(), 0, "{status}\n{}", master.log());
    let document: serde_json::Value = serde_json::from_str(&status.stdout).expect("it is JSON");
    let workers = document["workers"].as_array().expect("they are listed");
    workers.iter().filter(|worker| worker["state"] == "ALIVE").count()
}

#[test]
fn at_the_limit_of_open_files_those_inside_stay_and_status_gets_in() {
    let master = master();
    let workers: Vec<TcpStream> = (0..80).map(|number| register(&master, number)).collect();
    master.wait_for_line(&[
        "a Worker is turned away",
        "56 connections of its kind are open",
        "ulimit -n",
        "LimitNOFILE",
    ]);
    wait_for("56 Workers", || (alive(&master) == 56).then_some(()));
    // Peers that never send a hello.
    let strangers: Vec<TcpStream> =
        (0..200).map(|_| TcpStream::connect(master.address()).expect("the system lets it wait")).collect();
    let start = Instant::now();
    assert_eq!(alive(&master), 56);
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    drop(strangers);
    // When some leave, others can connect.
    drop(workers);
    wait_for("the Workers to be gone", || (alive(&master) == 0).then_some(()));
    let _late = register(&master, 99);
    wait_for("another Worker", || (alive(&master) == 1).then_some(()));
    let lines = master.log().lines().filter(|line| line.contains("is turned away")).count();
    assert_eq!(lines, 1, "{}", master.log());
}

#[test]
fn one_other_machine_gets_half_of_the_places() {
    let master = master();
    let (greedy, other) = ([127, 0, 0, 2], [127, 0, 0, 3]);
    let _greedy: Vec<TcpStream> = (0..40).map(|number| register_from(greedy, &master, number)).collect();
    master.wait_for_line(&["a Worker is turned away", "32 of them from 127.0.0.2", "ulimit -n"]);
    wait_for("32 Workers", || (alive(&master) == 32).then_some(()));
    let _other = register_from(other, &master, 50);
    wait_for("a Worker of another machine", || (alive(&master) == 33).then_some(()));
    let _own: Vec<TcpStream> = (60..80).map(|number| register(&master, number)).collect();
    wait_for("Workers of this machine", || (alive(&master) == 53).then_some(()));
}
