//! Moments of a clock that all processes of this bench share.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const DAY: u64 = 86_400_000_000;

/// A moment, in microseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(u64);

impl Moment {
    pub(crate) fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is set");
        Self(u64::try_from(since.as_micros()).expect("it is not that late"))
    }

    /// Parses a moment that [`Display`](fmt::Display) wrote.
    pub(crate) fn read(digits: &str) -> Self {
        Self(digits.parse().expect("a moment is a number"))
    }

    /// The first moment from `after` on at this time of day, `HH:MM:SS.mmm` in UTC.
    pub(crate) fn of_day(time: &str, after: Self) -> Self {
        let field = |from, to| time.get(from..to).and_then(|digits| digits.parse::<u64>().ok());
        let fields = [field(0, 2), field(3, 5), field(6, 8), field(9, 12)];
        let [Some(hours), Some(minutes), Some(seconds), Some(millis)] = fields else {
            panic!("{time} is no time of day")
        };
        let of_day = ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + millis * 1_000;
        // The log's times have millisecond precision.
        let least = after.0 - after.0 % 1_000;
        Self(least + (of_day + DAY - least % DAY) % DAY)
    }

    /// The time since an earlier moment, in seconds.
    pub(crate) fn since(self, earlier: Self) -> f64 {
        Duration::from_micros(self.0.saturating_sub(earlier.0)).as_secs_f64()
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
