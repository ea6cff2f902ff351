//! Numbers and amounts of memory in a file, with error messages that name the expected form.

use std::fmt::{self, Formatter};

use firesteel_placement::MiB;
use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};

/// A whole number from 1 to `i32::MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Positive(pub(super) i64);

/// The number of addresses on one Worker, at most 1,024.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Addresses(pub(super) i64);

/// The addresses of one executor: at most 1,024 whole addresses, or a part of one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AddressAmount(pub(super) firesteel_placement::Amount);

/// Accepts a whole number of addresses, or a part of one address.
struct WholeOrPart;

/// An amount of memory, at least 1 MiB: a number of MiB, or text such as `64g`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Memory(pub(super) MiB);

/// Accepts a number within a range.
struct Range {
    least: i64,
    most: i64,
}

/// Accepts an amount of memory.
struct Amount;

impl<'de> Deserialize<'de> for Positive {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Range { least: 1, most: i32::MAX.into() }).map(Self)
    }
}

impl<'de> Deserialize<'de> for Addresses {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Range { least: 0, most: 1024 }).map(Self)
    }
}

impl<'de> Deserialize<'de> for AddressAmount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WholeOrPart).map(Self)
    }
}

impl<'de> Deserialize<'de> for Memory {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Amount).map(Self)
    }
}

impl Visitor<'_> for Range {
    type Value = i64;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number from {} to {}", self.least, self.most)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<i64, E> {
        match (self.least..=self.most).contains(&number) {
            true => Ok(number),
            false => Err(E::invalid_value(Unexpected::Signed(number), &self)),
        }
    }
}

impl Visitor<'_> for WholeOrPart {
    type Value = firesteel_placement::Amount;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number from 0 to 1024, or a part of one address from 0.001 to 0.999")
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        match u64::try_from(number) {
            Ok(whole @ 0..=1024) => Ok(whole.into()),
            Ok(_) | Err(_) => Err(E::invalid_value(Unexpected::Signed(number), &self)),
        }
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
        let amount = number.to_string().parse().ok();
        let sound = amount.filter(|amount: &Self::Value| amount.addresses() <= 1024);
        sound.ok_or_else(|| E::invalid_value(Unexpected::Float(number), &self))
    }
}

impl Visitor<'_> for Amount {
    type Value = MiB;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("an amount of memory, at least 1 MiB, such as \"64g\" or \"512m\"")
    }

    fn visit_i64<E: Error>(self, mib: i64) -> Result<MiB, E> {
        match mib > 0 {
            true => Ok(MiB(mib)),
            false => Err(E::invalid_value(Unexpected::Signed(mib), &self)),
        }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<MiB, E> {
        mebibytes(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}

/// Parses Spark's notation: a whole number with `k`, `m`, `g`, `t` or `p`, in upper or lower case, and an optional `b`.
/// A number alone is in MiB. Returns `None` for any other text, and for less than 1 MiB.
fn mebibytes(text: &str) -> Option<MiB> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: i64 = text[..digits].parse().ok()?;
    let mib = match &text[digits..] {
        "" | "m" | "mb" => number,
        "k" | "kb" => number / 1024,
        "g" | "gb" => number.checked_mul(1 << 10)?,
        "t" | "tb" => number.checked_mul(1 << 20)?,
        "p" | "pb" => number.checked_mul(1 << 30)?,
        _ => return None,
    };
    (mib > 0).then_some(MiB(mib))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_written_as_in_spark() {
        for (text, mib) in [("512", 512), ("512m", 512), ("64g", 65_536), ("2TB", 2 << 20), ("2048k", 2)] {
            assert_eq!(mebibytes(text), Some(MiB(mib)), "{text}");
        }
        for text in ["", "g", "1.5g", "-1g", "64q", "0", "1k", "9223372036854775807t", "99999999999999999999"]
        {
            assert_eq!(mebibytes(text), None, "{text}");
        }
    }
}
