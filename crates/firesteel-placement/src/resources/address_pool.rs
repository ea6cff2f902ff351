//! The addresses of an executor (gpus and the like) and how its tasks use them: whole, or shared by several tasks.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use super::amount;
use super::amount::{Amount, Part, ResourceAmounts};
use super::resource_name::without_kind;
use crate::Resources;

/// The amount of a custom resource that one task takes.
///
/// Source: Spark, 4.0.1 (`spark.task.resource.NAME.amount`, as documented): a whole number, or a fraction of at most
/// one half. The number of tasks that can share an address is 1 divided by the fraction, rounded down: 4 for 0.22.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TaskAmount {
    /// This number of addresses, not shared with other tasks.
    Whole(u32),
    /// One address that this number of tasks can share: from 2 to [`MAX_SHARERS`](Self::MAX_SHARERS).
    Shared(u32),
    /// Exactly this fraction of an address, for tasks of executors that themselves have a fraction of one. Spark has no
    /// such executors.
    Part(Part),
}

/// The amount that one task takes of each custom resource, by name.
pub type TaskResources = BTreeMap<String, TaskAmount>;

impl TaskAmount {
    /// The maximum number of tasks that share an address. Smaller fractions could not be distinguished.
    pub const MAX_SHARERS: u32 = 10_000;

    /// Parses the amount of a task whose executor has the amount `executor` of the resource. If the executor has whole
    /// addresses, a fraction is read as in Spark. If the executor has a fraction of an address, the task's fraction is
    /// exact.
    ///
    /// # Errors
    /// The text is neither a whole number nor such a fraction.
    pub fn of_executor(text: &str, executor: Amount) -> Result<Self, NoTaskAmount> {
        match (executor, text.parse()) {
            (Amount::Part(_), Ok(Amount::Part(part))) => Ok(Self::Part(part)),
            (Amount::Part(_) | Amount::Whole(_), _) => text.parse(),
        }
    }

    /// The amount of the resource `name`, of any kind, that an executor with these amounts has.
    #[must_use]
    pub fn of_amounts(executor: &ResourceAmounts, name: &str) -> Amount {
        let of_it = executor.iter().filter(|(asked, _)| without_kind(asked) == name);
        of_it.fold(Amount::NONE, |sum, (_, amount)| match (sum, *amount) {
            (Amount::Whole(sum), Amount::Whole(more)) => Amount::Whole(sum.saturating_add(more)),
            (Amount::Part(part), _) | (Amount::Whole(_), Amount::Part(part)) => Amount::Part(part),
        })
    }

    /// The number of tasks with this amount that can run at once on an executor. `None` if the amount is 0, so that any
    /// number can run.
    #[must_use]
    pub fn tasks_on(self, executor: Amount) -> Option<u64> {
        match (self, executor) {
            (Self::Whole(0), _) => None,
            (Self::Whole(each), Amount::Whole(addresses)) => Some(addresses / u64::from(each)),
            (Self::Whole(_), Amount::Part(_)) => Some(0),
            (Self::Shared(sharers), Amount::Whole(addresses)) => {
                Some(addresses.saturating_mul(sharers.into()))
            }
            (Self::Part(_), Amount::Whole(addresses)) => Some(addresses.saturating_mul(UNITS / self.units())),
            (Self::Shared(_) | Self::Part(_), Amount::Part(part)) => {
                Some(units_of(part.thousandths()) / self.units())
            }
        }
    }

    /// The number of addresses that one task uses. A shared address counts as one.
    #[must_use]
    pub fn addresses(self) -> u64 {
        match self {
            Self::Whole(each) => each.into(),
            Self::Shared(_) | Self::Part(_) => 1,
        }
    }

    /// The units that a task takes of each of its addresses.
    fn units(self) -> u64 {
        match self {
            Self::Whole(_) => UNITS,
            Self::Shared(sharers) => UNITS / u64::from(sharers.clamp(1, Self::MAX_SHARERS)),
            Self::Part(part) => units_of(part.thousandths()),
        }
    }
}

/// Formats the amount as `2`, `1/4` or `0.25`.
impl fmt::Display for TaskAmount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(each) => write!(f, "{each}"),
            Self::Shared(sharers) => write!(f, "1/{sharers}"),
            Self::Part(part) => write!(f, "{part}"),
        }
    }
}

/// The error for text that is not an amount for a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a whole number, or a fraction from 0.0001 to 0.5 by which tasks share an address")]
pub struct NoTaskAmount;

impl FromStr for TaskAmount {
    type Err = NoTaskAmount;

