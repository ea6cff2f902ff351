//! What would have to change for the next executor to fit: exactly, and no more than that.
//!
//! [`advice`](crate::advice) looks for what brings most at once; here every statement is the smallest change of its
//! kind. Made, it lets one more executor be placed; with one core, one MiB, one address or one executor less, none is.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::shortfall::Amounts;
use crate::{Cores, Demand, ExecutorLimit, ExecutorSize, MiB, Offer};

/// Memory that is less than this part of what was asked is no remedy: the program would not run with it.
const LEAST_PART: i64 = 8;

/// What stands between a demand and its next executor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outlook {
    /// The application's own bounds that have to be raised first, all of them.
    pub bounds: Vec<Bound>,
    /// Whether workers have room, bounds aside.
    pub room: Room,
    /// For each amount that workers lack, how many lack it and how much. A worker that lacks several things is
    /// counted for each.
    pub turned_down: Vec<TurnedDown>,
}

/// A bound of the application that is too low.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// So many cores more for the application in all.
    MoreCores(Cores),
    /// A limit of so many executors.
    Limit(u64),
}

/// Whether workers have room for an executor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Room {
    /// Some worker has.
    There,
    /// None has now; some are large enough. Each of these alone would do.
    Taken(Vec<Remedy>),
    /// No worker is large enough, even with nothing on it. Each of these alone would do, if there are any.
    Never(Vec<Remedy>),
}

/// A change that makes room.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Remedy {
    /// So much more free on that worker, which is large enough and lacks least.
    Freed {
        /// Its id.
        worker: String,
        /// How much; zero of what it does not lack.
        more: Amounts,
    },
    /// Executors of so many cores, which are fewer.
    ExecutorCores(Cores),
    /// Executors of so much memory, which is less.
    ExecutorMemory(MiB),
    /// Executors of so many addresses of a resource, which are fewer.
    ExecutorResource {
        /// Which.
        name: String,
        /// How many each.
        amount: u64,
    },
    /// Both less cores and less memory: where neither alone would do.
    ExecutorCoresAndMemory(Cores, MiB),
}

/// Workers that lack an amount.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnedDown {
    /// What they lack.
    pub lack: Lack,
    /// How many.
    pub workers: u64,
    /// How much the one lacks that lacks least.
    pub nearest: u64,
    /// How much the one lacks that lacks most.
    pub farthest: u64,
}

/// An amount that a worker may lack.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lack {
    /// Cores.
    Cores,
    /// Memory, in MiB.
    Memory,
    /// Addresses of that resource.
    Resource(String),
}

/// What stands between `demand` and one more executor: `free` has what every living worker has free, `whole` what
/// each has in all; both in any order.
///
/// `None` for a demand without sense, whose executors have no cores.
#[must_use]
pub fn outlook(demand: &Demand, free: &[Offer<'_>], whole: &[Offer<'_>]) -> Option<Outlook> {
    if demand.size.step() <= Cores::ZERO {
        return None;
    }
    let room = match () {
        () if free.iter().any(|offer| offer.fits(demand)) => Room::There,
        () if whole.iter().any(|offer| offer.fits(demand)) => {
            let freed = nearest(demand, free, whole);
            Room::Taken(freed.into_iter().chain(smaller(demand, free)).collect())
        }
        () => Room::Never(smaller(demand, free)),
    };
    Some(Outlook { bounds: bounds(demand), room, turned_down: turned_down(demand, free) })
}

impl Bound {
    /// The demand with this bound raised.
    #[must_use]
    pub fn raised(self, demand: &Demand) -> Demand {
        let demand = demand.clone();
        match self {
            Self::MoreCores(more) => Demand { cores_left: demand.cores_left + more, ..demand },
            Self::Limit(limit) => Demand { limit: ExecutorLimit::AtMost(limit), ..demand },
        }
    }
}

impl Remedy {
    /// The demand with this change; as it is where the change is one of a worker.
    #[must_use]
    pub fn applied(&self, demand: &Demand) -> Demand {
        let mut demand = demand.clone();
        match self {
            Self::Freed { .. } => {}
            Self::ExecutorCores(cores) => demand.size = ExecutorSize::Fixed(*cores),
            Self::ExecutorMemory(memory) => demand.memory = *memory,
            Self::ExecutorResource { name, amount } => {
                demand.resources.insert(name.clone(), *amount);
            }
            Self::ExecutorCoresAndMemory(cores, memory) => {
                (demand.size, demand.memory) = (ExecutorSize::Fixed(*cores), *memory);
            }
        }
        demand
    }
}

fn bounds(demand: &Demand) -> Vec<Bound> {
    let mut bounds = Vec::new();
    if demand.cores_left < demand.size.step() {
        bounds.push(Bound::MoreCores(demand.size.step() - demand.cores_left));
    }
    if demand.executors_allowed() == 0 {
        bounds.push(Bound::Limit(demand.held.saturating_add(1)));
    }
    bounds
}

