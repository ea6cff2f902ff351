//! The shortfall of an application: how many executors are missing, and why, in numbers and as a sentence.

mod sentence;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::resources::amount::ResourceQuantities;
use crate::{Amount, Cores, Demand, ExecutorLimit, ExecutorSize, MiB, Offer};

/// The missing executors or cores, and the reason. `Display` writes one sentence without a full stop: `1 of 4 executors
/// is missing: 2 Workers have 8 cores free but 1 GiB of memory, and an executor needs 4 GiB`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shortfall {
    /// The executors or cores that the application misses.
    pub missing: Missing,
    /// The amounts that one executor asks for. If its size is not fixed: one core.
    pub asked: Amounts,
    /// Why nothing more was placed.
    pub reason: Reason,
}

/// The executors or cores that are missing of an application's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Missing {
    /// Executors of the profile.
    Executors {
        /// The number of missing executors.
        missing: u64,
        /// The number of held and missing executors together.
        of: u64,
    },
    /// Cores of the application's maximum. Used if its executors have no fixed size, or if the last cores are too few
    /// for another executor.
    Cores(Cores),
    /// The first executor of an application without a maximum and without a limit.
    First,
}

/// Why nothing more was placed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The executor limit of the profile is reached, though the remaining cores would allow more executors.
    LimitReached {
        /// The maximum number of executors.
        limit: u64,
    },
    /// The application's maximum leaves fewer cores than one executor needs.
    TooFewCoresLeft {
        /// The cores that the maximum leaves: zero or less if it is reached.
        left: Cores,
    },
    /// No Worker is alive.
    NoWorkers,
    /// Another cluster manager has not granted more containers yet.
    NotGranted {
        /// The number of executors that it has granted.
        granted: u64,
    },
    /// No Worker is large enough for an executor, even if it is empty.
    TooSmall {
        /// For each amount, the maximum over all Workers. The executor needs more of one amount, or no single Worker
        /// has all amounts together.
        largest: Amounts,
    },
    /// Each Worker lacks free capacity now. The Workers are grouped by the amounts that they lack, the largest group
    /// first. At most [`MAX_GROUPS`] groups are listed.
    Busy {
        /// The groups of Workers.
        workers: Vec<LackingWorkers>,
    },
    /// The application starts with several executors at once, but fewer fit even if all Workers are empty.
    GangTooLarge {
        /// The number of executors with which the application starts.
        executors: u64,
        /// The number of executors that fit if all Workers are empty.
        room: u64,
    },
    /// The application starts with several executors at once, but fewer fit now.
    GangWaits {
        /// The number of executors with which the application starts.
        executors: u64,
        /// The number of executors that fit now into the capacity that the application may use.
        room: u64,
    },
    /// The free capacity is reserved for another application, which starts with several executors at once.
    KeptForAnother,
    /// Workers have enough free resources, but are excluded for the application for a while: its executors ended there
    /// too early.
    Excluded {
        /// The number of excluded Workers that have enough free resources.
        workers: u64,
    },
    /// Workers have enough free resources, but run only executors of other applications.
    Labelled {
        /// The number of these Workers.
        workers: u64,
        /// The label of the applications whose executors these Workers run.
        label: String,
    },
    /// Workers have enough free resources, but get no new executors until a problem there is solved.
    Impaired {
        /// The number of these Workers.
        workers: u64,
        /// The problem of the first of these Workers, such as `cannot write in its work directory: No space left on
        /// device`.
        why: String,
    },
    /// The same as [`Busy`](Self::Busy), but Workers lack cores that other applications hold. Only drivers receive this
    /// reason. Clients receive the holders separately.
    Held {
        /// The groups of Workers.
        workers: Vec<LackingWorkers>,
        /// The application that holds the most cores.
        holder: CoreHolder,
        /// The number of other applications that hold cores.
        others: u64,
    },
    /// Executors failed one after the other, so no new executor is launched for a while.
    Paused {
        /// The number of executors that failed in a row.
        failures: u64,
        /// The time until a new executor is launched, in milliseconds.
        millis: u64,
    },
    /// Workers have enough free resources, but are on hosts that the application avoids.
    Avoided {
        /// The number of these Workers.
        workers: u64,
    },
    /// Together, the applications of this user have so much that the limit for each user leaves too little for another
    /// executor.
    UserLimit {
        /// The limit, in words.
        limit: String,
    },
}

