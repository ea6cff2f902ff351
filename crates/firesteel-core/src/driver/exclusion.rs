//! Which executors and hosts get no more tasks, because what fails there succeeds elsewhere.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::config::{Exclusion, ExclusionPolicy};
use crate::ids::{ExecutorId, TaskId};
use crate::time::Timestamp;

/// The record of what failed where.
///
/// A failure counts against the executor where it happened once the same task has succeeded on another one: a task
/// that fails everywhere blames nobody. An executor with too many such tasks is excluded, and a host with too many
/// excluded executors, or on which too many executors in a row never came to register. An exclusion ends after a
/// time. Whether it can be afforded is for the caller to say: it asks for what is [`due`](Self::due) when all is
/// known.
///
/// Source: Spark's driver, 4.0.1 (`HealthTracker`), which counts the failures of task sets that succeeded.
#[derive(Clone, Debug)]
pub(super) struct Record {
    policy: ExclusionPolicy,
    /// Tasks that failed on an executor and succeeded elsewhere, each with the time when that is forgotten.
    blames: BTreeMap<ExecutorId, Blame>,
    /// Executors in a row that never came to register, by host.
    failed_starts: BTreeMap<String, u32>,
    executors: BTreeMap<ExecutorId, Sentence>,
    hosts: BTreeMap<String, Timestamp>,
    /// How often a host was excluded or taken back.
    changes: u64,
}

#[derive(Clone, Debug)]
struct Blame {
    host: String,
    tasks: BTreeMap<TaskId, Timestamp>,
}

/// An excluded executor's host, and until when it is excluded.
#[derive(Clone, Debug)]
struct Sentence {
    host: String,
    until: Timestamp,
}

/// What is to be excluded, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Culprit {
    /// An executor where tasks failed that succeeded elsewhere.
    Executor {
        /// Which.
        executor: ExecutorId,
        /// Its host.
        host: String,
        /// How many tasks.
        tasks: usize,
    },
    /// A host with excluded executors.
    HostOfExcluded {
        /// Which.
        host: String,
        /// How many are excluded.
        executors: usize,
    },
    /// A host on which executors failed before they registered.
    HostOfFailedStarts {
        /// Which.
        host: String,
        /// How many, one after the other.
        starts: u32,
    },
}

/// `executor 3 on node-1 is excluded: tasks that failed there and succeeded elsewhere: 2`.
impl fmt::Display for Culprit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Executor { executor, host, tasks } => write!(
                f,
                "executor {executor} on {host} is excluded: tasks that failed there and succeeded elsewhere: {tasks}"
            ),
            Self::HostOfExcluded { host, executors } => {
                write!(f, "host {host} is excluded: excluded executors there: {executors}")
            }
            Self::HostOfFailedStarts { host, starts } => {
                write!(f, "host {host} is excluded: executors in a row that failed to start there: {starts}")
            }
        }
    }
}

impl Record {
    pub(super) fn new(policy: ExclusionPolicy) -> Self {
        Self {
            policy,
            blames: BTreeMap::new(),
            failed_starts: BTreeMap::new(),
            executors: BTreeMap::new(),
            hosts: BTreeMap::new(),
            changes: 0,
        }
    }

    /// How long an exclusion lasts.
    pub(super) fn timeout(&self) -> Duration {
        self.policy.timeout
    }

    pub(super) fn is_excluded(&self, executor: ExecutorId, host: &str) -> bool {
        self.executors.contains_key(&executor) || self.hosts.contains_key(host)
    }

    pub(super) fn any_excluded(&self) -> bool {
        !self.executors.is_empty() || !self.hosts.is_empty()
    }

