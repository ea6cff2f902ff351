//! The health tracker: excludes executors and hosts where tasks fail that succeed elsewhere. It uses one of two rules.

use std::collections::BTreeSet;
use std::time::Duration;

use firesteel_placement::advanced::words::counted;
use firesteel_protocol::ids::{ExecutorId, ProfileId, TaskId};
use firesteel_protocol::time::Timestamp;

use super::comparison::Comparison;
use super::failure_limits::FailureLimits;
use crate::driver::Readmission;
use crate::driver::config::{Exclusion, ExclusionPolicy};

/// Remembers which executors and hosts are excluded. The tracker does not know whether the application can do without
/// these executors and hosts. The caller calls [`to_exclude`](Self::to_exclude) and decides.
#[derive(Clone, Debug)]
pub(in crate::driver) enum HealthTracker {
    Off,
    /// Firesteel's rule: excludes executors and hosts that are worse than the others.
    ByComparison(Comparison),
    /// Spark's rule: excludes executors and hosts that have reached a limit.
    ByLimits(FailureLimits),
}

/// A task that succeeded, and the executors where this task had failed before.
#[derive(Clone, Debug)]
pub(in crate::driver) struct Success {
    pub(in crate::driver) task: TaskId,
    pub(in crate::driver) profile: ProfileId,
    pub(in crate::driver) on: ExecutorId,
    pub(in crate::driver) host: String,
    /// The executors where the task failed before, with their hosts.
    pub(in crate::driver) failed_on: Vec<(ExecutorId, String)>,
    /// The executors of `failed_on` that have not ended.
    pub(in crate::driver) live: BTreeSet<ExecutorId>,
}

/// Which executor or host to exclude, and why.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Display)]
pub enum ExclusionCause {
    /// By Spark's rule: an executor where tasks failed that succeeded elsewhere.
    #[display(
        "excluded executor {executor} on {host}: {} failed there and succeeded elsewhere",
        counted(*tasks, "task")
    )]
    Executor {
        executor: ExecutorId,
        host: String,
        /// How many tasks failed on the executor and succeeded on another one.
        tasks: usize,
    },
    /// By Spark's rule: a host with excluded executors.
    #[display("excluded host {host}: it has {}", counted(*executors, "excluded executor"))]
    HostOfExcluded { host: String, executors: usize },
    /// By Spark's rule: a host where several executors in a row ended before they registered.
    #[display("excluded host {host}: {} in a row failed to start there", counted(*starts, "executor"))]
    HostOfFailedStarts { host: String, starts: u32 },
    /// An executor where tasks fail far more often than on other executors.
    #[display(
        "excluded executor {executor} on {host}: {failed} of its last {ended} tasks failed there and \
        succeeded elsewhere"
    )]
    WorseExecutor {
        executor: ExecutorId,
        host: String,
        /// How many of the executor's latest tasks failed on it and succeeded on another executor.
        failed: u64,
        /// The number of the executor's latest tasks.
        ended: u64,
    },
    /// A host where tasks fail far more often than on other hosts. They fail on several executors of the host.
    #[display(
        "excluded host {host}: {failed} of its last {ended} tasks failed there and succeeded elsewhere"
    )]
    WorseHost {
        host: String,
        /// How many of the host's latest tasks failed on it and succeeded on another host.
        failed: u64,
        /// The number of the host's latest tasks.
        ended: u64,
    },
    /// An excluded executor where the trial's task failed, too.
    #[display(
        "excluded executor {executor} on {host} again: a task that was tried there failed and succeeded \
        elsewhere"
    )]
    ExecutorAgain { executor: ExecutorId, host: String },
    /// An excluded host where the trial's task failed, too.
    #[display("excluded host {host} again: a task that was tried there failed and succeeded elsewhere")]
    HostAgain { host: String },
    /// A host where several executors in a row ended before they registered. Executors that already run there stay.
    #[display("avoiding host {host}: {} in a row failed to start there", counted(*starts, "executor"))]
    HostAvoided { host: String, starts: u32 },
}

impl ExclusionCause {
    /// Whether the executor or host was excluded before, and a trial failed.
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

    /// The executor or host that gets no more tasks.
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

/// An exclusion that is about to begin.
#[derive(Clone, Copy, Debug)]
pub(in crate::driver) struct NewExclusion<'a> {
    pub(in crate::driver) cause: &'a ExclusionCause,
    /// The live executors that the exclusion affects.
    pub(in crate::driver) there: &'a [ExecutorId],
    pub(in crate::driver) now: Timestamp,
}

