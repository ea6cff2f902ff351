//! Answers with several pages, and answers that never come or break off.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use firesteel_placement::{Cores, MiB, Resources};
use firesteel_protocol::Timestamp;
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::WorkerId;
use firesteel_protocol::messages::{
    ApplicationDescription, DriverToMaster, MasterToClient, Offered, Placing, ResourceProfile, StateCursor,
    StateHead, StatePage, StateRow, StateTotals, Submitter, WantedExecutors, Work, WorkerDescription,
    WorkerToMaster, WorkerView,
};
use firesteel_protocol::process::Command;
use firesteel_protocol::scheduling::SchedulingSettings;
use firesteel_protocol::wire::{PREAMBLE, Role};
use firesteel_testkit::{Daemon, Finished, firesteel, run, wait_for};
use nix::sys::signal::Signal;
use serde_json::Value;

use super::wire::{Stranger, hello, message};

/// Enough executors for several pages.
const EXECUTORS: usize = 3_000;

/// A Worker that accepts orders without obeying, and an application with very many executors on it.
fn crowd(master: &Daemon) -> [Stranger; 2] {
    let mut worker = Stranger::connect(master);
    let cores = i64::try_from(EXECUTORS).expect("it is small");
    let description = WorkerDescription::new(
        WorkerId::new("worker-1"),
        Address::new("somewhere", 1),
        Offered { cores: Cores(cores), memory: MiB(1 << 20), resources: Resources::default() },
        "/work",
    );
    let register = WorkerToMaster::register(description, Vec::new());
    worker.send(&[&PREAMBLE[..], &hello(Role::Worker), &message(&register)].concat());
    master.wait_for_workers(1);
    let mut driver = Stranger::connect(master);
    let profile =
        ResourceProfile { cores: Some(Cores(1)), memory: Some(MiB(1)), ..ResourceProfile::default() };
    let description = ApplicationDescription::new(
        Submitter::new("crowd", "ann"),
        WantedExecutors { max_cores: Some(Cores(cores)), profile, ..WantedExecutors::default() },
        Placing::default(),
        Work::of(Command::of("work")),
    );
    let register = DriverToMaster::RegisterApplication(Box::new(description));
    driver.send(&[&PREAMBLE[..], &hello(Role::Driver), &message(&register)].concat());
    [worker, driver]
}

fn ids(executors: &Value) -> Vec<u64> {
    let executors = executors.as_array().expect("a list");
    executors.iter().map(|executor| executor["id"].as_u64().expect("a number")).collect()
}

#[test]
fn everything_that_asks_a_master_gets_every_row() {
    let master = Daemon::master(&[]);
    let _crowd = crowd(&master);
    let whole: Vec<u64> = (0..EXECUTORS as u64).collect();
    let state = wait_for("the executors", || {
        let state = master.status();
        (state["applications"][0]["executors_live"] == EXECUTORS).then_some(state)
    });
    assert_eq!(ids(&state["applications"][0]["executors"]), whole);
    assert!(state["began_ms"].as_u64() <= state["now_ms"].as_u64() && state["began_ms"].is_u64());

    let ask = |words: &[&str]| {
        let done = run(firesteel().args(words).args(["--master", master.url()]));
        assert_eq!(done.code(), 0, "{done}");
        done.stdout
    };
    let one: Value = serde_json::from_str(&ask(&["status", "crowd", "--json"])).expect("it is JSON");
    assert_eq!(ids(&one["application"]["executors"]), whole);
    let rows = |text: &str| text.lines().filter(|line| line.contains(" LAUNCHING ")).count();
    for words in [&["status"][..], &["status", "crowd"], &["top", "--once"]] {
        assert_eq!(rows(&ask(words)), EXECUTORS, "{words:?}");
    }
    let last = ask(&["status", &format!("crowd/{}", EXECUTORS - 1)]);
    assert_eq!(rows(&last), 1, "{last}");
    let explained: Value = serde_json::from_str(&ask(&["explain", "crowd", "--json"])).expect("it is JSON");
    assert_eq!(explained["scheduling"]["profiles"][0]["held"], EXECUTORS);
    assert!(ask(&["kill", "crowd"]).contains("3000 executors"));
}

