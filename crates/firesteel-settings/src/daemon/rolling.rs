//! The settings for rolling executors' logs, from a Worker's properties.

use std::fmt;
use std::time::Duration;

use firesteel_protocol::Timestamp;

use crate::values::size::{self, Unit};
use crate::{Properties, SettingError, keys};

/// How logs are rolled. Source: Spark Worker, 4.0.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rolling {
    pub strategy: Strategy,
    /// The number of rolled files to keep for each log. `None`: all files are kept.
    pub retained: Option<u32>,
    pub compression: Compression,
}

/// When a log is continued in a new file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// With the first output of each period, a new file begins. Periods are counted from 1970-01-01 00:00 UTC.
    ByTime(Period),
    /// Before a file would exceed this number of bytes, a new file begins. The number is at least [`LEAST_SIZE`].
    BySize(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    Daily,
    Hourly,
    Minutely,
    /// A period of this number of seconds, at least [`LEAST_SECONDS`].
    Seconds(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    Off,
    Gzip,
}

/// The minimum size; smaller values are raised to it. Source: Spark, 4.0.1.
pub const LEAST_SIZE: u64 = 81_920;
/// The minimum period in seconds; smaller values are raised to it. Source: Spark, 4.0.1.
pub const LEAST_SECONDS: u64 = 60;

/// An unusable value, because of which logs are not rolled. Source: Spark Worker, 4.0.1, which continues without
/// rolling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotRolled {
    key: &'static str,
    value: String,
    expected: &'static str,
}

impl fmt::Display for NotRolled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, value, expected } = self;
        write!(f, "not rolling logs of executors: {key} cannot be {value:?}: write {expected}")
    }
}

/// How logs are rolled, or `None` if they are not rolled. The second value is a warning.
///
/// # Errors
///
/// The number of files or the compression cannot be parsed.
pub fn of(properties: &Properties) -> Result<(Option<Rolling>, Option<NotRolled>), SettingError> {
    let expected = "-1 (all) or a whole number";
    let number = |text: &str| text.parse::<i32>().ok();
    let retained = properties.read(keys::ROLLING_RETAINED, expected, number)?;
    let compressed = properties.boolean(keys::ROLLING_COMPRESSION)?.unwrap_or(false);
    let strategy = match strategy(properties) {
        Ok(Some(strategy)) => strategy,
        Ok(None) => return Ok((None, None)),
        Err(warning) => return Ok((None, Some(warning))),
    };
    let retained = retained.and_then(|number| u32::try_from(number).ok()).filter(|number| *number > 0);
    let compression = if compressed { Compression::Gzip } else { Compression::Off };
    Ok((Some(Rolling { strategy, retained, compression }), None))
}

fn strategy(properties: &Properties) -> Result<Option<Strategy>, NotRolled> {
    let illegal = |key, expected| {
        let value = properties.get(key).unwrap_or_default().to_owned();
        Err(NotRolled { key, value, expected })
    };
    match properties.get(keys::ROLLING_STRATEGY).unwrap_or_default() {
        "" | "none" => Ok(None),
        "time" => match properties.get(keys::ROLLING_INTERVAL).unwrap_or("daily") {
            "daily" => Ok(Some(Strategy::ByTime(Period::Daily))),
            "hourly" => Ok(Some(Strategy::ByTime(Period::Hourly))),
            "minutely" => Ok(Some(Strategy::ByTime(Period::Minutely))),
            text => match text.parse::<u64>() {
                Ok(seconds) => Ok(Some(Strategy::ByTime(Period::Seconds(seconds.max(LEAST_SECONDS))))),
                Err(_) => illegal(keys::ROLLING_INTERVAL, "daily, hourly, minutely or seconds"),
            },
        },
        "size" => match size::bytes(properties.get(keys::ROLLING_SIZE).unwrap_or("1048576"), Unit::Bytes) {
            Ok(bytes) => Ok(Some(Strategy::BySize(bytes.max(LEAST_SIZE)))),
            Err(_) => illegal(keys::ROLLING_SIZE, "a number of bytes, or a size such as 10m"),
        },
        _ => illegal(keys::ROLLING_STRATEGY, "time, size or nothing"),
    }
}

impl Strategy {
    /// The end of the period that contains `now`; `None` if logs are not rolled by time.
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

