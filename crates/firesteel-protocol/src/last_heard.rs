//! When somebody was last heard, and when their silence is excused.

use std::time::Duration;

use crate::time::Timestamp;

/// A deadline that is noticed later than this says that the machine stood still, or has more to do than it can.
pub const LATE: Duration = Duration::from_millis(100);

/// When somebody was last heard. They are silent when a timeout has passed since. A machine that was late itself may not
/// have read yet what they sent, so it excuses one silence: their time begins again, once.
#[derive(Clone, Copy, Debug)]
pub struct LastHeard {
    heard: Timestamp,
    excused: Option<Timestamp>,
}

impl LastHeard {
    pub fn at(heard: Timestamp) -> Self {
        Self { heard, excused: None }
    }

    pub fn time(self) -> Timestamp {
        self.heard
    }

    /// When they are silent, unless they are heard before.
    pub fn silent_at(self, timeout: Duration) -> Timestamp {
        self.excused.unwrap_or(self.heard) + timeout
    }

    /// Begins their time again. Returns `false` if that was done already since they were last heard.
    pub fn excuse(&mut self, now: Timestamp) -> bool {
        let is_first = self.excused.is_none();
        if is_first {
            self.excused = Some(now);
        }
        is_first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_silence_is_excused_until_they_are_heard_again() {
        let second = |n: u64| Timestamp::from_millis(n * 1000);
        let timeout = Duration::from_secs(10);
        let mut last = LastHeard::at(second(1));
        assert_eq!(last.silent_at(timeout), second(11));
        assert!(last.excuse(second(20)));
        assert_eq!((last.time(), last.silent_at(timeout)), (second(1), second(30)));
        assert!(!last.excuse(second(40)), "not twice");
        assert_eq!(last.silent_at(timeout), second(30));
        last = LastHeard::at(second(41));
        assert!(last.excuse(second(60)));
    }
}
