//! The counts of a map run.

use std::collections::BTreeMap;

use firesteel_placement::Cores;
use firesteel_placement::advanced::locality::Locality;
use firesteel_protocol::ids::{AppId, ExecutorId};

use crate::driver::{ExclusionCause, ExecutorLoss, FailureCause, TaskOutcome, Unfit};

/// How many failed items are recorded one by one.
const FAILURES: usize = 1000;
/// How many exclusions are recorded.
const EXCLUSIONS: usize = 10;

/// The counts of a map run, up to now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub totals: Totals,
    /// The application's last id, once a Master has assigned one.
    pub app: Option<AppId>,
    /// The number of attempts that failed and were repeated.
    pub repeated_attempts: u64,
    /// How near to their preferred hosts items ran.
    pub locality: LocalityUse,
    /// The first executors and hosts that were excluded for some time, in the order of the exclusions.
    pub excluded: Vec<ExclusionCause>,
    /// The first items that failed, by number.
    pub failures: BTreeMap<u64, Failure>,
    executors: BTreeMap<ExecutorId, ExecutorUse>,
    /// Executors of an earlier registration of the application. The same numbers may occur again for new executors.
    earlier: Vec<ExecutorUse>,
    /// The hosts where unfinished items have failed, by item number.
    failed_on: BTreeMap<u64, Vec<String>>,
}

/// The counts of items. Each item that was read counts in `taken` and in exactly one of the other fields of this sum:
///
/// `taken = succeeded + failed + cancelled + unusable + open`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Items that were read.
    pub taken: u64,
    pub succeeded: u64,
    /// Items that reached their limit of failures, or that no executor could run.
    pub failed: u64,
    pub cancelled: u64,
    /// Items that could not become a task. There is at most one, because the input ends at that item.
    pub unusable: u64,
    pub open: u64,
    /// Items that succeeded, but whose output was not printed. Set at the end of the run.
    pub unprinted: u64,
    /// Items that were never read. `None` if the number is not known.
    pub unread: Option<u64>,
}

impl Totals {
    /// How many items another run would have to run: all items except those that succeeded and were printed. Unread
    /// items count only if their number is known.
    #[must_use]
    pub fn left(&self) -> u64 {
        let done = self.succeeded.saturating_sub(self.unprinted);
        self.taken.saturating_sub(done) + self.unread.unwrap_or(0)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The item as text for the user.
    pub words: String,
    pub failures: u32,
    /// How the item's last attempt ended.
    pub cause: Cause,
    /// The hosts where the item failed, in the order of the failures.
    pub hosts: Vec<String>,
}

/// Why an item failed for good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The item's last attempt failed.
    Failed(FailureCause),
    Unfit(Unfit),
}

/// An executor that ran, or could have run, items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutorUse {
    pub executor: ExecutorId,
    pub host: String,
    pub cores: Cores,
    /// Items that ended on the executor, successfully or not.
    pub items: u64,
    pub lost: Option<ExecutorLoss>,
}

/// How near to their preferred hosts items ran, with the number of items per level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LocalityUse {
    /// Items that ended on a preferred host.
    pub host: u64,
    /// Items that ended in the same rack as one of their preferred hosts.
    pub rack: u64,
    /// Items that ended elsewhere.
    pub any: u64,
}

impl LocalityUse {
    fn add(&mut self, locality: Option<Locality>) {
        match locality {
            None => {}
            Some(Locality::Host) => self.host += 1,
            Some(Locality::Rack) => self.rack += 1,
            Some(Locality::Any) => self.any += 1,
        }
    }
}

impl Tally {
    /// The executors that are ready, and their cores.
    #[must_use]
    pub fn ready(&self) -> (u64, Cores) {
        let ready = self.executors.values().filter(|executor| executor.lost.is_none());
        ready.fold((0, Cores::ZERO), |(count, cores), executor| (count + 1, cores + executor.cores))
    }

    /// Every executor that was ever ready. Executors of earlier registrations come first. Within a registration, they
    /// are ordered by number.
    pub fn executors(&self) -> impl Iterator<Item = &ExecutorUse> {
        self.earlier.iter().chain(self.executors.values())
    }

