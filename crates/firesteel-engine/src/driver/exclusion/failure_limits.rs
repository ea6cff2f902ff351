//! Spark's rule: excludes an executor or host after a number of tasks failed on it and succeeded elsewhere.

use std::collections::BTreeMap;
use std::time::Duration;

use firesteel_protocol::ids::{ExecutorId, TaskId};
use firesteel_protocol::time::Timestamp;

use super::health_tracker::{Affected, NewExclusion};
use crate::driver::ExclusionCause;
use crate::driver::config::ExclusionPolicy;

/// Counts failures by executor and host, and remembers the excluded executors and hosts.
///
/// A failed task counts against an executor once the same task has succeeded on another executor. A task that fails
/// everywhere counts against no executor. An executor with too many such tasks is excluded. A host is excluded if it
/// has too many excluded executors, or if too many executors in a row ended there before they registered. Exclusions
/// expire. The tracker does not know whether the application can do without an executor. The caller gets the suspects
/// from [`to_exclude`](Self::to_exclude), and decides.
///
/// Source: Spark's driver, 4.0.1 (`HealthTracker`), which counts the failures of task sets that succeeded.
#[derive(Clone, Debug)]
pub(in crate::driver) struct FailureLimits {
    policy: ExclusionPolicy,
    /// For each executor, the tasks that failed on it and succeeded elsewhere.
    failures: BTreeMap<ExecutorId, FailedTasks>,
    /// For each host, the number of executors in a row that ended before they registered.
    failed_starts: BTreeMap<String, u32>,
    executors: BTreeMap<ExecutorId, ExcludedExecutor>,
    /// The excluded hosts, each with the time at which its exclusion expires.
    hosts: BTreeMap<String, Timestamp>,
    /// How many times a host was excluded or readmitted.
    changes: u64,
}

/// The tasks that count against an executor.
#[derive(Clone, Debug)]
struct FailedTasks {
    host: String,
    /// Each task, with the time after which it no longer counts.
    tasks: BTreeMap<TaskId, Timestamp>,
}

#[derive(Clone, Debug)]
struct ExcludedExecutor {
    host: String,
    expiry: Timestamp,
}

impl FailureLimits {
    pub(in crate::driver) fn new(policy: ExclusionPolicy) -> Self {
        Self {
            policy,
            failures: BTreeMap::new(),
            failed_starts: BTreeMap::new(),
            executors: BTreeMap::new(),
            hosts: BTreeMap::new(),
            changes: 0,
        }
    }

    pub(in crate::driver) fn is_excluded(&self, executor: ExecutorId, host: &str) -> bool {
        self.executors.contains_key(&executor) || self.hosts.contains_key(host)
    }

    pub(in crate::driver) fn any_excluded(&self) -> bool {
        !self.executors.is_empty() || !self.hosts.is_empty()
    }

    /// How many times a host was excluded or readmitted.
    pub(in crate::driver) fn changes(&self) -> u64 {
        self.changes
    }

    /// Ends the exclusion of all hosts, and of the executors on these hosts. Returns the hosts.
    pub(super) fn readmit_hosts(&mut self) -> Vec<String> {
        self.changes += 1;
        let hosts: Vec<String> = std::mem::take(&mut self.hosts).into_keys().collect();
        self.executors.retain(|_, excluded| !hosts.contains(&excluded.host));
        hosts
    }

    pub(in crate::driver) fn hosts(&self) -> impl Iterator<Item = &str> {
        self.hosts.keys().map(String::as_str)
    }

    /// A task succeeded on executor `on`. Its earlier failures on other executors now count against those executors. An
    /// executor's count stops at the limit.
    pub(in crate::driver) fn succeeded(
        &mut self,
        task: TaskId,
        failed_on: impl IntoIterator<Item = (ExecutorId, String)>,
        on: ExecutorId,
        now: Timestamp,
    ) {
        let expiry = now + self.policy.timeout;
        for (executor, host) in failed_on.into_iter().filter(|(executor, _)| *executor != on) {
            let fresh = || FailedTasks { host, tasks: BTreeMap::new() };
            let failed = self.failures.entry(executor).or_insert_with(fresh);
            if !reached(failed.tasks.len(), self.policy.max_failed_tasks_per_executor) {
                failed.tasks.insert(task, expiry);
            }
        }
    }

