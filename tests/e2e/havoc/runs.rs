//! The runs on the cluster, and their results.

use std::fmt;
use std::thread;
use std::time::{Duration, Instant};

use firesteel_placement::advanced::words::counted;
use firesteel_testkit::{Daemon, firesteel};

use super::victims::Victims;

const ITEMS: usize = 120;

/// How long a run may make no progress: longer than all time-outs and pauses together.
const STUCK: Duration = Duration::from_secs(60);

/// Counts of the runs so far.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    /// Succeeded with the right output.
    right: u64,
    /// Ended with a failure code.
    failed: u64,
    /// Succeeded with a wrong output.
    wrong: u64,
    /// Killed, because they made no progress.
    stuck: u64,
    /// The longest time without the end of an item.
    standstill: Duration,
}

impl Runs {
    pub(crate) fn next(&mut self, victims: &Victims) {
        let mut map = start(victims);
        let (mut seen, mut changed) = (0, Instant::now());
        while map.is_alive() {
            let length = map.output_so_far().len();
            if length > seen {
                (seen, changed) = (length, Instant::now());
            }
            self.standstill = self.standstill.max(changed.elapsed());
            if changed.elapsed() > STUCK {
                println!("stuck, with {seen} bytes of output:\n{}\n{}", map.log(), victims.master().log());
                self.stuck += 1;
                return;
            }
            thread::park_timeout(Duration::from_millis(10));
        }
        let code = map.wait();
        let output = map.output();
        let mut lines: Vec<&str> = output.lines().collect();
        lines.sort_unstable();
        let expected: Vec<String> = (0..ITEMS).map(|item| format!("{item:04000}")).collect();
        if code != 0 {
            println!("a run failed with {code}:\n{}", map.log());
            self.failed += 1;
        } else if lines != expected {
            println!("a run's output is wrong, {} lines:\n{}", lines.len(), map.log());
            self.wrong += 1;
        } else {
            self.right += 1;
        }
    }

    /// Whether some run succeeded, none was wrong, and none got stuck.
    pub(crate) fn are_sound(&self) -> bool {
        self.right > 0 && self.wrong == 0 && self.stuck == 0
    }
}

fn start(victims: &Victims) -> Daemon {
    let mut command = firesteel();
    command.args(["map", "--master", &victims.url, "--executor-cores", "1"]);
    let port = format!("spark.driver.port={}", victims.driver.address.port());
    for conf in [
        "spark.driver.host=127.0.0.2",
        "spark.driver.bindAddress=127.0.0.1",
        &port,
        "spark.executor.heartbeatInterval=500ms",
        "spark.network.timeout=3s",
        // Attempts fail because of the faults, not of the items.
        "spark.task.maxFailures=1000",
    ] {
        command.args(["--conf", conf]);
    }
    // Each item leaves a process behind, which leaves its session.
    let script = "setsid sleep 10000 > /dev/null 2>&1 & sleep 0.05; printf '%04000d\\n' $0";
    command.args(["--", "sh", "-c", script, ":::"]);
    Daemon::spawn(command.args((0..ITEMS).map(|item| item.to_string())))
}

impl fmt::Display for Runs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { right, failed, wrong, stuck, standstill } = self;
        let right = counted(*right, "run");
        write!(f, "{right} right, {failed} failed, {wrong} wrong, {stuck} stuck, ")?;
        write!(f, "longest standstill {:.1} s", standstill.as_secs_f64())
    }
}
