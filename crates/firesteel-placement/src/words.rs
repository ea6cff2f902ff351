//! Counts, durations and lists in English sentences, for all user-facing text.

use std::time::Duration;

use super::resources::amount::WHOLE;
use crate::Quantity;

/// `executor` for one, `executors` for any other number.
#[must_use]
pub fn noun(number: impl TryInto<i128>, singular: &str) -> String {
    match number.try_into() {
        Ok(1) => singular.to_owned(),
        Ok(_) | Err(_) => format!("{singular}s"),
    }
}

/// `0 executors`, `1 executor`, `8 executors`.
#[must_use]
pub fn counted(number: impl TryInto<i128> + Copy, singular: &str) -> String {
    format!("{} {}", number.try_into().unwrap_or(i128::MAX), noun(number, singular))
}

/// `no core`, `1 core`, `8 cores`. A negative number counts as 0.
#[must_use]
pub fn none_or(number: impl TryInto<i128> + Copy, singular: &str) -> String {
    match number.try_into() {
        Ok(..=0) => format!("no {singular}"),
        Ok(_) | Err(_) => counted(number, singular),
    }
}

/// `no gpu`, `1 gpu`, `2 gpus`, `0.25 gpu`, `1.5 gpus`: a quantity of a custom resource.
#[must_use]
pub fn of_resource(quantity: impl Into<Quantity>, name: &str) -> String {
    let quantity = quantity.into();
    match quantity.thousandths() {
        0 => format!("no {name}"),
        1..=WHOLE => format!("{quantity} {name}"),
        _ => format!("{quantity} {name}s"),
    }
}

/// `is` for one, `are` for any other number.
#[must_use]
pub fn are(number: impl TryInto<i128>) -> &'static str {
    match number.try_into() {
        Ok(1) => "is",
        Ok(_) | Err(_) => "are",
    }
}

/// `has` for one, `have` for any other number.
#[must_use]
pub fn have(number: impl TryInto<i128>) -> &'static str {
    match number.try_into() {
        Ok(1) => "has",
        Ok(_) | Err(_) => "have",
    }
}

/// `a`, `a and b`, `a, b and c`. Empty for no parts.
#[must_use]
pub fn list(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// `a`, `a or b`, `a, b or c`. Empty for no parts.
#[must_use]
pub fn choice(parts: &[&str]) -> String {
    match parts {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// A duration for people: `35 ms`, `1.2 s`, `12 s`, `3 m 12 s`, `2 h 5 m`, `9 d 4 h`.
#[must_use]
pub fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0 => format!("{} ms", duration.subsec_millis()),
        1..=9 => format!("{}.{} s", seconds, duration.subsec_millis() / 100),
        10..=59 => format!("{seconds} s"),
        60..=3599 => format!("{} m {} s", seconds / 60, seconds % 60),
        3600..=86_399 => format!("{} h {} m", seconds / 3600, seconds / 60 % 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds / 3600 % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_lists_are_english() {
        let all = |number: i64| {
            let [none_or, counted] = [none_or, counted].map(|words| words(number, "core"));
            [none_or, counted, format!("{} {}", have(number), are(number))]
        };
        assert_eq!(all(0), ["no core", "0 cores", "have are"]);
        assert_eq!(all(1), ["1 core", "1 core", "has is"]);
        assert_eq!(all(8), ["8 cores", "8 cores", "have are"]);
        assert_eq!(none_or(-3, "core"), "no core");
        assert_eq!(counted(u64::MAX, "byte"), "18446744073709551615 bytes");
        let parts: Vec<String> = ["a", "b", "c"].map(str::to_owned).into();
        assert_eq!([0, 1, 2, 3].map(|length| list(&parts[..length])), ["", "a", "a and b", "a, b and c"]);
    }

    #[test]
    fn durations_have_two_units_at_most() {
        for (millis, words) in [
            (0, "0 ms"),
            (450, "450 ms"),
            (1_250, "1.2 s"),
            (9_999, "9.9 s"),
            (10_000, "10 s"),
            (192_000, "3 m 12 s"),
            (7_500_000, "2 h 5 m"),
            (792_000_000, "9 d 4 h"),
        ] {
            assert_eq!(duration(Duration::from_millis(millis)), words);
        }
    }
}