/// Asks the listener at this address for its state.
fn ask(address: SocketAddr) -> Finished {
    run(firesteel().args(["status", "--json", "--master", &format!("spark://{address}")]))
}

/// Checks that nothing is printed as an answer, and that one line of JSON describes the error.
fn refused(done: &Finished, code: i32, sentence: &str) {
    assert_eq!((done.code(), done.stdout.as_str()), (code, ""), "{done}");
    let error: Value = serde_json::from_str(&done.stderr).expect("errors are JSON");
    assert_eq!(error["error"]["code"], code);
    assert_eq!(error["error"]["message"], sentence);
}

/// Listens, and passes the first connection to `serve`.
fn listen(serve: impl FnOnce(TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let address = listener.local_addr().expect("it is bound");
    thread::spawn(move || serve(listener.accept().expect("a client dials").0));
    address
}

/// Reads until the client hangs up.
fn until_closed(mut stream: TcpStream) {
    let _ = std::io::copy(&mut stream, &mut std::io::sink());
}

/// The first page of a state that has more.
fn first_page() -> StatePage {
    let offered = Offered { cores: Cores(1), ..Offered::default() };
    let address = Address::new("h".to_owned(), 1);
    let worker = WorkerDescription::new(WorkerId::new("worker-1"), address, offered, "/work");
    let worker = WorkerView::unused(&worker, Timestamp::default());
    let totals = StateTotals { workers: 2, ..StateTotals::default() };
    let head = StateHead {
        url: "spark://m:1".to_owned(),
        web_address: None,
        scheduling: SchedulingSettings::default(),
        reserved: Vec::new(),
        lag_millis: 0,
        totals,
        is_exposed: false,
    };
    let next = Some(StateCursor::Worker(WorkerId::new("worker-2")));
    StatePage {
        now: Timestamp::default(),
        head: Some(head),
        rows: vec![StateRow::Worker(Box::new(worker))],
        next,
    }
}

#[test]
fn a_master_that_everybody_can_use_is_shown_as_open() {
    let address = listen(|mut stream| {
        let mut page = StatePage { next: None, ..first_page() };
        page.head.iter_mut().for_each(|head| head.is_exposed = true);
        let page = message(&MasterToClient::MasterStateResponse(page));
        let bytes = [&PREAMBLE[..], &hello(Role::Master), &page].concat();
        stream.write_all(&bytes).expect("the client is there");
        until_closed(stream);
    });
    let done = run(firesteel().args(["status", "--master", &format!("spark://{address}")]));
    let line = "It is open: other machines can connect without a secret, and run programs\n";
    assert!(done.code() == 0 && done.stdout.contains(line), "{done}");
}

#[test]
fn an_answer_that_breaks_off_is_an_error_and_nothing_is_printed() {
    let address = listen(|mut stream| {
        let page = message(&MasterToClient::MasterStateResponse(first_page()));
        let bytes = [&PREAMBLE[..], &hello(Role::Master), &page].concat();
        stream.write_all(&bytes).expect("the client is there");
        // The client's opening, its first question, and the beginning of the second.
        let mut read = vec![0; PREAMBLE.len()];
        stream.read_exact(&mut read).expect("the client says hello");
        for _ in 0..3 {
            let mut header = [0; 12];
            stream.read_exact(&mut header).expect("the client asks");
            let [a, b, c, d, ..] = header;
            let mut body = vec![0; u32::from_be_bytes([a, b, c, d]) as usize];
            stream.read_exact(&mut body).expect("the client asks");
        }
    });
    let why = format!(
        "no Master answered in full: the answer broke off after 1 row: {address} closed the connection without an \
         answer; try again, and look at its log"
    );
    refused(&ask(address), 75, &why);
}

#[test]
fn a_stranger_who_says_nothing_is_no_more_than_that() {
    let stranger = listen(until_closed);
    let stopped = Daemon::master(&[]);
    stopped.signal(Signal::SIGSTOP);
    let addresses = [stranger, stopped.address()];
    let done = thread::scope(|scope| {
        let asked = addresses.map(|address| scope.spawn(move || ask(address)));
        asked.map(|asked| asked.join().expect("it does not panic"))
    });
    for (done, address) in done.iter().zip(addresses) {
        let why = format!(
            "no Master answered: {address} accepted the connection, but it sent nothing within 10 s: a Master that \
             hangs or is overloaded, or another program; try again, and look at its log"
        );
        refused(done, 75, &why);
    }
    stopped.signal(Signal::SIGCONT);
    assert_eq!(stopped.terminate(), 0);
}

#[test]
fn a_stranger_who_speaks_something_else_is_no_master() {
    for (answer, speaks) in [
        (&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], "the peer speaks HTTP, not Firesteel's protocol"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "the peer does not speak Firesteel's protocol"),
    ] {
        let address = listen(move |mut stream| {
            stream.write_all(answer).expect("the client is there");
            until_closed(stream);
        });
        let why = format!(
            "no Master answered: {address} is not a Master of this version of Firesteel: {speaks}; check that --master \
             is the URL of a Master of this version"
        );
        refused(&ask(address), 76, &why);
    }
}

