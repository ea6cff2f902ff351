//! Custom resources (gpu, fpga, ...): sets of addresses. One executor gets a whole address, or several executors share
//! it in fractions.
//!
//! - [`Resources`]: the addresses that a Worker has free, or that an executor holds; `addresses`: the addresses of one
//!   resource.
//! - `address_choice`: which addresses an executor gets; `address_pool`: how its tasks use them.
//! - [`amount`]: how much of a resource; [`resource_name`]: its name; `resource_words`: both as text.

mod address_choice;
mod address_pool;
pub(super) mod addresses;
pub(crate) mod amount;
pub(crate) mod resource_name;
mod resource_words;

use std::collections::{BTreeMap, BTreeSet};

use address_choice::{Chosen, choose};
use addresses::Addresses;
use amount::{ResourceQuantities, WHOLE};
use resource_name::{kind, serves};

pub use address_pool::{AddressPool, FreeAddresses, NoTaskAmount, TakenAddresses, TaskAmount, TaskResources};
pub use amount::{Amount, Part, Quantity, ResourceAmounts};
pub use resource_words::AddressTwice;

/// The addresses of custom resources, by resource name: those that a Worker has free, or that an executor holds. An
/// entry may be only a fraction of an address.
///
/// Addresses are text and are sorted as text: `"10"` comes before `"2"`. The names may have kinds. For a name without a
/// kind, methods consider the addresses of all kinds.
///
/// In messages and files, a fraction of an address is written as `0@0.25`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Resources(pub(crate) BTreeMap<String, Addresses>);

impl Resources {
    /// No resources, as a static reference for offers of Workers without resources.
    pub const NONE: &'static Resources = &Resources(BTreeMap::new());

    /// Whether there is no address. There may still be a resource with a name but no address.
    pub fn is_empty(&self) -> bool {
        self.0.values().all(Addresses::is_empty)
    }

    /// The number of addresses of the resource, whole or not: 0 for an unknown name.
    pub fn count(&self, name: &str) -> u64 {
        self.of(name).map(|(_, addresses)| addresses.len() as u64).sum()
    }

    /// The sum of the addresses of the resource, including fractions.
    pub fn quantity(&self, name: &str) -> Quantity {
        self.of(name).map(|(_, addresses)| addresses.quantity()).sum()
    }

    /// The quantity of each resource. Kinds are listed separately.
    pub fn quantities(&self) -> ResourceQuantities {
        self.0.iter().map(|(name, addresses)| (name.clone(), addresses.quantity())).collect()
    }

    /// The quantity of the resource with exactly this name, without other kinds of it.
    pub fn quantity_of(&self, name: &str) -> Quantity {
        self.0.get(name).map(Addresses::quantity).unwrap_or_default()
    }

    /// The number of executors that these addresses suffice for, if each needs this amount of the resource. `None` if
    /// the amount is 0, so that any number fits.
    pub fn fit(&self, name: &str, amount: Amount) -> Option<u64> {
        match amount {
            // The addresses of one executor may be of several kinds.
            Amount::Whole(each) => self.whole(name).checked_div(each),
            Amount::Part(_) => Some(self.of(name).filter_map(|(_, addresses)| addresses.fit(amount)).sum()),
        }
    }

    /// The largest quantity that counts for one executor with an amount of this kind: all whole addresses, or the
    /// largest fraction of one address.
    pub fn most(&self, name: &str, amount: Amount) -> Quantity {
        let each = self.of(name).map(|(_, addresses)| addresses.most(amount));
        match amount {
            Amount::Whole(_) => each.sum(),
            Amount::Part(_) => each.max().unwrap_or_default(),
        }
    }

    /// Whether there is enough of every resource for one executor. The amounts must not
    /// [overlap](self::resource_name::overlapping).
    pub fn covers(&self, asked: &ResourceAmounts) -> bool {
        asked.iter().all(|(name, amount)| match amount {
            Amount::Whole(count) => self.whole(name) >= *count,
            Amount::Part(part) => self
                .of(name)
                .any(|(_, addresses)| addresses.most(*amount).thousandths() >= part.thousandths()),
        })
    }

