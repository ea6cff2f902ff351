//! The connections between a driver and its executors break again and again, or fall silent: no executor ends, and
//! nothing runs twice.

use std::collections::BTreeSet;
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use firesteel_testkit::proxy::{self, Direction};
use firesteel_testkit::{Daemon, firesteel, wait_for};
use tempfile::TempDir;

const EXECUTORS: usize = 4;
/// Each cut ends the connections of all executors.
const CUTS: usize = 10;
const ITEMS: usize = 200;

/// What happens to the connections that were opened before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    Cut,
    /// The connection stays open, and passes nothing on.
    Silence,
    /// The first connections end by themselves: four when an executor sends its first bytes, four when the driver does.
    Start,
}

/// How often the connections through a proxy were opened, and how often they had trouble.
#[derive(Debug, Default)]
struct Counts {
    opened: AtomicUsize,
    troubles: AtomicUsize,
}

impl Counts {
    fn wait_until_opened(&self, connections: usize) {
        let what = format!("{connections} connections of executors");
        wait_for(&what, || (self.opened.load(Ordering::SeqCst) >= connections).then_some(()));
    }
}

/// A proxy whose connections can have trouble. Each loses the bytes that are under way then.
fn start(counts: &Arc<Counts>, trouble: Trouble) -> SocketAddr {
    let counts = Arc::clone(counts);
    // The driver listens on the proxy's port, at another address.
    let target = |wire: SocketAddr| SocketAddr::from(([127, 0, 0, 1], wire.port()));
    proxy::start("127.0.0.2", target, move |direction| {
        let counts = Arc::clone(&counts);
        // Whoever sees this connection counted ends it with the next trouble.
        let begun = counts.troubles.load(Ordering::SeqCst);
        let before = match direction {
            Direction::There => counts.opened.fetch_add(1, Ordering::SeqCst),
            Direction::Back => counts.opened.load(Ordering::SeqCst) - 1,
        };
        let is_cut = trouble == Trouble::Start
            && before < 2 * EXECUTORS
            && (direction == Direction::There) == (before < EXECUTORS);
        move |_: &mut [u8]| {
            let has_trouble = || counts.troubles.load(Ordering::SeqCst) != begun;
            while trouble == Trouble::Silence && has_trouble() {
                thread::park();
            }
            !is_cut && !has_trouble()
        }
    })
}

/// A map run whose executors reach their driver through a proxy. Each item begins with a line in the record: its
/// executor, and its number.
struct Run {
    map: Daemon,
    counts: Arc<Counts>,
    directory: TempDir,
    _daemons: [Daemon; 2],
}

impl Run {
    /// The script gets the file that lets it end as `$1`, and its item as `$2`.
    fn start(trouble: Trouble, script: &str, items: usize) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let master = Daemon::master(&[]);
        let work = directory.path().join("work");
        let worker = Daemon::worker(&master, &work, &["--cores", "4", "--memory", "4g"]);
        let counts = Arc::new(Counts::default());
        let port = format!("spark.driver.port={}", start(&counts, trouble).port());

