//! A `map` with a known output, so that lost and repeated items are noticed.

use std::fs;
use std::path::PathBuf;

use firesteel_testkit::{Daemon, firesteel, wait_for};

use crate::shared::SharedCluster;

/// A `map` of numbers, on at most two executors of two cores.
pub(crate) struct ExactMap {
    pub(crate) driver: Daemon,
    items: Vec<String>,
    /// Gets a line each time that an item begins.
    log: PathBuf,
}

impl ExactMap {
    /// Starts a `map` of this many items. Each runs `work`, a shell script, and prints itself. `name` must be unique in
    /// the test.
    pub(crate) fn start(cluster: &SharedCluster, name: &str, items: usize, work: &str) -> Self {
        let log = cluster.file(name);
        let items: Vec<String> = (0..items).map(|item| item.to_string()).collect();
        let script = format!("echo $1 >> {}; {work}; echo $1", log.display());
        let mut command = firesteel();
        command.args(["map", "--master", &cluster.url(), "--name", "exact"]);
        command.args(["--total-executor-cores", "4", "--executor-cores", "2"]);
        command.args(["--", "sh", "-c", &script, "sh", "{}", ":::"]).args(&items);
        Self { driver: Daemon::spawn(&mut command), items, log }
    }

    /// How many items have begun, counting repetitions.
    pub(crate) fn begun(&self) -> usize {
        fs::read_to_string(&self.log).unwrap_or_default().lines().count()
    }

    /// Waits until this many items have begun.
    pub(crate) fn wait_for_items(&self, count: usize) {
        wait_for("items of a map", || (self.begun() >= count).then_some(()));
    }

    /// Waits for its end. Its output must contain every item once.
    pub(crate) fn assert_exact(&mut self) {
        assert_eq!(self.driver.wait(), 0, "{}", self.driver.log());
        let mut output: Vec<String> = self.driver.output().lines().map(str::to_owned).collect();
        output.sort_by_key(|line| line.parse::<u32>().unwrap_or(u32::MAX));
        assert_eq!(output, self.items);
    }
}
