//! Text formats of custom resources, for messages, files and user-visible sentences.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::amount::{Part, Quantity, WHOLE};
use crate::Resources;

impl Resources {
    /// Each resource with its addresses as words: `0`, or `0@0.25` for a fraction.
    pub fn words(&self) -> impl Iterator<Item = (&str, impl ExactSizeIterator<Item = Cow<'_, str>>)> {
        self.0.iter().map(|(name, addresses)| {
            (name.as_str(), addresses.iter().map(|(address, part)| written(address, part)))
        })
    }

    /// Parses resources from addresses as words: `0`, or `0@0.25` for a fraction.
    ///
    /// # Errors
    /// Two words name the same address.
    pub fn of_words<N: Into<String>, W: AsRef<str>>(
        resources: impl IntoIterator<Item = (N, impl IntoIterator<Item = W>)>,
    ) -> Result<Self, AddressTwice> {
        let mut all = Resources::default();
        for (name, words) in resources {
            let here = all.0.entry(name.into()).or_default();
            for word in words {
                let (address, part) = read(word.as_ref());
                if here.part_of(address) > 0 {
                    return Err(AddressTwice { address: address.to_owned() });
                }
                here.add(address, part);
            }
        }
        Ok(all)
    }
}

/// The error that two words name the same address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the address {address:?} occurs twice")]
pub struct AddressTwice {
    /// The address that two words name.
    pub address: String,
}

impl Serialize for Resources {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.words().map(|(name, words)| (name, words.collect::<Vec<_>>())))
    }
}

impl<'de> Deserialize<'de> for Resources {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let words = BTreeMap::<String, BTreeSet<String>>::deserialize(deserializer)?;
        Self::of_words(words).map_err(D::Error::custom)
    }
}

/// Formats resources as `gpu=0,1@0.25;nic=a`, names and addresses in order. A resource without addresses is left out.
impl fmt::Display for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = self.words().filter(|(_, words)| words.len() > 0);
        for (at, (name, words)) in named.enumerate() {
            write!(f, "{}{name}", if at == 0 { "" } else { ";" })?;
            for (at, word) in words.enumerate() {
                write!(f, "{}{word}", if at == 0 { "=" } else { "," })?;
            }
        }
        Ok(())
    }
}

/// Formats an address with its fraction as one word: `0` if it is whole, `0@0.25` if it is a quarter.
///
/// Messages and files contain addresses in this form, so that a program that does not support fractions finds a word
/// where it expects one. If a whole address ends like a fraction, `@1` is added.
fn written(address: &str, thousandths: u64) -> Cow<'_, str> {
    match Part::of(thousandths) {
        Some(part) => format!("{address}@{part}").into(),
        None if split(address).is_some() => format!("{address}@1").into(),
        None => address.into(),
    }
}

/// Parses a word into the address and its thousandths.
fn read(word: &str) -> (&str, u64) {
    split(word).unwrap_or((word, WHOLE))
}

/// Splits a word that contains both an address and its thousandths.
fn split(word: &str) -> Option<(&str, u64)> {
    let (address, part) = word.rsplit_once('@')?;
    let quantity: Quantity = part.parse().ok().filter(|quantity: &Quantity| quantity.to_string() == part)?;
    (1..=WHOLE).contains(&quantity.thousandths()).then_some((address, quantity.thousandths()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_is_read_as_it_was_written() {
        for address in ["0", "GPU-1/0", "a@b", "a@0.5", "a@1", "a@0.50", "@", "", "0@1@1"] {
            for part in [1, 250, 999, WHOLE] {
                let word = written(address, part);
                assert_eq!(read(&word), (address, part), "{word}");
            }
        }
        assert_eq!([written("0", WHOLE), written("0", 250)], ["0", "0@0.25"]);
    }

    #[test]
    fn resources_are_written_in_one_word() {
        let all = Resources::from_iter([("nic", vec!["a"]), ("gpu", vec!["1", "0"]), ("fpga", vec![])]);
        assert_eq!((all.to_string().as_str(), Resources::NONE.to_string().as_str()), ("gpu=0,1;nic=a", ""));
    }
}
