//! Invalid bytes of strangers and broken peers at a Master: their connections end with a line in the log, and no other
//! peer is affected.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use firesteel_placement::{Cores, MiB, Resources};
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::WorkerId;
use firesteel_protocol::messages::{ClientToMaster, Offered, StateCursor, WorkerDescription, WorkerToMaster};
use firesteel_protocol::version::Version;
use firesteel_protocol::wire::{self, Hello, MAX_FRAME, MAX_HELLO, PREAMBLE, Role};
use firesteel_testkit::{DEADLINE, Daemon, wait_for};

/// A connection of a hostile peer.
pub(crate) struct Stranger {
    stream: TcpStream,
    address: SocketAddr,
}

impl Stranger {
    pub(crate) fn connect(master: &Daemon) -> Self {
        let stream = TcpStream::connect(master.address()).expect("the Master listens");
        stream.set_read_timeout(Some(DEADLINE)).expect("a time-out can be set");
        stream.set_write_timeout(Some(DEADLINE)).expect("a time-out can be set");
        let address = stream.local_addr().expect("it is connected");
        Self { stream, address }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        // The Master may already have hung up.
        let _ = self.stream.write_all(bytes);
    }

    /// Reads until the Master hangs up.
    fn until_closed(&mut self) {
        match io::copy(&mut (&self.stream).take(1 << 20), &mut io::sink()) {
            Ok(_) => {}
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::ConnectionReset, "{error}"),
        }
    }
}

/// CRC-32 computed bit by bit, as docs/PROTOCOL.md describes it.
fn crc32(bytes: &[u8]) -> u32 {
    let bit = |crc: u32| crc >> 1 ^ if crc & 1 == 1 { 0xEDB8_8320 } else { 0 };
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| bit(crc)))
}

/// The header of a frame with this body and this announced length.
pub(crate) fn header(length: u32, body: &[u8]) -> Vec<u8> {
    [length, crc32(&length.to_be_bytes()), crc32(body)].map(u32::to_be_bytes).concat()
}

/// A frame in its form on the wire.
pub(crate) fn frame(body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).expect("it is short");
    [header(length, body), body.to_vec()].concat()
}

/// The same bytes with one bit changed.
fn changed(mut bytes: Vec<u8>, at: usize) -> Vec<u8> {
    bytes[at] ^= 4;
    bytes
}

/// The log's message about a changed frame.
const CHANGED: &str = "its bytes were changed on the way";

pub(crate) fn hello(role: Role) -> Vec<u8> {
    let hello = Hello::new(role, "a stranger");
    frame(&wire::encode(&hello, MAX_HELLO).expect("it is short"))
}

pub(crate) fn message(message: &impl serde::Serialize) -> Vec<u8> {
    frame(&wire::encode(message, MAX_FRAME).expect("it fits"))
}

/// A question for the first page of the state.
fn ask_all() -> ClientToMaster {
    ClientToMaster::RequestMasterState { from: StateCursor::beginning() }
}

/// Whether the peer closes its side after these bytes.
#[derive(Clone, Copy, Debug)]
enum Then {
    HangUp,
    Wait,
}

/// Sends the bytes to a Master. The Master must hang up, log the reason with the sender's name, and still serve others.
fn check(master: &Daemon, bytes: &[u8], then: Then, level: &str, words: &str) {
    let mut stranger = Stranger::connect(master);
    stranger.send(bytes);
    match then {
        Then::HangUp => stranger.stream.shutdown(Shutdown::Write).expect("it is connected"),
        Then::Wait => {}
    }
    stranger.until_closed();
    let line = master.wait_for_line(&[&stranger.address.to_string(), words]);
    assert!(line.contains(level), "{line}");
    assert_eq!(master.status()["schema"], 5);
}