/// An application that holds cores that another one waits for. Only its driver knows whether it uses them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoreHolder {
    /// The application's id.
    pub app: String,
    /// The application's name.
    pub name: String,
    /// The number of cores that the application holds on living Workers.
    pub cores: Cores,
    /// The number of cores of all living Workers.
    pub of: Cores,
}

impl Shortfall {
    /// Whether an application with this number of executors lacks something because of this shortfall. If its maximum
    /// leaves too few cores for another executor, this is no lack, unless the application has no executor at all.
    #[must_use]
    pub fn is_lack(&self, executors: u64) -> bool {
        match self.reason {
            Reason::TooFewCoresLeft { .. } => executors == 0,
            // At the executor limit, executors without a fixed size are smaller than requested if cores are still
            // missing.
            Reason::LimitReached { .. } => matches!(self.missing, Missing::Cores(_)),
            Reason::NoWorkers
            | Reason::NotGranted { .. }
            | Reason::TooSmall { .. }
            | Reason::Busy { .. }
            | Reason::Held { .. }
            | Reason::GangTooLarge { .. }
            | Reason::GangWaits { .. }
            | Reason::KeptForAnother
            | Reason::Excluded { .. }
            | Reason::Impaired { .. }
            | Reason::Avoided { .. }
            | Reason::Paused { .. }
            | Reason::Labelled { .. }
            | Reason::UserLimit { .. } => true,
        }
    }
}

impl Reason {
    /// Whether the shortfall lasts until a new Worker registers, even if running executors end.
    #[must_use]
    pub fn lasts(&self) -> bool {
        match self {
            Self::TooSmall { .. } | Self::GangTooLarge { .. } => true,
            Self::LimitReached { .. }
            | Self::TooFewCoresLeft { .. }
            | Self::NoWorkers
            | Self::NotGranted { .. }
            | Self::Busy { .. }
            | Self::Held { .. }
            | Self::GangWaits { .. }
            | Self::KeptForAnother
            | Self::Excluded { .. }
            | Self::Impaired { .. }
            | Self::Avoided { .. }
            | Self::Paused { .. }
            | Self::Labelled { .. }
            | Self::UserLimit { .. } => false,
        }
    }

    /// The rank of the reason. If several reasons hold, the one with the lowest rank is reported. First come the
    /// application's own limits and lasting reasons. Then come reasons why Workers with free resources are not used,
    /// and last those that pass by themselves.
    #[must_use]
    pub fn rank(&self) -> u8 {
        match self {
            Self::LimitReached { .. } => 0,
            Self::TooFewCoresLeft { .. } => 1,
            Self::UserLimit { .. } => 2,
            Self::NotGranted { .. } => 3,
            Self::NoWorkers => 4,
            Self::TooSmall { .. } => 5,
            Self::GangTooLarge { .. } => 6,
            Self::Impaired { .. } => 7,
            Self::Excluded { .. } => 8,
            Self::Avoided { .. } => 9,
            Self::Labelled { .. } => 10,
            Self::Paused { .. } => 11,
            Self::KeptForAnother => 12,
            Self::GangWaits { .. } => 13,
            Self::Held { .. } => 14,
            Self::Busy { .. } => 15,
        }
    }

    /// Chooses the most important of several simultaneous reasons, for reporting.
    #[must_use]
    pub fn told(all: impl IntoIterator<Item = Self>) -> Option<Self> {
        all.into_iter().min_by_key(Self::rank)
    }
}

/// The maximum number of groups in [`Reason::Busy`]. With it, the reason fits into a message.
pub const MAX_GROUPS: usize = 16;

/// A group of Workers that lack the same amounts: for each of these, even the group's maximum (`most`) is less than the
/// request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LackingWorkers {
    /// The number of Workers.
    pub count: u64,
    /// The minimum of each free amount over the Workers of the group.
    pub least: Amounts,
    /// The maximum of each free amount over the Workers of the group.
    pub most: Amounts,
}

/// Amounts of cores, memory and custom resources.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amounts {
    /// The number of cores.
    pub cores: Cores,
    /// The amount of memory.
    pub memory: MiB,
    /// The quantity by resource name. A shortfall has only the requested resources, each with the largest quantity that
    /// counts. If a fraction of an address was requested, this is the largest free fraction of one address.
    pub resources: ResourceQuantities,
}

