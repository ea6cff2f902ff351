//! The outlook of a demand: the exact changes that would let one more executor fit.
//!
//! Each change is the smallest of its kind that lets one more executor be placed. A change smaller by one core, one
//! MiB, one address or one executor would not suffice. [`advice`](crate::explain::advice) instead finds the changes
//! that bring the most executors.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::explain::shortfall::Amounts;
use crate::resources::amount::WHOLE;
use crate::{Amount, Cores, Demand, ExecutorLimit, ExecutorSize, MiB, Offer, Part, Quantity};

/// A remedy keeps at least one eighth of the requested memory. With less, the program would not run.
const LEAST_PART: i64 = 8;

/// Why the next executor of a demand is not placed, and what would change that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outlook {
    /// The application's own limits that are reached. All of them must be raised first.
    pub bounds: Vec<Bound>,
    /// Whether the executor fits on a Worker, if the application's own limits are ignored.
    pub fit: Fit,
    /// One entry per amount that Workers lack. A Worker that lacks several amounts is counted in several entries.
    pub turned_down: Vec<TurnedDown>,
}

/// A limit of the application that is too low, with the value that would suffice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// The application needs this many more cores in total.
    MoreCores(Cores),
    /// The executor limit must be at least this number.
    Limit(u64),
}

/// Whether an executor fits on a Worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fit {
    /// An executor fits now on at least one Worker.
    Now,
    /// An executor fits on no Worker now, but on some Workers when they are empty. Each of these remedies suffices by
    /// itself.
    Later(Vec<Remedy>),
    /// An executor fits on no Worker, even if the Worker is empty. Each of these remedies suffices by itself. There may
    /// be none.
    Never(Vec<Remedy>),
}

/// A change with which one more executor fits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Remedy {
    /// More free capacity on this Worker. The Worker is large enough, and lacks the least of all.
    Freed {
        /// The id of the Worker.
        worker: String,
        /// The amounts that the Worker lacks; zero for amounts that suffice.
        more: Amounts,
    },
    /// Executors with this smaller number of cores.
    ExecutorCores(Cores),
    /// Executors with this smaller amount of memory.
    ExecutorMemory(MiB),
    /// Executors with fewer addresses of one resource, or with a smaller fraction of an address.
    ExecutorResource {
        /// The name of the resource.
        name: String,
        /// The amount of the resource per executor.
        amount: Amount,
    },
    /// Executors with fewer cores and less memory. Neither change suffices by itself.
    ExecutorCoresAndMemory(Cores, MiB),
}

/// The Workers that lack one amount.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnedDown {
    /// The amount that the Workers lack.
    pub lack: Lack,
    /// The number of these Workers.
    pub workers: u64,
    /// The least that any of these Workers lacks: cores, MiB or addresses.
    pub nearest: Quantity,
    /// The most that any of these Workers lacks.
    pub farthest: Quantity,
}

/// An amount that a worker may lack.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lack {
    /// The number of free cores.
    Cores,
    /// The amount of free memory, in MiB.
    Memory,
    /// Free addresses of the resource with this name.
    Resource(String),
}

/// The outlook of `demand`. `free` has the free amounts of every living Worker, and `total` the total amounts. Both
/// lists may be in any order.
///
/// `None` for a demand whose executors have no cores.
#[must_use]
pub fn outlook(demand: &Demand, free: &[Offer<'_>], total: &[Offer<'_>]) -> Option<Outlook> {
    if demand.size.step() <= Cores::ZERO {
        return None;
    }
    let fit = match () {
        () if free.iter().any(|offer| offer.fits(demand)) => Fit::Now,
        () if total.iter().any(|offer| offer.fits(demand)) => {
            let freed = nearest(demand, free, total);
            Fit::Later(freed.into_iter().chain(smaller(demand, free)).collect())
        }
        () => Fit::Never(smaller(demand, free)),
    };
    Some(Outlook { bounds: bounds(demand), fit, turned_down: turned_down(demand, free) })
}

