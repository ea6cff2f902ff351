//! What is left over on a worker, as one number: its dominant share.

use std::collections::BTreeMap;

use crate::{Demand, Offer};

/// Shares are counted in so many parts of the whole, rounded down.
const PARTS: u64 = 1 << 56;

/// What all workers have together, free or not: what shares are shares of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Whole {
    cores: u64,
    memory: u64,
    resources: BTreeMap<String, u64>,
}

impl Whole {
    /// A worker has come, with all that it has.
    pub fn add(&mut self, all: &Offer<'_>) {
        self.cores = self.cores.saturating_add(positive(all.cores.0));
        self.memory = self.memory.saturating_add(positive(all.memory.0));
        for (name, addresses) in all.resources.iter() {
            let count = self.resources.entry(name.to_owned()).or_default();
            *count += addresses.count() as u64;
        }
        self.resources.retain(|_, count| *count > 0);
    }

    /// It has gone.
    pub fn remove(&mut self, all: &Offer<'_>) {
        self.cores = self.cores.saturating_sub(positive(all.cores.0));
        self.memory = self.memory.saturating_sub(positive(all.memory.0));
        for (name, addresses) in all.resources.iter() {
            if let Some(count) = self.resources.get_mut(name) {
                *count = count.saturating_sub(addresses.count() as u64);
            }
        }
        self.resources.retain(|_, count| *count > 0);
    }
}

/// What a worker would have left over, with one more executor on it: first the dominant share, then the sum of all
/// shares, for those of which the dominant one is equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LeftOver {
    dominant: u64,
    sum: u64,
}

/// What one executor takes, and what each amount that it leaves weighs.
#[derive(Debug)]
pub(super) struct Scales<'a> {
    demand: &'a Demand,
    cores: u64,
    memory: u64,
    resources: BTreeMap<&'a str, Scale>,
}

/// Of a custom resource, how much of it one executor takes, and what each that is left weighs.
#[derive(Debug)]
struct Scale {
    taken: u64,
    weight: u64,
}

impl<'a> Scales<'a> {
    pub(super) fn new(demand: &'a Demand, whole: &'a Whole) -> Self {
        let resource = |(name, count): (&'a String, &u64)| {
            let taken = demand.resources.get(name).copied().unwrap_or(0);
            (name.as_str(), Scale { taken, weight: weight(*count) })
        };
        let resources = whole.resources.iter().map(resource).collect();
        Self { demand, cores: weight(whole.cores), memory: weight(whole.memory), resources }
    }

    /// What one executor leaves of that offer, which has room for it.
    pub(super) fn left_over(&self, offer: &Offer<'_>) -> LeftOver {
        let cores = positive(offer.cores.0.saturating_sub(self.demand.size.step().0));
        let memory = positive(offer.memory.0.saturating_sub(self.demand.memory.0));
        let mut left = LeftOver::default();
        left.add(cores.saturating_mul(self.cores));
        left.add(memory.saturating_mul(self.memory));
        for (name, addresses) in offer.resources.iter() {
            if let Some(Scale { taken, weight }) = self.resources.get(name) {
                left.add((addresses.count() as u64).saturating_sub(*taken).saturating_mul(*weight));
            }
        }
        left
    }
}

impl LeftOver {
    fn add(&mut self, share: u64) {
        self.dominant = self.dominant.max(share);
        self.sum = self.sum.saturating_add(share);
    }
}

fn weight(whole: u64) -> u64 {
    PARTS.checked_div(whole).unwrap_or(0)
}

fn positive(amount: i64) -> u64 {
    u64::try_from(amount).unwrap_or(0)
}
