//! Round values for the ticks of axes, each with its label.

pub type Tick = (f64, String);

/// The maximum number of steps between ticks on a linear axis.
const MOST: f64 = 6.0;
/// Units of time, in seconds.
const MICROSECOND: f64 = 1e-6;
const MILLISECOND: f64 = 1e-3;
const DAY: f64 = 86_400.0;
/// The maximum number of powers of ten below 1 on a logarithmic axis of shares.
const DECADES: f64 = 15.0;
/// Round durations: a number of units, the unit in seconds, and its name.
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

/// The distance between ticks: a whole number (up to 25) times a power of ten. Multiples are exact: 3 x 0.1 is 0.3.
#[derive(Clone, Copy, Debug)]
struct Step {
    factor: f64,
    power: i32,
}

impl Step {
    /// The smallest of 1, 2, 2.5, 5 and 10 times a power of ten that is at least this length. `None` if the length is
    /// not a positive number, or if it is too small or too large for a power of ten.
    fn at_least(length: f64) -> Option<Self> {
        if !(length > 1e-300 && length < 1e300) {
            return None;
        }
        let power = length.log10().floor() as i32 - 1;
        let steps = [10.0, 20.0, 25.0, 50.0, 100.0].map(|factor| Self { factor, power });
        steps.into_iter().find(|step| step.times(1) >= length * (1.0 - 1e-9))
    }

    fn times(self, count: i64) -> f64 {
        let number = count as f64 * self.factor;
        match self.power {
            power @ ..=-1 => number / 10_f64.powi(-power),
            power => number * 10_f64.powi(power),
        }
    }

    /// The multiples of the step within the axis.
    fn multiples(self, from: f64, to: f64) -> impl Iterator<Item = f64> {
        let step = self.times(1);
        let first = (from / step - 1e-9).ceil() as i64;
        let last = (to / step + 1e-9).floor() as i64;
        (first..=last).map(move |count| self.times(count))
    }
}

/// Ticks of a linear axis of numbers: multiples of 1, 2, 2.5 or 5 times a power of ten. An axis whose length is zero,
/// or too small compared with its numbers, has only one tick, at its beginning.
#[must_use]
pub fn numbers(from: f64, to: f64, name: impl Fn(f64) -> String) -> Vec<Tick> {
    values(from, to).into_iter().map(|value| (value, name(value))).collect()
}

fn values(from: f64, to: f64) -> Vec<f64> {
    if !(from.is_finite() && to.is_finite()) {
        return Vec::new();
    }
    // Numbers of this size have no digits left for the difference.
    let is_lost = (to - from) <= from.abs().max(to.abs()) * 1e-12;
    match Step::at_least((to - from) / 4.0) {
        Some(step) if !is_lost => step.multiples(from, to).collect(),
        // Adding 0 turns a negative zero into 0.
        Some(_) | None => vec![from + 0.0],
    }
}

/// Ticks of a linear axis of whole numbers from 0.
#[must_use]
pub fn counts(to: f64) -> Vec<Tick> {
    let name = |value: f64| (value, format!("{value:.0}"));
    // 2.5 is not a whole number, and steps of 5 are too long.
    if to > 8.0 && to <= 10.0 {
        return [0.0, 2.0, 4.0, 6.0, 8.0, 10.0].into_iter().filter(|count| *count <= to).map(name).collect();
    }
    values(0.0, to).into_iter().filter(|value| value.fract() == 0.0).map(name).collect()
}

/// Ticks of a linear axis of shares, where 1 is labelled `100%`.
#[must_use]
pub fn shares(from: f64, to: f64) -> Vec<Tick> {
    // Ticks are round as percentages. Ten digits distinguish them.
    let ticks =
        numbers(from * 100.0, to * 100.0, |percent| format!("{}%", (percent * 1e10).round() / 1e10 + 0.0));
    ticks.into_iter().map(|(percent, name)| (percent / 100.0, name)).collect()
}