/// The shortfall of `demand` after a placement. `demand` contains the application's executors and remaining cores.
/// `free` has the free amounts of every living Worker, and `total` their total amounts. Both lists may be in any order.
///
/// `None` if nothing is missing. Also `None` if an executor still fits on a Worker: a placement is due first.
///
/// An application asks for as many executors as its maximum of cores and its executor limit allow. If it has reached
/// only one of the two, this one is the reason. If it has neither a maximum nor a limit, it has a shortfall only if it
/// has no executor. (A maximum of a thousand million cores or more counts as none.)
pub fn shortfall(demand: &Demand, free: &[Offer<'_>], total: &[Offer<'_>]) -> Option<Shortfall> {
    if demand.size.step() <= Cores::ZERO {
        return None;
    }
    let (missing, reason) = if demand.allows_one_more() {
        if free.iter().any(|offer| offer.fits(demand)) {
            return None;
        }
        (missing_on_workers(demand)?, lacking_on_workers(demand, free, total))
    } else {
        (missing_by_own_limits(demand)?, reached_limit(demand))
    };
    Some(Shortfall { missing, asked: Amounts::asked(demand), reason })
}

/// The shortfall of a demand that is not met for a reason that the caller knows, such as the order in which
/// applications are served. `None` if nothing is missing.
#[must_use]
pub fn held_back(demand: &Demand, reason: Reason) -> Option<Shortfall> {
    let missing = demand.allows_one_more().then(|| missing_on_workers(demand)).flatten()?;
    Some(Shortfall { missing, asked: Amounts::asked(demand), reason })
}

/// The missing executors or cores of a demand whose own limits allow more.
fn missing_on_workers(demand: &Demand) -> Option<Missing> {
    let left = bounded_cores_left(demand);
    match (demand.size, left, demand.limit) {
        (_, None, ExecutorLimit::Unlimited) => (demand.held == 0).then_some(Missing::First),
        (ExecutorSize::OnePerWorker, Some(left), _) => Some(Missing::Cores(left)),
        (ExecutorSize::OnePerWorker, None, ExecutorLimit::AtMost(_)) => {
            Some(executors(demand, demand.executors_allowed()))
        }
        (ExecutorSize::Fixed(each), ..) => {
            let affordable = left.map_or(u64::MAX, |left| (left.0 / each.0) as u64);
            Some(executors(demand, affordable.min(demand.executors_allowed())))
        }
    }
}

/// The missing executors or cores of a demand whose own limits allow no more: the number that one of its two limits
/// would still allow.
fn missing_by_own_limits(demand: &Demand) -> Option<Missing> {
    let left = bounded_cores_left(demand).unwrap_or(Cores::ZERO).max(Cores::ZERO);
    let by_limit = match demand.limit {
        ExecutorLimit::Unlimited => 0,
        ExecutorLimit::AtMost(_) => demand.executors_allowed(),
    };
    match demand.size {
        ExecutorSize::OnePerWorker if left > Cores::ZERO => Some(Missing::Cores(left)),
        ExecutorSize::OnePerWorker => (by_limit > 0).then(|| executors(demand, by_limit)),
        ExecutorSize::Fixed(each) => {
            let by_cores = (left.0 / each.0) as u64;
            match by_cores.max(by_limit) {
                0 => (left > Cores::ZERO).then_some(Missing::Cores(left)),
                more => Some(executors(demand, more)),
            }
        }
    }
}

fn executors(demand: &Demand, missing: u64) -> Missing {
    Missing::Executors { missing, of: demand.held.saturating_add(missing) }
}

/// The cores that a maximum leaves, or `None` if no maximum was set. A demand does not distinguish the two cases, so a
/// number close to [`Cores::UNLIMITED`] means that no maximum was set.
fn bounded_cores_left(demand: &Demand) -> Option<Cores> {
    const NO_MAXIMUM: Cores = Cores(1_000_000_000);
    (demand.cores_left < NO_MAXIMUM).then_some(demand.cores_left)
}

/// The limit that the application has reached.
fn reached_limit(demand: &Demand) -> Reason {
    match demand.limit {
        ExecutorLimit::AtMost(limit) if demand.cores_left >= demand.size.step() => {
            Reason::LimitReached { limit }
        }
        _ => Reason::TooFewCoresLeft { left: demand.cores_left },
    }
}

