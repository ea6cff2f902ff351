//! What tasks get of their executor's addresses: whole ones, or a part of one that several tasks share.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::Resources;

/// How much of a custom resource one task takes.
///
/// Source: Spark, 4.0.1 (`spark.task.resource.NAME.amount`, as documented): a whole number, or a fraction of at
/// most a half. A fraction stands for the number of tasks that share an address, rounded down: 0.22 for four.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TaskAmount {
    /// So many addresses, shared with nobody.
    Whole(u32),
    /// One address that so many tasks share: from 2 to [`MOST_SHARERS`](Self::MOST_SHARERS).
    Shared(u32),
}

/// What one task takes of each custom resource, by name.
pub type TaskResources = BTreeMap<String, TaskAmount>;

impl TaskAmount {
    /// So many tasks share an address at most. The parts of more would be too fine to be told apart.
    pub const MOST_SHARERS: u32 = 10_000;

    /// How many tasks that take so much run at once on so many addresses. `None`: any number, since they take
    /// nothing.
    #[must_use]
    pub fn tasks_on(self, addresses: u64) -> Option<u64> {
        match self {
            Self::Whole(0) => None,
            Self::Whole(each) => Some(addresses / u64::from(each)),
            Self::Shared(sharers) => Some(addresses.saturating_mul(sharers.into())),
        }
    }

    /// How many addresses one task needs to be there.
    #[must_use]
    pub fn addresses(self) -> u64 {
        match self {
            Self::Whole(each) => each.into(),
            Self::Shared(_) => 1,
        }
    }

    /// What it takes of an address that it shares.
    fn part(sharers: u32) -> u64 {
        WHOLE / u64::from(sharers.clamp(1, Self::MOST_SHARERS))
    }
}

/// `2`, `1/4`.
impl fmt::Display for TaskAmount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(each) => write!(f, "{each}"),
            Self::Shared(sharers) => write!(f, "1/{sharers}"),
        }
    }
}

/// Text that is no amount for a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a whole number, or a fraction from 0.0001 to 0.5 by which tasks share an address")]
pub struct NoTaskAmount;

impl FromStr for TaskAmount {
    type Err = NoTaskAmount;

    /// From `2`, `2.0` or `0.25`.
    fn from_str(text: &str) -> Result<Self, NoTaskAmount> {
        if let Ok(whole) = text.parse() {
            return Ok(Self::Whole(whole));
        }
        let amount: f64 = text.parse().map_err(|_| NoTaskAmount)?;
        if amount.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&amount) {
            return Ok(Self::Whole(amount as u32));
        }
        let sharers = (1.0 / amount).floor();
        let may = 2.0..=f64::from(Self::MOST_SHARERS);
        (amount > 0.0 && may.contains(&sharers)).then_some(Self::Shared(sharers as u32)).ok_or(NoTaskAmount)
    }
}

/// An address that nobody has a part of. Fine enough that as many parts fit as tasks may share, and not one more.
const WHOLE: u64 = 1_000_000_000_000;

/// An executor's addresses, and how much of each no task has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shares {
    free: BTreeMap<String, BTreeMap<String, u64>>,
}

/// What one task has of an executor's addresses. It is made by taking, and given back when the task has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    parts: Vec<(String, String, u64)>,
}

impl Taken {
    /// The addresses, by resource.
    #[must_use]
    pub fn addresses(&self) -> Resources {
        self.parts.iter().map(|(name, address, _)| (name.clone(), [address.clone()])).collect()
    }
}

/// How much of addresses is free, as far as one more task can tell.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Room(BTreeMap<String, Spare>);

/// What is free of one resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Spare {
    /// Addresses that nobody has a part of.
    whole: u64,
    /// The largest free part of an address.
    part: u64,
}

impl Room {
    /// Whether a task that takes so much can be given it.
    #[must_use]
    pub fn covers(&self, asked: &TaskResources) -> bool {
        asked.iter().all(|(name, amount)| {
            let Spare { whole, part } = self.0.get(name).copied().unwrap_or_default();
            match *amount {
                TaskAmount::Whole(each) => whole >= u64::from(each),
                TaskAmount::Shared(sharers) => part >= TaskAmount::part(sharers),
            }
        })
    }
}

impl Shares {
    /// Addresses of which nobody has a part.
    #[must_use]
    pub fn of(resources: &Resources) -> Self {
        let whole = |address: &str| (address.to_owned(), WHOLE);
        let free = resources.iter().map(|(name, all)| (name.to_owned(), all.map(whole).collect()));
        Self { free: free.collect() }
    }

    /// How much is free.
    #[must_use]
    pub fn room(&self) -> Room {
        let spare = |parts: &BTreeMap<String, u64>| Spare {
            whole: parts.values().filter(|part| **part == WHOLE).count() as u64,
            part: parts.values().copied().max().unwrap_or(0),
        };
        Room(self.free.iter().map(|(name, parts)| (name.clone(), spare(parts))).collect())
    }

