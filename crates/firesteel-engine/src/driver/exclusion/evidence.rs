//! The strength of the evidence against an executor or a host with failed tasks.

/// The value of [`Evidence::level`] at the start of a bet of one unit.
const ONE: u128 = 1 << 64;

/// The level at which failures are no longer explained by chance. By chance alone, at most one of 10,000 executors
/// reaches it.
const CONVINCING: u128 = 10_000 * ONE;

/// The highest level. A higher level would prove no more, and would take longer to fall.
const HIGHEST: u128 = 32 * CONVINCING;

/// The level of an executor or a host after a trial began. From this level, at most three failures are convincing.
const ON_PROBATION: u128 = CONVINCING / 32;

/// The evidence that tasks fail on an executor or a host more often than elsewhere.
///
/// The evidence is the wealth of a gambler who bets that this is true. The odds are fair if failures are no more
/// frequent here:
///
/// - A task failed on this or another executor. If all executors are alike, the probability that it failed here is this
///   executor's *share* of the tasks that ended lately. The gambler bets that failures are `ratio` times as frequent
///   here. If the task failed here, the level is multiplied by `ratio / (1 + (ratio - 1) * share)`, otherwise by `1 /
///   (1 + (ratio - 1) * share)`. The expected factor is 1.
/// - A task succeeded here: the level is multiplied by 3/4. So an executor where most tasks succeed is never given up,
///   even if it is a little worse than the others.
/// - The gambler has a stake of 1 in all. Half of it is bet after the first failure here, a sixth after the second, and
///   `1 / (n * (n + 1))` after failure `n`. So earlier successes never use up the whole stake.
///
/// If all executors are alike, the level's expected value never rises above the stake. So the probability that the
/// level *ever* reaches 10,000 is at most 1/10,000 (Ville's inequality). This holds for any failure rate, which may
/// change with time, for any number of tasks, and however often one looks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::driver) struct Evidence {
    /// The gambler's wealth, in units of 2^-64.
    level: u128,
    failures: u128,
}

/// A fraction of the tasks that ended lately: `part` of `whole`. `part` is at most `whole`, which is less than 2^32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::driver) struct Share {
    pub(in crate::driver) part: u64,
    pub(in crate::driver) whole: u64,
}

impl Evidence {
    /// Whether chance no longer explains the failures.
    pub(super) fn is_convincing(&self) -> bool {
        self.level >= CONVINCING
    }

    /// Whether no suspicion is left.
    pub(super) fn is_weak(&self) -> bool {
        self.level < ONE
    }

    /// Lowers the level, because a task succeeded here.
    pub(in crate::driver) fn succeeded(&mut self) {
        self.level = self.level / 4 * 3;
    }

    /// Changes the level, because a task failed here. `share` is the part of all tasks that end here. `ratio` is the
    /// gambler's guess: failures are this many times as frequent here.
    pub(super) fn failed_here(&mut self, share: Share, ratio: u64) {
        self.level = bet(self.level, u128::from(ratio), share, ratio);
        self.failures += 1;
        self.level = (self.level + ONE / (self.failures * (self.failures + 1))).min(HIGHEST);
    }

    /// Lowers the level, because a task failed elsewhere.
    pub(super) fn failed_elsewhere(&mut self, share: Share, ratio: u64) {
        self.level = bet(self.level, 1, share, ratio);
    }

    /// Starts again from the lowest suspicion, because the failures so far have led to an exclusion.
    pub(in crate::driver) fn settle(&mut self) {
        self.level = 0;
    }

    /// A trial begins. From now on, a few more failures are convincing.
    pub(super) fn put_on_probation(&mut self) {
        self.level = ON_PROBATION;
    }
}