impl Bound {
    /// The demand with this limit raised.
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
    /// The demand with this change. Unchanged if the remedy changes a Worker.
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

/// The large enough Worker that lacks the fewest amounts. Among several, the Worker that lacks the smallest fraction of
/// the demand, and then the first id.
fn nearest(demand: &Demand, free: &[Offer<'_>], total: &[Offer<'_>]) -> Option<Remedy> {
    let large: BTreeSet<&str> =
        total.iter().filter(|offer| offer.fits(demand)).map(|offer| offer.worker).collect();
    let candidates = free.iter().filter(|offer| large.contains(offer.worker));
    let best = candidates.min_by_key(|offer| {
        let lacks = lacks(demand, offer);
        let fractions: u128 = lacks.iter().map(|(_, lack, asked)| fraction(*lack, *asked)).sum();
        (lacks.len(), fractions, offer.worker)
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

/// Smaller executors that fit on a Worker, with less of one amount. If none of these fits, executors with fewer cores
/// and less memory.
fn smaller(demand: &Demand, free: &[Offer<'_>]) -> Vec<Remedy> {
    let mut all = Vec::new();
    all.extend(fewer_cores(demand, free).map(Remedy::ExecutorCores));
    all.extend(less_memory(demand, free).map(Remedy::ExecutorMemory));
    for (name, &asked) in &demand.resources {
        let mut without = demand.clone();
        without.resources.remove(name);
        let most = fitting(&without, free).map(|offer| offer.resources.most(name, asked)).max();
        let most = most.filter(|most| *most < asked.quantity());
        if let Some(amount) = most.map(|most| smaller_amount(asked, most)) {
            all.push(Remedy::ExecutorResource { name: name.clone(), amount });
        }
    }
    if all.is_empty() {
        all.extend(fewer_cores_and_less_memory(demand, free));
    }
    all
}

/// The most cores with which an executor fits, if fewer than requested. `None` for executors without a fixed size, for
/// which one core suffices.
fn fewer_cores(demand: &Demand, free: &[Offer<'_>]) -> Option<Cores> {
    let ExecutorSize::Fixed(asked) = demand.size else { return None };
    let one = Demand { size: ExecutorSize::Fixed(Cores(1)), ..demand.clone() };
    fitting(&one, free).map(|offer| offer.cores).max().filter(|most| *most < asked)
}

/// The most memory with which an executor fits, if less than requested.
fn less_memory(demand: &Demand, free: &[Offer<'_>]) -> Option<MiB> {
    let least = Demand { memory: least_memory(demand), ..demand.clone() };
    fitting(&least, free).map(|offer| offer.memory).max().filter(|most| *most < demand.memory)
}

/// The most cores with which an executor fits, and the most memory with this number of cores.
fn fewer_cores_and_less_memory(demand: &Demand, free: &[Offer<'_>]) -> Option<Remedy> {
    let ExecutorSize::Fixed(_) = demand.size else { return None };
    let (size, memory) = (ExecutorSize::Fixed(Cores(1)), least_memory(demand));
    let least = Demand { size, memory, ..demand.clone() };
    let best = fitting(&least, free).max_by_key(|offer| (offer.cores, offer.memory))?;
    Some(Remedy::ExecutorCoresAndMemory(best.cores, best.memory))
}

fn least_memory(demand: &Demand) -> MiB {
    MiB((demand.memory.0 / LEAST_PART).max(1))
}

fn fitting<'a>(demand: &Demand, free: &'a [Offer<'a>]) -> impl Iterator<Item = &'a Offer<'a>> {
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

/// The amounts that an offer lacks for an executor: for each, the lacking quantity and the requested quantity.
fn lacks(demand: &Demand, offer: &Offer<'_>) -> Vec<(Lack, Quantity, Quantity)> {
    let mut all = Vec::new();
    let mut add = |lack, asked: i128, has: i128| {
        if asked > has {
            let whole = |number: i128| Quantity::whole(u64::try_from(number).unwrap_or(u64::MAX));
            all.push((lack, whole(asked - has), whole(asked.max(1))));
        }
    };
    add(Lack::Cores, demand.size.step().0.into(), offer.cores.0.into());
    add(Lack::Memory, demand.memory.0.into(), offer.memory.0.into());
    for (name, &asked) in &demand.resources {
        let has = offer.resources.most(name, asked);
        if asked.quantity() > has {
            all.push((Lack::Resource(name.clone()), asked.quantity().less(has), asked.quantity()));
        }
    }
    all
}

/// The largest amount that is not more than this quantity: whole addresses if whole ones were requested, else a
/// fraction of one.
fn smaller_amount(asked: Amount, most: Quantity) -> Amount {
    match asked {
        Amount::Whole(_) => Amount::Whole(most.thousandths() / WHOLE),
        Amount::Part(_) => Part::of(most.thousandths()).map_or(Amount::NONE, Amount::Part),
    }
}

/// The lacking fraction of the requested quantity, in millionths.
fn fraction(lack: Quantity, asked: Quantity) -> u128 {
    u128::from(lack.thousandths()) * 1_000_000 / u128::from(asked.thousandths().max(1))
}

fn signed(whole: Quantity) -> i64 {
    i64::try_from(whole.thousandths() / WHOLE).unwrap_or(i64::MAX)
}
