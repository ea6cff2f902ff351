//! What an executor leaves on a worker: how much, and how much of that is of no use.

use std::collections::BTreeMap;

use crate::shortfall::Amounts;
use crate::{Cores, Demand, ExecutorSize, MiB, Offer};

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

    /// What they have together, counted.
    #[must_use]
    pub fn amounts(&self) -> Amounts {
        let amount = |amount: u64| i64::try_from(amount).unwrap_or(i64::MAX);
        let (cores, memory) = (Cores(amount(self.cores)), MiB(amount(self.memory)));
        Amounts { cores, memory, resources: self.resources.clone() }
    }
}

/// Of what the least is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Measure {
    /// What is left over: the dominant share of it; where that is equal, the sum of all shares.
    LeftOver,
    /// Those addresses of custom resources among it that one more executor of the same kind could not use; where that is
    /// equal, what is left over.
    Unusable,
}

/// What the measure is of one executor on one worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Measured {
    unusable: u64,
    dominant: u64,
    sum: u64,
}

/// What one executor takes, and what each amount that it leaves weighs.
#[derive(Debug)]
pub(super) struct Scales<'a> {
    measure: Measure,
    demand: &'a Demand,
    cores: u64,
    memory: u64,
    resources: Vec<Scale<'a>>,
}

/// Of a custom resource, how much of it one executor takes, and what each that is left weighs.
#[derive(Debug)]
struct Scale<'a> {
    name: &'a str,
    taken: u64,
    weight: u64,
}

impl<'a> Scales<'a> {
    pub(super) fn new(measure: Measure, demand: &'a Demand, whole: &'a Whole) -> Self {
        let resource = |(name, count): (&'a String, &u64)| {
            let taken = demand.resources.get(name).copied().unwrap_or(0);
            Scale { name, taken, weight: weight(*count) }
        };
        let resources = whole.resources.iter().map(resource).collect();
        Self { measure, demand, cores: weight(whole.cores), memory: weight(whole.memory), resources }
    }

    pub(super) fn demand(&self) -> &Demand {
        self.demand
    }

    pub(super) fn kind(&self) -> Measure {
        self.measure
    }

    /// What one executor leaves of that offer, which had room for `before` others and has room for it.
    pub(super) fn measure(&self, offer: &Offer<'_>, before: u64) -> Measured {
        let Demand { size, memory, .. } = self.demand;
        let taken = i64::try_from(before).unwrap_or(i64::MAX).saturating_add(1);
        let left = |free: i64, each: i64| free.saturating_sub(each.max(0).saturating_mul(taken));
        let cores = left(offer.cores.0, size.step().0);
        let memory_left = left(offer.memory.0, memory.0);
        let mut one_more = match size {
            ExecutorSize::Fixed(each) => cores >= each.0 && memory_left >= memory.0,
            // The first one takes all the cores.
            ExecutorSize::OnePerWorker => false,
        };
        let mut measured = Measured::default();
        measured.add(positive(cores).saturating_mul(self.cores));
        measured.add(positive(memory_left).saturating_mul(self.memory));
        let [mut asked, mut unasked] = [0_u64; 2];
        for Scale { name, taken: each, weight } in &self.resources {
            let left = offer.resources.count(name).saturating_sub(each.saturating_mul(taken as u64));
            let share = left.saturating_mul(*weight);
            measured.add(share);
            match each {
                0 => unasked = unasked.saturating_add(share),
                1.. => asked = asked.saturating_add(share),
            }
            one_more &= left >= *each;
        }
        measured.unusable = match self.measure {
            Measure::LeftOver => 0,
            Measure::Unusable if one_more => unasked,
            Measure::Unusable => unasked.saturating_add(asked),
        };
        measured
    }
}

impl Measured {
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