    /// Each resource with its addresses, both in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, impl Iterator<Item = &str>)> {
        self.0.iter().map(|(name, addresses)| (name.as_str(), addresses.iter().map(|(address, _)| address)))
    }

    /// Each address with the name of its resource and its fraction: resource, address, fraction.
    pub fn parts(&self) -> impl Iterator<Item = (&str, &str, Quantity)> {
        self.0.iter().flat_map(|(name, addresses)| {
            addresses.iter().map(|(address, part)| (name.as_str(), address, Quantity::of(part)))
        })
    }

    /// Each resource with its addresses.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = (&str, &Addresses)> {
        self.0.iter().map(|(name, addresses)| (name.as_str(), addresses))
    }

    /// Adds one whole address. Has no effect if the whole address is already there.
    pub fn insert(&mut self, name: impl Into<String>, address: impl AsRef<str>) {
        self.0.entry(name.into()).or_default().add(address.as_ref(), WHOLE);
    }

    /// Adds all addresses and fractions of these resources. No address becomes more than whole.
    pub fn add(&mut self, other: &Resources) {
        for (name, addresses) in &other.0 {
            let here = self.0.entry(name.clone()).or_default();
            addresses.iter().for_each(|(address, part)| here.add(address, part));
        }
    }

    /// The same addresses, each of them whole.
    #[must_use]
    pub fn made_whole(&self) -> Resources {
        self.iter().collect()
    }

    /// Takes the addresses for one executor, by the rule of `choose`. Returns `None` and takes nothing if a resource
    /// does not suffice. The result contains every requested resource, even with an amount of 0, under its name in
    /// `self`.
    ///
    /// Source: Spark Master, 4.0.1, for whole addresses.
    pub fn take(&mut self, asked: &ResourceAmounts) -> Option<Resources> {
        if !self.covers(asked) {
            return None;
        }
        let (mut taken, mut suffices) = (Resources::default(), true);
        for (name, amount) in asked {
            if amount.is_none() {
                taken.0.entry(name.clone()).or_default();
            }
            let chosen = choose(self, name, *amount);
            // If requested amounts overlap, there may be enough for one of them, but not for both.
            suffices &= chosen.len() as u64 == amount.addresses();
            for Chosen { resource, address, thousandths } in chosen {
                self.subtract(&resource, &address, thousandths);
                taken.0.entry(resource).or_default().add(&address, thousandths);
            }
        }
        if suffices {
            return Some(taken);
        }
        self.give_back(taken);
        None
    }

    /// Takes exactly these addresses and fractions. Returns `false` and takes nothing if one of them is missing.
    #[must_use]
    pub fn take_these(&mut self, these: &Resources) -> bool {
        let is_here = |(name, addresses): (&String, &Addresses)| {
            let here = self.0.get(name);
            addresses.iter().all(|(address, part)| here.is_some_and(|here| here.part_of(address) >= part))
        };
        if !these.0.iter().all(is_here) {
            return false;
        }
        for (name, addresses) in &these.0 {
            addresses.iter().for_each(|(address, part)| self.subtract(name, address, part));
        }
        true
    }

    /// Gives back the addresses that [`take`](Self::take) took.
    pub fn give_back(&mut self, taken: Resources) {
        self.add(&taken);
    }

    /// The addresses and fractions of addresses that are not in `other`.
    #[must_use]
    pub fn without(&self, other: &Resources) -> Resources {
        let mut rest = self.clone();
        for (name, addresses) in &other.0 {
            addresses.iter().for_each(|(address, part)| rest.subtract(name, address, part));
        }
        rest.0.retain(|_, addresses| !addresses.is_empty());
        rest
    }

    /// What remains after the amounts for this number of executors are set aside. If they do not all fit, the missing
    /// quantity of a resource is still set aside from what is left: from the addresses with the largest free fractions
    /// first, until the quantity is reached or nothing is left.
    #[must_use]
    pub fn less(&self, each: &ResourceAmounts, executors: u64) -> Resources {
        let mut left = self.clone();
        for (name, amount) in each.iter().filter(|(_, amount)| !amount.is_none()) {
            let mut missing = amount.quantity().times(executors);
            let fitting = left.fit(name, *amount).unwrap_or(0).min(executors);
            for _ in 0..fitting {
                for Chosen { resource, address, thousandths } in choose(&left, name, *amount) {
                    left.subtract(&resource, &address, thousandths);
                    missing = missing.less(Quantity::of(thousandths));
                }
            }
            left.set_aside(name, missing);
        }
        left
    }

    /// These addresses under the names of the request: `gpu`, where the Worker has `gpu:A100`.
    #[must_use]
    pub fn as_asked(&self, asked: &ResourceAmounts) -> Resources {
        let mut renamed = Resources::default();
        for (name, addresses) in &self.0 {
            let name = asked.keys().find(|asked| serves(name, asked)).unwrap_or(name);
            let there = renamed.0.entry(name.clone()).or_default();
            addresses.iter().for_each(|(address, part)| there.add(address, part));
        }
        renamed
    }

    /// The addresses of `given` under the names that they have in `self`: the reverse of [`as_asked`](Self::as_asked).
    /// An address that `self` does not have keeps its name.
    #[must_use]
    pub fn named_as_here(&self, given: &Resources) -> Resources {
        let mut renamed = Resources::default();
        for (name, addresses) in &given.0 {
            for (address, part) in addresses.iter() {
                let here = self.of(name).find(|(_, here)| here.part_of(address) > 0);
                let name = here.map_or(name, |(here, _)| here);
                renamed.0.entry(name.clone()).or_default().add(address, part);
            }
        }
        renamed
    }

    /// The kinds of the resource's addresses, in order. Kinds without addresses are left out.
    pub fn kinds<'a>(&'a self, name: &'a str) -> BTreeSet<&'a str> {
        self.of(name)
            .filter(|(_, addresses)| !addresses.is_empty())
            .filter_map(|(name, _)| kind(name))
            .collect()
    }

    /// The resources that serve an executor that asks for this name, in the order of their names.
    pub(crate) fn of<'a>(&'a self, asked: &'a str) -> impl Iterator<Item = (&'a String, &'a Addresses)> {
        self.0.iter().filter(move |(name, _)| serves(name, asked))
    }

    /// The number of whole addresses of the resource.
    fn whole(&self, name: &str) -> u64 {
        self.of(name).map(|(_, addresses)| addresses.whole()).sum()
    }

    /// Sets this quantity aside, from the addresses with the largest fractions first, until it is reached or nothing is
    /// left.
    fn set_aside(&mut self, name: &str, quantity: Quantity) {
        let mut missing = quantity;
        while missing > Quantity::ZERO {
            let all = self.of(name).flat_map(|(resource, addresses)| {
                addresses.iter().map(move |(address, part)| (part, resource.clone(), address.to_owned()))
            });
            let Some((part, resource, address)) = all.max_by_key(|(part, ..)| *part) else { return };
            self.subtract(&resource, &address, part);
            missing = missing.less(Quantity::of(part));
        }
    }

    fn subtract(&mut self, name: &str, address: &str, thousandths: u64) {
        if let Some(here) = self.0.get_mut(name) {
            here.subtract(address, thousandths);
        }
    }
}

