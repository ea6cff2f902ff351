//! The addresses of one custom resource, each with the whole of it or a fraction.

use std::collections::BTreeMap;

use super::amount::{Amount, Quantity, WHOLE};

/// The addresses of one resource in text order, each with a number of thousandths: those that are free, or those that
/// an executor holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Addresses {
    /// The thousandths by address: from 1 to [`WHOLE`].
    parts: BTreeMap<String, u16>,
    /// The number of addresses that are whole.
    whole: u64,
    /// The sum of the thousandths of all addresses.
    thousandths: u64,
}

impl Addresses {
    /// The number of addresses, whole or not.
    pub(crate) fn len(&self) -> usize {
        self.parts.len()
    }

    /// Whether there is no address.
    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The number of addresses that are whole.
    pub(crate) fn whole(&self) -> u64 {
        self.whole
    }

    /// The sum of all addresses and fractions of addresses.
    pub(crate) fn quantity(&self) -> Quantity {
        Quantity::of(self.thousandths)
    }

    /// Each address with its thousandths, in text order.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (&str, u64)> {
        self.parts.iter().map(|(address, part)| (address.as_str(), u64::from(*part)))
    }

    /// The thousandths of this address: 0 if it is not in the list.
    pub(crate) fn part_of(&self, address: &str) -> u64 {
        self.parts.get(address).copied().map_or(0, u64::from)
    }

    /// The number of executors with this amount that these addresses can serve. `None` if the amount is 0.
    pub(crate) fn fit(&self, amount: Amount) -> Option<u64> {
        match amount {
            Amount::Whole(each) => self.whole.checked_div(each),
            Amount::Part(part) => {
                let by_whole = self.whole * (WHOLE / part.thousandths());
                let by_parts = || self.partial().map(|left| left / part.thousandths()).sum::<u64>();
                Some(if self.len() as u64 == self.whole { by_whole } else { by_whole + by_parts() })
            }
        }
    }

    /// The largest quantity that counts for an amount of this kind: all whole addresses, or the largest fraction of one
    /// address.
    pub(crate) fn most(&self, amount: Amount) -> Quantity {
        match amount {
            Amount::Whole(_) => Quantity::whole(self.whole),
            Amount::Part(_) if self.whole > 0 => Quantity::whole(1),
            Amount::Part(_) => Quantity::of(self.partial().max().unwrap_or(0)),
        }
    }

    /// The thousandths of the addresses that are not whole, in text order of the addresses.
    pub(crate) fn partial(&self) -> impl Iterator<Item = u64> {
        self.parts.values().map(|part| u64::from(*part)).filter(|part| *part < WHOLE)
    }

    /// Adds a fraction to an address. No address becomes more than whole.
    pub(crate) fn add(&mut self, address: &str, thousandths: u64) {
        let before = self.part_of(address);
        self.set(address, (before + thousandths).min(WHOLE));
    }

    /// Subtracts a fraction of an address; at most the fraction that the list has.
    pub(crate) fn subtract(&mut self, address: &str, thousandths: u64) {
        self.set(address, self.part_of(address).saturating_sub(thousandths));
    }

    fn set(&mut self, address: &str, thousandths: u64) {
        let part = u16::try_from(thousandths.min(WHOLE)).expect("a whole address is 1000 thousandths");
        let before = match (self.parts.get_mut(address), part) {
            (Some(_), 0) => self.parts.remove(address).unwrap_or(0),
            (Some(known), part) => std::mem::replace(known, part),
            (None, 0) => 0,
            (None, part) => self.parts.insert(address.to_owned(), part).unwrap_or(0),
        };
        let is_whole = |part: u16| u64::from(u64::from(part) == WHOLE);
        self.whole = self.whole + is_whole(part) - is_whole(before);
        self.thousandths = self.thousandths + u64::from(part) - u64::from(before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_follow_the_parts() {
        let mut addresses = Addresses::default();
        addresses.add("0", WHOLE);
        addresses.add("1", 300);
        addresses.add("1", 900);
        addresses.subtract("0", 250);
        assert_eq!((addresses.whole(), addresses.quantity(), addresses.len()), (1, Quantity::of(1750), 2));
        addresses.subtract("0", 1000);
        assert_eq!((addresses.whole(), addresses.quantity(), addresses.len()), (1, Quantity::of(1000), 1));
    }
}
