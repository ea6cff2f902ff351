//! The Workers that are excluded for an application for a while, because its executors ended there too early.
//!
//! A failure history belongs to one application and one Worker. An early end shows that something is wrong with the
//! Worker or with the application, but not with which of them. So the Worker is excluded only for this application,
//! each time for twice as long, until one of the application's executors is proven there.

use std::collections::{BTreeMap, BTreeSet};

use firesteel_placement::advanced::index::Slot;
use firesteel_protocol::ids::ExecutorId;
use firesteel_protocol::messages::{EarlyEnd, ExcludedWorker};
use firesteel_protocol::time::{Timestamp, doubled, first_due};
use serde::{Deserialize, Serialize};

use crate::config::Exclusion;

/// An application's failure histories, one for each Worker.
#[derive(Debug, Default)]
pub(crate) struct Exclusions {
    by_worker: BTreeMap<Slot, FailureHistory>,
    ends: BTreeSet<(Timestamp, Slot)>,
}

/// An application's failure history of one Worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FailureHistory {
    /// The number of early ends in a row. Executors that were launched before the last early end was counted belong to
    /// it.
    pub(crate) early_ends: u32,
    /// Whether any executors failed on the Worker, instead of only ending with exit code 0.
    pub(crate) failed: bool,
    /// Executors with a smaller number were launched before the latest early end was counted.
    early_below: u32,
    /// Executors with a smaller number were launched before the latest failure of a proven executor was counted.
    late_below: u32,
    /// When the exclusion ends.
    pub(crate) until: Option<Timestamp>,
}

impl FailureHistory {
    /// The failure history of an excluded Worker. It includes the early ends of all executors before `next`.
    pub(crate) fn excluded(worker: &ExcludedWorker, next: ExecutorId) -> Self {
        Self {
            early_ends: worker.times,
            failed: worker.end == EarlyEnd::Failed,
            early_below: next.0,
            late_below: next.0,
            until: Some(worker.until),
        }
    }
}

/// An end that may be the fault of the Worker or of the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CountedEnd {
    /// The executor ended before it was proven.
    Early(EarlyEnd),
    /// A proven executor failed.
    LateFailure,
}

impl Exclusions {
    pub(crate) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub(crate) fn excludes(&self, worker: Slot) -> bool {
        !self.ends.is_empty()
            && self.by_worker.get(&worker).is_some_and(|failure_history| failure_history.until.is_some())
    }

    /// Whether executors failed on a Worker, and no executor was proven on it since.
    pub(crate) fn has_failures_on(&self, worker: Slot) -> bool {
        self.by_worker.get(&worker).is_some_and(|failure_history| failure_history.failed)
    }

    /// Whether there is a failure history of a Worker.
    pub(crate) fn remembers(&self, worker: Slot) -> bool {
        self.by_worker.contains_key(&worker)
    }

    /// The number of Workers on which executors failed, and on which no executor was proven since.
    pub(crate) fn failed_workers(&self) -> usize {
        self.by_worker.values().filter(|failure_history| failure_history.failed).count()
    }

    /// The Workers that are excluded now, in the order of their slots.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Slot, &FailureHistory)> {
        let excluded = |(_, failure_history): &(&Slot, &FailureHistory)| failure_history.until.is_some();
        self.by_worker.iter().filter(excluded).map(|(worker, failure_history)| (*worker, failure_history))
    }

    pub(super) fn next_end(&self) -> Option<Timestamp> {
        self.ends.first().map(|(time, _)| *time)
    }

    /// Counts the end of an executor on a Worker. `next` is the number of the application's next executor. Returns the
    /// number of early ends there in a row. Returns `None` if the executor was launched before the last end of this
    /// kind was counted: both ends then count as one.
    pub(crate) fn count(
        &mut self,
        worker: Slot,
        executor: ExecutorId,
        next: u32,
        end: CountedEnd,
    ) -> Option<u32> {
        let failure_history = self.by_worker.entry(worker).or_default();
        let counted_below = match end {
            CountedEnd::Early(_) => &mut failure_history.early_below,
            CountedEnd::LateFailure => &mut failure_history.late_below,
        };
        if executor.0 < *counted_below {
            return None;
        }
        *counted_below = next;
        match end {
            CountedEnd::Early(early) => {
                failure_history.early_ends = failure_history.early_ends.saturating_add(1);
                failure_history.failed |= early == EarlyEnd::Failed;
            }
            CountedEnd::LateFailure => failure_history.failed = true,
        }
        Some(failure_history.early_ends)
    }

    pub(crate) fn exclude(&mut self, worker: Slot, until: Timestamp) {
        let failure_history = self.by_worker.entry(worker).or_default();
        if let Some(before) = failure_history.until.replace(until) {
            self.ends.remove(&(before, worker));
        }
        self.ends.insert((until, worker));
    }

    /// Ends the exclusions whose time is over. The failure histories stay.
    pub(crate) fn release(&mut self, now: Timestamp) {
        while let Some(worker) = first_due(&self.ends, now) {
            self.readmit(worker);
        }
    }

    /// Ends all exclusions because of failures, because the application has no other Worker left.
    pub(crate) fn forgive_failures(&mut self) {
        let failed: Vec<Slot> =
            self.iter().filter(|(_, failure_history)| failure_history.failed).map(|(slot, _)| slot).collect();
        failed.into_iter().for_each(|worker| self.readmit(worker));
    }

    fn readmit(&mut self, worker: Slot) {
        let until = self.by_worker.get_mut(&worker).and_then(|failure_history| failure_history.until.take());
        if let Some(until) = until {
            self.ends.remove(&(until, worker));
        }
    }

    /// Records that an executor is proven on a Worker. If the executor was launched after the latest early end was
    /// counted, clears the Worker's failure history.
    pub(crate) fn prove(&mut self, worker: Slot, executor: ExecutorId) {
        if self
            .by_worker
            .get(&worker)
            .is_some_and(|failure_history| executor.0 >= failure_history.early_below)
        {
            self.forget(worker);
        }
    }

    pub(crate) fn forget(&mut self, worker: Slot) {
        self.readmit(worker);
        self.by_worker.remove(&worker);
    }

    /// All Workers with a failure history, excluded or not.
    pub(crate) fn remembered(&self) -> impl Iterator<Item = Slot> {
        self.by_worker.keys().copied()
    }

    /// The failure histories by Worker.
    pub(crate) fn failure_history(&self) -> impl Iterator<Item = (Slot, &FailureHistory)> {
        self.by_worker.iter().map(|(worker, failure_history)| (*worker, failure_history))
    }

    /// Whether there are no failure histories.
    pub(crate) fn knows_none(&self) -> bool {
        self.by_worker.is_empty()
    }

    /// Replaces the failure histories.
    pub(crate) fn restore(&mut self, failure_history: Vec<(Slot, FailureHistory)>) {
        self.ends = failure_history
            .iter()
            .filter_map(|(worker, failure_history)| Some((failure_history.until?, *worker)))
            .collect();
        self.by_worker = failure_history.into_iter().collect();
    }

    /// Whether the ordered list of ends matches the Workers' histories.
    pub(crate) fn is_consistent(&self) -> bool {
        self.iter()
            .filter_map(|(worker, failure_history)| Some((failure_history.until?, worker)))
            .collect::<BTreeSet<_>>()
            == self.ends
    }
}