    /// An executor on this host ended by itself before it registered.
    pub(in crate::driver) fn start_failed(&mut self, host: &str) {
        let count = self.failed_starts.entry(host.to_owned()).or_default();
        *count = count.saturating_add(1);
    }

    /// An executor registered on this host, so executors can start there.
    pub(in crate::driver) fn started(&mut self, host: &str) {
        self.failed_starts.remove(host);
    }

    /// Forgets all executors, because the Master starts to number executors again.
    pub(in crate::driver) fn forget_executors(&mut self) {
        self.failures.clear();
        self.executors.clear();
    }

    /// The executors and hosts that have reached a limit and are not excluded yet.
    pub(super) fn to_exclude(&self) -> Vec<ExclusionCause> {
        let executors = self.failures.iter().filter(|(executor, failed)| {
            !self.is_excluded(**executor, &failed.host)
                && reached(failed.tasks.len(), self.policy.max_failed_tasks_per_executor)
        });
        let executors = executors.map(|(&executor, failed)| ExclusionCause::Executor {
            executor,
            host: failed.host.clone(),
            tasks: failed.tasks.len(),
        });
        let mut excluded = BTreeMap::<&str, usize>::new();
        for executor in self.executors.values() {
            *excluded.entry(&executor.host).or_default() += 1;
        }
        let limit = self.policy.max_failed_executors_per_host;
        let hosts = excluded.into_iter().filter(|(_, count)| reached(*count, limit));
        let hosts = hosts
            .map(|(host, executors)| ExclusionCause::HostOfExcluded { host: host.to_owned(), executors });
        let starts = self.failed_starts.iter().filter(|(_, count)| **count >= limit.max(1));
        let starts =
            starts.map(|(host, &starts)| ExclusionCause::HostOfFailedStarts { host: host.clone(), starts });
        let fresh = |cause: &ExclusionCause| match cause.affected() {
            Affected::Executor(..) => true,
            Affected::Host(host) => !self.hosts.contains_key(host),
        };
        executors.chain(hosts.chain(starts)).filter(fresh).collect()
    }

    /// Excludes an executor or a host for the time that the policy sets.
    pub(super) fn exclude(&mut self, &NewExclusion { cause, now, .. }: &NewExclusion<'_>) -> Duration {
        self.changes += 1;
        let expiry = now + self.policy.timeout;
        match cause.affected() {
            Affected::Executor(executor, host) => {
                self.failures.remove(&executor);
                self.executors.insert(executor, ExcludedExecutor { host: host.to_owned(), expiry });
            }
            Affected::Host(host) => {
                if let ExclusionCause::HostOfFailedStarts { .. } = cause {
                    self.failed_starts.remove(host);
                }
                self.hosts.insert(host.to_owned(), expiry);
            }
        }
        self.policy.timeout
    }

    /// Ends the exclusion of an executor, of the executor's host, and of all executors on that host.
    pub(super) fn readmit(&mut self, executor: ExecutorId, host: &str) {
        self.executors.remove(&executor);
        if self.hosts.remove(host).is_some() {
            self.changes += 1;
            self.executors.retain(|_, excluded| excluded.host != host);
        }
    }

    /// When the next exclusion expires.
    pub(in crate::driver) fn deadline(&self) -> Option<Timestamp> {
        let executors = self.executors.values().map(|excluded| excluded.expiry);
        executors.chain(self.hosts.values().copied()).min()
    }

    /// Forgets expired exclusions and failed tasks. Returns whether an exclusion expired.
    pub(super) fn expire(&mut self, now: Timestamp) -> bool {
        let before = self.executors.len() + self.hosts.len();
        for failed in self.failures.values_mut() {
            failed.tasks.retain(|_, expiry| *expiry > now);
        }
        self.failures.retain(|_, failed| !failed.tasks.is_empty());
        self.executors.retain(|_, excluded| excluded.expiry > now);
        self.hosts.retain(|_, expiry| *expiry > now);
        let ended = self.executors.len() + self.hosts.len() < before;
        self.changes += u64::from(ended);
        ended
    }
}

