//! When a peer was last heard, and when its silence is excused.

use std::time::Duration;

use crate::time::Timestamp;

/// A deadline that is handled later than this shows that the machine stood still or is overloaded.
pub const LATE: Duration = Duration::from_millis(100);

/// When a peer was last heard. The peer counts as silent once a timeout has passed since then. A machine that was late
/// itself may not have read the peer's messages yet. So it excuses one silence: the timeout starts again, once.
#[derive(Clone, Copy, Debug)]
pub struct LastSeen {
    heard: Timestamp,
    excused: Option<Timestamp>,
}

impl LastSeen {
    pub fn at(heard: Timestamp) -> Self {
        Self { heard, excused: None }
    }

    pub fn time(self) -> Timestamp {
        self.heard
    }

    /// When the peer counts as silent, unless it is heard before.
    pub fn silent_at(self, timeout: Duration) -> Timestamp {
        self.excused.unwrap_or(self.heard) + timeout
    }

    /// Starts the timeout again. Returns `false` if that was done already since the peer was last heard.
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
        let mut last = LastSeen::at(second(1));
        assert_eq!(last.silent_at(timeout), second(11));
        assert!(last.excuse(second(20)));
        assert_eq!((last.time(), last.silent_at(timeout)), (second(1), second(30)));
        assert!(!last.excuse(second(40)), "not twice");
        assert_eq!(last.silent_at(timeout), second(30));
        last = LastSeen::at(second(41));
        assert!(last.excuse(second(60)));
    }
}
