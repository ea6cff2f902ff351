//! The health tracker: excludes executors and hosts where tasks fail that succeed elsewhere, by one of two rules.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use firesteel_placement::advanced::words::counted;
use firesteel_protocol::ids::{ExecutorId, ProfileId, TaskId};
use firesteel_protocol::time::Timestamp;

use super::comparison::Comparison;
use super::failure_limits::FailureLimits;
use crate::driver::Readmission;
use crate::driver::config::{Exclusion, ExclusionPolicy};

/// Remembers what is excluded. It does not know whether the application can do without an executor: the caller asks what is
/// [`to_exclude`](Self::to_exclude) and decides.
#[derive(Clone, Debug)]
pub(in crate::driver) enum HealthTracker {
    /// Nothing is excluded.
    Off,
    /// Those that are worse than the others: Firesteel's rule.
    ByComparison(Comparison),
    /// Those that have reached a limit: Spark's rule.
    ByLimits(FailureLimits),
}

/// A task that succeeded.
#[derive(Clone, Debug)]
pub(in crate::driver) struct Success {
    pub(in crate::driver) task: TaskId,
    pub(in crate::driver) profile: ProfileId,
    /// The executor where it succeeded.
    pub(in crate::driver) on: ExecutorId,
    /// The executor's host.
    pub(in crate::driver) host: String,
    /// The executors where it failed before, with their hosts.
    pub(in crate::driver) failed_on: Vec<(ExecutorId, String)>,
    /// Those of them that have not ended.
    pub(in crate::driver) live: BTreeSet<ExecutorId>,
}

/// An executor or host to exclude, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExclusionCause {
    /// By Spark's rule: an executor where tasks failed that succeeded elsewhere.
    Executor {
        /// The executor's number.
        executor: ExecutorId,
        /// The executor's host.
        host: String,
        /// The number of those tasks.
        tasks: usize,
    },
    /// By Spark's rule: a host with excluded executors.
    HostOfExcluded {
        /// The host's name.
        host: String,
        /// The number of excluded executors on it.
        executors: usize,
    },
    /// By Spark's rule: a host on which executors failed before they registered.
    HostOfFailedStarts {
        /// The host's name.
        host: String,
        /// The number of failed starts in a row.
        starts: u32,
    },
    /// An executor where tasks fail far more often than on the others.
    WorseExecutor {
        /// The executor's number.
        executor: ExecutorId,
        /// The executor's host.
        host: String,
        /// The number of its latest tasks that failed there and succeeded elsewhere.
        failed: u64,
        /// The number of its latest tasks.
        ended: u64,
    },
    /// A host where tasks fail far more often than on the others, on several executors.
    WorseHost {
        /// The host's name.
        host: String,
        /// The number of its latest tasks that failed there and succeeded elsewhere.
        failed: u64,
        /// The number of its latest tasks.
        ended: u64,
    },
    /// An excluded executor where the task that was tried failed, too.
    ExecutorAgain {
        /// The executor's number.
        executor: ExecutorId,
        /// The executor's host.
        host: String,
    },
    /// An excluded host where the task that was tried failed, too.
    HostAgain {
        /// The host's name.
        host: String,
    },
    /// A host on which executors failed before they registered. Those that run there go on.
    HostAvoided {
        /// The host's name.
        host: String,
        /// The number of failed starts in a row.
        starts: u32,
    },
}

impl ExclusionCause {
    /// Whether it was excluded before, and a trial failed.
    #[must_use]
    pub fn is_again(&self) -> bool {
        match self {
            Self::ExecutorAgain { .. } | Self::HostAgain { .. } => true,
            Self::Executor { .. }
            | Self::HostOfExcluded { .. }
            | Self::HostOfFailedStarts { .. }
            | Self::WorseExecutor { .. }
            | Self::WorseHost { .. }
            | Self::HostAvoided { .. } => false,
        }
    }

    /// What it takes away.
    pub(super) fn affected(&self) -> Affected<'_> {
        match self {
            Self::Executor { executor, host, .. }
            | Self::WorseExecutor { executor, host, .. }
            | Self::ExecutorAgain { executor, host } => Affected::Executor(*executor, host),
            Self::HostOfExcluded { host, .. }
            | Self::HostOfFailedStarts { host, .. }
            | Self::WorseHost { host, .. }
            | Self::HostAgain { host }
            | Self::HostAvoided { host, .. } => Affected::Host(host),
        }
    }
}