impl Exclusion {
    /// How long a Worker is excluded after this number of early ends in a row.
    pub(crate) fn delay(self, early_ends: u32) -> Option<std::time::Duration> {
        let Self::For { first, longest } = self else { return None };
        Some(doubled(first, early_ends.saturating_sub(1), longest))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use firesteel_placement::advanced::index::Index;
    use firesteel_placement::{Cores, MiB, Resources, WorkerOrder};

    use super::*;

    const FAILED: CountedEnd = CountedEnd::Early(EarlyEnd::Failed);

    fn slots() -> [Slot; 2] {
        let mut index = Index::new(WorkerOrder::WorkerId);
        ["w1", "w2"].map(|worker| index.insert(worker, Cores(1), MiB(1), Resources::NONE))
    }

    #[test]
    fn the_delay_doubles_with_every_early_end_after_the_first() {
        let exclusion = Exclusion::For { first: Duration::from_secs(1), longest: Duration::from_secs(60) };
        let seconds = (1..=3).map(|n| exclusion.delay(n).map_or(0, |delay| delay.as_secs()));
        assert_eq!(seconds.collect::<Vec<_>>(), [1, 2, 4]);
        assert_eq!(Exclusion::Off.delay(3), None);
    }

    #[test]
    fn ends_of_executors_that_were_launched_before_the_last_count_are_part_of_it() {
        let [one, other] = slots();
        let mut exclusions = Exclusions::default();
        let mut count = |worker, executor, next| exclusions.count(worker, ExecutorId(executor), next, FAILED);
        assert_eq!(count(one, 0, 8), Some(1));
        assert_eq!([count(one, 1, 8), count(one, 7, 9)], [None, None]);
        assert_eq!(count(other, 3, 9), Some(1), "each Worker has its own count");
        assert_eq!([count(one, 8, 10), count(one, 9, 10)], [Some(2), None]);
    }

    #[test]
    fn a_failure_of_a_proven_executor_hides_no_early_end() {
        let [worker, _] = slots();
        let mut exclusions = Exclusions::default();
        let mut count = |executor, end| exclusions.count(worker, ExecutorId(executor), 9, end);
        assert_eq!(count(0, CountedEnd::LateFailure), Some(0));
        assert_eq!(count(1, CountedEnd::LateFailure), None, "it is part of the first");
        assert_eq!(count(2, FAILED), Some(1));
    }

    #[test]
    fn a_proven_executor_clears_its_worker_only_if_it_was_launched_after_the_failure() {
        let [one, other] = slots();
        let mut exclusions = Exclusions::default();
        for worker in [one, other] {
            exclusions.count(worker, ExecutorId(2), 4, FAILED);
            exclusions.exclude(worker, Timestamp::from_millis(9));
        }
        exclusions.prove(one, ExecutorId(3));
        assert!(exclusions.has_failures_on(one) && exclusions.excludes(one));
        exclusions.prove(one, ExecutorId(4));
        assert!(!exclusions.has_failures_on(one) && !exclusions.excludes(one));
        assert!(exclusions.excludes(other) && exclusions.is_consistent());
    }

    #[test]
    fn exclusions_for_failures_are_forgiven_and_those_for_exit_code_0_are_not() {
        let [one, other] = slots();
        let mut exclusions = Exclusions::default();
        exclusions.count(one, ExecutorId(0), 2, FAILED);
        exclusions.count(other, ExecutorId(1), 2, CountedEnd::Early(EarlyEnd::Finished));
        exclusions.exclude(one, Timestamp::from_millis(5));
        exclusions.exclude(other, Timestamp::from_millis(7));
        exclusions.forgive_failures();
        assert_eq!(exclusions.iter().map(|(worker, _)| worker).collect::<Vec<_>>(), [other]);
        exclusions.release(Timestamp::from_millis(6));
        assert_eq!(exclusions.next_end(), Some(Timestamp::from_millis(7)));
        exclusions.release(Timestamp::from_millis(7));
        assert!(exclusions.is_empty() && exclusions.is_consistent());
        assert_eq!(exclusions.failed_workers(), 1, "the Worker on which an executor failed stays blamed");
    }
}
