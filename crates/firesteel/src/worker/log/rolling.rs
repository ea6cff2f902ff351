//! When a log goes on in another file, and what the old one is called.

use std::time::Duration;

use firesteel_core::Timestamp;

use super::segments::in_order;

/// How logs are rolled. Source: Spark Worker, 4.0.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rolling {
    /// When.
    pub policy: Policy,
    /// How many rolled files of a log are kept; `None`: all.
    pub retained: Option<u32>,
    /// What becomes of them.
    pub compression: Compression,
}

/// When a log goes on in another file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// With the first output of each period; periods are counted from 1970-01-01 00:00 UTC.
    ByTime(Period),
    /// Before a file would be longer than so many bytes, at least [`LEAST_SIZE`].
    BySize(u64),
}

/// How long one file is written by the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// A day.
    Daily,
    /// An hour.
    Hourly,
    /// A minute.
    Minutely,
    /// So many seconds, at least [`LEAST_SECONDS`].
    Seconds(u64),
}

/// Whether rolled files are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// They stay as they are.
    Off,
    /// With gzip.
    Gzip,
}

/// The least size; less is taken for this. Source: Spark, 4.0.1.
pub const LEAST_SIZE: u64 = 81_920;
/// The shortest period in seconds; less is taken for this. Source: Spark, 4.0.1.
pub const LEAST_SECONDS: u64 = 60;

impl Policy {
    /// When the period that `now` is in is over; `None` if time does not matter.
    #[must_use]
    pub fn next(self, now: Timestamp) -> Option<Timestamp> {
        match self {
            Self::ByTime(period) => {
                let millis = u64::try_from(period.length().as_millis()).unwrap_or(u64::MAX).max(1);
                let next = (now.millis() / millis).saturating_add(1).saturating_mul(millis);
                Some(Timestamp::from_millis(next))
            }
            Self::BySize(_) => None,
        }
    }

    /// What a file that is rolled now is called behind the log's name: `--2026-11-21--09` by the hour. The calendar
    /// is UTC's; Spark's is local.
    #[must_use]
    pub fn suffix(self, now: Timestamp) -> String {
        let text = now.compact();
        let [day, hour, minute, second] = [
            format!("--{}-{}-{}", &text[..4], &text[4..6], &text[6..8]),
            text[8..10].into(),
            text[10..12].into(),
            text[12..14].into(),
        ];
        match self {
            Self::ByTime(Period::Daily) => day,
            Self::ByTime(Period::Hourly) => format!("{day}--{hour}"),
            Self::ByTime(Period::Minutely) => format!("{day}--{hour}-{minute}"),
            Self::ByTime(Period::Seconds(_)) => format!("{day}--{hour}-{minute}-{second}"),
            Self::BySize(_) => format!("{day}--{hour}-{minute}-{second}--{:04}", now.millis() % 1000),
        }
    }
}

impl Period {
    fn length(self) -> Duration {
        Duration::from_secs(match self {
            Self::Daily => 86_400,
            Self::Hourly => 3_600,
            Self::Minutely => 60,
            Self::Seconds(seconds) => seconds,
        })
    }
}

/// The names of a log's rolled files: each comes after all before it in the order of [`in_order`], also when the
/// clock was set back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Names {
    active: &'static str,
    last: Option<Name>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Name {
    base: String,
    /// Files that have taken the name itself before.
    clashes: Option<u32>,
}

impl Name {
    fn text(&self) -> String {
        match self.clashes {
            None => self.base.clone(),
            Some(number) => format!("{}--{number}", self.base),
        }
    }
}

impl Names {
    /// Names after `last`, the last of those that are taken.
    pub(super) fn after(active: &'static str, last: Option<String>) -> Self {
        Self { active, last: last.map(|base| Name { base, clashes: None }) }
    }

    /// The name of a file that is rolled now.
    pub(super) fn next(&mut self, suffix: &str) -> String {
        let wish = format!("{}{suffix}", self.active);
        let name = match self.last.take() {
            Some(Name { base, clashes }) if in_order(&wish, &base).is_le() => {
                Name { base, clashes: Some(clashes.map_or(0, |number| number + 1)) }
            }
            Some(_) | None => Name { base: wish, clashes: None },
        };
        let text = name.text();
        self.last = Some(name);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-20 21:22:35.042 UTC.
    const TIME: Timestamp = Timestamp::from_millis(1_795_209_755_042);

    #[test]
    fn a_period_ends_where_the_clocks_next_one_begins() {
        for (period, end) in [
            (Period::Daily, "2026-11-21T00:00:00.000Z"),
            (Period::Hourly, "2026-11-20T22:00:00.000Z"),
            (Period::Minutely, "2026-11-20T21:23:00.000Z"),
            (Period::Seconds(90), "2026-11-20T21:24:00.000Z"),
        ] {
            let next = Policy::ByTime(period).next(TIME).expect("time matters");
            assert_eq!(next.to_string(), end, "{period:?}");
            assert!(Policy::ByTime(period).next(next).is_some_and(|later| later > next));
        }
        assert_eq!(Policy::BySize(LEAST_SIZE).next(TIME), None);
    }

    #[test]
    fn rolled_files_are_called_by_their_time() {
        for (policy, suffix) in [
            (Policy::ByTime(Period::Daily), "--2026-11-20"),
            (Policy::ByTime(Period::Hourly), "--2026-11-20--21"),
            (Policy::ByTime(Period::Minutely), "--2026-11-20--21-22"),
            (Policy::ByTime(Period::Seconds(90)), "--2026-11-20--21-22-35"),
            (Policy::BySize(LEAST_SIZE), "--2026-11-20--21-22-35--0042"),
        ] {
            assert_eq!(policy.suffix(TIME), suffix);
        }
    }

    #[test]
    fn a_name_that_is_taken_or_comes_too_late_gets_a_number() {
        let mut names = Names::after("stdout", Some("stdout--2026-11-20".to_owned()));
        let mut taken = Vec::new();
        for suffix in
            ["--2026-11-20", "--2026-11-20", "--2026-11-21", "--2026-11-19", "--2026-11-21", "--2026-11-22"]
        {
            taken.push(names.next(suffix));
        }
        let expected = [
            "stdout--2026-11-20--0",
            "stdout--2026-11-20--1",
            "stdout--2026-11-21",
            "stdout--2026-11-21--0",
            "stdout--2026-11-21--1",
            "stdout--2026-11-22",
        ];
        assert_eq!(taken, expected);
        assert!(taken.is_sorted_by(|a, b| in_order(a, b).is_lt()));
    }
}
