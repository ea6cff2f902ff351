//! How failures of executors are counted, and when they end an application.

use std::time::Duration;

use super::{Master, Note, Retries};
use crate::ids::AppId;
use crate::messages::{ApplicationEnd, ExecutorState};
use crate::process::ExitStatus;
use crate::time::Timestamp;

/// The wait after the second failure in a row. It doubles with every further failure.
const FIRST_DELAY: Duration = Duration::from_millis(100);
/// The longest wait after a failure.
const LONGEST_DELAY: Duration = Duration::from_secs(5);

impl Master {
    /// Counts an end that the Worker reported by itself. A failure is an exit code other than 0, a signal, or
    /// a process that could not be started. Too many failures in a row, with no proven executor left, end the
    /// application.
    ///
    /// Source: Spark Master, 4.0.1. Firesteel differs: an executor is proven when it has run for a while, not
    /// when it has started; from the second failure in a row on, the Master waits before it launches another;
    /// and an executor that its own Worker ended has not failed. An end that is final leads to no other
    /// executor and does not count.
    pub(super) fn count_end(&mut self, now: Timestamp, app: &AppId, end: ExecutorState) {
        let application = self.applications.live_mut(app);
        if application.description.relaunch.is_final(&end) {
            return;
        }
        match &end {
            ExecutorState::Exited(ExitStatus::Code(0)) | ExecutorState::Killed(_) => return,
            ExecutorState::Exited(_) | ExecutorState::Failed(_) => {}
            ExecutorState::Launching | ExecutorState::Running | ExecutorState::Lost(_) => return,
        }
        application.failures.in_a_row += 1;
        let failures = application.failures.in_a_row;
        if application.failures.proven == 0 && self.config.retries.are_used_up(failures) {
            return self.remove_application(
                now,
                app,
                ApplicationEnd::ExecutorsFailed { failures, last: end },
            );
        }
        if let Some(delay) = relaunch_delay(failures) {
            self.applications.hold(app, Some(now + delay));
            let millis = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
            self.effects.note(Note::RelaunchDelayed { app: app.clone(), failures, millis });
        }
    }

    /// An application with a newly proven executor need not wait any longer.
    pub(super) fn end_probations(&mut self, now: Timestamp, app: &AppId) {
        if self.applications.live_mut(app).end_probations(now) {
            self.applications.hold(app, None);
        }
    }
}

impl Retries {
    fn are_used_up(self, failures: u32) -> bool {
        match self {
            Self::AtMost(most) => failures >= most,
            Self::Unlimited => false,
        }
    }
}

/// The wait after that many failures in a row. There is none after the first, which may be chance.
fn relaunch_delay(failures: u32) -> Option<Duration> {
    let doublings = failures.checked_sub(2)?;
    Some(FIRST_DELAY.saturating_mul(2_u32.saturating_pow(doublings)).min(LONGEST_DELAY))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_from_the_second_failure_up_to_its_bound() {
        let millis: Vec<_> = (0..10).map(|n| relaunch_delay(n).map(|delay| delay.as_millis())).collect();
        let expected = [0, 0, 100, 200, 400, 800, 1600, 3200, 5000, 5000];
        assert_eq!(millis, expected.map(|n| (n > 0).then_some(n)));
        assert_eq!(relaunch_delay(u32::MAX), Some(LONGEST_DELAY));
    }
}
