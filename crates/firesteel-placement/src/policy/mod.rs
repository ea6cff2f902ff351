//! Policies: which workers executors go to, where Spark's rule is not the best one.
//!
//! [`Policy::Spark`] is [`place`](crate::place()) and [`Index::place`](crate::index::Index::place): a worker order and a
//! [`Strategy`](crate::Strategy). The others choose among [`Candidate`]s. Of executors with a fixed size as many are placed as
//! under Spark's rule: a policy says where, and only where. (Executors of no fixed size are as large as their workers
//! allow, so there it also says how large.)
//!
//! A worker that was given an executor has less left over than before, so under best fit it is the best for the next one,
//! too, for as long as it has room. Under least fragmentation it need not be: the last one that has room may be the one
//! that leaves gpus without cores.

mod favourites;
mod fill;
mod left_over;
mod spread_held;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use favourites::Favourites;
pub use fill::fill;
pub use left_over::{Measure, Whole};
pub use spread_held::spread_held;

use crate::index::Slot;
use crate::{Demand, Offer};

/// By which rule workers are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// The worker order, and spread out or consolidate.
    ///
    /// Source: Spark Master, 4.0.1.
    #[default]
    Spark,
    /// Where the least is left over, so that what is free stays in large pieces: [`fill`] by [`Measure::LeftOver`].
    BestFit,
    /// Where the fewest addresses of custom resources become useless, so that gpus can all be given out: [`fill`] by
    /// [`Measure::Unusable`].
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

    /// What it does, in half a sentence for people.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Spark => "in the worker order, spread out or consolidated",
            Self::BestFit => "each executor where the least is left over, of whatever is scarcest there",
            Self::LeastFragmentation => "each executor where what is left over is of the most use to others",
            Self::SpreadHeld => "each executor where its application runs the fewest already",
        }
    }
}

/// The names of all policies as a literal, for sentences that are put together with `concat!`.
#[macro_export]
macro_rules! policy_names {
    () => {
        "spark, best-fit, least-fragmentation or spread-held"
    };
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
#[error("no policy is called {name:?}: use {names}", names = crate::policy_names!())]
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

/// How many units a worker has room for, which has room for one.
fn room(demand: &Demand, offer: &Offer<'_>) -> u64 {
    demand.units_in(offer.cores, offer.memory, |name| offer.resources.count(name))
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
        assert_eq!(crate::words::choice(&Policy::ALL.map(Policy::name)), crate::policy_names!());
        let refused = "best".parse::<Policy>().expect_err("no such policy");
        assert_eq!(refused, UnknownPolicy { name: "best".to_owned() });
    }
}