#[derive(Clone, Copy, Debug)]
pub(in crate::driver) enum Affected<'a> {
    Executor(ExecutorId, &'a str),
    /// A host, with all its executors.
    Host(&'a str),
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

    /// Whether this rule excludes at most half of the executors at a time. Spark's rule only leaves one executor.
    pub(super) fn spares_half(&self) -> bool {
        match self {
            Self::ByComparison(_) => true,
            Self::Off | Self::ByLimits(_) => false,
        }
    }

    /// Why an executor whose exclusion has expired gets tasks again.
    pub(super) fn readmission(&self, executor: ExecutorId, host: &str) -> Readmission {
        match self {
            Self::ByComparison(comparison) if comparison.is_due(executor, host) => Readmission::OnTrial,
            Self::ByComparison(_) => Readmission::Proven,
            Self::Off | Self::ByLimits(_) => Readmission::TimeIsUp,
        }
    }

    /// How many times a host was excluded or readmitted.
    pub(in crate::driver) fn changes(&self) -> u64 {
        match self {
            Self::Off => 0,
            Self::ByComparison(comparison) => comparison.changes(),
            Self::ByLimits(limits) => limits.changes(),
        }
    }

    /// The hosts where the driver wants no executors, in order.
    pub(in crate::driver) fn hosts(&self) -> BTreeSet<&str> {
        match self {
            Self::Off => BTreeSet::new(),
            Self::ByComparison(comparison) => comparison.hosts(),
            Self::ByLimits(limits) => limits.hosts().collect(),
        }
    }

    /// Ends the exclusion of all hosts, and of the executors on these hosts. Returns the hosts.
    pub(super) fn readmit_hosts(&mut self) -> Vec<String> {
        match self {
            Self::Off => Vec::new(),
            Self::ByComparison(comparison) => comparison.readmit_hosts(),
            Self::ByLimits(limits) => limits.readmit_hosts(),
        }
    }

    /// A task begins on an executor. With Firesteel's rule, the task may be a trial.
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

    /// A task failed on an executor, and will be retried.
    pub(in crate::driver) fn failed(&mut self, task: TaskId) {
        if let Self::ByComparison(comparison) = self {
            comparison.failed(task);
        }
    }

    /// A task ended without success on any executor.
    pub(in crate::driver) fn over(&mut self, task: TaskId) {
        if let Self::ByComparison(comparison) = self {
            comparison.over(task);
        }
    }

    /// A task succeeded. Its earlier failures on other executors now count against those executors.
    pub(in crate::driver) fn succeeded(&mut self, success: Success, now: Timestamp) {
        match self {
            Self::Off => {}
            Self::ByComparison(comparison) => comparison.succeeded(&success),
            Self::ByLimits(limits) => limits.succeeded(success.task, success.failed_on, success.on, now),
        }
    }

    pub(in crate::driver) fn start_failed(&mut self, host: &str) {
        match self {
            Self::Off => {}
            Self::ByComparison(comparison) => comparison.start_failed(host),
            Self::ByLimits(limits) => limits.start_failed(host),
        }
    }

    pub(in crate::driver) fn started(&mut self, host: &str) {
        match self {
            Self::Off => {}
            Self::ByComparison(comparison) => comparison.started(host),
            Self::ByLimits(limits) => limits.started(host),
        }
    }

    pub(in crate::driver) fn executor_ended(&mut self, executor: ExecutorId) {
        if let Self::ByComparison(comparison) = self {
            comparison.executor_ended(executor);
        }
    }

    pub(in crate::driver) fn forget_executors(&mut self) {
        match self {
            Self::Off => {}
            Self::ByComparison(comparison) => comparison.forget_executors(),
            Self::ByLimits(limits) => limits.forget_executors(),
        }
    }

    /// The executors and hosts that are to be excluded and are not excluded yet. `host_of` names the host of a live
    /// executor.
    pub(super) fn to_exclude(&self, host_of: impl Fn(ExecutorId) -> Option<String>) -> Vec<ExclusionCause> {
        match self {
            Self::Off => Vec::new(),
            Self::ByComparison(comparison) => comparison.to_exclude(host_of),
            Self::ByLimits(limits) => limits.to_exclude(),
        }
    }

    /// Excludes an executor or a host. Returns the duration of the exclusion.
    pub(super) fn exclude(&mut self, new: &NewExclusion<'_>) -> Duration {
        match self {
            Self::Off => Duration::ZERO,
            Self::ByComparison(comparison) => comparison.exclude(new),
            Self::ByLimits(limits) => limits.exclude(new),
        }
    }

    /// Ends the exclusion of an executor, of the executor's host, and of all executors on that host.
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

    /// Ends exclusions whose time is over. Returns whether an exclusion has ended since the last call.
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

    /// Whether a trial began since the last call.
    pub(in crate::driver) fn take_trial_began(&mut self) -> bool {
        match self {
            Self::ByComparison(comparison) => comparison.take_trial_began(),
            Self::Off | Self::ByLimits(_) => false,
        }
    }
}
