//! How far the Master is behind in handling messages.

use std::time::Duration;

use firesteel_protocol::time::Timestamp;

use super::Note;

/// If messages wait for longer than this, the Master is behind, and logs this.
const BEHIND: Duration = Duration::from_secs(1);

/// The minimum time between two log lines that the Master is behind.
const PAUSE: Duration = Duration::from_secs(60);

/// How far a Master is behind: the longest time that a message of a Worker or driver had waited when it was handled.
/// The value shrinks as time passes. For example, a message that had waited for 3 s counts for 3 s.
#[derive(Debug, Default)]
pub(crate) struct Lag {
    /// How long the message that counts had waited. `handled` is when it was handled.
    waited: Duration,
    handled: Timestamp,
    /// `None`: the Master is not behind. Otherwise: when this was last logged, and the longest time that a message has
    /// waited since the Master fell behind.
    said: Option<(Timestamp, Duration)>,
}

impl Lag {
    pub(crate) fn at(&self, now: Timestamp) -> Duration {
        self.waited.saturating_sub(now.since(self.handled))
    }

    /// Records a message that arrived at `arrived` and is handled now. Returns the note to log, if any.
    pub(crate) fn record(&mut self, now: Timestamp, arrived: Timestamp) -> Option<Note> {
        let waited = now.since(arrived);
        if waited >= self.at(now) {
            (self.waited, self.handled) = (waited, now);
        }
        let lag = self.at(now);
        let before = self.said.take();
        if lag <= BEHIND {
            return before.map(|(_, longest)| Note::CaughtUp { longest });
        }
        let longest = before.map_or(lag, |(_, longest)| longest.max(lag));
        match before {
            Some((said, _)) if now.since(said) < PAUSE => {
                self.said = Some((said, longest));
                None
            }
            Some(_) | None => {
                self.said = Some((now, longest));
                Some(Note::Behind { lag })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(n: u64) -> Timestamp {
        Timestamp::from_millis(n * 1000)
    }

    fn behind(seconds: u64) -> Option<Note> {
        Some(Note::Behind { lag: Duration::from_secs(seconds) })
    }

    #[test]
    fn a_master_says_once_a_minute_that_it_is_behind_and_once_that_it_is_not() {
        let mut lag = Lag::default();
        assert_eq!(lag.record(seconds(100), seconds(99)), None, "a second is no lag");
        assert_eq!(lag.record(seconds(110), seconds(107)), behind(3));
        assert_eq!(lag.record(seconds(111), seconds(111)), None, "what waited at its side may wait still");
        assert_eq!(lag.at(seconds(111)), Duration::from_secs(2));
        assert_eq!(lag.record(seconds(140), seconds(130)), None, "it was said half a minute ago");
        assert_eq!(lag.record(seconds(170), seconds(165)), behind(5));
        assert_eq!(
            lag.record(seconds(174), seconds(174)),
            Some(Note::CaughtUp { longest: Duration::from_secs(10) })
        );
        assert_eq!(lag.record(seconds(175), seconds(175)), None);
        assert_eq!(lag.at(seconds(175)), Duration::ZERO);
    }
}
