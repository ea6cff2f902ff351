//! Why an application has fewer executors than it asked for: the answer in numbers, and in one sentence.

mod sentence;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Cores, Demand, ExecutorLimit, ExecutorSize, MiB, Offer, ResourceAmounts};

/// What is missing, and why. `Display` makes one sentence of it, without a full stop:
/// `1 of 4 executors is missing: 2 workers have 8 cores free but 1 GiB of memory, 4 GiB asked`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shortfall {
    /// How much is missing.
    pub missing: Missing,
    /// What one executor asks for; its fewest cores if its size is not fixed.
    pub asked: Amounts,
    /// Why there is no more.
    pub reason: Reason,
}

/// How much is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Missing {
    /// Some executors of the profile.
    Executors {
        /// How many.
        missing: u64,
        /// Out of how many: those held and those missing.
        of: u64,
    },
    /// Some cores: for an application with a maximum whose executors have no fixed size.
    Cores(Cores),
    /// The first executor of an application that set neither maximum nor limit.
    First,
}

/// Why there is no more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The application may hold no more executors of the profile, though its cores would allow more.
    LimitReached {
        /// That many.
        limit: u64,
    },
    /// What is left of the application's maximum is less than an executor has.
    TooFewCoresLeft {
        /// Cores left; zero or less when the maximum is reached.
        left: Cores,
    },
    /// No worker is alive.
    NoWorkers,
    /// Somebody else decides who gets what, and has not granted more yet.
    NotGranted {
        /// How many executors it has granted.
        granted: u64,
    },
    /// No worker is large enough for an executor, even with nothing on it.
    TooSmall {
        /// The most of each amount that any worker has. An executor may need more of one amount than this, or
        /// more amounts together than any single worker has.
        largest: Amounts,
    },
    /// Each worker lacks something at the moment. One entry for each set of things lacking, every worker
    /// counted once, the entry with most workers first; of more than [`MOST_GROUPS`] entries the first.
    Busy {
        /// The workers.
        workers: Vec<LackingWorkers>,
    },
    /// The application begins with so many executors at once, and even with nothing on them the workers have room for
    /// fewer.
    GangTooLarge {
        /// How many.
        executors: u64,
        /// For how many there is room in all.
        room: u64,
    },
    /// The application begins with so many executors at once, and there is room for fewer at the moment.
    GangWaits {
        /// How many.
        executors: u64,
        /// For how many there is room that it may have.
        room: u64,
    },
    /// There is room, which is kept for another application that begins with several executors at once.
    KeptForAnother,
}

impl Reason {
    /// Whether there can be no more as long as no worker comes, whatever ends.
    #[must_use]
    pub fn lasts(&self) -> bool {
        match self {
            Self::TooSmall { .. } | Self::GangTooLarge { .. } => true,
            Self::LimitReached { .. }
            | Self::TooFewCoresLeft { .. }
            | Self::NoWorkers
            | Self::NotGranted { .. }
            | Self::Busy { .. }
            | Self::GangWaits { .. }
            | Self::KeptForAnother => false,
        }
    }
}

/// So many sets of things that workers lack are told at most: nobody reads more, and a message can hold them.
pub const MOST_GROUPS: usize = 16;

/// Workers that all lack the same: of what they lack, even the one with the `most` has less than was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LackingWorkers {
    /// How many workers.
    pub count: u64,
    /// The least that any of them has free, of each amount by itself.
    pub least: Amounts,
    /// The most that any of them has free, of each amount by itself.
    pub most: Amounts,
}

/// Cores, memory and addresses of the resources that an executor asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amounts {
    /// Cores.
    pub cores: Cores,
    /// Memory.
    pub memory: MiB,
    /// Number of addresses by resource name; only resources that are asked for.
    pub resources: ResourceAmounts,
}