/// Ticks of a linear axis of times from 0 to `to` seconds, all in one unit: `0 s`, `15 s`, `30 s`.
#[must_use]
pub fn times(to: f64) -> Vec<Tick> {
    let in_unit = |unit: f64, name: &str, step: Step| -> Vec<Tick> {
        let counts = step.multiples(0.0, to / unit);
        counts.map(|count| (count * unit, format!("{count} {name}"))).collect()
    };
    if !to.is_finite() || to < 0.0 {
        return Vec::new();
    }
    if to > 0.0 && to < MILLISECOND {
        return Step::at_least(to / MICROSECOND / MOST)
            .map_or_else(Vec::new, |step| in_unit(MICROSECOND, "µs", step));
    }
    match TIMES.into_iter().find(|(count, unit, _)| count * unit * MOST >= to) {
        Some((count, unit, name)) => in_unit(unit, name, Step { factor: count, power: 0 }),
        None => Step::at_least(to / DAY / MOST).map_or_else(Vec::new, |step| in_unit(DAY, "d", step)),
    }
}

/// Ticks of a logarithmic axis of times, in seconds. The most useful ticks come first, because not all labels may fit.
/// If the axis contains no usual duration, it has the ticks of a linear axis.
#[must_use]
pub fn log_times(from: f64, to: f64) -> Vec<Tick> {
    let days = [20.0, 50.0, 100.0, 200.0, 500.0, 1_000.0, 10_000.0].map(|count| (count, DAY, "d"));
    let all = TIMES.into_iter().chain(days);
    let within = all.filter(|(count, unit, _)| (from..=to).contains(&(count * unit)));
    let mut ticks: Vec<_> =
        within.map(|(count, unit, name)| (count, (count * unit, format!("{count} {name}")))).collect();
    if ticks.is_empty() {
        let seconds = numbers(from, to, |seconds| format!("{seconds} s"));
        return seconds.into_iter().filter(|(seconds, _)| *seconds > 0.0).collect();
    }
    let rank =
        |count: f64| [1.0, 10.0, 100.0, 1_000.0, 10_000.0, 30.0, 5.0].iter().position(|it| *it == count);
    ticks.sort_by_key(|(count, _)| match rank(*count) {
        Some(0..=4) => 0,
        Some(rank) => rank,
        None => usize::MAX,
    });
    ticks.into_iter().map(|(_, tick)| tick).collect()
}

