//! Numbers of expressions: whole billionths, so that every machine computes the same results.

use std::fmt;

/// The number of billionths in one.
const ONE: i128 = 1_000_000_000;
/// The number of digits after the point.
const DIGITS: usize = 9;

/// A number with nine digits after the point. Results are rounded toward zero, and saturate at the ends of the range,
/// about 1.7 * 10^29. Division by zero gives zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::policy) struct Number(i128);

impl Number {
    pub(super) const ZERO: Self = Self(0);

    /// A whole number.
    pub(in crate::policy) fn whole(number: i64) -> Self {
        Self(i128::from(number) * ONE)
    }

    /// The number of addresses for this number of thousandths.
    pub(super) fn thousandths(number: u64) -> Self {
        Self(i128::from(number) * (ONE / 1000))
    }

    /// One for true, and zero for false.
    pub(super) fn truth(is_true: bool) -> Self {
        if is_true { Self(ONE) } else { Self::ZERO }
    }

    pub(super) fn is_true(self) -> bool {
        self != Self::ZERO
    }

    /// Parses `12` or `0.25`.
    pub(super) fn read(text: &str) -> Result<Self, NoNumber> {
        let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
        if whole.is_empty() || decimals.is_empty() {
            return Err(NoNumber::Form);
        }
        if decimals.len() > DIGITS {
            return Err(NoNumber::Digits);
        }
        let billionths = format!("{whole}{decimals:0<DIGITS$}");
        if !billionths.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(NoNumber::Form);
        }
        billionths.parse().map(Self).map_err(|_| NoNumber::Large)
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    pub(super) fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    pub(super) fn negated(self) -> Self {
        Self(self.0.saturating_neg())
    }

    pub(super) fn abs(self) -> Self {
        Self(self.0.saturating_abs())
    }

    /// The largest whole number that is not larger than this number.
    pub(super) fn floor(self) -> Self {
        Self(self.0.div_euclid(ONE).saturating_mul(ONE))
    }

    pub(super) fn times(self, other: Self) -> Self {
        Self(scaled(self.0, other.0, ONE))
    }

    pub(super) fn over(self, other: Self) -> Self {
        match other.0 {
            0 => Self::ZERO,
            divisor => Self(scaled(self.0, ONE, divisor)),
        }
    }

    /// The remainder of a division with a whole result. It has the sign of the dividend.
    pub(super) fn rest(self, other: Self) -> Self {
        Self(self.0.checked_rem(other.0).unwrap_or(0))
    }
}

/// `number * factor / divisor`, rounded toward zero. The divisor must not be zero. The result saturates if it does not
/// fit, or if the product of the remainder and the factor does not fit.
fn scaled(number: i128, factor: i128, divisor: i128) -> i128 {
    let whole = number.checked_div(divisor).unwrap_or(i128::MAX);
    let rest = number.checked_rem(divisor).unwrap_or(0);
    let part = rest.saturating_mul(factor).checked_div(divisor).unwrap_or(0);
    whole.saturating_mul(factor).saturating_add(part)
}

/// Why a text is not a number of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoNumber {
    /// The text is not made of digits with at most one point between them.
    Form,
    /// There are too many digits after the point.
    Digits,
    Large,
}

/// Shown as `12` or `0.25`.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, all) = (if self.0 < 0 { "-" } else { "" }, self.0.unsigned_abs());
        let one = ONE.unsigned_abs();
        match all % one {
            0 => write!(f, "{sign}{}", all / one),
            part => write!(f, "{sign}{}.{}", all / one, format!("{part:09}").trim_end_matches('0')),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        match text.strip_prefix('-') {
            Some(rest) => number(rest).negated(),
            None => Number::read(text).expect("it is a number"),
        }
    }

    #[test]
    fn numbers_are_read_and_shown_exactly() {
        for text in ["0", "12", "0.25", "0.000000001", "170141183460469231731687303715.884105727"] {
            assert_eq!(number(text).to_string(), text);
        }
        assert_eq!(number("-0.5").to_string(), "-0.5");
        for (text, wrong) in [
            ("", NoNumber::Form),
            (".5", NoNumber::Form),
            ("1.", NoNumber::Form),
            ("1.2.3", NoNumber::Form),
            ("0.0000000001", NoNumber::Digits),
            ("170141183460469231731687303716", NoNumber::Large),
        ] {
            assert_eq!(Number::read(text), Err(wrong), "{text}");
        }
    }

    #[test]
    fn products_and_quotients_are_rounded_toward_zero() {
        for (one, other, product, quotient, rest) in [
            ("7", "2", "14", "3.5", "1"),
            ("1", "3", "3", "0.333333333", "1"),
            ("-1", "3", "-3", "-0.333333333", "-1"),
            ("0.000000001", "0.5", "0", "0.000000002", "0.000000001"),
            ("5", "0", "0", "0", "0"),
            ("1000000000000", "1000000000000", "1000000000000000000000000", "1", "0"),
        ] {
            let [one, other] = [number(one), number(other)];
            let found = [one.times(other), one.over(other), one.rest(other)].map(|found| found.to_string());
            assert_eq!(found, [product, quotient, rest], "{one} {other}");
        }
        assert_eq!(
            [number("1.5"), number("-1.5"), number("-2")].map(|it| it.floor().to_string()),
            ["1", "-2", "-2"]
        );
    }

    #[test]
    fn no_operation_leaves_the_range() {
        let ends = [i128::MIN, i128::MIN + 1, -ONE, -1, 0, 1, ONE, i128::MAX - 1, i128::MAX].map(Number);
        for (one, other) in ends.into_iter().flat_map(|one| ends.map(|other| (one, other))) {
            let all = [Number::plus, Number::minus, Number::times, Number::over, Number::rest];
            all.into_iter().for_each(|operation| drop(operation(one, other).to_string()));
            let all = [Number::negated, Number::abs, Number::floor];
            all.into_iter().for_each(|operation| drop(operation(one).to_string()));
        }
        let most = Number(i128::MAX);
        assert_eq!(
            [
                most.plus(most),
                most.times(most),
                Number(i128::MIN).negated(),
                Number(i128::MIN).over(Number(-ONE))
            ],
            [most; 4]
        );
        assert_eq!(most.times(most.negated()), Number(i128::MIN));
    }
}