fn reached(count: usize, limit: u32) -> bool {
    count >= usize::try_from(limit.max(1)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn tracker() -> FailureLimits {
        FailureLimits::new(ExclusionPolicy::default())
    }

    fn now() -> Timestamp {
        Timestamp::from_millis(1_000)
    }

    /// Reports a task that failed on `failed_on` and succeeded on `on`. Each host has two executors.
    fn succeed(tracker: &mut FailureLimits, task: u64, failed_on: &[u32], on: u32) {
        let failed_on = failed_on.iter().map(|number| (ExecutorId(*number), format!("h{}", number / 2)));
        tracker.succeeded(TaskId(task), failed_on, ExecutorId(on), now());
    }

    fn executor(number: u32) -> ExclusionCause {
        ExclusionCause::Executor { executor: ExecutorId(number), host: format!("h{}", number / 2), tasks: 2 }
    }

    fn begins(cause: &ExclusionCause) -> NewExclusion<'_> {
        NewExclusion { cause, there: &[], now: now() }
    }

    #[test]
    fn a_failed_task_counts_only_if_it_succeeds_elsewhere() {
        let mut tracker = tracker();
        succeed(&mut tracker, 0, &[0], 1);
        assert_eq!(tracker.to_exclude(), [], "one task may have had bad luck");
        succeed(&mut tracker, 1, &[0], 0);
        assert_eq!(tracker.to_exclude(), [], "it succeeded where it had failed");
        succeed(&mut tracker, 0, &[0], 1);
        assert_eq!(tracker.to_exclude(), [], "the same task counts once");
        succeed(&mut tracker, 3, &[0, 4], 1);
        assert_eq!(tracker.to_exclude(), [executor(0)]);
        succeed(&mut tracker, 4, &[0], 1);
        assert_eq!(tracker.to_exclude(), [executor(0)], "no more is counted than it takes");
    }

    #[test]
    fn an_exclusion_is_due_until_it_is_made_and_expires() {
        let mut tracker = tracker();
        for task in 0..2 {
            succeed(&mut tracker, task, &[0], 2);
        }
        assert_eq!(tracker.to_exclude(), [executor(0)]);
        tracker.exclude(&begins(&executor(0)));
        assert_eq!(tracker.to_exclude(), []);
        assert!(tracker.is_excluded(ExecutorId(0), "h0") && !tracker.is_excluded(ExecutorId(1), "h0"));
        assert_eq!(tracker.deadline(), Some(now() + HOUR));
        assert!(!tracker.expire(now() + HOUR - Duration::from_millis(1)));
        assert!(tracker.expire(now() + HOUR));
        assert!(!tracker.is_excluded(ExecutorId(0), "h0"));
        assert_eq!((tracker.to_exclude(), tracker.deadline()), (vec![], None));
    }

    #[test]
    fn a_host_is_excluded_with_its_second_executor_or_after_two_failed_starts_in_a_row() {
        let mut tracker = tracker();
        for executor in [0, 1] {
            for task in 0..2 {
                succeed(&mut tracker, task, &[executor], 2);
            }
            let cause = self::executor(executor);
            assert_eq!(tracker.to_exclude(), std::slice::from_ref(&cause));
            tracker.exclude(&begins(&cause));
        }
        let host = ExclusionCause::HostOfExcluded { host: "h0".to_owned(), executors: 2 };
        assert_eq!(tracker.to_exclude(), std::slice::from_ref(&host));
        tracker.exclude(&begins(&host));
        assert!(tracker.is_excluded(ExecutorId(9), "h0"));
        assert_eq!(tracker.to_exclude(), []);

        for (starts, due) in [(&["h7"][..], 0), (&["h7", "h7"], 1)] {
            let mut tracker = self::tracker();
            tracker.start_failed("h7");
            tracker.started("h7");
            starts.iter().for_each(|host| tracker.start_failed(host));
            assert_eq!(tracker.to_exclude().len(), due, "{starts:?}");
        }
    }

    #[test]
    fn a_readmitted_executor_and_its_host_are_no_longer_excluded() {
        let mut tracker = tracker();
        let host = ExclusionCause::HostOfFailedStarts { host: "h0".to_owned(), starts: 2 };
        tracker.exclude(&begins(&host));
        tracker.exclude(&begins(&executor(0)));
        tracker.exclude(&begins(&executor(1)));
        tracker.readmit(ExecutorId(0), "h0");
        assert!(!tracker.is_excluded(ExecutorId(0), "h0") && !tracker.is_excluded(ExecutorId(1), "h0"));
        assert_eq!(tracker.to_exclude(), []);
    }
}