#[test]
fn a_stranger_is_turned_away_in_its_handshake() {
    let master = Daemon::master(&[]);
    let oversized = header(u32::try_from(MAX_HELLO + 1).expect("it is small"), b"");
    let good = hello(Role::Client);
    for (bytes, then, level, words) in [
        (b"SSH-2.0-OpenSSH_9.2\r\n".to_vec(), Then::Wait, "INFO", "does not speak Firesteel's protocol"),
        (vec![0x16, 3, 1, 2, 0, 1, 0, 1], Then::Wait, "INFO", "speaks TLS, which is not here yet"),
        (vec![0; 64], Then::Wait, "WARN", "connection in Spark's RPC: it sent a frame of 0 bytes"),
        (
            wire::preamble(Version(5)).to_vec(),
            Then::Wait,
            "WARN",
            "speaks version 5 of the protocol, this side speaks versions 8 to 9",
        ),
        (PREAMBLE[..5].to_vec(), Then::HangUp, "INFO", "in the middle of the handshake"),
        (PREAMBLE.to_vec(), Then::HangUp, "INFO", "in the middle of the handshake"),
        ([&PREAMBLE[..], &good[..6]].concat(), Then::HangUp, "INFO", "in the middle of the handshake"),
        (
            [&PREAMBLE[..], &oversized].concat(),
            Then::Wait,
            "WARN",
            "a frame of 4097 bytes, and at most 4096 are accepted",
        ),
        ([&PREAMBLE[..], &changed(hello(Role::Client), 15)].concat(), Then::Wait, "WARN", CHANGED),
        ([&PREAMBLE[..], &frame(&[0xFF; 9])].concat(), Then::Wait, "WARN", "its hello cannot be read"),
        ([&PREAMBLE[..], &frame(b"")].concat(), Then::Wait, "WARN", "its hello cannot be read"),
        (
            [&PREAMBLE[..], &hello(Role::Executor)].concat(),
            Then::Wait,
            "WARN",
            "its role is executor; this Master accepts only: Worker, driver, client",
        ),
        (
            [&PREAMBLE[..], &hello(Role::Master)].concat(),
            Then::Wait,
            "WARN",
            "its role is Master; this Master",
        ),
    ] {
        check(&master, &bytes, then, level, words);
    }
    assert_eq!(master.terminate(), 0);
}

#[test]
fn a_peer_that_sends_what_is_no_message_is_disconnected() {
    let master = Daemon::master(&[]);
    let question = message(&ask_all());
    let oversized = header(u32::try_from(MAX_FRAME + 1).expect("it fits"), b"");
    let trailing = frame(&[&wire::encode(&ask_all(), 9).expect("short")[..], b"!"].concat());
    for (bytes, then, words) in [
        (oversized, Then::Wait, "a frame of 16777217 bytes, and at most 16777216 are accepted"),
        (header(u32::MAX, b""), Then::Wait, "a frame of 4294967295 bytes"),
        (vec![0x01; 12], Then::Wait, CHANGED),
        (changed(question.clone(), 0), Then::Wait, CHANGED),
        (changed(question.clone(), 12), Then::Wait, CHANGED),
        (frame(&[0x63]), Then::Wait, "a frame of 1 byte is not a message"),
        (frame(b""), Then::Wait, "a frame of 0 bytes is not a message"),
        (trailing, Then::Wait, "a frame of 6 bytes has a message and 1 byte more"),
        (question[..3].to_vec(), Then::HangUp, "in the middle of a frame"),
        (question[..12].to_vec(), Then::HangUp, "in the middle of a frame"),
    ] {
        check(&master, &[&PREAMBLE[..], &hello(Role::Client), &bytes].concat(), then, "WARN", words);
    }
    assert_eq!(master.terminate(), 0);
}

#[test]
fn a_name_that_looks_like_lines_of_the_log_stays_on_its_own() {
    let master = Daemon::master(&[]);
    let name = "x\n2026-01-01 ERROR all is lost\u{1b}[31m".to_owned();
    let hello = Hello::new(Role::Client, name);
    let hello = frame(&wire::encode(&hello, MAX_HELLO).expect("it is short"));
    check(
        &master,
        &[&PREAMBLE[..], &hello, &frame(b"!")].concat(),
        Then::Wait,
        "WARN",
        r"x\n2026-01-01 ERROR",
    );
    assert!(!master.log().contains('\u{1b}'));
}

/// Answers with a Worker's resources are long, so that a peer that asks without reading soon exceeds the limit of its
/// queue.
#[test]
fn a_client_that_never_reads_gets_one_answer_at_a_time_and_others_are_served() {
    let master = Daemon::master(&["--conf", "firesteel.master.maxTextLength=2000000"]);
    let mut worker = Stranger::connect(&master);
    let description = WorkerDescription::new(
        WorkerId::new("worker-1"),
        Address::new("somewhere", 1),
        Offered {
            cores: Cores(1),
            memory: MiB(1),
            resources: Resources::from_iter([("gpu", ["n".repeat(1 << 20)])]),
        },
        "",
    );
    let register = message(&WorkerToMaster::register(description, Vec::new()));
    worker.send(&[&PREAMBLE[..], &hello(Role::Worker), &register].concat());
    let registered = || master.status()["workers"].as_array().filter(|it| it.len() == 1).map(|_| ());
    wait_for("the Worker", registered);

    let mut slow = Stranger::connect(&master);
    let question = message(&ask_all());
    slow.send(&[&PREAMBLE[..], &hello(Role::Client), &question.repeat(30)].concat());
    for _ in 0..3 {
        assert_eq!(master.status()["workers"].as_array().map(Vec::len), Some(1));
    }
    // When it reads, it gets all answers: each is longer than a MiB.
    let read = io::copy(&mut (&slow.stream).take(30 << 20), &mut io::sink()).expect("it is connected");
    assert_eq!(read, 30 << 20);
    assert_eq!(master.terminate(), 0);
}