/// Why `demand` has not been met, as things stand after placement: `demand` with what the application now
/// holds and has left, `free` with what every living worker now has free, `sizes` with what each has in all.
/// Both lists may be in any order.
///
/// `None` if nothing is missing, or if some worker still has room, so that a placement is due first.
///
/// An application asks for as many executors as its cores and its limit allow. When it holds those, but the
/// one left something of the other, the one that stood in the way is the reason. Without maximum (a thousand
/// million cores or more count as none) and limit it asks for what it can get: only to have nothing at all is
/// a shortfall.
pub fn shortfall(demand: &Demand, free: &[Offer<'_>], sizes: &[Offer<'_>]) -> Option<Shortfall> {
    if demand.size.step() <= Cores::ZERO {
        return None;
    }
    let (missing, reason) = if demand.allows_one_more() {
        if free.iter().any(|offer| offer.fits(demand)) {
            return None;
        }
        (missing_on_workers(demand)?, lacking_on_workers(demand, free, sizes))
    } else {
        (missing_by_own_bounds(demand)?, own_bound(demand))
    };
    Some(Shortfall { missing, asked: Amounts::asked(demand), reason })
}

/// What is missing of a demand that workers may have room for, and that is not met because of the order in which
/// applications are served. `None` if the demand allows no more, or asks for what it can get and has some.
#[must_use]
pub fn held_back(demand: &Demand, reason: Reason) -> Option<Shortfall> {
    let missing = demand.allows_one_more().then(|| missing_on_workers(demand)).flatten()?;
    Some(Shortfall { missing, asked: Amounts::asked(demand), reason })
}

/// What is missing of a demand that allows more.
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

/// What is missing of a demand that allows no more: what one of its bounds would allow but for the other.
fn missing_by_own_bounds(demand: &Demand) -> Option<Missing> {
    let left = bounded_cores_left(demand).unwrap_or(Cores::ZERO).max(Cores::ZERO);
    let by_limit = match demand.limit {
        ExecutorLimit::Unlimited => 0,
        ExecutorLimit::AtMost(_) => demand.executors_allowed(),
    };
    match demand.size {
        ExecutorSize::OnePerWorker if left > Cores::ZERO => Some(Missing::Cores(left)),
        ExecutorSize::OnePerWorker => (by_limit > 0).then(|| executors(demand, by_limit)),
        ExecutorSize::Fixed(each) => {
            let by_cores = (left.0 as u64).div_ceil(each.0 as u64);
            let more = by_cores.max(by_limit);
            (more > 0).then(|| executors(demand, more))
        }
    }
}

fn executors(demand: &Demand, missing: u64) -> Missing {
    Missing::Executors { missing, of: demand.held.saturating_add(missing) }
}

/// The cores left of a maximum, or `None` when there is no maximum. A demand does not say which; so near to
/// what unlimited applications start with, none has been set.
fn bounded_cores_left(demand: &Demand) -> Option<Cores> {
    const NO_MAXIMUM: Cores = Cores(1_000_000_000);
    (demand.cores_left < NO_MAXIMUM).then_some(demand.cores_left)
}

fn own_bound(demand: &Demand) -> Reason {
    match demand.limit {
        ExecutorLimit::AtMost(limit) if demand.cores_left >= demand.size.step() => {
            Reason::LimitReached { limit }
        }
        _ => Reason::TooFewCoresLeft { left: demand.cores_left },
    }
}

fn lacking_on_workers(demand: &Demand, free: &[Offer<'_>], sizes: &[Offer<'_>]) -> Reason {
    if free.is_empty() {
        return Reason::NoWorkers;
    }
    if !sizes.iter().any(|size| size.fits(demand)) {
        let mut largest = Amounts::default();
        for size in sizes {
            largest.raise(&Amounts::offered(size, demand));
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
    workers.truncate(MOST_GROUPS);
    Reason::Busy { workers }
}

/// Whether the offer lacks cores, memory, and each resource asked for.
fn lacks(offer: &Offer<'_>, demand: &Demand) -> Vec<bool> {
    let resources = demand.resources.iter().map(|(name, &each)| offer.resources.count(name) < each);
    [offer.cores < demand.size.step(), offer.memory < demand.memory].into_iter().chain(resources).collect()
}

impl Amounts {
    fn asked(demand: &Demand) -> Self {
        let resources = demand.resources.iter().filter(|&(_, &each)| each > 0);
        Self {
            cores: demand.size.step(),
            memory: demand.memory,
            resources: resources.map(|(name, &each)| (name.clone(), each)).collect(),
        }
    }

    fn offered(offer: &Offer<'_>, demand: &Demand) -> Self {
        let mut offered = Self { cores: offer.cores, memory: offer.memory, ..Self::asked(demand) };
        for (name, count) in &mut offered.resources {
            *count = offer.resources.count(name);
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