/// Listens, and passes every connection to `serve`.
fn listen_to_all(serve: fn(TcpStream)) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let address = listener.local_addr().expect("it is bound");
    thread::spawn(move || {
        listener.incoming().flatten().for_each(|stream| drop(thread::spawn(move || serve(stream))))
    });
    address
}

/// The exit code of a command that asks this address.
fn code_of(words: &str, address: &str) -> i32 {
    let (name, rest) = words.split_once(' ').unwrap_or((words, ""));
    let work = tempfile::tempdir().expect("a temporary directory");
    let mut command = firesteel();
    command.arg(name);
    match name {
        "yarn" => {
            command.args(["apps", "--conf", &format!("spark.hadoop.yarn.resourcemanager.address={address}")])
        }
        "worker" => command.arg(format!("spark://{address}")).arg("-d").arg(work.path()),
        _ => command.args(["--master", &format!("spark://{address}")]),
    };
    if name != "yarn" {
        command.args(rest.split_whitespace());
    }
    run(&mut command).code()
}

#[test]
fn the_same_fault_has_the_same_exit_code_in_every_command() {
    let http = listen_to_all(|mut stream| {
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        until_closed(stream);
    });
    let (closes, mute) = (listen_to_all(drop), listen_to_all(until_closed));
    let asks =
        ["status", "status x", "explain x", "kill x", "decommission x", "logs x", "history", "top --once"];
    let short = "--conf firesteel.driver.registrationTimeout=1s";
    let starts = [format!("map {short} -- true ::: a"), format!("launch {short} -- true")];
    let drivers =
        ["submit --status driver-1", "submit --kill driver-1", "submit --deploy-mode cluster -- true"];
    let commands: Vec<&str> = asks
        .into_iter()
        .chain(drivers)
        .chain(starts.iter().map(String::as_str))
        .chain(["yarn apps", "worker --port 0 --conf spark.worker.maxRegistrationRetries=1"])
        .collect();
    let faults = [
        ("nothing listens", "127.0.0.1:1".to_owned(), 69),
        ("a host without an address", "no-such-host.invalid:7077".to_owned(), 69),
        ("something closes the connection", closes.to_string(), 69),
        ("an HTTP server", http.to_string(), 76),
        ("something that says nothing", mute.to_string(), 75),
    ];
    thread::scope(|scope| {
        for (fault, address, code) in &faults {
            // A silent ResourceManager has a much longer time limit.
            let asked = commands.iter().filter(|words| *code != 75 || !words.starts_with("yarn"));
            for words in asked {
                scope.spawn(move || assert_eq!(code_of(words, address), *code, "{words}: {fault}"));
            }
        }
    });
}