/// The reason why no Worker can take one more executor.
fn lacking_on_workers(demand: &Demand, free: &[Offer<'_>], total: &[Offer<'_>]) -> Reason {
    if free.is_empty() {
        return Reason::NoWorkers;
    }
    if !total.iter().any(|offer| offer.fits(demand)) {
        let mut largest = Amounts::default();
        for offer in total {
            largest.raise(&Amounts::offered(offer, demand));
        }
        return Reason::TooSmall { largest };
    }
    let mut groups: BTreeMap<Vec<bool>, LackingWorkers> = BTreeMap::new();
    for offer in free {
        let offered = Amounts::offered(offer, demand);
        let group = groups.entry(lacks(offer, demand)).or_insert_with(|| LackingWorkers {
            count: 0,
            least: offered.clone(),
            most: offered.clone(),
        });
        group.count += 1;
        group.least.lower(&offered);
        group.most.raise(&offered);
    }
    let mut workers: Vec<_> = groups.into_values().collect();
    workers.sort_by_key(|group| std::cmp::Reverse(group.count));
    workers.truncate(MAX_GROUPS);
    Reason::Busy { workers }
}

/// Whether the offer lacks cores, memory, and each requested resource, in this order.
fn lacks(offer: &Offer<'_>, demand: &Demand) -> Vec<bool> {
    let lacks = |(name, each): (&String, &Amount)| offer.resources.most(name, *each) < each.quantity();
    let resources = demand.resources.iter().map(lacks);
    [offer.cores < demand.size.step(), offer.memory < demand.memory].into_iter().chain(resources).collect()
}

impl Amounts {
    fn asked(demand: &Demand) -> Self {
        let resources = demand.resources.iter().filter(|(_, each)| !each.is_none());
        Self {
            cores: demand.size.step(),
            memory: demand.memory,
            resources: resources.map(|(name, each)| (name.clone(), each.quantity())).collect(),
        }
    }

    fn offered(offer: &Offer<'_>, demand: &Demand) -> Self {
        let mut offered = Self { cores: offer.cores, memory: offer.memory, ..Self::asked(demand) };
        for (name, most) in &mut offered.resources {
            let asked = demand.resources.get(name).copied().unwrap_or_default();
            *most = offer.resources.most(name, asked);
        }
        offered
    }

    fn raise(&mut self, other: &Self) {
        self.cores = self.cores.max(other.cores);
        self.memory = self.memory.max(other.memory);
        for (name, &count) in &other.resources {
            let most = self.resources.entry(name.clone()).or_insert(count);
            *most = count.max(*most);
        }
    }

    fn lower(&mut self, other: &Self) {
        self.cores = self.cores.min(other.cores);
        self.memory = self.memory.min(other.memory);
        for (name, &count) in &other.resources {
            let least = self.resources.entry(name.clone()).or_insert(count);
            *least = count.min(*least);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_each_two_reasons_that_hold_together_the_one_higher_in_the_table_is_told() {
        // The table, from the first reason to report to the last.
        let table = [
            Reason::LimitReached { limit: 1 },
            Reason::TooFewCoresLeft { left: Cores(1) },
            Reason::NotGranted { granted: 1 },
            Reason::NoWorkers,
            Reason::TooSmall { largest: Amounts::default() },
            Reason::GangTooLarge { executors: 2, room: 1 },
            Reason::Impaired { workers: 1, why: "does not answer".to_owned() },
            Reason::Excluded { workers: 1 },
            Reason::Avoided { workers: 1 },
            Reason::Labelled { workers: 1, label: "Spark 3.5".to_owned() },
            Reason::Paused { failures: 1, millis: 1 },
            Reason::KeptForAnother,
            Reason::GangWaits { executors: 2, room: 1 },
            Reason::Held { workers: Vec::new(), holder: CoreHolder::default(), others: 0 },
            Reason::Busy { workers: Vec::new() },
        ];
        for (rank, higher) in table.iter().enumerate() {
            for lower in &table[rank + 1..] {
                for pair in [[higher, lower], [lower, higher]] {
                    assert_eq!(Reason::told(pair.map(Reason::clone)).as_ref(), Some(higher), "{pair:?}");
                }
            }
        }
        assert_eq!(Reason::told([]), None);
    }
}
