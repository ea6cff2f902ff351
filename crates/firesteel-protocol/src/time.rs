//! Points in time, and the format of the date in ids.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A point in time, in milliseconds since 1970-01-01 00:00 UTC. A daemon reads the wall clock once at its start and
/// then adds a monotonic clock, so time never goes back. The simulator has its own clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(u64);

impl Timestamp {
    /// A time that never comes.
    pub const MAX: Self = Self(u64::MAX);

    /// The point in time this many milliseconds after the epoch.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    #[must_use]
    pub const fn millis(self) -> u64 {
        self.0
    }

    /// Reads a time with its offset from UTC, as RFC 3339 has it: `2026-12-24T18:00Z`. `None`: it is no such time, or
    /// before 1970.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let instant: jiff::Timestamp = text.parse().ok()?;
        instant.as_millisecond().try_into().ok().map(Self)
    }

    /// The time that has passed since `earlier`, or zero if `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }

    /// Formats the time in UTC as `yyyyMMddHHmmss`, for the ids of applications and Workers. Spark writes local time,
    /// but UTC is the same on every machine.
    #[must_use]
    pub fn compact(self) -> String {
        self.instant().strftime("%Y%m%d%H%M%S").to_string()
    }

    /// Formats the time in UTC as Java writes a date: `Fri Nov 20 21:22:35 UTC 2026`.
    #[must_use]
    pub fn java_date(self) -> String {
        self.instant().strftime("%a %b %d %H:%M:%S UTC %Y").to_string()
    }

    fn instant(self) -> jiff::Timestamp {
        let millis = i64::try_from(self.0).unwrap_or(i64::MAX);
        jiff::Timestamp::from_millisecond(millis).unwrap_or(jiff::Timestamp::MAX)
    }
}

/// Formats the time as RFC 3339 in UTC, to the millisecond.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{:.3}", self.instant()))
    }
}

impl Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(millis(duration)))
    }
}

impl Sub<Duration> for Timestamp {
    type Output = Self;

    fn sub(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(millis(duration)))
    }
}

/// The whole milliseconds of a duration, at most `u64::MAX`.
#[must_use]
pub fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Doubles the first delay this number of times. The result is at most `longest`.
pub fn doubled(first: Duration, doublings: u32, longest: Duration) -> Duration {
    first.saturating_mul(2_u32.saturating_pow(doublings)).min(longest)
}

/// The first entry of a table that is ordered by time, if its time has come.
pub fn first_due<T: Clone + Ord>(table: &BTreeSet<(Timestamp, T)>, now: Timestamp) -> Option<T> {
    table.first().filter(|(time, _)| *time <= now).map(|(_, entry)| entry.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_carry_the_calendar_in_utc() {
        let time = Timestamp::from_millis(1_795_209_755_042);
        assert_eq!(time.compact(), "20261120212235");
        assert_eq!(time.to_string(), "2026-11-20T21:22:35.042Z");
        assert_eq!(time.java_date(), "Fri Nov 20 21:22:35 UTC 2026");
    }

    #[test]
    fn a_time_is_read_with_its_offset_from_utc() {
        let evening = Timestamp::from_millis(1_798_135_200_000);
        for text in ["2026-12-24T18:00Z", "2026-12-24T18:00:00.000Z", "2026-12-24T19:00+01:00"] {
            assert_eq!(Timestamp::parse(text), Some(evening), "{text}");
        }
        for text in ["", "2026-12-24", "2026-12-24T18:00", "18:00Z", "tomorrow", "1969-12-24T18:00Z", "7d"] {
            assert_eq!(Timestamp::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_delay_doubles_up_to_its_bound() {
        let [first, longest] = [1, 60].map(Duration::from_secs);
        let seconds = (0..8).map(|doublings| doubled(first, doublings, longest).as_secs());
        assert_eq!(seconds.collect::<Vec<_>>(), [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(doubled(first, u32::MAX, longest), longest);
    }

    #[test]
    fn arithmetic_stops_at_the_ends() {
        let end = Timestamp::from_millis(u64::MAX);
        assert_eq!(end + Duration::from_secs(1), end);
        assert_eq!(Timestamp::default() - Duration::from_secs(1), Timestamp::default());
        assert_eq!(Timestamp::default().since(end), Duration::ZERO);
        assert!(end.compact().starts_with("9999"));
    }
}
