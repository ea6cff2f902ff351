//! Durations as text: `10s`, `500ms`, `1min`.

use std::time::Duration;

/// The unit that is assumed for a number without a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Millis,
    Seconds,
}

/// The accepted syntax of a duration, for error messages.
pub const EXPECTED: &str = "a whole number with a unit (us, ms, s, m or min, h, d), such as 500ms or 10s";

/// Parses a duration such as `10s`, `1min`, `500ms`. A number without a unit counts `plain` units. `None` if the text
/// has another form, is negative, or is too large.
///
/// Source: Spark 4.0.1.
#[must_use]
pub fn parse(text: &str, plain: Unit) -> Option<Duration> {
    let text = text.trim();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, suffix) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let seconds = |factor| number.checked_mul(factor).map(Duration::from_secs);
    match suffix.trim_start().to_ascii_lowercase().as_str() {
        "" => match plain {
            Unit::Millis => Some(Duration::from_millis(number)),
            Unit::Seconds => seconds(1),
        },
        "us" => Some(Duration::from_micros(number)),
        "ms" => Some(Duration::from_millis(number)),
        "s" => seconds(1),
        "m" | "min" => seconds(60),
        "h" => seconds(3600),
        "d" => seconds(86_400),
        _ => None,
    }
}

/// Writes a duration in the syntax that [`parse`] reads: in seconds, in a smaller unit if the duration is not a whole
/// number of seconds, or in a larger unit if it is exact. Defaults of settings are written in this way.
#[must_use]
pub fn write(duration: Duration) -> String {
    let micros = duration.as_micros();
    let is_whole = |unit: u128| micros.is_multiple_of(unit);
    let in_minutes = duration.as_secs() > 60;
    match micros {
        0 => "0s".to_owned(),
        _ if !is_whole(1_000) => format!("{micros}us"),
        _ if !is_whole(1_000_000) => format!("{}ms", micros / 1_000),
        _ if in_minutes && is_whole(86_400_000_000) => format!("{}d", micros / 86_400_000_000),
        _ if in_minutes && is_whole(3_600_000_000) => format!("{}h", micros / 3_600_000_000),
        _ if in_minutes && is_whole(60_000_000) => format!("{}min", micros / 60_000_000),
        _ => format!("{}s", micros / 1_000_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for text in
            ["0s", "1us", "1500us", "1ms", "1500ms", "1s", "60s", "90s", "2min", "1h", "90min", "1d", "36h"]
        {
            assert_eq!(parse(text, Unit::Seconds).map(write).as_deref(), Some(text));
        }
    }

    #[test]
    fn durations_are_read_as_spark_reads_them() {
        let seconds = Duration::from_secs;
        for (text, expected) in [
            ("10", seconds(10)),
            ("10s", seconds(10)),
            ("500ms", Duration::from_millis(500)),
            ("7us", Duration::from_micros(7)),
            ("1min", seconds(60)),
            ("2M", seconds(120)),
            ("1 h", seconds(3600)),
            ("1d", seconds(86_400)),
        ] {
            assert_eq!(parse(text, Unit::Seconds), Some(expected), "{text:?}");
        }
        assert_eq!(parse("10", Unit::Millis), Some(Duration::from_millis(10)));
    }

    #[test]
    fn malformed_durations_are_refused() {
        for text in ["", "s", "-1s", "1.5s", "1week", "99999999999999999999s", "18446744073709551615d"] {
            assert_eq!(parse(text, Unit::Seconds), None, "{text:?}");
        }
    }
}
