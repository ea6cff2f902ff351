//! What do the Master's pages cost: how long do they take, how large are they, and how much do they slow the Master
//! down?
//!
//! ```text
//! cargo bench -p firesteel --bench pages --profile release                          1,000 Workers, 10,000 executors
//! cargo bench -p firesteel --bench pages --profile release -- --workers 10000       ten times that
//! cargo bench -p firesteel --bench pages -- --test                                  small and once; measures nothing
//! ```
//!
//! Workers and drivers are connections of this process. Each page is requested many times, one request after the other
//! with pauses. So the Master's state is read repeatedly, as for readers. An application's executors are launched with
//! and without readers, in turn. docs/MONITORING.md has the figures.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use firesteel_protocol::messages::{DriverToMaster, ExecutorState, MasterToDriver};
use firesteel_protocol::wire::{self, Role};
use firesteel_testkit::Daemon;
use firesteel_testkit::arguments::{Arguments, Known};
use firesteel_testkit::peers::crowd::{Asked, Crowd, description};
use firesteel_testkit::peers::link::Link;
use firesteel_testkit::wait::wait;
use serde_json::Value;
use tokio::runtime;

/// How long the cluster may take to start.
const PATIENCE: Duration = Duration::from_secs(600);

/// The number of executors of an application.
const EACH: u64 = 250;

/// The number of executors of an application in the timed launches.
const PROBED: u64 = 50;

fn main() {
    firesteel_host::daemon::raise_open_files();
    let arguments = Arguments::of(Known { numbers: &["--workers"], ..Known::default() });
    let is_test = arguments.test();
    let workers = arguments.number("--workers").unwrap_or(if is_test { 20 } else { 1000 });
    let rounds = if is_test { 1 } else { 5 };
    let requests = if is_test { 5 } else { 500 };
    let applications = workers * 10 / EACH;
    let master =
        Daemon::master(&["--conf", "spark.deploy.recoveryMode=NONE", "--conf", "spark.worker.timeout=3600s"]);
    let crowd = filled(&master, workers, applications);
    let app = json(&master)["activeapps"][0]["id"].as_str().unwrap_or_default().to_owned();
    let before = resident(&master);
    println!("{workers} Workers, {} executors, {} MiB resident", applications * EACH, before >> 20);
    println!("{:<44} {:>8} {:>8} {:>8} {:>8} {:>8}", "page", "first ms", "p50 ms", "p99 ms", "max ms", "KiB");
    let worker = "worker-20261126084210-node-0005-7078";
    for path in [
        "/".to_owned(),
        "/?filter=node-0007".to_owned(),
        "/?workersBy=Cores%20free".to_owned(),
        format!("/app/?appId={app}"),
        format!("/worker/?workerId={worker}"),
        "/picture/".to_owned(),
    ] {
        report(&master, &path, requests);
    }
    let more = |pages: &str| {
        let more = resident(&master) as f64 - before as f64;
        println!("{:.1} MiB more resident after {pages}", more / f64::from(1 << 20));
    };
    more("these pages");
    report(&master, "/policies/", 3.min(requests));
    more("policies, too");
    decisions(&master, rounds, if is_test { 2 } else { 20 }, &app);
    drop(crowd);
}

/// A cluster with these Workers and applications, and three waiting applications.
fn filled(master: &Daemon, workers: u64, applications: u64) -> Crowd {
    let crowd = Crowd::of(&master.address().to_string());
    crowd.workers(0..workers);
    wait("all Workers", PATIENCE, || (json(master)["aliveworkers"] == workers).then_some(()));
    let asked = |name: String, executors, each| {
        let user = "ann".to_owned();
        Asked { name, user, executors, each, gang: 0, ends: None }
    };
    for number in 0..applications {
        crowd.application(asked(format!("application-{number}"), EACH, (1, 4)));
    }
    wait("all executors", PATIENCE, || (json(master)["coresused"] == applications * EACH).then_some(()));
    for number in 0..3 {
        crowd.application(asked(format!("waits-{number}"), 40, (24 + number, 120)));
    }
    wait("those who wait", PATIENCE, || {
        let apps = json(master)["activeapps"].as_array().map_or(0, Vec::len);
        (apps as u64 == applications + 3).then_some(())
    });
    crowd
}

fn json(master: &Daemon) -> Value {
    serde_json::from_str(&master.get("/json/").1).unwrap_or_default()
}