    /// The suffix of a file that is rolled now: `--2026-11-21--09` for hourly files. The time is in UTC; Spark uses
    /// local time.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The time 2026-11-20 21:22:35.042 UTC.
    const TIME: Timestamp = Timestamp::from_millis(1_795_209_755_042);

    #[test]
    fn a_period_ends_where_the_clocks_next_one_begins() {
        for (period, end) in [
            (Period::Daily, "2026-11-21T00:00:00.000Z"),
            (Period::Hourly, "2026-11-20T22:00:00.000Z"),
            (Period::Minutely, "2026-11-20T21:23:00.000Z"),
            (Period::Seconds(90), "2026-11-20T21:24:00.000Z"),
        ] {
            let next = Strategy::ByTime(period).next(TIME).expect("time matters");
            assert_eq!(next.to_string(), end, "{period:?}");
            assert!(Strategy::ByTime(period).next(next).is_some_and(|later| later > next));
        }
        assert_eq!(Strategy::BySize(LEAST_SIZE).next(TIME), None);
    }

    #[test]
    fn rolled_files_are_called_by_their_time() {
        for (strategy, suffix) in [
            (Strategy::ByTime(Period::Daily), "--2026-11-20"),
            (Strategy::ByTime(Period::Hourly), "--2026-11-20--21"),
            (Strategy::ByTime(Period::Minutely), "--2026-11-20--21-22"),
            (Strategy::ByTime(Period::Seconds(90)), "--2026-11-20--21-22-35"),
            (Strategy::BySize(LEAST_SIZE), "--2026-11-20--21-22-35--0042"),
        ] {
            assert_eq!(strategy.suffix(TIME), suffix);
        }
    }

    fn parsed(pairs: &[&str]) -> Result<(Option<Rolling>, Option<NotRolled>), SettingError> {
        let pairs: Vec<String> =
            pairs.iter().map(|pair| format!("spark.executor.logs.rolling.{pair}")).collect();
        of(&Properties::parse(pairs.iter().map(String::as_str)).expect("they are pairs"))
    }

    #[test]
    fn every_strategy_has_sparks_defaults() {
        let keep_all = |strategy| Some(Rolling { strategy, retained: None, compression: Compression::Off });
        for (pairs, rolling) in [
            (&[][..], None),
            (&["strategy="], None),
            (&["maxSize=9"], None),
            (&["strategy=time"], keep_all(Strategy::ByTime(Period::Daily))),
            (&["strategy=time", "time.interval=minutely"], keep_all(Strategy::ByTime(Period::Minutely))),
            (&["strategy=time", "time.interval=90"], keep_all(Strategy::ByTime(Period::Seconds(90)))),
            (&["strategy=time", "time.interval=1"], keep_all(Strategy::ByTime(Period::Seconds(60)))),
            (&["strategy=size", "maxRetainedFiles=0"], keep_all(Strategy::BySize(1 << 20))),
            (&["strategy=size", "maxSize=1"], keep_all(Strategy::BySize(81_920))),
            (&["strategy=size", "maxSize=2m", "maxRetainedFiles=-1"], keep_all(Strategy::BySize(2 << 20))),
        ] {
            assert_eq!(parsed(pairs), Ok((rolling, None)), "{pairs:?}");
        }
        let all = ["strategy=size", "maxRetainedFiles=3", "enableCompression=true"];
        let strategy = Strategy::BySize(1 << 20);
        let rolling = Rolling { strategy, retained: Some(3), compression: Compression::Gzip };
        assert_eq!(parsed(&all), Ok((Some(rolling), None)));
    }

    #[test]
    fn illegal_values_are_a_warning_and_nothing_is_rolled() {
        for (pairs, words) in [
            (&["strategy=weekly"][..], "strategy cannot be \"weekly\": write time, size or nothing"),
            (&["strategy=time", "time.interval=weekly"], "time.interval cannot be \"weekly\": write daily"),
            (&["strategy=size", "maxSize=lots"], "maxSize cannot be \"lots\": write a number of bytes"),
        ] {
            let (rolling, warning) = parsed(pairs).expect("it is only a warning");
            assert_eq!(rolling, None, "{pairs:?}");
            let warning = warning.expect("there is a warning").to_string();
            assert!(
                warning.starts_with("not rolling logs of executors") && warning.contains(words),
                "{warning}"
            );
        }
        assert!(parsed(&["maxRetainedFiles=many"]).is_err());
        assert!(parsed(&["enableCompression=perhaps"]).is_err());
    }
}