    /// How often a host was excluded or taken back.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    pub(super) fn any_host(&self) -> bool {
        !self.hosts.is_empty()
    }

    /// Ends what excludes hosts; which they were.
    pub(super) fn pardon_hosts(&mut self) -> Vec<String> {
        self.changes += 1;
        let hosts: Vec<String> = std::mem::take(&mut self.hosts).into_keys().collect();
        self.executors.retain(|_, sentence| !hosts.contains(&sentence.host));
        hosts
    }

    /// The excluded hosts, in order.
    pub(super) fn hosts(&self) -> impl Iterator<Item = &str> {
        self.hosts.keys().map(String::as_str)
    }

    /// A task succeeded there: where it failed before, that was not its fault. No more is counted than it takes.
    pub(super) fn succeeded(
        &mut self,
        task: TaskId,
        failed_on: impl IntoIterator<Item = (ExecutorId, String)>,
        on: ExecutorId,
        now: Timestamp,
    ) {
        if self.policy.exclusion == Exclusion::Off {
            return;
        }
        let until = now + self.policy.timeout;
        for (executor, host) in failed_on.into_iter().filter(|(executor, _)| *executor != on) {
            let fresh = || Blame { host, tasks: BTreeMap::new() };
            let blame = self.blames.entry(executor).or_insert_with(fresh);
            if !reached(blame.tasks.len(), self.policy.max_failed_tasks_per_executor) {
                blame.tasks.insert(task, until);
            }
        }
    }

    /// An executor ended by itself without having registered.
    pub(super) fn start_failed(&mut self, host: &str) {
        if self.policy.exclusion == Exclusion::On {
            let count = self.failed_starts.entry(host.to_owned()).or_default();
            *count = count.saturating_add(1);
        }
    }

    /// An executor registered: they can start there.
    pub(super) fn started(&mut self, host: &str) {
        self.failed_starts.remove(host);
    }

    /// Executors are numbered anew.
    pub(super) fn forget_executors(&mut self) {
        self.blames.clear();
        self.executors.clear();
    }

    /// What is to be excluded by the counts, and is not yet.
    pub(super) fn due(&self) -> Vec<Culprit> {
        let executors = self.blames.iter().filter(|(executor, blame)| {
            !self.is_excluded(**executor, &blame.host)
                && reached(blame.tasks.len(), self.policy.max_failed_tasks_per_executor)
        });
        let executors = executors.map(|(&executor, blame)| Culprit::Executor {
            executor,
            host: blame.host.clone(),
            tasks: blame.tasks.len(),
        });
        let mut excluded = BTreeMap::<&str, usize>::new();
        for sentence in self.executors.values() {
            *excluded.entry(&sentence.host).or_default() += 1;
        }
        let limit = self.policy.max_failed_executors_per_host;
        let hosts = excluded.into_iter().filter(|(_, count)| reached(*count, limit));
        let hosts =
            hosts.map(|(host, executors)| Culprit::HostOfExcluded { host: host.to_owned(), executors });
        let starts = self.failed_starts.iter().filter(|(_, count)| **count >= limit.max(1));
        let starts = starts.map(|(host, &starts)| Culprit::HostOfFailedStarts { host: host.clone(), starts });
        let fresh = |culprit: &Culprit| match culprit {
            Culprit::Executor { .. } => true,
            Culprit::HostOfExcluded { host, .. } | Culprit::HostOfFailedStarts { host, .. } => {
                !self.hosts.contains_key(host)
            }
        };
        executors.chain(hosts.chain(starts)).filter(fresh).collect()
    }

    /// Excludes what was due.
    pub(super) fn exclude(&mut self, culprit: &Culprit, now: Timestamp) {
        self.changes += 1;
        let until = now + self.policy.timeout;
        match culprit {
            Culprit::Executor { executor, host, .. } => {
                self.blames.remove(executor);
                self.executors.insert(*executor, Sentence { host: host.clone(), until });
            }
            Culprit::HostOfExcluded { host, .. } => _ = self.hosts.insert(host.clone(), until),
            Culprit::HostOfFailedStarts { host, .. } => {
                self.failed_starts.remove(host);
                self.hosts.insert(host.clone(), until);
            }
        }
    }

    /// Ends whatever excludes an executor: its own sentence, and that of its host with all that led to it.
    pub(super) fn pardon(&mut self, executor: ExecutorId, host: &str) {
        self.executors.remove(&executor);
        if self.hosts.remove(host).is_some() {
            self.changes += 1;
            self.executors.retain(|_, sentence| sentence.host != host);
        }
    }

    /// When the next thing is forgotten.
    pub(super) fn deadline(&self) -> Option<Timestamp> {
        let executors = self.executors.values().map(|sentence| sentence.until);
        executors.chain(self.hosts.values().copied()).min()
    }

    /// Forgets what is over. Whether an exclusion ended.
    pub(super) fn expire(&mut self, now: Timestamp) -> bool {
        let before = self.executors.len() + self.hosts.len();
        for blame in self.blames.values_mut() {
            blame.tasks.retain(|_, until| *until > now);
        }
        self.blames.retain(|_, blame| !blame.tasks.is_empty());
        self.executors.retain(|_, sentence| sentence.until > now);
        self.hosts.retain(|_, until| *until > now);
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

    fn record() -> Record {
        Record::new(ExclusionPolicy::default())
    }

    fn now() -> Timestamp {
        Timestamp::from_millis(1_000)
    }

    /// A task that failed on these executors succeeds on that one; two executors are on a host.
    fn succeed(record: &mut Record, task: u64, failed_on: &[u32], on: u32) {
        let failed_on = failed_on.iter().map(|number| (ExecutorId(*number), format!("h{}", number / 2)));
        record.succeeded(TaskId(task), failed_on, ExecutorId(on), now());
    }

    fn executor(number: u32) -> Culprit {
        Culprit::Executor { executor: ExecutorId(number), host: format!("h{}", number / 2), tasks: 2 }
    }

    #[test]
    fn an_executor_is_blamed_for_tasks_that_succeed_elsewhere_and_for_no_others() {
        let mut record = record();
        succeed(&mut record, 0, &[0], 1);
        assert_eq!(record.due(), [], "one task may have had bad luck");
        succeed(&mut record, 1, &[0], 0);
        assert_eq!(record.due(), [], "it succeeded where it had failed");
        succeed(&mut record, 0, &[0], 1);
        assert_eq!(record.due(), [], "the same task counts once");
        succeed(&mut record, 3, &[0, 4], 1);
        assert_eq!(record.due(), [executor(0)]);
        succeed(&mut record, 4, &[0], 1);
        assert_eq!(record.due(), [executor(0)], "no more is counted than it takes");
    }

    #[test]
    fn an_exclusion_is_due_until_it_is_made_and_ends_after_its_time() {
        let mut record = record();
        for task in 0..2 {
            succeed(&mut record, task, &[0], 2);
        }
        assert_eq!(record.due(), [executor(0)]);
        record.exclude(&executor(0), now());
        assert_eq!(record.due(), []);
        assert!(record.is_excluded(ExecutorId(0), "h0") && !record.is_excluded(ExecutorId(1), "h0"));
        assert_eq!(record.deadline(), Some(now() + HOUR));
        assert!(!record.expire(now() + HOUR - Duration::from_millis(1)));
        assert!(record.expire(now() + HOUR));
        assert!(!record.is_excluded(ExecutorId(0), "h0"));
        assert_eq!((record.due(), record.deadline()), (vec![], None));
    }

    #[test]
    fn a_host_is_excluded_with_its_second_executor_or_after_two_failed_starts_in_a_row() {
        let mut record = record();
        for executor in [0, 1] {
            for task in 0..2 {
                succeed(&mut record, task, &[executor], 2);
            }
            let culprit = self::executor(executor);
            assert_eq!(record.due(), std::slice::from_ref(&culprit));
            record.exclude(&culprit, now());
        }
        let host = Culprit::HostOfExcluded { host: "h0".to_owned(), executors: 2 };
        assert_eq!(record.due(), std::slice::from_ref(&host));
        record.exclude(&host, now());
        assert!(record.is_excluded(ExecutorId(9), "h0"));
        assert_eq!(record.due(), []);

        for (starts, due) in [(&["h7"][..], 0), (&["h7", "h7"], 1)] {
            let mut record = self::record();
            record.start_failed("h7");
            record.started("h7");
            starts.iter().for_each(|host| record.start_failed(host));
            assert_eq!(record.due().len(), due, "{starts:?}");
        }
    }

    #[test]
    fn a_pardon_ends_what_keeps_an_executor_from_tasks() {
        let mut record = record();
        let host = Culprit::HostOfFailedStarts { host: "h0".to_owned(), starts: 2 };
        record.exclude(&host, now());
        record.exclude(&executor(0), now());
        record.exclude(&executor(1), now());
        record.pardon(ExecutorId(0), "h0");
        assert!(!record.is_excluded(ExecutorId(0), "h0") && !record.is_excluded(ExecutorId(1), "h0"));
        assert_eq!(record.due(), []);
    }

    #[test]
    fn switched_off_it_blames_nobody() {
        let mut record = Record::new(ExclusionPolicy { exclusion: Exclusion::Off, ..Default::default() });
        for task in 0..9 {
            succeed(&mut record, task, &[0], 2);
            record.start_failed("h0");
        }
        assert_eq!(record.due(), []);
    }
}