        let mut command = firesteel();
        command.args(["map", "--master", master.url(), "--executor-cores", "1", "--executor-memory", "64m"]);
        command.args(["--total-executor-cores", &items.min(EXECUTORS).to_string()]);
        for conf in [
            "spark.driver.host=127.0.0.2",
            "spark.driver.bindAddress=127.0.0.1",
            &port,
            // A connection is cut when bytes pass.
            "spark.executor.heartbeatInterval=200ms",
        ] {
            command.args(["--conf", conf]);
        }
        let script = format!("echo $FIRESTEEL_EXECUTOR_ID $2 >> $0; {script}");
        command.args(["--", "sh", "-c", &script]);
        command.arg(directory.path().join("record")).arg(directory.path().join("go")).arg(":::");
        let map = Daemon::spawn(command.args((0..items).map(|item| item.to_string())));
        Self { map, counts, directory, _daemons: [worker, master] }
    }

    fn trouble(&self) {
        self.counts.troubles.fetch_add(1, Ordering::SeqCst);
    }

    fn record(&self) -> String {
        fs::read_to_string(self.directory.path().join("record")).unwrap_or_default()
    }

    /// The numbers of the executors that have begun an item.
    fn executors(&self) -> BTreeSet<String> {
        let record = self.record();
        record.lines().filter_map(|line| line.split_once(' ')).map(|(number, _)| number.to_owned()).collect()
    }

    /// Lets the items end, and checks that each wrote its line once.
    fn succeeds(&mut self, mut expected: Vec<String>) {
        fs::write(self.directory.path().join("go"), "").expect("it can be written");
        assert_eq!(self.map.wait(), 0, "{}", self.map.log());
        let output = self.map.output();
        let mut lines: Vec<&str> = output.lines().collect();
        lines.sort_unstable();
        expected.sort_unstable();
        let count = lines.len();
        assert!(lines == expected, "{count} lines, and not what the tasks wrote:\n{}", self.map.log());
    }

    /// The log of the first executor.
    fn executor_log(&self) -> String {
        let work = self.directory.path().join("work");
        let mut applications = fs::read_dir(work).expect("the Worker's directory");
        let is_log = |path: &PathBuf| path.is_file();
        let log = applications.find_map(|entry| Some(entry.ok()?.path().join("0/stderr")).filter(is_log));
        fs::read_to_string(log.expect("the log of the first executor")).expect("it can be read")
    }
}

#[test]
fn cuts_between_a_driver_and_its_executors_cost_no_executor_and_no_task() {
    // The last items hold the executors until all cuts are done.
    let script =
        "printf '%020000d\\n' $2; sleep 0.05; [ $2 -lt 196 ] || until [ -e $1 ]; do sleep 0.05; done";
    let mut run = Run::start(Trouble::Cut, script, ITEMS);
    // An executor that has an item has been accepted by its driver.
    wait_for("an item on each executor", || (run.executors().len() == EXECUTORS).then_some(()));
    for cut in 1..=CUTS {
        run.counts.wait_until_opened(cut * EXECUTORS);
        run.trouble();
    }
    run.counts.wait_until_opened((CUTS + 1) * EXECUTORS);
    run.succeeds((0..ITEMS).map(|item| format!("{item:020000}")).collect());

    let record = run.record();
    let starts: Vec<(&str, &str)> = record.lines().filter_map(|line| line.split_once(' ')).collect();
    let items: BTreeSet<&str> = starts.iter().map(|(_, item)| *item).collect();
    assert_eq!((starts.len(), items.len()), (ITEMS, ITEMS), "each item ran once:\n{}", run.map.log());
    assert_eq!(Vec::from_iter(run.executors()), ["0", "1", "2", "3"], "{}", run.map.log());
    let log = run.executor_log();
    assert!(log.contains("the connection to the driver ended: tasks keep running"), "{log}");
}

#[test]
fn cuts_of_the_first_connections_cost_no_executor() {
    let mut run = Run::start(Trouble::Start, "echo $2; until [ -e $1 ]; do sleep 0.05; done", EXECUTORS);
    wait_for("an item on each executor", || (run.executors().len() == EXECUTORS).then_some(()));
    assert_eq!(run.counts.opened.load(Ordering::SeqCst), 3 * EXECUTORS);
    run.succeeds((0..EXECUTORS).map(|item| item.to_string()).collect());
    assert_eq!(Vec::from_iter(run.executors()), ["0", "1", "2", "3"], "{}", run.map.log());
    let log = run.executor_log();
    assert!(log.contains("cannot reach the driver") || log.contains("reconnecting"), "{log}");
}

#[test]
fn an_executor_whose_connection_falls_silent_returns_on_another_one() {
    let mut run = Run::start(Trouble::Silence, "echo $2; until [ -e $1 ]; do sleep 0.05; done", 1);
    wait_for("the item to run", || (!run.record().is_empty()).then_some(()));
    let opened = run.counts.opened.load(Ordering::SeqCst);
    run.trouble();
    run.counts.wait_until_opened(opened + 1);
    run.succeeds(vec!["0".to_owned()]);
    assert_eq!(run.record().lines().count(), 1, "{}", run.map.log());
    let log = run.executor_log();
    assert!(log.contains("nothing arrived from the driver for 1.2 s: closing the connection"), "{log}");
}