/// Returns the gambler's level after one bet: `level * won / (1 + (ratio - 1) * share)`, rounded down. `won` is the
/// payout factor: `ratio` for a failure here, 1 for a failure elsewhere.
fn bet(level: u128, won: u128, Share { part, whole }: Share, ratio: u64) -> u128 {
    let (part, whole) = (u128::from(part.min(whole)), u128::from(whole.max(1)));
    level * won * whole / (whole + u128::from(ratio.saturating_sub(1)) * part)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIXTEENTH: Share = Share { part: 1, whole: 16 };

    /// How many failures in a row are convincing, if no task fails elsewhere.
    fn failures_until_convinced(share: Share, ratio: u64) -> u32 {
        let mut evidence = Evidence::default();
        (1..)
            .find(|_| {
                evidence.failed_here(share, ratio);
                evidence.is_convincing()
            })
            .expect("it is convincing in the end")
    }

    #[test]
    fn few_failures_are_convincing_where_everything_fails_and_nothing_elsewhere() {
        let convinced = |whole| failures_until_convinced(Share { part: 1, whole }, 32);
        assert_eq!([2, 3, 4, 16, 1000].map(convinced), [16, 11, 9, 6, 4]);
    }

    #[test]
    fn the_expected_factor_of_a_failure_is_one_whatever_the_share_and_the_ratio() {
        for (part, whole) in [(1, 2), (1, 16), (7, 9), (1, 1_000_000)] {
            for ratio in [2, 5, 32] {
                let share = Share { part, whole };
                let here = bet(ONE, u128::from(ratio), share, ratio) * u128::from(part);
                let elsewhere = bet(ONE, 1, share, ratio) * u128::from(whole - part);
                let expected = (here + elsewhere) / u128::from(whole);
                assert!(expected <= ONE && expected > ONE - ONE / 1_000_000, "{share:?} {ratio}");
            }
        }
    }

    #[test]
    fn the_stake_is_never_more_than_one_and_never_all_lost() {
        let stake = |n: u128| ONE / (n * (n + 1));
        assert!((1..=1_000_000).map(stake).sum::<u128>() < ONE && stake(1_000_000) > ONE >> 40);
    }

    #[test]
    fn an_executor_that_was_good_for_long_needs_a_few_failures_more() {
        let mut evidence = Evidence::default();
        for _ in 0..3000 {
            (0..19).for_each(|_| evidence.succeeded());
            evidence.failed_here(SIXTEENTH, 11);
            (0..15).for_each(|_| evidence.failed_elsewhere(SIXTEENTH, 11));
            assert!(!evidence.is_convincing());
        }
        let failures = (1..).find(|_| {
            evidence.failed_here(SIXTEENTH, 32);
            evidence.is_convincing()
        });
        assert_eq!(failures, Some(12));
    }

    #[test]
    fn twenty_successes_clear_the_name_of_one_on_probation_and_three_failures_end_it() {
        let mut evidence = Evidence::default();
        evidence.put_on_probation();
        let mut failing = evidence.clone();
        let successes = (1..).find(|_| {
            evidence.succeeded();
            evidence.is_weak()
        });
        assert_eq!(successes, Some(20));
        let failures = (1..).find(|_| {
            failing.failed_here(Share { part: 1, whole: 4 }, 32);
            failing.is_convincing()
        });
        assert_eq!(failures, Some(3));
    }

    #[test]
    fn extreme_values_are_neither_lost_nor_too_large() {
        let mut evidence = Evidence::default();
        for share in [Share { part: 0, whole: 0 }, Share { part: 9, whole: 3 }, SIXTEENTH] {
            (0..9).for_each(|_| evidence.failed_here(share, 32));
        }
        evidence.failed_here(Share { part: 1, whole: u64::from(u32::MAX) }, 32);
        assert!(evidence.is_convincing() && evidence.level <= HIGHEST);
        evidence.failed_elsewhere(Share { part: 0, whole: 1 }, 2);
        assert_eq!(evidence.level, HIGHEST, "one that has had no task is not cleared by failures elsewhere");
    }
}
