//! When a peer last sent something, and when its silence is excused.

use std::time::Duration;

use crate::time::Timestamp;

/// If a deadline is handled later than this, the own machine was suspended or is overloaded.
pub const LATE: Duration = Duration::from_millis(100);

/// When a peer last sent a message. The peer counts as silent once a timeout has passed since then. If the receiving
/// machine was late itself, the peer's messages may still be unread. Then the silence is excused once: the timeout
/// starts again.
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

    /// When the peer counts as silent, unless a message comes before.
    pub fn silent_at(self, timeout: Duration) -> Timestamp {
        self.excused.unwrap_or(self.heard) + timeout
    }

    /// Starts the timeout again. Returns `false` if it was already started again since the peer's last message.
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
