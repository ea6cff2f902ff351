//! Finds executors and hosts that fail more often than the others.

use std::collections::BTreeMap;

use firesteel_protocol::ids::ExecutorId;

use super::evidence::{Evidence, Share};

/// The weight of one task. All weights are halved from time to time.
const TASK: u64 = 16;

/// The average number of ended tasks per row at which the weights are halved.
const TASKS_PER_ROW: u64 = 16;

/// The smallest number of tasks after which the weights are halved.
const FEWEST_TASKS: u64 = 128;

/// The largest ratio of failures that the gambler bets on.
const LARGEST_RATIO: u64 = 32;

/// An executor, or all executors on a host, compared with the others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::driver) enum Subject {
    Executor(ExecutorId),
    Host(String),
}

/// How often tasks failed lately on each executor of one profile, or on each host of these executors.
///
/// Old tasks count less, because all weights are halved from time to time. A new executor begins with the average
/// weight, so that its first failures are not overrated.
#[derive(Clone, Debug, Default)]
pub(in crate::driver) struct FailureRates {
    rows: BTreeMap<Subject, Row>,
    /// The sums of the rows.
    all: Weights,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Weights {
    /// The weight of tasks that succeeded or failed. A failure counts only after its task has succeeded elsewhere.
    ended: u64,
    failed: u64,
}

#[derive(Clone, Debug, Default)]
struct Row {
    weights: Weights,
    evidence: Evidence,
    spell: RecentTasks,
}

/// The latest tasks: the longest period in which more than a quarter of the tasks failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::driver) struct RecentTasks {
    pub(in crate::driver) failed: u64,
    pub(in crate::driver) ended: u64,
    /// The executor where the first failed task of the period failed.
    first: Option<ExecutorId>,
    /// Whether tasks of the period failed on more than one executor.
    pub(super) on_several: bool,
}

impl RecentTasks {
    fn succeeded(&mut self) {
        self.ended += 1;
        if self.failed * 4 <= self.ended {
            *self = Self::default();
        }
    }

    fn failed(&mut self, on: ExecutorId) {
        self.failed += 1;
        self.ended += 1;
        self.on_several |= *self.first.get_or_insert(on) != on;
    }
}

impl FailureRates {
    /// Counts a task that succeeded on the subject.
    pub(in crate::driver) fn succeeded(&mut self, subject: &Subject) {
        let row = self.count(subject);
        row.evidence.succeeded();
        row.spell.succeeded();
    }

    /// Counts a task that failed on the subject, on executor `on`, and succeeded elsewhere.
    pub(in crate::driver) fn failed(&mut self, subject: &Subject, on: ExecutorId) {
        self.count(subject).spell.failed(on);
        let all = self.all;
        for (other, row) in &mut self.rows {
            let share = Share { part: row.weights.ended, whole: all.ended };
            let ratio = ratio(all, row.weights);
            if other == subject {
                row.evidence.failed_here(share, ratio);
                row.weights.failed += TASK;
            } else {
                row.evidence.failed_elsewhere(share, ratio);
            }
        }
        self.all.failed += TASK;
    }

    /// The latest tasks of the subject, if the subject is proven worse than the others.
    pub(super) fn convinced(&self, subject: &Subject) -> Option<&RecentTasks> {
        self.rows.get(subject).filter(|row| row.evidence.is_convincing()).map(|row| &row.spell)
    }

    /// Whether no suspicion against the subject is left.
    pub(super) fn is_cleared(&self, subject: &Subject) -> bool {
        self.rows.get(subject).is_none_or(|row| row.evidence.is_weak())
    }

    /// Starts again without suspicion: the failures of the subject have led to an exclusion.
    pub(in crate::driver) fn settle(&mut self, subject: &Subject) {
        if let Some(row) = self.rows.get_mut(subject) {
            row.evidence.settle();
            row.spell = RecentTasks::default();
        }
    }

    /// Trusts a subject again. A few failures are enough to end this trust.
    pub(super) fn put_on_probation(&mut self, subject: &Subject) {
        if let Some(row) = self.rows.get_mut(subject) {
            row.evidence.put_on_probation();
            row.spell = RecentTasks::default();
        }
    }

    /// Forgets a subject that has ended.
    pub(in crate::driver) fn remove(&mut self, subject: &Subject) {
        if let Some(row) = self.rows.remove(subject) {
            self.all.ended -= row.weights.ended;
            self.all.failed -= row.weights.failed;
        }
    }