    /// Adds an executor that is ready for tasks. The same executor can be reported twice. Its number is reused only
    /// after the executor is lost.
    pub(super) fn add_executor(&mut self, executor: ExecutorId, host: String, cores: Cores) {
        if self.executors.get(&executor).is_some_and(|known| known.lost.is_none()) {
            return;
        }
        let fresh = ExecutorUse { executor, host, cores, items: 0, lost: None };
        self.earlier.extend(self.executors.insert(executor, fresh));
    }

    pub(super) fn lose_executor(&mut self, executor: ExecutorId, loss: &ExecutorLoss) {
        if let Some(executor) = self.executors.get_mut(&executor) {
            executor.lost = Some(loss.clone());
        }
    }

    pub(super) fn exclude(&mut self, cause: &ExclusionCause) {
        if self.excluded.len() < EXCLUSIONS && !cause.is_again() {
            self.excluded.push(cause.clone());
        }
    }

    /// Records that an attempt at an item failed on this host.
    pub(super) fn fail_on(&mut self, number: u64, host: &str) {
        let hosts = self.failed_on.entry(number).or_default();
        if !hosts.iter().any(|other| other == host) {
            hosts.push(host.to_owned());
        }
    }

    pub(super) fn open(&mut self) {
        self.totals.taken += 1;
        self.totals.open += 1;
    }

    /// Counts the end of an open item.
    pub(super) fn end(&mut self, number: u64, words: String, outcome: TaskOutcome) {
        let hosts = self.failed_on.remove(&number).unwrap_or_default();
        self.totals.open -= 1;
        match outcome {
            TaskOutcome::Succeeded { executor, locality, .. } => {
                self.totals.succeeded += 1;
                self.locality.add(locality);
                self.use_executor(executor);
            }
            TaskOutcome::Failed { executor, locality, failures, cause, .. } => {
                self.locality.add(locality);
                self.use_executor(executor);
                let cause = Cause::Failed(cause);
                self.fail(number, Failure { words, failures, cause, hosts });
            }
            TaskOutcome::Unfit(unfit) => {
                let cause = Cause::Unfit(unfit);
                self.fail(number, Failure { words, failures: 0, cause, hosts });
            }
            TaskOutcome::Cancelled => self.totals.cancelled += 1,
        }
    }

    fn fail(&mut self, number: u64, failure: Failure) {
        self.totals.failed += 1;
        self.failures.insert(number, failure);
        if self.failures.len() > FAILURES {
            self.failures.pop_last();
        }
    }

    fn use_executor(&mut self, executor: ExecutorId) {
        if let Some(executor) = self.executors.get_mut(&executor) {
            executor.items += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use firesteel_protocol::ids::{AttemptId, TaskId};
    use firesteel_protocol::messages::TaskEnd;
    use firesteel_protocol::process::ExitStatus;

    use super::*;

    fn failed(executor: u32) -> TaskOutcome {
        TaskOutcome::Failed {
            attempt: AttemptId { task: TaskId(0), attempt: 3 },
            executor: ExecutorId(executor),
            locality: Some(Locality::Rack),
            failures: 4,
            cause: FailureCause::Ended(TaskEnd::Exited(ExitStatus::Code(1))),
        }
    }

    #[test]
    fn an_application_that_registered_anew_keeps_count_of_its_earlier_executors() {
        let mut tally = Tally::default();
        for number in 1..=2 {
            tally.lose_executor(ExecutorId(0), &ExecutorLoss::ApplicationReplaced);
            tally.add_executor(ExecutorId(0), "a".to_owned(), Cores(4));
            tally.add_executor(ExecutorId(0), "a".to_owned(), Cores(4));
            tally.open();
            tally.end(number, "x".to_owned(), failed(0));
        }
        let items: Vec<u64> = tally.executors().map(|executor| executor.items).collect();
        assert_eq!((items, tally.ready()), (vec![1, 1], (1, Cores(4))));
        assert_eq!(tally.locality, LocalityUse { rack: 2, ..LocalityUse::default() });
    }

    #[test]
    fn the_first_failures_are_remembered_whatever_the_order_in_which_they_come() {
        let mut tally = Tally::default();
        tally.fail_on(1, "b");
        tally.fail_on(1, "a");
        tally.fail_on(1, "b");
        for number in (1..=1005).rev() {
            tally.open();
            tally.end(number, "x".to_owned(), failed(0));
        }
        assert_eq!((tally.totals.failed, tally.failures.len()), (1005, FAILURES));
        assert_eq!(tally.failures[&1].hosts, ["b", "a"]);
        assert!(!tally.failures.contains_key(&1001));
    }
}
