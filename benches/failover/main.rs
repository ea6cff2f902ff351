//! How long is a cluster without a Master when its leader is killed? And are running executors affected?
//!
//! ```text
//! cargo bench -p firesteel --bench failover                       10,000 Workers, 50,000 executors, three rounds
//! cargo bench -p firesteel --bench failover -- --rounds 1         one round
//! cargo bench -p firesteel --bench failover -- --workers 1000     with fewer Workers; --executors says how many on each
//! cargo bench -p firesteel --bench failover -- --tick 2000 --session 10000   ZooKeeper's tick, the Masters' session; in ms
//! cargo bench -p firesteel --bench failover -- --credentials      each round also with a secret
//! cargo bench -p firesteel --bench failover -- --test             50 Workers, one round: measures nothing
//! ```
//!
//! A real ZooKeeper of one server, two real Masters that share a cluster, and processes of mocks, all over sockets on
//! loopback. The mocks are the product's own state machines and connections of Workers and drivers. So they search for
//! a Master in the same way. Only executors are missing. The cluster is full, one application waits for room, and the
//! leader is killed with SIGKILL. Some executors end while there is no Master, which makes room for the waiting
//! application, and for a new one that registers then. All times are from one clock. Every wait has a limit, and every
//! process ends with this one.
//!
//! Needs Java and Maven, for ZooKeeper. benches/README.md has the figures.

mod crew;
mod drivers;
mod masters;
mod moment;
mod process;
mod round;
mod table;
mod workers;

use std::time::Duration;

use firesteel_daemons::secret::credentials::Credentials;
use firesteel_testkit::arguments::{Arguments, Known};
use round::Size;

fn main() {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = given.iter().map(String::as_str).collect();
    firesteel_host::daemon::raise_open_files();
    let number = |word: &str| word.parse::<u64>().expect("a number");
    match words[..] {
        ["workers", first, count, cores, masters] => {
            return workers::run(number(first), number(count), number(cores).cast_signed(), masters);
        }
        ["drivers", masters] => return drivers::run(masters),
        _ => {}
    }
    let arguments = Arguments::of(Known {
        flags: &["--credentials"],
        numbers: &["--rounds", "--workers", "--executors", "--apps", "--processes", "--tick", "--session"],
        ..Known::default()
    });
    let is_test = arguments.test();
    if let Err(reason) = firesteel_testkit::zookeeper::look() {
        let name = firesteel_testkit::zookeeper::ZOOKEEPER.name;
        assert!(is_test && !firesteel_testkit::component::is_required(name), "no {name}: {reason}");
        return println!("skipped, no {name}: {reason}");
    }
    let after = |option: &str, default: u64| arguments.number(option).unwrap_or(default);
    let small = |small: u64, full: u64| if is_test { small } else { full };
    let size = Size {
        workers: after("--workers", small(50, 10_000)),
        executors_each: after("--executors", 5),
        apps: after("--apps", small(5, 100)),
        processes: after("--processes", small(2, 4)),
        tick: Duration::from_millis(after("--tick", 500)),
        session: Duration::from_millis(after("--session", small(1_000, 4_000))),
    };
    let Size { workers, executors_each, apps, processes, tick, session } = size;
    let directory = tempfile::tempdir().expect("a temporary directory");
    let credentials = directory.path().join("credentials");
    if arguments.has("--credentials") {
        Credentials::draw().create(&credentials).expect("it is new");
    }
    assert_eq!(workers * executors_each % apps, 0, "applications have the same number of executors");
    println!(
        "{workers} Workers in {processes} processes, {} executors, {apps} applications; tick {tick:?}, session {session:?}",
        workers * executors_each
    );
    let rounds = after("--rounds", small(1, 3));
    let (mut open, mut secured) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        open.push(round::run(size, None));
        if credentials.exists() {
            secured.push(round::run(size, Some(&credentials)));
        }
    }
    table::print(&open);
    if !secured.is_empty() {
        println!("with a secret:");
        table::print(&secured);
    }
}
