//! Programs that take as much of a Master as they get: connections, turns and memory. Others are served meanwhile.

use std::fs;
use std::time::{Duration, Instant};

use firesteel_placement::{Cores, ExecutorLimit};
use firesteel_protocol::messages::{
    ApplicationDescription, ClientToMaster, DriverToMaster, Placing, StateCursor, Submitter, WantedExecutors,
    Work,
};
use firesteel_protocol::process::Command;
use firesteel_protocol::wire::{MAX_FRAME, PREAMBLE, Role};
use firesteel_testkit::{Daemon, firesteel, run};
use nix::sys::signal::Signal;

use super::wire::{Stranger, frame, header, hello, message};

/// How long a question may take while others flood the Master. Without limits it takes until the flood ends.
const SOON: Duration = Duration::from_secs(6);

/// Asks for the state, which must be answered soon.
fn is_served(master: &Daemon) {
    let begun = Instant::now();
    assert_eq!(master.status()["schema"], 5);
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
}

/// The memory of a daemon in MiB: `VmRSS:` now, `VmHWM:` the most so far.
fn memory(master: &Daemon, which: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", master.pid())).expect("it runs");
    let line = status.lines().find(|line| line.starts_with(which)).expect("Linux counts it");
    let kib: u64 = line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number");
    kib / 1024
}

#[test]
fn connections_that_begin_and_do_not_go_on_make_room_for_others() {
    let master = Daemon::master(&[]);
    let mut flood: Vec<Stranger> = (0..700).map(|_| Stranger::connect(&master)).collect();
    flood.iter_mut().for_each(|stranger| stranger.send(&PREAMBLE[..1]));
    is_served(&master);
    is_served(&master);
    assert_eq!(master.terminate(), 0);
}

#[test]
fn nobody_waits_for_the_answers_to_clients_that_have_left() {
    let master = Daemon::master(&[]);
    let question = message(&ClientToMaster::RequestMasterState { from: StateCursor::beginning() });
    let words = [&PREAMBLE[..], &hello(Role::Client), &question.repeat(20_000)].concat();
    let mut flood: Vec<Stranger> = (0..20).map(|_| Stranger::connect(&master)).collect();
    flood.iter_mut().for_each(|stranger| stranger.send(&words));
    is_served(&master);
    drop(flood);
    is_served(&master);
    assert_eq!(master.terminate(), 0);
}

#[test]
fn long_messages_that_do_not_arrive_take_a_limited_memory() {
    let master = Daemon::master(&[]);
    let before = memory(&master, "VmHWM:");
    let _flood: Vec<Stranger> = (0..24).map(|_| half_message(&master)).collect();
    let line = master.wait_for_line(&["too many long messages are arriving at the same time"]);
    assert!(line.contains("WARN"), "{line}");
    is_served(&master);
    let more = memory(&master, "VmHWM:").saturating_sub(before);
    assert!(more < 256, "{more} MiB for messages that have not arrived");
    assert_eq!(master.terminate(), 0);
}

/// A driver of an application that has a variable of 3 MiB and no executors.
pub(crate) fn long_application(master: &Daemon, name: &str) -> Stranger {
    let mut command = Command::of("true");
    command.environment.insert("LONG".to_owned(), "x".repeat(3 << 20));
    let description = ApplicationDescription::new(
        Submitter::new(name, "ann"),
        WantedExecutors { limit: ExecutorLimit::AtMost(0), ..WantedExecutors::default() },
        Placing::default(),
        Work::of(command),
    );
    let register = message(&DriverToMaster::RegisterApplication(Box::new(description)));
    let mut driver = Stranger::connect(master);
    driver.send(&[&PREAMBLE[..], &hello(Role::Driver), &register].concat());
    driver
}

/// A client that sends all but the last byte of the longest message.
pub(crate) fn half_message(master: &Daemon) -> Stranger {
    let length = u32::try_from(MAX_FRAME).expect("it fits");
    let begun = [&header(length, b"")[..], &vec![1; MAX_FRAME - 1]].concat();
    let mut client = Stranger::connect(master);
    client.send(&[&PREAMBLE[..], &hello(Role::Client), &begun].concat());
    client
}

