//! How a Worker rolls its executors' logs, out of properties.

use std::fmt;

use super::{Properties, SettingError, keys};
use crate::settings::size::{self, Unit};
use crate::worker::log::Rolling;
use crate::worker::log::rolling::{Compression, LEAST_SECONDS, LEAST_SIZE, Period, Policy};

/// A value for which nothing is rolled. Source: Spark Worker, 4.0.1, which goes on without rolling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotRolled {
    key: &'static str,
    value: String,
    expected: &'static str,
}

impl fmt::Display for NotRolled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, value, expected } = self;
        write!(f, "executors' logs are not rolled: {key} cannot be {value:?}: write {expected}")
    }
}

/// How logs are rolled; `None`: they are not. The second is a word of warning.
///
/// # Errors
/// A number of files, or whether they are compressed, that cannot be read.
pub fn of(properties: &Properties) -> Result<(Option<Rolling>, Option<NotRolled>), SettingError> {
    let expected = "-1 for all, or how many";
    let number = |text: &str| text.parse::<i32>().ok();
    let retained = properties.read(keys::ROLLING_RETAINED, expected, number)?;
    let compressed = properties.boolean(keys::ROLLING_COMPRESSION)?.unwrap_or(false);
    let policy = match policy(properties) {
        Ok(Some(policy)) => policy,
        Ok(None) => return Ok((None, None)),
        Err(warning) => return Ok((None, Some(warning))),
    };
    let retained = retained.and_then(|number| u32::try_from(number).ok()).filter(|number| *number > 0);
    let compression = if compressed { Compression::Gzip } else { Compression::Off };
    Ok((Some(Rolling { policy, retained, compression }), None))
}

fn policy(properties: &Properties) -> Result<Option<Policy>, NotRolled> {
    let illegal = |key, expected| {
        let value = properties.get(key).unwrap_or_default().to_owned();
        Err(NotRolled { key, value, expected })
    };
    match properties.get(keys::ROLLING_STRATEGY).unwrap_or_default() {
        "" | "none" => Ok(None),
        "time" => match properties.get(keys::ROLLING_INTERVAL).unwrap_or("daily") {
            "daily" => Ok(Some(Policy::ByTime(Period::Daily))),
            "hourly" => Ok(Some(Policy::ByTime(Period::Hourly))),
            "minutely" => Ok(Some(Policy::ByTime(Period::Minutely))),
            text => match text.parse::<u64>() {
                Ok(seconds) => Ok(Some(Policy::ByTime(Period::Seconds(seconds.max(LEAST_SECONDS))))),
                Err(_) => illegal(keys::ROLLING_INTERVAL, "daily, hourly, minutely or seconds"),
            },
        },
        "size" => match size::bytes(properties.get(keys::ROLLING_SIZE).unwrap_or("1048576"), Unit::Bytes) {
            Ok(bytes) => Ok(Some(Policy::BySize(bytes.max(LEAST_SIZE)))),
            Err(_) => illegal(keys::ROLLING_SIZE, "a number of bytes, or a size such as 10m"),
        },
        _ => illegal(keys::ROLLING_STRATEGY, "time or size, or nothing"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(pairs: &[&str]) -> Result<(Option<Rolling>, Option<NotRolled>), SettingError> {
        let pairs: Vec<String> =
            pairs.iter().map(|pair| format!("spark.executor.logs.rolling.{pair}")).collect();
        of(&Properties::parse(pairs.iter().map(String::as_str)).expect("they are pairs"))
    }

    #[test]
    fn every_strategy_has_sparks_defaults() {
        let keep_all = |policy| Some(Rolling { policy, retained: None, compression: Compression::Off });
        for (pairs, rolling) in [
            (&[][..], None),
            (&["strategy="], None),
            (&["maxSize=9"], None),
            (&["strategy=time"], keep_all(Policy::ByTime(Period::Daily))),
            (&["strategy=time", "time.interval=minutely"], keep_all(Policy::ByTime(Period::Minutely))),
            (&["strategy=time", "time.interval=90"], keep_all(Policy::ByTime(Period::Seconds(90)))),
            (&["strategy=time", "time.interval=1"], keep_all(Policy::ByTime(Period::Seconds(60)))),
            (&["strategy=size", "maxRetainedFiles=0"], keep_all(Policy::BySize(1 << 20))),
            (&["strategy=size", "maxSize=1"], keep_all(Policy::BySize(81_920))),
            (&["strategy=size", "maxSize=2m", "maxRetainedFiles=-1"], keep_all(Policy::BySize(2 << 20))),
        ] {
            assert_eq!(parsed(pairs), Ok((rolling, None)), "{pairs:?}");
        }
        let all = ["strategy=size", "maxRetainedFiles=3", "enableCompression=true"];
        let policy = Policy::BySize(1 << 20);
        let rolling = Rolling { policy, retained: Some(3), compression: Compression::Gzip };
        assert_eq!(parsed(&all), Ok((Some(rolling), None)));
    }

    #[test]
    fn illegal_values_are_a_warning_and_nothing_is_rolled() {
        for (pairs, words) in [
            (&["strategy=weekly"][..], "strategy cannot be \"weekly\": write time or size"),
            (&["strategy=time", "time.interval=weekly"], "time.interval cannot be \"weekly\": write daily"),
            (&["strategy=size", "maxSize=lots"], "maxSize cannot be \"lots\": write a number of bytes"),
        ] {
            let (rolling, warning) = parsed(pairs).expect("it is only a warning");
            assert_eq!(rolling, None, "{pairs:?}");
            let warning = warning.expect("there is a warning").to_string();
            assert!(
                warning.starts_with("executors' logs are not rolled") && warning.contains(words),
                "{warning}"
            );
        }
        assert!(parsed(&["maxRetainedFiles=many"]).is_err());
        assert!(parsed(&["enableCompression=perhaps"]).is_err());
    }
}
