//! Custom resources (gpu, fpga, ...): sets of addresses, each given to one executor.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

/// The number of addresses of each resource that one executor asks for, by resource name. An amount of 0 asks for
/// nothing.
pub type ResourceAmounts = BTreeMap<String, u64>;

/// The addresses of custom resources, by resource name: those that a Worker has free, or that an executor holds.
///
/// Addresses are text and are sorted as text: `"10"` comes before `"2"`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Resources(BTreeMap<String, BTreeSet<String>>);

impl Resources {
    /// No resources, as a static reference for offers of Workers without resources.
    pub const NONE: &'static Resources = &Resources(BTreeMap::new());

    /// Whether there is no address. A resource may have a name and no address.
    pub fn is_empty(&self) -> bool {
        self.0.values().all(BTreeSet::is_empty)
    }

    /// The number of addresses of the resource `name`: 0 for an unknown name.
    pub fn count(&self, name: &str) -> u64 {
        self.0.get(name).map_or(0, |addresses| addresses.len() as u64)
    }

    /// The number of addresses of each resource.
    pub fn amounts(&self) -> ResourceAmounts {
        self.0.iter().map(|(name, addresses)| (name.clone(), addresses.len() as u64)).collect()
    }

    /// Whether there are enough addresses of every resource asked for.
    pub fn covers(&self, asked: &ResourceAmounts) -> bool {
        asked.iter().all(|(name, &amount)| self.count(name) >= amount)
    }

    /// Each resource with its addresses, both in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, impl Iterator<Item = &str>)> {
        self.0.iter().map(|(name, addresses)| (name.as_str(), addresses.iter().map(String::as_str)))
    }

    /// Adds one address. Adding an address that is there has no effect.
    pub fn insert(&mut self, name: impl Into<String>, address: impl Into<String>) {
        self.0.entry(name.into()).or_default().insert(address.into());
    }

    /// Takes the addresses for one executor: the first ones of each resource in text order. `None`, and nothing is taken,
    /// if a resource does not suffice. The result names every resource that is asked for, even with an amount of 0.
    ///
    /// Source: Spark Master, 4.0.1.
    pub fn take(&mut self, asked: &ResourceAmounts) -> Option<Resources> {
        if !self.covers(asked) {
            return None;
        }
        let taken = asked.iter().map(|(name, &amount)| (name.clone(), self.take_first(name, amount)));
        Some(Resources(taken.collect()))
    }

    /// Takes exactly these addresses. `false`, and nothing is taken, if one of them is not there.
    #[must_use]
    pub fn take_these(&mut self, these: &Resources) -> bool {
        let is_here = |(name, addresses): (&String, &BTreeSet<String>)| {
            addresses.is_empty() || self.0.get(name).is_some_and(|here| here.is_superset(addresses))
        };
        if !these.0.iter().all(is_here) {
            return false;
        }
        for (name, addresses) in &these.0 {
            if let Some(here) = self.0.get_mut(name) {
                here.retain(|address| !addresses.contains(address));
            }
        }
        true
    }

    /// Gives back what [`take`](Self::take) took.
    pub fn give_back(&mut self, taken: Resources) {
        for (name, addresses) in taken.0 {
            self.0.entry(name).or_default().extend(addresses);
        }
    }

    /// The addresses that are not in `other`.
    #[must_use]
    pub fn without(&self, other: &Resources) -> Resources {
        let rest = self.0.iter().map(|(name, addresses)| {
            let gone = other.0.get(name);
            (name, addresses.iter().filter(move |address| gone.is_none_or(|gone| !gone.contains(*address))))
        });
        rest.map(|(name, addresses)| (name, addresses.collect::<Vec<_>>()))
            .filter(|(_, addresses)| !addresses.is_empty())
            .collect()
    }

    /// The addresses that remain after this number of addresses of each resource is removed, or all of them if there are
    /// fewer.
    #[must_use]
    pub fn less(&self, amounts: &ResourceAmounts) -> Resources {
        let mut left = self.clone();
        for (name, &amount) in amounts {
            left.take_first(name, amount.min(left.count(name)));
        }
        left
    }

    fn take_first(&mut self, name: &str, amount: u64) -> BTreeSet<String> {
        let Some(free) = self.0.get_mut(name) else { return BTreeSet::new() };
        (0..amount).map_while(|_| free.pop_first()).collect()
    }
}

/// Shown as `gpu=0,1;nic=a`, names and addresses in order. A resource without addresses is left out.
impl fmt::Display for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = self.0.iter().filter(|(_, addresses)| !addresses.is_empty());
        for (at, (name, addresses)) in named.enumerate() {
            write!(f, "{}{name}", if at == 0 { "" } else { ";" })?;
            for (at, address) in addresses.iter().enumerate() {
                write!(f, "{}{address}", if at == 0 { "=" } else { "," })?;
            }
        }
        Ok(())
    }
}

/// Collects addresses by resource name.
impl<N: Into<String>, A: Into<String>, As: IntoIterator<Item = A>> FromIterator<(N, As)> for Resources {
    fn from_iter<I: IntoIterator<Item = (N, As)>>(resources: I) -> Self {
        let mut all = Resources::default();
        for (name, addresses) in resources {
            all.0.entry(name.into()).or_default().extend(addresses.into_iter().map(Into::into));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amounts(asked: &[(&str, u64)]) -> ResourceAmounts {
        asked.iter().map(|&(name, amount)| (name.to_owned(), amount)).collect()
    }

    #[test]
    fn addresses_are_taken_in_text_order_and_given_back() {
        let whole = Resources::from_iter([("gpu", ["2", "10", "1"])]);
        let mut free = whole.clone();
        let taken = free.take(&amounts(&[("gpu", 2)])).expect("three are free");
        assert_eq!(taken, Resources::from_iter([("gpu", ["1", "10"])]));
        assert_eq!(free.count("gpu"), 1);
        free.give_back(taken);
        assert_eq!(free, whole);
    }

    #[test]
    fn resources_are_written_in_one_word() {
        let all = Resources::from_iter([("nic", vec!["a"]), ("gpu", vec!["1", "0"]), ("fpga", vec![])]);
        assert_eq!((all.to_string().as_str(), Resources::NONE.to_string().as_str()), ("gpu=0,1;nic=a", ""));
    }

    #[test]
    fn taking_is_all_or_nothing() {
        let mut free = Resources::from_iter([("gpu", ["0", "1"])]);
        assert_eq!(free.take(&amounts(&[("gpu", 1), ("fpga", 1)])), None);
        assert_eq!(free.count("gpu"), 2);
        assert!(free.covers(&amounts(&[("fpga", 0)])));
    }
}
