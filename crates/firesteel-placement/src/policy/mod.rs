//! Policies: which workers executors go to, where Spark's rule is not the best one.
//!
//! [`Policy::Spark`] is [`place`](crate::place()) and [`Index::place`](crate::index::Index::place): a worker order and a
//! [`Strategy`]. The others choose among [`Candidate`]s, each in a module of its own. As many executors are placed as
//! under Spark's rule: a policy says where, and only where. (Executors of no fixed size are as large as their workers
//! allow, so there it also says how large.)

mod best_fit;
mod least_fragmentation;
mod left_over;
mod spread_held;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use best_fit::best_fit;
pub use least_fragmentation::least_fragmentation;
pub use left_over::Whole;
pub use spread_held::spread_held;

use crate::assign::deal;
use crate::index::{Share, Slot};
use crate::{Cores, Demand, Offer, Strategy};

/// By which rule workers are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// The worker order, and spread out or consolidate.
    ///
    /// Source: Spark Master, 4.0.1.
    #[default]
    Spark,
    /// Where the least is left over: [`best_fit`].
    BestFit,
    /// Where what is left over is of the most use to others: [`least_fragmentation`].
    LeastFragmentation,
    /// Where the application runs the fewest executors already: [`spread_held`].
    SpreadHeld,
}

impl Policy {
    /// All four.
    pub const ALL: [Self; 4] = [Self::Spark, Self::BestFit, Self::LeastFragmentation, Self::SpreadHeld];

    /// Its name, as it is written and read.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Spark => "spark",
            Self::BestFit => "best-fit",
            Self::LeastFragmentation => "least-fragmentation",
            Self::SpreadHeld => "spread-held",
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// By name, in upper or lower case.
impl FromStr for Policy {
    type Err = UnknownPolicy;

    fn from_str(name: &str) -> Result<Self, UnknownPolicy> {
        let named = |policy: &Self| policy.name().eq_ignore_ascii_case(name);
        Self::ALL.into_iter().find(named).ok_or_else(|| UnknownPolicy { name: name.to_owned() })
    }
}

/// A name that no policy has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no policy is called {name:?}: use spark, best-fit, least-fragmentation or spread-held")]
pub struct UnknownPolicy {
    /// The name as given.
    pub name: String,
}

/// A worker that a policy may choose.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a, R> {
    /// Its number.
    pub slot: Slot,
    /// What it has free.
    pub offer: Offer<'a>,
    /// The machine that it is on.
    pub host: &'a str,
    /// What the application thinks of it: the least rank is the most welcome.
    pub rank: R,
}

/// Fills one worker after the other: those of the least rank first, among these those of the least `key`, among these
/// the lowest id.
///
/// Costs a look at each candidate, and a sort of as many of them as can be given something.
fn fill<'a, R: Ord, K: Ord>(
    demand: &Demand,
    candidates: impl IntoIterator<Item = Candidate<'a, R>>,
    key: impl Fn(&Offer<'a>) -> K,
) -> Vec<Share> {
    let most = usize::try_from(demand.most_workers()).unwrap_or(usize::MAX);
    if most == 0 {
        return Vec::new();
    }
    let fitting = candidates.into_iter().filter(|candidate| candidate.offer.fits(demand));
    let keyed = |Candidate { slot, offer, rank, .. }| ((rank, key(&offer), offer.worker), slot, offer);
    let mut line: Vec<_> = fitting.map(keyed).collect();
    if most < line.len() {
        line.select_nth_unstable_by(most - 1, |(a, ..), (b, ..)| a.cmp(b));
        line.truncate(most);
    }
    line.sort_unstable_by(|(a, ..), (b, ..)| a.cmp(b));
    let caps = line.iter().map(|(.., offer)| room(demand, offer)).collect();
    let given = deal(Strategy::Consolidate, caps, demand.most_units());
    let shares = line.iter().zip(given).map(|((_, slot, _), units)| Share::of(demand, *slot, units));
    shares.take_while(|share| share.executors > 0 && share.cores > Cores::ZERO).collect()
}

/// How many units a worker has room for, which has room for one.
fn room(demand: &Demand, offer: &Offer<'_>) -> u64 {
    demand.room(offer.cores, offer.memory, |name| offer.resources.count(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_in_any_case_and_written_in_kebab_case() {
        for policy in Policy::ALL {
            assert_eq!(policy.to_string().parse(), Ok(policy));
            assert_eq!(policy.to_string().to_uppercase().parse(), Ok(policy));
        }
        let refused = "best".parse::<Policy>().expect_err("no such policy");
        assert_eq!(refused, UnknownPolicy { name: "best".to_owned() });
    }
}