/// The Master's resident memory, in bytes.
fn resident(master: &Daemon) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", master.pid())).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it has memory");
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().expect("it is a number");
    kib << 10
}

/// Requests a page many times, and prints the times of whole answers.
fn report(master: &Daemon, path: &str, requests: usize) {
    let mut times = Vec::new();
    let mut length = 0;
    for _ in 0..requests {
        let begun = Instant::now();
        let (status, body) = master.get(path);
        times.push(begun.elapsed().as_secs_f64() * 1000.0);
        assert_eq!(status, 200, "{path}: {body}");
        length = body.len();
        thread::park_timeout(Duration::from_millis(10));
    }
    let first = times[0];
    times.sort_by(f64::total_cmp);
    let of = |share: f64| times[((times.len() - 1) as f64 * share).round() as usize];
    let (p50, p99, max) = (of(0.5), of(0.99), of(1.0));
    println!("{path:<44} {first:>8.1} {p50:>8.1} {p99:>8.1} {max:>8.1} {:>8}", length >> 10);
}

/// Measures launches with and without readers, in turns.
fn decisions(master: &Daemon, rounds: usize, launches: usize, app: &str) {
    let (mut alone, mut read) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        alone.extend(probe(master, launches));
        let ends = Arc::new(AtomicBool::new(false));
        let readers: Vec<_> =
            ["/".to_owned(), "/".to_owned(), format!("/app/?appId={app}"), "/picture/".to_owned()]
                .into_iter()
                .map(|path| read_on(master.http().to_owned(), path, Arc::clone(&ends)))
                .collect();
        read.extend(probe(master, launches));
        ends.store(true, Ordering::Relaxed);
        readers.into_iter().for_each(|reader| reader.join().expect("a reader does not fail"));
    }
    let median = |times: &mut Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    let (alone, read) = (median(&mut alone), median(&mut read));
    println!(
        "{PROBED} executors: {alone:.2} ms alone, {read:.2} ms with 4 readers, {:.2} times",
        read / alone
    );
}

/// A reader with an up-to-date page: it asks again 2 s after each answer.
fn read_on(address: String, path: String, ends: Arc<AtomicBool>) -> thread::JoinHandle<()> {
    use std::io::{Read as _, Write as _};
    thread::spawn(move || {
        while !ends.load(Ordering::Relaxed) {
            let mut stream = std::net::TcpStream::connect(&address).expect("the Master serves HTTP");
            write!(stream, "GET {path} HTTP/1.1\r\nHost: h\r\n\r\n").expect("it reads");
            stream.read_to_end(&mut Vec::new()).expect("it answers");
            let until = Instant::now() + Duration::from_secs(2);
            while Instant::now() < until && !ends.load(Ordering::Relaxed) {
                thread::park_timeout(Duration::from_millis(50));
            }
        }
    })
}

/// The times from an application's registration until all its executors run, in milliseconds.
fn probe(master: &Daemon, launches: usize) -> Vec<f64> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
    let address = master.address().to_string();
    (0..launches)
        .map(|_| {
            thread::park_timeout(Duration::from_millis(100));
            runtime.block_on(launched(&address))
        })
        .collect()
}

async fn launched(address: &str) -> f64 {
    let Link { mut incoming, mut outgoing } =
        Link::dial(address, Role::Driver, "probe").await.expect("the Master listens");
    let (name, user) = ("probe".to_owned(), "ann".to_owned());
    let asked = Asked { name, user, executors: PROBED, each: (1, 1), gang: 0, ends: None };
    let begun = Instant::now();
    outgoing.push(&DriverToMaster::RegisterApplication(Box::new(description(asked))));
    outgoing.flush().await;
    let (mut app, mut running, mut took) = (None, 0, 0.0);
    while let Some(body) = incoming.next().await {
        match wire::decode(&body).expect("the Master speaks the protocol") {
            MasterToDriver::RegisteredApplication { app: id, .. } => app = Some(id),
            MasterToDriver::ExecutorUpdated { state: ExecutorState::Running, .. } => {
                running += 1;
                if running == PROBED {
                    took = begun.elapsed().as_secs_f64() * 1000.0;
                    let app = app.clone().expect("it is registered");
                    outgoing.push(&DriverToMaster::UnregisterApplication { app, outcome: None });
                    outgoing.flush().await;
                }
            }
            MasterToDriver::ExecutorsGone { .. } => return took,
            _ => {}
        }
    }
    panic!("the Master closed a driver's connection")
}