    /// Parses `2`, `2.0` or `0.25`.
    fn from_str(text: &str) -> Result<Self, NoTaskAmount> {
        if let Ok(whole) = text.parse() {
            return Ok(Self::Whole(whole));
        }
        let amount: f64 = text.parse().map_err(|_| NoTaskAmount)?;
        if amount.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&amount) {
            return Ok(Self::Whole(amount as u32));
        }
        let sharers = (1.0 / amount).floor();
        let allowed = 2.0..=f64::from(Self::MAX_SHARERS);
        (amount > 0.0 && allowed.contains(&sharers))
            .then_some(Self::Shared(sharers as u32))
            .ok_or(NoTaskAmount)
    }
}

/// The number of units of a whole address. It is large enough that exactly the allowed number of tasks fits.
const UNITS: u64 = 1_000_000_000_000;

/// The number of units for these thousandths of an address.
fn units_of(thousandths: u64) -> u64 {
    UNITS / amount::WHOLE * thousandths
}

/// The addresses of an executor, with the free fraction of each. Tasks ask for resources by names without kinds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressPool {
    /// The free units of each address, by resource name.
    free: BTreeMap<String, BTreeMap<String, u64>>,
}

/// The addresses that one task uses, taken from an [`AddressPool`] and given back when the task has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TakenAddresses {
    /// For each address: the resource's name, the address, and the units that are taken.
    parts: Vec<(String, String, u64)>,
}

impl TakenAddresses {
    /// The addresses by resource name.
    #[must_use]
    pub fn addresses(&self) -> Resources {
        self.parts.iter().map(|(name, address, _)| (name.clone(), [address.clone()])).collect()
    }
}

/// The free amounts of an [`AddressPool`], reduced to what decides whether one more task fits.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FreeAddresses(BTreeMap<String, FreeAddress>);

/// The free amounts of one resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct FreeAddress {
    /// The number of addresses that no task uses.
    whole: u64,
    /// The largest number of free units of any address.
    most: u64,
}

impl FreeAddresses {
    /// Whether a task that takes these amounts fits.
    #[must_use]
    pub fn covers(&self, asked: &TaskResources) -> bool {
        asked.iter().all(|(name, amount)| {
            let FreeAddress { whole, most } = self.0.get(name).copied().unwrap_or_default();
            match *amount {
                TaskAmount::Whole(each) => whole >= u64::from(each),
                TaskAmount::Shared(_) | TaskAmount::Part(_) => most >= amount.units(),
            }
        })
    }
}

impl AddressPool {
    /// A pool of addresses that no task uses.
    #[must_use]
    pub fn of(resources: &Resources) -> Self {
        let mut free: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
        for (name, _) in resources.iter() {
            free.entry(without_kind(name).to_owned()).or_default();
        }
        for (name, address, part) in resources.parts() {
            let here = free.entry(without_kind(name).to_owned()).or_default();
            here.insert(address.to_owned(), units_of(part.thousandths()));
        }
        Self { free }
    }

    /// The free amounts, to check whether a task fits.
    #[must_use]
    pub fn free(&self) -> FreeAddresses {
        let free = |parts: &BTreeMap<String, u64>| FreeAddress {
            whole: parts.values().filter(|part| **part == UNITS).count() as u64,
            most: parts.values().copied().max().unwrap_or(0),
        };
        FreeAddresses(self.free.iter().map(|(name, parts)| (name.clone(), free(parts))).collect())
    }