/// Ticks of a logarithmic axis of shares: powers of ten from `from` to 1, and at most fifteen of them.
#[must_use]
pub fn log_shares(from: f64) -> Vec<Tick> {
    // The logarithm of a power of ten may come out slightly too small.
    let decades = (1.0 / from).log10() + 1e-9;
    let decades = if decades > 0.0 { decades.min(DECADES).floor() as i32 } else { 0 };
    let percent = |decade: i32| match decade {
        0..=2 => 10_f64.powi(2 - decade),
        _ => 1.0 / 10_f64.powi(decade - 2),
    };
    (0..=decades).map(|decade| (percent(decade) / 100.0, format!("{}%", percent(decade)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(ticks: Vec<Tick>) -> String {
        ticks.into_iter().map(|(_, name)| name).collect::<Vec<_>>().join(" ")
    }

    /// Ticks of `numbers` with plain labels.
    fn plain(from: f64, to: f64) -> String {
        names(numbers(from, to, |value| format!("{value}")))
    }

    #[test]
    fn numbers_are_round_and_within_the_axis() {
        for (from, to, expected) in [
            (0.0, 100.0, "0 25 50 75 100"),
            (0.0, 7.0, "0 2 4 6"),
            (80.0, 100.0, "80 85 90 95 100"),
            (0.0, 0.4, "0 0.1 0.2 0.3 0.4"),
            (0.0, 1e-12, "0 0.00000000000025 0.0000000000005 0.00000000000075 0.000000000001"),
            (0.0, 4e15, "0 1000000000000000 2000000000000000 3000000000000000 4000000000000000"),
            (-0.3, 0.3, "-0.2 0 0.2"),
            (-100.0, -80.0, "-100 -95 -90 -85 -80"),
            (1e9, 1e9 + 4.0, "1000000000 1000000001 1000000002 1000000003 1000000004"),
        ] {
            assert_eq!(plain(from, to), expected, "{from} to {to}");
        }
        assert_eq!(names(counts(1.0)), "0 1");
        assert_eq!(names(counts(9.0)), "0 2 4 6 8");
        assert_eq!(names(counts(10.0)), "0 2 4 6 8 10");
        assert_eq!(names(counts(25.0)), "0 10 20");
        assert_eq!(names(shares(0.0, 0.01)), "0% 0.25% 0.5% 0.75% 1%");
        assert_eq!(names(shares(0.0, 0.003)), "0% 0.1% 0.2% 0.3%");
        assert_eq!(names(shares(0.0, 1e-7)), "0% 0.0000025% 0.000005% 0.0000075% 0.00001%");
        assert_eq!(names(log_shares(0.0001)), "100% 10% 1% 0.1% 0.01%");
        assert_eq!(names(log_shares(0.00001)), "100% 10% 1% 0.1% 0.01% 0.001%");
    }

    /// An axis without length has one tick. An axis of NaN has none. No axis has a negative zero or very many ticks.
    #[test]
    fn odd_axes_have_few_ticks() {
        for (from, to, expected) in [
            (5.0, 5.0, "5"),
            (0.0, 0.0, "0"),
            (-0.0, -0.0, "0"),
            (0.0, -1.0, "0"),
            (1e300, 1e300, format!("{}", 1e300).as_str()),
            (0.0, 1e-310, "0"),
            (1e17, 1e17 + 16.0, "100000000000000000"),
            (f64::NAN, 1.0, ""),
            (0.0, f64::INFINITY, ""),
        ] {
            assert_eq!(plain(from, to), expected, "{from} to {to}");
        }
        assert_eq!((names(counts(0.0)), names(counts(f64::NAN))), ("0".to_owned(), String::new()));
        assert_eq!(names(shares(-1e-9, 1e-9)), "-0.0000001% -0.00000005% 0% 0.00000005% 0.0000001%");
        assert_eq!((names(log_shares(1.0)), names(log_shares(7.0))), ("100%".to_owned(), "100%".to_owned()));
        assert_eq!((log_shares(0.0).len(), log_shares(-1.0).len(), log_shares(f64::NAN).len()), (16, 1, 1));
        assert_eq!((names(times(0.0)), names(times(f64::NAN))), ("0 ms".to_owned(), String::new()));
        assert_eq!(names(log_times(31.0, 55.0)), "40 s 50 s");
        for power in -299..300 {
            for to in [1.0, 1.7, 2.0, 3.3, 5.0, 9.99].map(|digits| digits * 10_f64.powi(power)) {
                for (from, to) in [(0.0, to), (-to, 0.0), (to, 1.5 * to)] {
                    let ticks = numbers(from, to, |value| format!("{value:e}"));
                    assert!((2..=6).contains(&ticks.len()), "{from} to {to}: {}", names(ticks));
                    assert!(!names(ticks.clone()).contains("-0e"), "{}", names(ticks));
                    assert!(ticks.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 != pair[1].1));
                    let margin = (to - from) * 1e-6;
                    assert!(ticks.iter().all(|(value, _)| *value >= from - margin && *value <= to + margin));
                }
            }
        }
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
            (61.0 * 86_400.0, "0 d 20 d 40 d 60 d"),
            (400.0 * 86_400.0, "0 d 100 d 200 d 300 d 400 d"),
            (1e6 * 86_400.0, "0 d 200000 d 400000 d 600000 d 800000 d 1000000 d"),
            (0.001, "0 ms 1 ms"),
            (0.00002, "0 µs 5 µs 10 µs 15 µs 20 µs"),
            (1e-9, "0 µs 0.0002 µs 0.0004 µs 0.0006 µs 0.0008 µs 0.001 µs"),
        ] {
            assert_eq!(names(times(to)), expected, "{to}");
        }
        for to in (1..2_000_000).step_by(7_919).map(f64::from) {
            assert!((2..=7).contains(&times(to).len()), "{to}: {}", names(times(to)));
        }
        for to in (-80..120)
            .flat_map(|power| [1.0, 1.5, 3.1, 7.9].map(|digits| digits * 10_f64.powf(f64::from(power) / 8.0)))
        {
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