/// Collects whole addresses by resource name.
impl<N: Into<String>, A: AsRef<str>, As: IntoIterator<Item = A>> FromIterator<(N, As)> for Resources {
    fn from_iter<I: IntoIterator<Item = (N, As)>>(resources: I) -> Self {
        let mut all = Resources::default();
        for (name, addresses) in resources {
            let here = all.0.entry(name.into()).or_default();
            addresses.into_iter().for_each(|address| here.add(address.as_ref(), WHOLE));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::amount::Part;
    use super::*;

    fn amounts(asked: &[(&str, &str)]) -> ResourceAmounts {
        let amount = |text: &str| text.parse().expect("it is an amount");
        asked.iter().map(|&(name, text)| (name.to_owned(), amount(text))).collect()
    }

    fn words(all: &[(&str, &[&str])]) -> Resources {
        Resources::of_words(all.iter().map(|(name, words)| (*name, words.iter()))).expect("they differ")
    }

    #[test]
    fn addresses_are_taken_in_text_order_and_given_back() {
        let whole = Resources::from_iter([("gpu", ["2", "10", "1"])]);
        let mut free = whole.clone();
        let taken = free.take(&amounts(&[("gpu", "2")])).expect("three are free");
        assert_eq!(taken, Resources::from_iter([("gpu", ["1", "10"])]));
        assert_eq!(free.count("gpu"), 1);
        free.give_back(taken);
        assert_eq!(free, whole);
    }

    #[test]
    fn a_part_goes_to_the_fullest_address_that_has_room() {
        let mut free = words(&[("gpu", &["0", "1@0.6", "2@0.3", "3@0.2"])]);
        for (asked, given) in [
            ("0.25", "gpu=2@0.25"),
            ("0.25", "gpu=1@0.25"),
            ("0.2", "gpu=3@0.2"),
            ("1", "gpu=0"),
            ("0.35", "gpu=1@0.35"),
        ] {
            let taken = free.take(&amounts(&[("gpu", asked)])).map(|taken| taken.to_string());
            assert_eq!(taken.as_deref(), Some(given), "{asked}");
        }
        assert_eq!(free.to_string(), "gpu=2@0.05");
        assert_eq!(free.take(&amounts(&[("gpu", "0.1")])), None);
    }

    #[test]
    fn parts_make_no_whole_address() {
        let mut free = words(&[("gpu", &["0@0.5", "1@0.5"])]);
        assert_eq!(free.fit("gpu", Amount::Whole(1)), Some(0));
        assert_eq!(free.fit("gpu", Amount::Part(Part::of(200).expect("it is a part"))), Some(4));
        assert_eq!(free.take(&amounts(&[("gpu", "1")])), None);
        free.give_back(words(&[("gpu", &["0@0.5"])]));
        assert_eq!(free.take(&amounts(&[("gpu", "1")])), Some(words(&[("gpu", &["0"])])));
    }

    #[test]
    fn a_kind_is_taken_where_it_is_named_and_any_kind_where_none_is() {
        let all = words(&[("gpu:A100", &["0", "1"]), ("gpu:T4", &["2"])]);
        let mut free = all.clone();
        let t4 = free.take(&amounts(&[("gpu:T4", "1")])).expect("there is one");
        assert_eq!(t4.to_string(), "gpu:T4=2");
        let any = amounts(&[("gpu", "1")]);
        let taken = free.take(&any).expect("there are two");
        assert_eq!(taken.to_string(), "gpu:A100=0");
        assert_eq!(taken.as_asked(&any).to_string(), "gpu=0");
        assert_eq!(all.named_as_here(&taken.as_asked(&any)), taken);
        assert_eq!(free.take(&amounts(&[("gpu:T4", "0.5")])), None);
        assert_eq!((free.count("gpu"), all.count("gpu"), all.count("gpu:T4")), (1, 3, 1));
        assert_eq!(all.kinds("gpu").into_iter().collect::<Vec<_>>(), ["A100", "T4"]);
    }

    #[test]
    fn amounts_that_overlap_are_taken_together_or_not_at_all() {
        let all = words(&[("gpu:A100", &["0"])]);
        let mut free = all.clone();
        assert_eq!(free.take(&amounts(&[("gpu", "1"), ("gpu:A100", "1")])), None);
        assert_eq!(free, all);
    }

    #[test]
    fn room_is_set_aside_even_where_it_does_not_suffice() {
        let free = words(&[("gpu", &["0", "1@0.3", "2@0.2"])]);
        for (asked, executors, left) in [
            ("0.25", 1, "gpu=0,1@0.05,2@0.2"),
            ("0.25", 5, "gpu=1@0.05,2@0.2"),
            ("0.25", 6, ""),
            ("1", 1, "gpu=1@0.3,2@0.2"),
            ("1", 2, ""),
        ] {
            let less = free.less(&amounts(&[("gpu", asked)]), executors);
            assert_eq!(less.to_string(), left, "{executors} of {asked}");
        }
    }

    #[test]
    fn taking_is_all_or_nothing() {
        let mut free = Resources::from_iter([("gpu", ["0", "1"])]);
        assert_eq!(free.take(&amounts(&[("gpu", "1"), ("fpga", "1")])), None);
        assert_eq!(free.count("gpu"), 2);
        assert!(free.covers(&amounts(&[("fpga", "0")])));
    }
}
