//! Amounts of custom resources: whole addresses, a fraction of one address, and sums of both.
//!
//! An executor asks for an [`Amount`]: a number of whole addresses, or a [`Part`] of one address. The sum over several
//! executors or Workers is a [`Quantity`]. Both are counted in thousandths of an address and never in floating point,
//! so that nothing is lost when a fraction is taken and given back.
//!
//! In binary formats, a whole number of addresses is written as this number, as in versions without fractions. Other
//! amounts are written as their thousandths with the highest bit set. In formats for people, both are numbers: `2`,
//! `0.25`.

use std::collections::BTreeMap;
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};
use std::str::FromStr;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The number of thousandths of a whole address.
pub const WHOLE: u64 = 1000;

/// The bit that marks a number of thousandths in binary formats. Whole numbers of addresses are smaller.
const THOUSANDTHS: u64 = 1 << 63;

/// The amount of each resource that one executor asks for, by resource name. An amount of 0 asks for nothing.
///
/// A name may have a kind: `gpu:A100` asks for addresses of this kind, `gpu` for addresses of any kind.
pub type ResourceAmounts = BTreeMap<String, Amount>;

/// The quantity of each resource that several executors or Workers have together, by resource name.
pub type ResourceQuantities = BTreeMap<String, Quantity>;

/// The amount of one resource that one executor asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Amount {
    /// This number of addresses, each of them completely.
    Whole(u64),
    /// This fraction of one address, which others may share.
    Part(Part),
}

/// A fraction of one address, in thousandths: from 1 to 999.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Part(u16);

/// A sum of whole addresses and fractions of addresses, in thousandths of an address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quantity(u64);

impl Amount {
    /// No address at all.
    pub const NONE: Self = Self::Whole(0);

    /// Whether the amount asks for nothing.
    #[must_use]
    pub fn is_none(self) -> bool {
        self == Self::NONE
    }

    /// Whether the amount is a fraction of an address.
    #[must_use]
    pub fn is_part(self) -> bool {
        matches!(self, Self::Part(_))
    }

    /// The number of addresses that the amount takes. A shared address counts as one.
    #[must_use]
    pub fn addresses(self) -> u64 {
        match self {
            Self::Whole(count) => count,
            Self::Part(_) => 1,
        }
    }

    /// The amount as a quantity.
    #[must_use]
    pub fn quantity(self) -> Quantity {
        match self {
            Self::Whole(count) => Quantity::whole(count),
            Self::Part(part) => Quantity(part.thousandths()),
        }
    }
}

impl Part {
    /// A fraction of this number of thousandths. `None` if it is 0, or 1000 or more.
    #[must_use]
    pub const fn of(thousandths: u64) -> Option<Self> {
        match thousandths {
            1..WHOLE => Some(Self(thousandths as u16)),
            _ => None,
        }
    }

    /// The number of thousandths of an address.
    #[must_use]
    pub const fn thousandths(self) -> u64 {
        self.0 as u64
    }
}

impl Quantity {
    /// Nothing at all.
    pub const ZERO: Self = Self(0);
    /// The largest quantity. Sums saturate at it. It is a whole number of addresses.
    pub const MOST: Self = Self((THOUSANDTHS - 1) / WHOLE * WHOLE);

    /// This number of whole addresses.
    #[must_use]
    pub const fn whole(count: u64) -> Self {
        Self::of(count.saturating_mul(WHOLE))
    }

    /// This number of thousandths of an address.
    #[must_use]
    pub const fn of(thousandths: u64) -> Self {
        if thousandths > Self::MOST.0 { Self::MOST } else { Self(thousandths) }
    }

    /// The number of thousandths of an address.
    #[must_use]
    pub const fn thousandths(self) -> u64 {
        self.0
    }

    /// The quantity multiplied by a number.
    #[must_use]
    pub const fn times(self, number: u64) -> Self {
        Self::of(self.0.saturating_mul(number))
    }

    /// The quantity minus the other one; zero if the other one is larger.
    #[must_use]
    pub const fn less(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// The number of addresses as a float, for figures and charts.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / WHOLE as f64
    }

    /// The same quantity as an amount that one executor can ask for. `None` if it is neither whole nor a fraction of
    /// one address.
    pub fn amount(self) -> Option<Amount> {
        match (self.0 / WHOLE, self.0 % WHOLE) {
            (whole, 0) => Some(Amount::Whole(whole)),
            (0, thousandths) => Part::of(thousandths).map(Amount::Part),
            (1.., _) => None,
        }
    }
}

impl Default for Amount {
    fn default() -> Self {
        Self::NONE
    }
}

impl From<u64> for Amount {
    fn from(whole: u64) -> Self {
        Self::Whole(whole)
    }
}

impl From<Part> for Amount {
    fn from(part: Part) -> Self {
        Self::Part(part)
    }
}

impl From<Amount> for Quantity {
    fn from(amount: Amount) -> Self {
        amount.quantity()
    }
}

impl Add for Quantity {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self::of(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Quantity {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Quantity {
    fn sum<I: Iterator<Item = Self>>(quantities: I) -> Self {
        quantities.fold(Self::ZERO, Add::add)
    }
}

/// Formats the quantity as `2`, `0.25` or `1.5`.
impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, thousandths) = (self.0 / WHOLE, self.0 % WHOLE);
        match thousandths {
            0 => write!(f, "{whole}"),
            _ => write!(f, "{whole}.{}", format!("{thousandths:03}").trim_end_matches('0')),
        }
    }
}