/// The worker that lacks the fewest things, and of these the smallest part of what is asked; among equals the first id.
fn nearest(demand: &Demand, free: &[Offer<'_>], whole: &[Offer<'_>]) -> Option<Remedy> {
    let large: BTreeSet<&str> =
        whole.iter().filter(|offer| offer.fits(demand)).map(|offer| offer.worker).collect();
    let candidates = free.iter().filter(|offer| large.contains(offer.worker));
    let best = candidates.min_by_key(|offer| {
        let lacks = lacks(demand, offer);
        let parts: u128 = lacks.iter().map(|(_, lack, asked)| part(*lack, *asked)).sum();
        (lacks.len(), parts, offer.worker)
    })?;
    let mut more = Amounts::default();
    for (lack, amount, _) in lacks(demand, best) {
        match lack {
            Lack::Cores => more.cores = Cores(signed(amount)),
            Lack::Memory => more.memory = MiB(signed(amount)),
            Lack::Resource(name) => {
                more.resources.insert(name, amount);
            }
        }
    }
    Some(Remedy::Freed { worker: best.worker.to_owned(), more })
}

/// Smaller executors for which some worker has room: less of one amount, or, where that does not do, fewer cores and
/// less memory.
fn smaller(demand: &Demand, free: &[Offer<'_>]) -> Vec<Remedy> {
    let mut all = Vec::new();
    all.extend(fewer_cores(demand, free).map(Remedy::ExecutorCores));
    all.extend(less_memory(demand, free).map(Remedy::ExecutorMemory));
    for (name, &asked) in &demand.resources {
        let mut without = demand.clone();
        without.resources.remove(name);
        let most = with_room(&without, free).map(|offer| offer.resources.count(name)).max();
        if let Some(amount) = most.filter(|most| *most < asked) {
            all.push(Remedy::ExecutorResource { name: name.clone(), amount });
        }
    }
    if all.is_empty() {
        all.extend(fewer_cores_and_less_memory(demand, free));
    }
    all
}

/// The most cores, fewer than asked, for which a worker has room. An executor of no fixed size needs only one.
fn fewer_cores(demand: &Demand, free: &[Offer<'_>]) -> Option<Cores> {
    let ExecutorSize::Fixed(asked) = demand.size else { return None };
    let one = Demand { size: ExecutorSize::Fixed(Cores(1)), ..demand.clone() };
    with_room(&one, free).map(|offer| offer.cores).max().filter(|most| *most < asked)
}

/// The most memory, less than asked, for which a worker has room.
fn less_memory(demand: &Demand, free: &[Offer<'_>]) -> Option<MiB> {
    let least = Demand { memory: least_memory(demand), ..demand.clone() };
    with_room(&least, free).map(|offer| offer.memory).max().filter(|most| *most < demand.memory)
}

/// Of both the most: with more of either, no worker has room.
fn fewer_cores_and_less_memory(demand: &Demand, free: &[Offer<'_>]) -> Option<Remedy> {
    let ExecutorSize::Fixed(_) = demand.size else { return None };
    let (size, memory) = (ExecutorSize::Fixed(Cores(1)), least_memory(demand));
    let least = Demand { size, memory, ..demand.clone() };
    let best = with_room(&least, free).max_by_key(|offer| (offer.cores, offer.memory))?;
    Some(Remedy::ExecutorCoresAndMemory(best.cores, best.memory))
}

fn least_memory(demand: &Demand) -> MiB {
    MiB((demand.memory.0 / LEAST_PART).max(1))
}

fn with_room<'a>(demand: &Demand, free: &'a [Offer<'a>]) -> impl Iterator<Item = &'a Offer<'a>> {
    free.iter().filter(move |offer| offer.fits(demand))
}

fn turned_down(demand: &Demand, free: &[Offer<'_>]) -> Vec<TurnedDown> {
    let mut by_lack: BTreeMap<Lack, TurnedDown> = BTreeMap::new();
    for (lack, amount, _) in free.iter().flat_map(|offer| lacks(demand, offer)) {
        let known = by_lack.entry(lack.clone()).or_insert(TurnedDown {
            lack,
            workers: 0,
            nearest: amount,
            farthest: amount,
        });
        known.workers += 1;
        known.nearest = known.nearest.min(amount);
        known.farthest = known.farthest.max(amount);
    }
    by_lack.into_values().collect()
}

/// What an offer lacks for an executor, how much of it, and how much was asked.
fn lacks(demand: &Demand, offer: &Offer<'_>) -> Vec<(Lack, u64, u64)> {
    let mut all = Vec::new();
    let mut add = |lack, asked: i128, has: i128| {
        if asked > has {
            let amount = u64::try_from(asked - has).unwrap_or(u64::MAX);
            all.push((lack, amount, u64::try_from(asked).unwrap_or(0).max(1)));
        }
    };
    add(Lack::Cores, demand.size.step().0.into(), offer.cores.0.into());
    add(Lack::Memory, demand.memory.0.into(), offer.memory.0.into());
    for (name, &asked) in &demand.resources {
        add(Lack::Resource(name.clone()), asked.into(), offer.resources.count(name).into());
    }
    all
}

/// How much of what was asked is lacking, in millionths.
fn part(lack: u64, asked: u64) -> u128 {
    u128::from(lack) * 1_000_000 / u128::from(asked)
}

fn signed(amount: u64) -> i64 {
    i64::try_from(amount).unwrap_or(i64::MAX)
}