    /// Takes what one task takes: of whole addresses the first in text order, of those that are shared the one of
    /// which least is left. All or nothing.
    pub fn take(&mut self, asked: &TaskResources) -> Option<Taken> {
        let mut parts = Vec::new();
        for (name, amount) in asked {
            let free = self.free.get(name);
            let free = free.into_iter().flatten().map(|(address, part)| (address, *part));
            let (addresses, part): (Vec<&String>, u64) = match *amount {
                TaskAmount::Whole(each) => {
                    let whole = free.filter(|(_, part)| *part == WHOLE).map(|(address, _)| address);
                    (whole.take(each as usize).collect(), WHOLE)
                }
                TaskAmount::Shared(sharers) => {
                    let part = TaskAmount::part(sharers);
                    let large_enough = free.filter(|(_, left)| *left >= part);
                    let least = large_enough.min_by_key(|(_, left)| *left).map(|(address, _)| address);
                    (least.into_iter().collect(), part)
                }
            };
            if (addresses.len() as u64) < amount.addresses() {
                return None;
            }
            parts.extend(addresses.into_iter().map(|address| (name.clone(), address.clone(), part)));
        }
        for (name, address, part) in &parts {
            if let Some(left) = self.free.get_mut(name).and_then(|free| free.get_mut(address)) {
                *left -= part;
            }
        }
        Some(Taken { parts })
    }

    /// Gives back what [`take`](Self::take) took.
    pub fn give_back(&mut self, taken: &Taken) {
        for (name, address, part) in &taken.parts {
            if let Some(left) = self.free.get_mut(name).and_then(|free| free.get_mut(address)) {
                *left += part;
            }
        }
    }

    /// For invariants: whether those together are what is taken of these addresses.
    #[must_use]
    pub fn adds_up<'a>(&self, resources: &Resources, taken: impl IntoIterator<Item = &'a Taken>) -> bool {
        let mut whole = self.clone();
        taken.into_iter().for_each(|taken| whole.give_back(taken));
        whole == Self::of(resources)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(all: &[(&str, &str)]) -> TaskResources {
        let amount = |text: &str| text.parse().expect("it is an amount");
        all.iter().map(|(name, text)| ((*name).to_owned(), amount(text))).collect()
    }

    fn given(shares: &mut Shares, amount: &str) -> Option<Vec<String>> {
        let taken = shares.take(&asked(&[("gpu", amount)]))?;
        let addresses = taken.addresses();
        let gpu =
            addresses.iter().flat_map(|(_, addresses)| addresses.map(str::to_owned).collect::<Vec<_>>());
        Some(gpu.collect())
    }

    #[test]
    fn an_amount_is_a_whole_number_or_at_most_a_half() {
        use TaskAmount::{Shared, Whole};
        for (text, expected) in [
            ("0", Ok(Whole(0))),
            ("1", Ok(Whole(1))),
            ("2.0", Ok(Whole(2))),
            ("0.5", Ok(Shared(2))),
            ("0.25", Ok(Shared(4))),
            ("0.2222", Ok(Shared(4))),
            ("0.3", Ok(Shared(3))),
            ("0.1", Ok(Shared(10))),
            ("0.0001", Ok(Shared(10_000))),
        ] {
            assert_eq!(text.parse(), expected, "{text}");
        }
        for text in
            ["", "0.6", "1.5", "-1", "-0.5", "0.00001", "NaN", "inf", "x", "4294967296", "1e300", "1,5"]
        {
            assert_eq!(text.parse::<TaskAmount>(), Err(NoTaskAmount), "{text}");
        }
    }

    #[test]
    fn whole_addresses_are_taken_in_text_order_and_come_back() {
        let gpus = Resources::from_iter([("gpu", ["2", "10", "1"])]);
        let mut shares = Shares::of(&gpus);
        let taken = shares.take(&asked(&[("gpu", "2")])).expect("three are free");
        assert_eq!(taken.addresses(), Resources::from_iter([("gpu", ["1", "10"])]));
        assert_eq!(shares.take(&asked(&[("gpu", "2")])), None);
        assert!(shares.adds_up(&gpus, [&taken]) && !shares.adds_up(&gpus, []));
        shares.give_back(&taken);
        assert_eq!(shares, Shares::of(&gpus));
    }

    #[test]
    fn as_many_tasks_share_an_address_as_its_part_says_before_another_one_is_touched() {
        let mut shares = Shares::of(&Resources::from_iter([("gpu", ["0", "1"])]));
        let all: Vec<_> = std::iter::from_fn(|| given(&mut shares, "0.5")).flatten().collect();
        assert_eq!(all, ["0", "0", "1", "1"]);
        for sharers in [2, 3, 7, 999, 10_000_u32] {
            let mut shares = Shares::of(&Resources::from_iter([("gpu", ["0"])]));
            let amount = BTreeMap::from([("gpu".to_owned(), TaskAmount::Shared(sharers))]);
            let count = std::iter::from_fn(|| shares.take(&amount)).count();
            assert_eq!(count, sharers as usize);
            assert_eq!(TaskAmount::Shared(sharers).tasks_on(1), Some(u64::from(sharers)));
        }
    }

    #[test]
    fn room_says_what_taking_does() {
        let mut shares = Shares::of(&Resources::from_iter([("gpu", ["0", "1"])]));
        for amount in ["0.5", "1", "0.3", "0.5", "0.1"] {
            for next in ["0", "1", "2", "0.5", "0.3", "0.1"] {
                let next = asked(&[("gpu", next)]);
                assert_eq!(shares.room().covers(&next), shares.clone().take(&next).is_some(), "{next:?}");
            }
            let _ = given(&mut shares, amount);
        }
        assert!(!shares.room().covers(&asked(&[("fpga", "0.5")])) && shares.room().covers(&asked(&[])));
    }

    #[test]
    fn nothing_is_taken_where_one_resource_falls_short() {
        let both = Resources::from_iter([("gpu", ["0"]), ("nic", ["a"])]);
        let mut shares = Shares::of(&both);
        assert_eq!(shares.take(&asked(&[("gpu", "1"), ("nic", "2")])), None);
        assert_eq!(shares, Shares::of(&both));
    }
}
