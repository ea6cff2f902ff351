//! How much of a Worker's free amounts is lost for the executors that applications ask for.

use std::collections::{BTreeMap, BTreeSet};

use super::demand_statistics::Kind;
use crate::Demand;
use crate::policy::room::Room;
use crate::resources::amount::Amount;
use crate::resources::resource_name::{serves, without_kind};

/// The minimum of the fraction of free addresses that a kind of executor can use. A smaller fraction counts as this
/// one.
const LEAST_USABLE: f64 = 0.1;
/// The cost of a thousandth of an address without cores. A thousandth that a kind of executor cannot use costs 1.
const STARVED: f64 = 1.5;
/// The number of thousandths in a step: losses are compared in steps of 0.04 addresses.
const STEP: f64 = 40.0;

/// What was learned about the executors that applications ask for. With the empty demand model, every loss is zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DemandModel {
    resources: Vec<LearnedResource>,
}

/// What was learned about one resource.
#[derive(Clone, Debug, PartialEq)]
struct LearnedResource {
    /// The resource's name without a kind.
    name: String,
    /// The kinds of executors that ask for the resource, each with its weight. The weights add up to 1.
    kinds: Vec<(Kind, f64)>,
    /// The mean number of cores that executors ask for together with a thousandth of an address.
    cores: f64,
}

impl DemandModel {
    /// The demand model for these counts, on a cluster with these free amounts.
    pub(super) fn of(counts: &BTreeMap<Kind, u64>, rooms: &[Room<'_>]) -> Self {
        let names: BTreeSet<&str> =
            counts.keys().flat_map(|kind| kind.resources.keys()).map(|name| without_kind(name)).collect();
        Self { resources: names.into_iter().map(|name| LearnedResource::of(name, counts, rooms)).collect() }
    }

    /// The number of steps by which a Worker's loss grows with one more executor. Negative if the executor takes
    /// addresses that other executors could not use.
    pub(in crate::policy) fn growth(&self, room: &Room<'_>, demand: &Demand) -> i64 {
        if self.resources.is_empty() {
            return 0;
        }
        let mut after = room.clone();
        after.take(demand);
        ((self.loss(&after) - self.loss(room)) / STEP).round() as i64
    }

    /// The thousandths of free addresses that are lost: those that kinds of executors cannot use, as a mean over the
    /// kinds, and those without enough cores.
    fn loss(&self, room: &Room<'_>) -> f64 {
        self.resources.iter().map(|resource| resource.loss(room)).sum()
    }
}

impl LearnedResource {
    fn of(name: &str, counts: &BTreeMap<Kind, u64>, rooms: &[Room<'_>]) -> Self {
        let free: u64 = rooms.iter().map(|room| room.free(name)).sum();
        let (mut cores, mut thousandths, mut kinds) = (0.0, 0.0, Vec::new());
        for (kind, count) in counts {
            let each: u64 = kind.of(name).map(|(_, amount)| amount.quantity().thousandths()).sum();
            if each == 0 {
                continue;
            }
            let asked = *count as f64 * each as f64;
            cores += *count as f64 * kind.cores.0 as f64;
            thousandths += asked;
            let usable: u64 = rooms.iter().map(|room| kind.usable(name, room)).sum();
            let scarce = (usable as f64 / free.max(1) as f64).max(LEAST_USABLE);
            kinds.push((kind.clone(), asked / (scarce * scarce)));
        }
        let all: f64 = kinds.iter().map(|(_, weight)| weight).sum();
        kinds.iter_mut().for_each(|(_, weight)| *weight /= all);
        Self { name: name.to_owned(), kinds, cores: cores / thousandths }
    }

    fn loss(&self, room: &Room<'_>) -> f64 {
        let free = room.free(&self.name) as f64;
        if free == 0.0 {
            return 0.0;
        }
        let usable: f64 =
            self.kinds.iter().map(|(kind, weight)| weight * kind.usable(&self.name, room) as f64).sum();
        let fed = if self.cores > 0.0 { room.cores.0 as f64 / self.cores } else { free };
        free - usable + STARVED * (free - fed).max(0.0)
    }
}

impl Kind {
    /// The amounts that this kind asks of a resource, with their full names.
    fn of(&self, plain: &str) -> impl Iterator<Item = (&String, Amount)> {
        let asked = self.resources.iter().filter(move |(name, _)| serves(name, plain));
        asked.map(|(name, amount)| (name, *amount))
    }

    /// The thousandths of a resource that executors of this kind could use. Only addresses limit the number of
    /// executors, but the result is 0 if not even one executor fits.
    fn usable(&self, plain: &str, room: &Room<'_>) -> u64 {
        if self.cores > room.cores || self.memory > room.memory {
            return 0;
        }
        let fits = self.resources.iter().all(|(name, amount)| room.fit(name, *amount) > 0);
        let of_each =
            |(name, amount): (&String, Amount)| room.fit(name, amount) * amount.quantity().thousandths();
        if fits { self.of(plain).map(of_each).sum() } else { 0 }
    }
}