    /// Counts a task that ended on the subject.
    fn count(&mut self, subject: &Subject) -> &mut Row {
        let rows = self.rows.len() as u64;
        if self.all.ended >= TASK * FEWEST_TASKS.max(TASKS_PER_ROW * rows) {
            self.fade();
        }
        if !self.rows.contains_key(subject) {
            let rows = self.rows.len() as u64;
            let average = Weights { ended: self.all.ended / rows.max(1), failed: 0 };
            self.all.ended += average.ended;
            self.rows.insert(subject.clone(), Row { weights: average, ..Row::default() });
        }
        self.all.ended += TASK;
        let row = self.rows.get_mut(subject).expect("it was added above");
        row.weights.ended += TASK;
        row
    }

    /// Halves all weights, so that old tasks count less.
    fn fade(&mut self) {
        let mut all = Weights::default();
        for row in self.rows.values_mut() {
            row.weights.ended /= 2;
            row.weights.failed /= 2;
            all.ended += row.weights.ended;
            all.failed += row.weights.failed;
        }
        self.all = all;
    }
}

/// How many times as frequent failures would be on this row as on the others, if half of the row's tasks fail. Never
/// less than two. If the others have few tasks, more successes are assumed for them.
fn ratio(all: Weights, row: Weights) -> u64 {
    let ended = all.ended - row.ended + 64 * TASK;
    let failed = all.failed - row.failed + TASK;
    (ended / (2 * failed)).clamp(2, LARGEST_RATIO)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn executor(number: u32) -> Subject {
        Subject::Executor(ExecutorId(number))
    }

    /// Lets sixteen executors take turns. `fails` returns whether the task on an executor fails in a round. Returns
    /// which executors are found worse than the others, and after which round.
    fn rounds(rounds: u32, fails: impl Fn(u32, u32) -> bool) -> Vec<(u32, u32)> {
        let mut rates = FailureRates::default();
        let mut found = Vec::new();
        for round in 1..=rounds {
            for number in 0..16 {
                let subject = executor(number);
                match fails(round, number) {
                    true => rates.failed(&subject, ExecutorId(number)),
                    false => rates.succeeded(&subject),
                }
                if rates.convinced(&subject).is_some() {
                    found.push((number, round));
                    rates.settle(&subject);
                }
            }
        }
        found
    }

    #[test]
    fn an_executor_where_everything_fails_is_found_within_a_few_tasks() {
        assert_eq!(rounds(7, |_, number| number == 3), [(3, 6)]);
        let late = rounds(2009, |round, number| number == 3 && round > 2000);
        assert_eq!(late, [(3, 2006)], "also if it was good for long");
    }

    #[test]
    fn an_executor_where_every_second_task_fails_is_found() {
        assert_eq!(rounds(20, |round, number| number == 3 && round % 2 == 0), [(3, 12)]);
    }

    #[test]
    fn failures_that_all_executors_share_speak_against_none() {
        for (one_in, offset) in [(2, 1), (3, 1), (5, 2), (20, 7), (100, 7)] {
            assert_eq!(
                rounds(2000, |round, number| (round + offset * number) % one_in == 0),
                [],
                "1 in {one_in}"
            );
        }
        assert_eq!(rounds(3000, |round, _| round % 1000 > 980), [], "a while in which everything fails");
    }

    #[test]
    fn an_executor_where_few_tasks_fail_is_kept_even_if_none_fails_elsewhere() {
        assert_eq!(rounds(5000, |round, number| number == 3 && round % 16 == 0), []);
    }

    #[test]
    fn a_newcomer_that_fails_like_the_others_is_as_good_as_they_are() {
        let all_fail_then_one_comes = |round, number| (number != 3 || round > 100) && round % 4 == 0;
        assert_eq!(rounds(400, all_fail_then_one_comes), []);
    }

    #[test]
    fn a_removed_row_leaves_nothing_behind() {
        let mut rates = FailureRates::default();
        for number in [1, 2] {
            rates.failed(&executor(number), ExecutorId(number));
            rates.succeeded(&executor(number));
        }
        rates.remove(&executor(1));
        rates.remove(&executor(2));
        assert!(rates.rows.is_empty() && rates.all == Weights::default());
    }
}
