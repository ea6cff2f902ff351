//! A connection with bit errors: the output is correct anyway.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use firesteel_testkit::proxy;
use firesteel_testkit::{Daemon, firesteel, wait_for};

/// A proxy that changes one bit in every few thousand bytes.
struct Wire {
    address: SocketAddr,
    changed: Arc<AtomicUsize>,
}

/// Which bits are changed.
#[derive(Clone, Copy)]
struct Changes {
    /// The number of bytes in a direction of a connection before the first change, and between changes.
    every: usize,
    most: usize,
}

impl Wire {
    /// Listens on a free port of this address, and forwards each connection to the address that `target` returns.
    fn start(
        host: &str,
        target: impl Fn(SocketAddr) -> SocketAddr + Send + 'static,
        changes: Changes,
    ) -> Self {
        let changed = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&changed);
        let address = proxy::start(host, target, move |_| {
            let (counter, mut passed, mut next) = (Arc::clone(&counter), 0, changes.every);
            move |bytes: &mut [u8]| {
                while next < passed + bytes.len() {
                    let is_allowed = |made| (made < changes.most).then_some(made + 1);
                    if let Ok(made) = counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, is_allowed) {
                        bytes[next - passed] ^= 1 << (made % 8);
                    }
                    next += changes.every;
                }
                passed += bytes.len();
                true
            }
        });
        Self { address, changed }
    }

    fn changed(&self) -> usize {
        self.changed.load(Ordering::Relaxed)
    }
}

/// Runs 40 items, each of which writes 20,000 bytes, and checks the output.
fn run_is_right(master: &str, confs: &[String]) {
    let mut command = firesteel();
    command.args(["map", "--master", master, "--executor-cores", "1"]);
    command.args(confs.iter().flat_map(|conf| ["--conf", conf]));
    command.args(["--", "sh", "-c", "printf '%020000d\\n' $0", ":::"]);
    command.args((0..40).map(|item| item.to_string()));
    let mut map = Daemon::spawn(&mut command);
    assert_eq!(map.wait(), 0, "{}", map.log());
    let output = map.output();
    let mut lines: Vec<&str> = output.lines().collect();
    lines.sort_unstable();
    let expected: Vec<String> = (0..40).map(|item| format!("{item:020000}")).collect();
    assert!(lines == expected, "{} lines, and not what the tasks wrote:\n{}", lines.len(), map.log());
}

#[test]
fn bits_that_change_between_driver_and_executors_change_no_output() {
    let work = tempfile::tempdir().expect("a temporary directory");
    let master = Daemon::master(&[]);
    let _worker = Daemon::worker(&master, work.path(), &["--cores", "2", "--memory", "4g"]);
    // The driver listens on the proxy's port, at another address.
    let target = |wire: SocketAddr| SocketAddr::from(([127, 0, 0, 1], wire.port()));
    let wire = Wire::start("127.0.0.2", target, Changes { every: 60_007, most: 5 });
    let confs = [
        "spark.driver.host=127.0.0.2".to_owned(),
        "spark.driver.bindAddress=127.0.0.1".to_owned(),
        format!("spark.driver.port={}", wire.address.port()),
    ];
    run_is_right(master.url(), &confs);
    assert_eq!(wire.changed(), 5, "{}", master.log());
}

#[test]
fn bits_that_change_between_worker_and_master_change_no_output() {
    let work = tempfile::tempdir().expect("a temporary directory");
    let master = Daemon::master(&[]);
    let target = master.address();
    let wire = Wire::start("127.0.0.1", move |_| target, Changes { every: 701, most: 3 });
    let mut command = firesteel();
    command.args(["worker", "--port", "0", "--cores", "2", "--memory", "4g", "--work-dir"]).arg(work.path());
    let worker = Daemon::start(command.arg(format!("spark://{}", wire.address)));
    while wire.changed() < 3 {
        run_is_right(master.url(), &[]);
    }
    wait_for("the Worker to be back", || {
        let status = master.status();
        let alive = status["workers"].as_array()?.iter().filter(|row| row["state"] == "ALIVE").count();
        (alive == 1).then_some(())
    });
    let logs = [master.log(), worker.log()].concat();
    assert!(logs.contains("its bytes were changed on the way"), "{logs}");
}