/// An exclusion that begins.
#[derive(Clone, Copy, Debug)]
pub(in crate::driver) struct NewExclusion<'a> {
    pub(in crate::driver) cause: &'a ExclusionCause,
    /// The executors that get no tasks because of it.
    pub(in crate::driver) there: &'a [ExecutorId],
    pub(in crate::driver) now: Timestamp,
}

/// What an exclusion takes away.
#[derive(Clone, Copy, Debug)]
pub(in crate::driver) enum Affected<'a> {
    /// An executor, on that host.
    Executor(ExecutorId, &'a str),
    /// A host with all its executors.
    Host(&'a str),
}

/// Written as `excluded executor 3 on node-1: 6 of 6 tasks failed there and succeeded elsewhere`.
impl fmt::Display for ExclusionCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Executor { executor, host, tasks } => {
                let tasks = counted(*tasks, "task");
                write!(
                    f,
                    "excluded executor {executor} on {host}: {tasks} failed there and succeeded elsewhere"
                )
            }
            Self::HostOfExcluded { host, executors } => {
                let executors = counted(*executors, "excluded executor");
                write!(f, "excluded host {host}: it has {executors}")
            }
            Self::HostOfFailedStarts { host, starts } => {
                let executors = counted(*starts, "executor");
                write!(f, "excluded host {host}: {executors} in a row failed to start there")
            }
            Self::WorseExecutor { executor, host, failed, ended } => write!(
                f,
                "excluded executor {executor} on {host}: {failed} of its last {ended} tasks failed there and \
                 succeeded elsewhere"
            ),
            Self::WorseHost { host, failed, ended } => write!(
                f,
                "excluded host {host}: {failed} of its last {ended} tasks failed there and succeeded elsewhere"
            ),
            Self::ExecutorAgain { executor, host } => write!(
                f,
                "excluded executor {executor} on {host} again: a task that was tried there failed and succeeded \
                 elsewhere"
            ),
            Self::HostAgain { host } => write!(
                f,
                "excluded host {host} again: a task that was tried there failed and succeeded elsewhere"
            ),
            Self::HostAvoided { host, starts } => {
                let executors = counted(*starts, "executor");
                write!(f, "avoiding host {host}: {executors} in a row failed to start there")
            }
        }
    }
}

impl HealthTracker {
    pub(in crate::driver) fn new(policy: ExclusionPolicy) -> Self {
        match policy.exclusion {
            Exclusion::Off => Self::Off,
            Exclusion::ByComparison => Self::ByComparison(Comparison::default()),
            Exclusion::ByLimits => Self::ByLimits(FailureLimits::new(policy)),
        }
    }

    pub(in crate::driver) fn is_excluded(&self, executor: ExecutorId, host: &str) -> bool {
        match self {
            Self::Off => false,
            Self::ByComparison(comparison) => comparison.is_excluded(executor, host),
            Self::ByLimits(limits) => limits.is_excluded(executor, host),
        }
    }

    pub(in crate::driver) fn any_excluded(&self) -> bool {
        match self {
            Self::Off => false,
            Self::ByComparison(comparison) => comparison.any_excluded(),
            Self::ByLimits(limits) => limits.any_excluded(),
        }
    }

    /// Whether at most half of the executors may be excluded at a time. By Spark's rule, one must be left.
    pub(super) fn spares_half(&self) -> bool {
        match self {
            Self::ByComparison(_) => true,
            Self::Off | Self::ByLimits(_) => false,
        }
    }

    /// Why an executor gets tasks again whose time of exclusion is over.
    pub(super) fn readmission(&self, executor: ExecutorId, host: &str) -> Readmission {
        match self {
            Self::ByComparison(comparison) if comparison.is_due(executor, host) => Readmission::OnTrial,
            Self::ByComparison(_) => Readmission::Proven,
            Self::Off | Self::ByLimits(_) => Readmission::TimeIsUp,
        }
    }

    /// The number of times that a host was excluded or readmitted.
    pub(in crate::driver) fn changes(&self) -> u64 {
        match self {
            Self::Off => 0,
            Self::ByComparison(comparison) => comparison.changes(),
            Self::ByLimits(limits) => limits.changes(),
        }
    }

    /// The hosts where no executors are wanted, in order.
    pub(in crate::driver) fn hosts(&self) -> BTreeSet<&str> {
        match self {
            Self::Off => BTreeSet::new(),
            Self::ByComparison(comparison) => comparison.hosts(),
            Self::ByLimits(limits) => limits.hosts().collect(),
        }
    }