    /// Takes the addresses for one task. Whole addresses are taken in text order. A shared one comes from the address
    /// with the smallest free fraction that suffices. Returns `None` and takes nothing if a resource does not suffice.
    pub fn take(&mut self, asked: &TaskResources) -> Option<TakenAddresses> {
        let mut parts = Vec::new();
        for (name, amount) in asked {
            let free = self.free.get(name);
            let free = free.into_iter().flatten().map(|(address, part)| (address, *part));
            let (addresses, part): (Vec<&String>, u64) = match *amount {
                TaskAmount::Whole(each) => {
                    let whole = free.filter(|(_, part)| *part == UNITS).map(|(address, _)| address);
                    (whole.take(each as usize).collect(), UNITS)
                }
                TaskAmount::Shared(_) | TaskAmount::Part(_) => {
                    let part = amount.units();
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
        Some(TakenAddresses { parts })
    }

    /// Gives back the addresses that [`take`](Self::take) took.
    pub fn give_back(&mut self, taken: &TakenAddresses) {
        for (name, address, part) in &taken.parts {
            if let Some(left) = self.free.get_mut(name).and_then(|free| free.get_mut(address)) {
                *left += part;
            }
        }
    }

    /// Whether `taken` is exactly what is missing from a pool of these addresses. For invariants.
    #[must_use]
    pub fn adds_up<'a>(
        &self,
        resources: &Resources,
        taken: impl IntoIterator<Item = &'a TakenAddresses>,
    ) -> bool {
        let mut pool = self.clone();
        taken.into_iter().for_each(|taken| pool.give_back(taken));
        pool == Self::of(resources)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(all: &[(&str, &str)]) -> TaskResources {
        let amount = |text: &str| text.parse().expect("it is an amount");
        all.iter().map(|(name, text)| ((*name).to_owned(), amount(text))).collect()
    }

    fn given(pool: &mut AddressPool, amount: &str) -> Option<Vec<String>> {
        let taken = pool.take(&asked(&[("gpu", amount)]))?;
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
        let mut pool = AddressPool::of(&gpus);
        let taken = pool.take(&asked(&[("gpu", "2")])).expect("three are free");
        assert_eq!(taken.addresses(), Resources::from_iter([("gpu", ["1", "10"])]));
        assert_eq!(pool.take(&asked(&[("gpu", "2")])), None);
        assert!(pool.adds_up(&gpus, [&taken]) && !pool.adds_up(&gpus, []));
        pool.give_back(&taken);
        assert_eq!(pool, AddressPool::of(&gpus));
    }

    #[test]
    fn as_many_tasks_share_an_address_as_its_part_says_before_another_one_is_touched() {
        let mut pool = AddressPool::of(&Resources::from_iter([("gpu", ["0", "1"])]));
        let all: Vec<_> = std::iter::from_fn(|| given(&mut pool, "0.5")).flatten().collect();
        assert_eq!(all, ["0", "0", "1", "1"]);
        for sharers in [2, 3, 7, 999, 10_000_u32] {
            let mut pool = AddressPool::of(&Resources::from_iter([("gpu", ["0"])]));
            let amount = BTreeMap::from([("gpu".to_owned(), TaskAmount::Shared(sharers))]);
            let count = std::iter::from_fn(|| pool.take(&amount)).count();
            assert_eq!(count, sharers as usize);
            assert_eq!(TaskAmount::Shared(sharers).tasks_on(Amount::Whole(1)), Some(u64::from(sharers)));
        }
    }

    #[test]
    fn tasks_take_no_more_than_the_part_that_their_executor_has() {
        let part = |text: &str| text.parse::<Amount>().expect("it is an amount");
        for (executor, task, tasks) in [
            ("0.5", "0.25", 2),
            ("0.25", "0.25", 1),
            ("0.4", "0.4", 1),
            ("0.4", "0.3", 1),
            ("0.333", "0.333", 1),
            ("0.9", "0.3", 3),
            ("0.25", "0.5", 0),
            ("0.25", "1", 0),
            ("1", "0.25", 4),
            ("1", "0.4", 2),
        ] {
            let amount = TaskAmount::of_executor(task, part(executor)).expect("it is an amount");
            let held = match part(executor) {
                Amount::Whole(_) => Resources::from_iter([("gpu:A100", ["7"])]),
                Amount::Part(_) => {
                    Resources::of_words([("gpu:A100", [format!("7@{executor}")])]).expect("it is one")
                }
            };
            let mut pool = AddressPool::of(&held);
            let asked = BTreeMap::from([("gpu".to_owned(), amount)]);
            let taken: Vec<_> = std::iter::from_fn(|| pool.take(&asked)).collect();
            assert_eq!(
                (taken.len() as u64, amount.tasks_on(part(executor))),
                (tasks, Some(tasks)),
                "{task} of {executor}"
            );
            assert!(pool.adds_up(&held, &taken));
            let on = taken.iter().map(|taken| taken.addresses().to_string());
            assert!(on.into_iter().all(|addresses| addresses == "gpu=7"));
        }
    }

    #[test]
    fn what_is_free_decides_what_can_be_taken() {
        let mut pool = AddressPool::of(&Resources::from_iter([("gpu", ["0", "1"])]));
        for amount in ["0.5", "1", "0.3", "0.5", "0.1"] {
            for next in ["0", "1", "2", "0.5", "0.3", "0.1"] {
                let next = asked(&[("gpu", next)]);
                assert_eq!(pool.free().covers(&next), pool.clone().take(&next).is_some(), "{next:?}");
            }
            let _ = given(&mut pool, amount);
        }
        assert!(!pool.free().covers(&asked(&[("fpga", "0.5")])) && pool.free().covers(&asked(&[])));
    }

    #[test]
    fn nothing_is_taken_where_one_resource_falls_short() {
        let both = Resources::from_iter([("gpu", ["0"]), ("nic", ["a"])]);
        let mut pool = AddressPool::of(&both);
        assert_eq!(pool.take(&asked(&[("gpu", "1"), ("nic", "2")])), None);
        assert_eq!(pool, AddressPool::of(&both));
    }
}
