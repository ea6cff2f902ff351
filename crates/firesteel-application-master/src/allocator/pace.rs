//! The times at which the manager is called.

use std::time::Duration;

use firesteel_protocol::time::Timestamp;

/// The pace of calls to the manager. At most one call is open at a time. Calls are a heartbeat apart. While something
/// is wanted, calls begin at a short interval, which doubles with each call.
///
/// ```text
///  calls while something is wanted: at once, after 200 ms, 400, 800, 1600, 3000, 3000 ..
/// ```
///
/// Source: the intended behaviour of Spark on YARN, 4.0.1. Its code subtracts milliseconds from nanoseconds, so that
/// calls for new demand can follow each other without a pause.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    heartbeat: Duration,
    initial: Duration,
    next: Duration,
    called: Option<Timestamp>,
    state: State,
}

/// The state of the calls to the manager.
///
/// ```text
///         registered           due             answered
///  Asleep ----------> Waiting -----> Called ------------> Waiting
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No call is planned.
    Asleep,
    /// The next call is due at this time.
    Waiting(Timestamp),
    /// A call was made and has not been answered.
    Called(Woken),
}

/// Whether there was new demand since the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Woken {
    No,
    Yes,
}

/// Whether something is wanted that the next calls may bring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    Nothing,
    Something,
}

impl Pace {
    pub(super) fn new(heartbeat: Duration, initial: Duration) -> Self {
        let initial = initial.min(heartbeat);
        Self { heartbeat, initial, next: initial, called: None, state: State::Asleep }
    }

    /// Starts the pace: the first call is due at once.
    pub(super) fn start(&mut self, now: Timestamp) {
        self.next = self.initial;
        self.state = State::Waiting(now);
    }

    pub(super) fn stop(&mut self) {
        self.state = State::Asleep;
    }

    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        matches!(self.state, State::Waiting(due) if due <= now)
    }

    pub(super) fn deadline(&self) -> Option<Timestamp> {
        match self.state {
            State::Waiting(due) => Some(due),
            State::Asleep | State::Called(_) => None,
        }
    }

    pub(super) fn is_called(&self) -> bool {
        matches!(self.state, State::Called(_))
    }

    pub(super) fn called(&self) -> Option<Timestamp> {
        self.called
    }

    pub(super) fn call(&mut self, now: Timestamp) {
        self.called = Some(now);
        self.state = State::Called(Woken::No);
    }

    /// Records that the call was answered, or failed.
    pub(super) fn answered(&mut self, now: Timestamp, wanted: Wanted) {
        // If there was no call, the answer does not change the pause.
        let State::Called(woken) = self.state else { return };
        let pause = match wanted {
            Wanted::Something => {
                let pause = self.next.min(self.heartbeat);
                self.next = pause.saturating_mul(2);
                pause
            }
            Wanted::Nothing => {
                self.next = self.initial;
                self.heartbeat
            }
        };
        self.state = State::Waiting(now + pause);
        if woken == Woken::Yes {
            self.wake(now);
        }
    }

    /// Handles new demand: the pauses start again, and the next call is due an initial pause after the last one.
    pub(super) fn wake(&mut self, now: Timestamp) {
        self.next = self.initial;
        match &mut self.state {
            State::Asleep => {}
            State::Waiting(due) => {
                let soon = self.called.map_or(now, |called| now.max(called + self.initial));
                *due = soon.min(*due);
            }
            State::Called(woken) => *woken = Woken::Yes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    /// A pace after its first call, which was made and answered at 1,000 ms.
    fn pace(wanted: Wanted) -> Pace {
        let mut pace = Pace::new(MS(3000), MS(200));
        pace.start(at(1000));
        assert!(pace.is_due(at(1000)));
        pace.call(at(1000));
        pace.answered(at(1000), wanted);
        pace
    }

    #[test]
    fn pauses_double_up_to_a_heartbeat_while_something_is_wanted() {
        let mut pace = pace(Wanted::Something);
        let mut pauses = Vec::new();
        let mut now = at(1000);
        for _ in 0..6 {
            let due = pace.deadline().expect("it waits");
            pauses.push(due.since(now).as_millis());
            now = due;
            pace.call(now);
            pace.answered(now, Wanted::Something);
        }
        assert_eq!(pauses, [200, 400, 800, 1600, 3000, 3000]);
        pace.call(now);
        pace.answered(now, Wanted::Nothing);
        assert_eq!(pace.deadline(), Some(now + MS(3000)));
    }

    #[test]
    fn new_demand_wakes_it_but_never_sooner_than_an_initial_pause_after_the_last_call() {
        let mut pace = pace(Wanted::Nothing);
        assert_eq!(pace.deadline(), Some(at(4000)));
        pace.wake(at(1050));
        assert_eq!(pace.deadline(), Some(at(1200)));
        pace.call(at(1200));
        pace.answered(at(1210), Wanted::Nothing);
        pace.wake(at(3000));
        assert_eq!(pace.deadline(), Some(at(3000)));
        // New demand that comes during a call is remembered.
        pace.call(at(3000));
        pace.wake(at(3001));
        pace.answered(at(3002), Wanted::Something);
        assert_eq!(pace.deadline(), Some(at(3200)));
    }

    #[test]
    fn asleep_it_is_not_woken() {
        let mut pace = Pace::new(MS(100), MS(200));
        pace.wake(at(5));
        assert_eq!((pace.deadline(), pace.is_due(at(9))), (None, false));
        pace.start(at(5));
        pace.call(at(5));
        assert!(pace.is_called());
        pace.answered(at(6), Wanted::Something);
        assert_eq!(pace.deadline(), Some(at(106)), "no pause is longer than a heartbeat");
        pace.stop();
        assert_eq!(pace.deadline(), None);
    }
}
