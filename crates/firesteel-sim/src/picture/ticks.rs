//! Round values for the ticks of axes, each with its name.

/// A value and its name.
pub type Tick = (f64, String);

/// Ticks are at most this many steps apart from one end of an even axis to the other.
const MOST: f64 = 6.0;
/// Round lengths of time: a number of units, the unit in seconds, and its name.
const TIMES: [(f64, f64, &str); 29] = [
    (1.0, 0.001, "ms"),
    (2.0, 0.001, "ms"),
    (5.0, 0.001, "ms"),
    (10.0, 0.001, "ms"),
    (20.0, 0.001, "ms"),
    (50.0, 0.001, "ms"),
    (100.0, 0.001, "ms"),
    (200.0, 0.001, "ms"),
    (500.0, 0.001, "ms"),
    (1.0, 1.0, "s"),
    (2.0, 1.0, "s"),
    (5.0, 1.0, "s"),
    (10.0, 1.0, "s"),
    (15.0, 1.0, "s"),
    (30.0, 1.0, "s"),
    (1.0, 60.0, "min"),
    (2.0, 60.0, "min"),
    (5.0, 60.0, "min"),
    (10.0, 60.0, "min"),
    (15.0, 60.0, "min"),
    (30.0, 60.0, "min"),
    (1.0, 3600.0, "h"),
    (2.0, 3600.0, "h"),
    (5.0, 3600.0, "h"),
    (10.0, 3600.0, "h"),
    (1.0, 86_400.0, "d"),
    (2.0, 86_400.0, "d"),
    (5.0, 86_400.0, "d"),
    (10.0, 86_400.0, "d"),
];

/// Ticks of an even axis of numbers: multiples of 1, 2, 2.5 or 5 times a power of ten.
#[must_use]
pub fn numbers(from: f64, to: f64, name: impl Fn(f64) -> String) -> Vec<Tick> {
    let rough = (to - from) / 4.0;
    let magnitude = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0].map(|factor| factor * magnitude);
    let step = step.into_iter().find(|step| *step >= rough * (1.0 - 1e-9)).unwrap_or(rough);
    multiples(step, from, to).map(|value| (value, name(value))).collect()
}

/// Ticks of an even axis of whole numbers from 0.
#[must_use]
pub fn counts(to: f64) -> Vec<Tick> {
    let ticks = numbers(0.0, to, |value| format!("{value:.0}"));
    ticks.into_iter().filter(|(value, _)| value.fract().abs() < 1e-9).collect()
}

/// Ticks of an even axis of shares, where 1 is `100%`.
#[must_use]
pub fn shares(from: f64, to: f64) -> Vec<Tick> {
    numbers(from, to, |share| format!("{}%", (share * 1e5).round() / 1e3))
}

/// Ticks of an even axis of times from 0 to `to` seconds, all in one unit: `0 s`, `15 s`, `30 s`.
#[must_use]
pub fn times(to: f64) -> Vec<Tick> {
    let found = TIMES.into_iter().find(|(count, unit, _)| count * unit * MOST >= to);
    let (count, unit, name) = found.unwrap_or_else(|| {
        let days = to / MOST / 86_400.0;
        (10_f64.powf(days.log10().ceil()), 86_400.0, "d")
    });
    multiples(count * unit, 0.0, to).map(|value| (value, format!("{:.0} {name}", value / unit))).collect()
}

/// Ticks of a logarithmic axis of times, in seconds. The most useful ones come first, since there may be no room for all.
#[must_use]
pub fn log_times(from: f64, to: f64) -> Vec<Tick> {
    let days = [20.0, 50.0, 100.0, 200.0, 500.0, 1_000.0, 10_000.0].map(|count| (count, 86_400.0, "d"));
    let all = TIMES.into_iter().chain(days);
    let within = all.filter(|(count, unit, _)| (from..=to).contains(&(count * unit)));
    let mut ticks: Vec<_> =
        within.map(|(count, unit, name)| (count, (count * unit, format!("{count} {name}")))).collect();
    let rank =
        |count: f64| [1.0, 10.0, 100.0, 1_000.0, 10_000.0, 30.0, 5.0].iter().position(|it| *it == count);
    ticks.sort_by_key(|(count, _)| match rank(*count) {
        Some(0..=4) => 0,
        Some(rank) => rank,
        None => usize::MAX,
    });
    ticks.into_iter().map(|(_, tick)| tick).collect()
}

/// Ticks of a logarithmic axis of shares: powers of ten from `from` to 1.
#[must_use]
pub fn log_shares(from: f64) -> Vec<Tick> {
    let decades = (1.0 / from).log10().floor().max(0.0) as i32;
    (0..=decades)
        .map(|decade| 10_f64.powi(-decade))
        .map(|share| (share, format!("{}%", share * 100.0)))
        .collect()
}

fn multiples(step: f64, from: f64, to: f64) -> impl Iterator<Item = f64> {
    let first = (from / step - 1e-9).ceil() as i64;
    let last = (to / step + 1e-9).floor() as i64;
    (first..=last).map(move |n| n as f64 * step)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(ticks: Vec<Tick>) -> String {
        ticks.into_iter().map(|(_, name)| name).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn numbers_are_round_and_within_the_axis() {
        for (from, to, expected) in
            [(0.0, 100.0, "0 25 50 75 100"), (0.0, 7.0, "0 2 4 6"), (80.0, 100.0, "80 85 90 95 100")]
        {
            assert_eq!(names(numbers(from, to, |value| format!("{value}"))), expected);
        }
        assert_eq!(names(counts(1.0)), "0 1");
        assert_eq!(names(counts(25.0)), "0 10 20");
        assert_eq!(names(shares(0.0, 0.01)), "0% 0.25% 0.5% 0.75% 1%");
        assert_eq!(names(log_shares(0.0001)), "100% 10% 1% 0.1% 0.01%");
    }

    #[test]
    fn times_are_round_in_one_unit() {
        for (to, expected) in [
            (0.02, "0 ms 5 ms 10 ms 15 ms 20 ms"),
            (30.0, "0 s 5 s 10 s 15 s 20 s 25 s 30 s"),
            (61.0, "0 s 15 s 30 s 45 s 60 s"),
            (600.0, "0 min 2 min 4 min 6 min 8 min 10 min"),
            (17_040.0, "0 h 1 h 2 h 3 h 4 h"),
            (7.0 * 86_400.0, "0 d 2 d 4 d 6 d"),
            (400.0 * 86_400.0, "0 d 100 d 200 d 300 d 400 d"),
        ] {
            assert_eq!(names(times(to)), expected, "{to}");
        }
        for to in (1..2_000_000).step_by(7_919).map(f64::from) {
            assert!((2..=7).contains(&times(to).len()), "{to}: {}", names(times(to)));
        }
    }

    #[test]
    fn times_of_a_logarithmic_axis_begin_with_the_most_useful() {
        assert!(
            names(log_times(1.0, 5_000.0)).starts_with("1 s 10 s 1 min 10 min 1 h 30 s 30 min 5 s 5 min ")
        );
    }
}