    /// Readmits all hosts, with the executors on them. Returns the hosts.
    pub(super) fn readmit_hosts(&mut self) -> Vec<String> {
        match self {
            Self::Off => Vec::new(),
            Self::ByComparison(comparison) => comparison.readmit_hosts(),
            Self::ByLimits(limits) => limits.readmit_hosts(),
        }
    }

    /// A task begins on an executor.
    pub(in crate::driver) fn launched(
        &mut self,
        task: TaskId,
        executor: ExecutorId,
        host: &str,
        now: Timestamp,
    ) {
        if let Self::ByComparison(comparison) = self {
            comparison.launched(task, executor, host, now);
        }
    }

    /// An attempt at a task failed.
    pub(in crate::driver) fn failed(&mut self, task: TaskId) {
        if let Self::ByComparison(comparison) = self {
            comparison.failed(task);
        }
    }

    /// A task ended, and nowhere with success.
    pub(in crate::driver) fn over(&mut self, task: TaskId) {
        if let Self::ByComparison(comparison) = self {
            comparison.over(task);
        }
    }

    /// A task succeeded: its failures on other executors count against those.
    pub(in crate::driver) fn succeeded(&mut self, success: Success, now: Timestamp) {
        match self {
            Self::Off => {}
            Self::ByComparison(comparison) => comparison.succeeded(&success),
            Self::ByLimits(limits) => limits.succeeded(success.task, success.failed_on, success.on, now),
        }
    }

    /// An executor on that host ended by itself before it registered.
    pub(in crate::driver) fn start_failed(&mut self, host: &str) {
        match self {
            Self::Off => {}
            Self::ByComparison(comparison) => comparison.start_failed(host),
            Self::ByLimits(limits) => limits.start_failed(host),
        }
    }

    /// An executor registered on that host: executors can start there.
    pub(in crate::driver) fn started(&mut self, host: &str) {
        match self {
            Self::Off => {}
            Self::ByComparison(comparison) => comparison.started(host),
            Self::ByLimits(limits) => limits.started(host),
        }
    }

    /// An executor is gone.
    pub(in crate::driver) fn executor_ended(&mut self, executor: ExecutorId) {
        if let Self::ByComparison(comparison) = self {
            comparison.executor_ended(executor);
        }
    }

    /// Forgets all executors: the Master starts their numbers again.
    pub(in crate::driver) fn forget_executors(&mut self) {
        match self {
            Self::Off => {}
            Self::ByComparison(comparison) => comparison.forget_executors(),
            Self::ByLimits(limits) => limits.forget_executors(),
        }
    }

    /// The executors and hosts that are to be excluded and are not yet. `host_of` names the host of a live executor.
    pub(super) fn to_exclude(&self, host_of: impl Fn(ExecutorId) -> Option<String>) -> Vec<ExclusionCause> {
        match self {
            Self::Off => Vec::new(),
            Self::ByComparison(comparison) => comparison.to_exclude(host_of),
            Self::ByLimits(limits) => limits.to_exclude(),
        }
    }

    /// Excludes an executor or a host. Returns for how long.
    pub(super) fn exclude(&mut self, new: &NewExclusion<'_>) -> Duration {
        match self {
            Self::Off => Duration::ZERO,
            Self::ByComparison(comparison) => comparison.exclude(new),
            Self::ByLimits(limits) => limits.exclude(new),
        }
    }

    /// Ends an executor's exclusion, and its host's exclusion with those of all executors on that host.
    pub(super) fn readmit(&mut self, executor: ExecutorId, host: &str) {
        match self {
            Self::Off => {}
            Self::ByComparison(comparison) => comparison.readmit(executor, host),
            Self::ByLimits(limits) => limits.readmit(executor, host),
        }
    }

    /// When the next exclusion expires.
    pub(in crate::driver) fn deadline(&self) -> Option<Timestamp> {
        match self {
            Self::Off => None,
            Self::ByComparison(comparison) => comparison.deadline(),
            Self::ByLimits(limits) => limits.deadline(),
        }
    }

    /// Ends what is over by now. Returns whether an exclusion has ended since this was last called.
    pub(super) fn expire(&mut self, now: Timestamp) -> bool {
        match self {
            Self::Off => false,
            Self::ByComparison(comparison) => {
                comparison.expire(now);
                comparison.take_readmitted()
            }
            Self::ByLimits(limits) => limits.expire(now),
        }
    }

    /// Whether a trial began since this was last asked.
    pub(in crate::driver) fn take_trial_began(&mut self) -> bool {
        match self {
            Self::ByComparison(comparison) => comparison.take_trial_began(),
            Self::Off | Self::ByLimits(_) => false,
        }
    }
}