/// Formats the amount as `2` or `0.25`.
impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.quantity(), f)
    }
}

/// Formats the fraction as `0.25`.
impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Quantity(self.thousandths()), f)
    }
}

/// The error for text that is not an amount of a custom resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a whole number of addresses, or a part of one address from 0.001 to 0.999")]
pub struct NoAmount;

impl FromStr for Quantity {
    type Err = NoAmount;

    /// Parses `2`, `2.0` or `0.25`: digits, and at most three digits after the point. Further zeros are ignored.
    fn from_str(text: &str) -> Result<Self, NoAmount> {
        let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
        let decimals = match decimals.trim_end_matches('0') {
            "" if decimals.is_empty() => return Err(NoAmount),
            rest => rest,
        };
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !is_number(whole) || !is_number(decimals) || decimals.len() > 3 {
            return Err(NoAmount);
        }
        let whole: u64 = whole.parse().map_err(|_| NoAmount)?;
        let thousandths: u64 = format!("{decimals:0<3}").parse().map_err(|_| NoAmount)?;
        whole
            .checked_mul(WHOLE)
            .and_then(|whole| whole.checked_add(thousandths))
            .filter(|all| *all <= Self::MOST.0)
            .map(Self)
            .ok_or(NoAmount)
    }
}

impl FromStr for Amount {
    type Err = NoAmount;

    /// Parses `2`, `2.0` or `0.25`.
    fn from_str(text: &str) -> Result<Self, NoAmount> {
        text.parse::<Quantity>()?.amount().ok_or(NoAmount)
    }
}

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match (self.0 % WHOLE, serializer.is_human_readable()) {
            (0, _) => serializer.serialize_u64(self.0 / WHOLE),
            (1.., true) => serializer.serialize_f64(self.as_f64()),
            (1.., false) => serializer.serialize_u64(THOUSANDTHS | self.0),
        }
    }
}

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Whole(count) => serializer.serialize_u64((*count).min(THOUSANDTHS - 1)),
            Self::Part(_) => self.quantity().serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            return deserializer.deserialize_any(NumberVisitor);
        }
        let number = u64::deserialize(deserializer)?;
        Ok(match number & THOUSANDTHS {
            0 => Self::whole(number),
            _ => Self::of(number & !THOUSANDTHS),
        })
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            let quantity = Quantity::deserialize(deserializer)?;
            return quantity.amount().ok_or_else(|| de::Error::custom(NoAmount));
        }
        let number = u64::deserialize(deserializer)?;
        if number & THOUSANDTHS == 0 {
            return Ok(Self::Whole(number));
        }
        let part = Part::of(number & !THOUSANDTHS).map(Self::Part);
        part.ok_or_else(|| de::Error::custom(NoAmount))
    }
}

/// Reads a number of addresses from a human-readable format, such as JSON or TOML.
struct NumberVisitor;

impl Visitor<'_> for NumberVisitor {
    type Value = Quantity;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{NoAmount}")
    }

    fn visit_u64<E: de::Error>(self, whole: u64) -> Result<Quantity, E> {
        let quantity = Quantity::whole(whole);
        if quantity.0 / WHOLE == whole { Ok(quantity) } else { Err(E::custom(NoAmount)) }
    }

    fn visit_i64<E: de::Error>(self, whole: i64) -> Result<Quantity, E> {
        u64::try_from(whole).map_err(|_| E::custom(NoAmount)).and_then(|whole| self.visit_u64(whole))
    }

    /// Parses a fractional number in the form in which it is written: `0.25`.
    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Quantity, E> {
        number.to_string().parse().map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(thousandths: u64) -> Amount {
        Amount::Part(Part::of(thousandths).expect("it is a part"))
    }

    #[test]
    fn an_amount_is_whole_or_a_part_of_one_address() {
        for (text, expected) in [
            ("0", Ok(Amount::Whole(0))),
            ("2", Ok(Amount::Whole(2))),
            ("2.0", Ok(Amount::Whole(2))),
            ("0.25", Ok(part(250))),
            ("0.5000", Ok(part(500))),
            ("0.001", Ok(part(1))),
            ("0.999", Ok(part(999))),
            ("1.5", Err(NoAmount)),
            ("0.0001", Err(NoAmount)),
            ("0.", Err(NoAmount)),
            (".5", Err(NoAmount)),
            ("-1", Err(NoAmount)),
            ("+1", Err(NoAmount)),
            ("", Err(NoAmount)),
            ("1e3", Err(NoAmount)),
            ("99999999999999999999", Err(NoAmount)),
            ("18446744073709551615", Err(NoAmount)),
        ] {
            assert_eq!(text.parse(), expected, "{text}");
        }
    }

    #[test]
    fn amounts_are_shown_as_they_are_read() {
        for text in ["0", "7", "0.25", "0.5", "0.125", "0.001"] {
            assert_eq!(text.parse::<Amount>().map(|amount| amount.to_string()).as_deref(), Ok(text));
        }
        assert_eq!(Quantity::of(12_340).to_string(), "12.34");
    }

    #[test]
    fn quantities_do_not_wrap() {
        let most = Quantity::whole(u64::MAX);
        assert_eq!(most + Quantity::of(1), most);
        assert_eq!(most.times(3), most);
        assert_eq!(Quantity::of(1).less(most), Quantity::ZERO);
    }
}