#[test]
fn a_flood_of_silent_connections_keeps_nobody_out_and_is_swept_away() {
    let master = Daemon::master(&[]);
    let mut flood: Vec<Stranger> = (0..300).map(|_| Stranger::connect(&master)).collect();
    assert_eq!(master.status()["schema"], 5);
    for stranger in &mut flood {
        stranger.until_closed();
    }
    let said = |log: &str| log.lines().filter(|line| line.contains("it sent nothing within 10 s")).count();
    wait_for("the log", || (said(&master.log()) >= 10).then_some(()));
    assert_eq!(said(&master.log()), 10, "strangers do not fill the log: {}", master.log());
    assert_eq!(master.status()["schema"], 5);
    assert_eq!(master.terminate(), 0);
}

#[test]
fn a_connection_in_its_handshake_does_not_hold_up_the_end_of_a_master() {
    let master = Daemon::master(&[]);
    let mut silent = Stranger::connect(&master);
    let mut half = Stranger::connect(&master);
    half.send(&PREAMBLE[..3]);
    assert_eq!(master.status()["schema"], 5);
    let asked = Instant::now();
    assert_eq!(master.terminate(), 0);
    assert!(asked.elapsed() < Duration::from_secs(4), "{:?}", asked.elapsed());
    silent.until_closed();
    half.until_closed();
}

#[test]
fn whoever_connects_and_leaves_without_a_word_is_not_worth_a_warning() {
    let master = Daemon::master(&["-v"]);
    let mut probe = Stranger::connect(&master);
    probe.stream.shutdown(Shutdown::Write).expect("it is connected");
    probe.until_closed();
    let line = master.wait_for_line(&[&probe.address.to_string(), "without sending anything"]);
    assert!(line.contains("DEBUG"), "{line}");
}

#[test]
fn a_connection_that_is_reset_before_its_first_frame_is_not_worth_a_warning() {
    let master = Daemon::master(&["-v"]);
    let mut probe = Stranger::connect(&master);
    probe.send(&PREAMBLE);
    // If a socket is closed with unread bytes, the system resets the connection.
    assert_eq!(probe.stream.peek(&mut [0]).expect("the Master says hello"), 1);
    let address = probe.address.to_string();
    drop(probe);
    let line = master.wait_for_line(&[&address, "connection ended before the handshake"]);
    assert!(line.contains("DEBUG"), "{line}");
}

#[test]
fn what_a_stranger_sends_is_not_in_the_log() {
    let master = Daemon::master(&[]);
    let mut stranger = Stranger::connect(&master);
    stranger.send(b"SSH-2.0-OpenSSH_9.2\r\n");
    stranger.until_closed();
    let remote = stranger.address.to_string();
    let line = master.wait_for_line(&[&remote]);
    let said = format!("connection closed: the peer does not speak Firesteel's protocol remote={remote}");
    assert!(line.ends_with(&said), "{line}");
}

/// Spark's REST client falls back to the classic gateway if its request was sent and not answered, but not if sending
/// its body fails.
#[test]
fn a_submission_by_http_gets_no_answer_when_all_of_it_was_sent() {
    let master = Daemon::master(&[]);
    let [mut stranger, mut slow] = [(); 2].map(|()| Stranger::connect(&master));
    for stranger in [&mut stranger, &mut slow] {
        stranger.send(b"POST /v1/submissions/create HTTP/1.1\r\nContent-Length: 8\r\n\r\n");
        stranger.send(b"half");
    }
    stranger.send(b"rest");
    let mut answer = Vec::new();
    stranger.stream.read_to_end(&mut answer).expect("the Master hangs up");
    assert_eq!(answer, b"");
    assert_eq!(master.terminate(), 0, "it does not wait for a stranger");
}

#[test]
fn a_master_without_a_file_left_for_a_connection_says_so_and_recovers() {
    let master = Daemon::master(&[]);
    // Files for a few connections, although the Master believes that it may have many; and some for files that it opens
    // briefly.
    let open = fs::read_dir(format!("/proc/{}/fd", master.pid())).expect("it runs").count();
    let mut command = Command::new("prlimit");
    command.args(["--pid", &master.pid().to_string(), &format!("--nofile={}", open + 8)]);
    assert!(command.status().expect("there is prlimit").success());
    let flood: Vec<Stranger> = (0..60).map(|_| Stranger::connect(&master)).collect();
    let line = master.wait_for_line(&["cannot accept connections", "ulimit -n", "retrying"]);
    assert!(line.contains("WARN"), "{line}");
    drop(flood);
    assert_eq!(master.status()["schema"], 5);
    assert_eq!(master.terminate(), 0);
}