/// An application with this name that wants a gang of this number of executors, and may have one core.
fn application(name: &str, gang: u64) -> Vec<u8> {
    let wanted = WantedExecutors { max_cores: Some(Cores(1)), ..WantedExecutors::default() };
    let work = Work::of(Command::of("true"));
    let mut description =
        ApplicationDescription::new(Submitter::new(name, "ann"), wanted, Placing::default(), work);
    description.gang = gang;
    message(&DriverToMaster::RegisterApplication(Box::new(description)))
}

#[test]
fn drivers_that_send_without_pause_are_heard_at_a_pace() {
    let master = Daemon::master(&[]);
    let said = |messages: Vec<Vec<u8>>| {
        let mut driver = Stranger::connect(&master);
        driver.send(&[&PREAMBLE[..], &hello(Role::Driver), &messages.concat()].concat());
        driver
    };
    let begun = Instant::now();
    let _refused = said(["first", "second", "third"].map(|name| application(name, 5)).to_vec());
    master.wait_for_line(&["refused an application (first)"]);
    is_served(&master);
    master.wait_for_line(&["refused an application (third)"]);
    assert!(begun.elapsed() > Duration::from_millis(1900), "{:?}", begun.elapsed());

    let begun = Instant::now();
    let _repeated = said([vec![application("accepted", 1); 200], vec![frame(b"over")]].concat());
    master.wait_for_line(&["connection of driver", "a frame of 4 bytes is not a message"]);
    assert!(begun.elapsed() > Duration::from_millis(1900), "200 messages within {:?}", begun.elapsed());
    assert_eq!(master.terminate(), 0);
}

/// Like [`long_application`]. Returns the driver with the line of the Master's log about it.
fn noted_application(master: &Daemon, name: &str) -> (Stranger, String) {
    (long_application(master, name), master.wait_for_line(&[&format!("({name})")]))
}

#[test]
fn long_descriptions_take_a_limited_memory_and_give_it_back() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let state = format!("spark.deploy.recoveryDirectory={}", directory.path().display());
    let with = |budget: &str| {
        let mut command = firesteel();
        command.args(["master", "--port", "0", "--conf", &format!("firesteel.master.memory={budget}")]);
        // As in the service of the package: glibc keeps freed memory by default.
        command.args(["--conf", &state]).env("MALLOC_MMAP_THRESHOLD_", "262144");
        Daemon::start(&mut command)
    };
    let master = with("256m");
    let (before, now_before) = (memory(&master, "VmHWM:"), memory(&master, "VmRSS:"));
    let mut drivers = Vec::new();
    for number in 0..12 {
        let (driver, line) = noted_application(&master, &format!("long-{number}"));
        drivers.push(driver);
        let is_refused = line.contains("refused an application") && line.contains("firesteel.master.memory");
        assert_eq!(is_refused, number >= 5, "three quarters of 128 MiB, at 18 MiB each: {line}");
    }
    let more = memory(&master, "VmHWM:").saturating_sub(before);
    assert!(more < 192, "{more} MiB");
    is_served(&master);
    master.signal(Signal::SIGKILL);
    drop(master);

    let master = with("16m");
    let line = master.wait_for_line(&["live applications and drivers take"]);
    assert!(line.contains("raise firesteel.master.memory"), "{line}");
    let large: Vec<&str> = line.split([' ', '.']).filter(|word| word.starts_with("app-")).collect();
    assert_eq!(large.len(), 5, "{line}");
    assert!(noted_application(&master, "another").1.contains("refused an application"));
    for app in large {
        let done = run(firesteel().args(["kill", "--master", master.url(), app]));
        assert_eq!(done.code(), 0, "{done}");
    }
    let left = memory(&master, "VmRSS:").saturating_sub(now_before);
    assert!(left < 32, "{left} MiB more than at the start");
    assert_eq!(master.terminate(), 0);
}
