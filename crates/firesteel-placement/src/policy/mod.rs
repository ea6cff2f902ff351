//! Policies: rules other than Spark's for choosing Workers.
//!
//! [`Policy::Spark`] uses [`place`](crate::place::place()) and [`Index::place`](crate::index::Index::place), with a
//! worker order and a [`Strategy`](crate::Strategy). The other policies choose among [`Candidate`]s. Every policy
//! places the same number of executors with a fixed size. They differ only in the Workers that they choose. (An
//! executor without a fixed size is as large as its Worker allows, so a policy also decides its size.)
//!
//! Under best fit, a Worker that got an executor has less left over, so it remains the best Worker until it is full.
//! Under least fragmentation this is not always so: the last executor that fits may leave gpus without cores.
//!
//! A [`Chooser`] decides by any policy. Only the chooser knows which function decides for which policy. The owner of
//! the Workers implements [`Workers`] for it.
//!
//! An [`Expression`] is a policy without a name, which an operator writes. A Master's [`Rule`] is a policy or an
//! expression.
//!
//! With a [`PlacementCache`], the cost of a decision does not depend on the size of the cluster, except under
//! spread-held.

mod cache;
mod changes;
mod chooser;
pub(crate) mod expression;
mod fill;
mod learned;
mod lifetimes;
mod room;
mod rule;
mod score;
mod spread_held;
mod workers;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use cache::PlacementCache;
pub use changes::Changes;
pub use chooser::Chooser;
pub use expression::Expression;
pub use fill::fill;
pub(crate) use fill::fill_by;
pub use learned::{DemandModel, DemandStatistics};
pub use lifetimes::fill_by_rest;
pub use rule::{EXPRESSION, Rule, UnknownRule};
pub use score::{ClusterTotal, Formula, Measure};
pub use spread_held::spread_held;
pub use workers::{Rest, Workers};

use crate::index::Slot;
use crate::{Demand, Offer};

/// The rule by which Workers are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Spark's rule: a worker order, and spread out or consolidate.
    ///
    /// Source: Spark Master, 4.0.1.
    #[default]
    Spark,
    /// Leaves the least free capacity on the Worker, so that free capacity stays in large pieces: [`fill`] by
    /// [`Measure::LeftOver`].
    BestFit,
    /// Makes the fewest addresses of custom resources unusable, so that all gpus can be used: [`fill`] by
    /// [`Measure::Unusable`].
    LeastFragmentation,
    /// Prefers Workers with the fewest executors of the application: [`spread_held`].
    SpreadHeld,
    /// Packs executors that end at the same time, so that whole Workers become idle: [`fill_by_rest`].
    Lifetimes,
    /// Makes the smallest part of a Worker unusable for the executors that applications ask for: [`fill`] by
    /// [`Measure::Learned`].
    LearnedFragmentation,
}

impl Policy {
    /// All policies.
    pub const ALL: [Self; 6] = [
        Self::Spark,
        Self::BestFit,
        Self::LeastFragmentation,
        Self::LearnedFragmentation,
        Self::SpreadHeld,
        Self::Lifetimes,
    ];

    /// The policy's name in settings and output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Spark => "spark",
            Self::BestFit => "best-fit",
            Self::LeastFragmentation => "least-fragmentation",
            Self::LearnedFragmentation => "learned-fragmentation",
            Self::SpreadHeld => "spread-held",
            Self::Lifetimes => "lifetimes",
        }
    }

    /// What the policy does, as half a sentence for people.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Spark => "in the worker order, spread out or consolidated",
            Self::BestFit => {
                "each executor on the Worker where the largest share that stays free is the smallest"
            }
            Self::LeastFragmentation => {
                "each executor on the Worker where the rest stays most useful for others"
            }
            Self::LearnedFragmentation => {
                "each executor on the Worker where the least is spoilt for what applications ask for"
            }
            Self::SpreadHeld => "each executor on the Worker that has the fewest of its application",
            Self::Lifetimes => {
                "each executor where others run for as long, so that whole Workers become idle"
            }
        }
    }
}

/// The names of all policies as a literal, for use in `concat!`.
#[doc(hidden)]
#[macro_export]
macro_rules! policy_names {
    () => {
        "spark, best-fit, least-fragmentation, learned-fragmentation, spread-held or lifetimes"
    };
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Parses the name of a policy, in upper or lower case.
impl FromStr for Policy {
    type Err = UnknownPolicy;

    fn from_str(name: &str) -> Result<Self, UnknownPolicy> {
        let named = |policy: &Self| policy.name().eq_ignore_ascii_case(name);
        Self::ALL.into_iter().find(named).ok_or_else(|| UnknownPolicy { name: name.to_owned() })
    }
}

/// The error for a name that no policy has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", refusal(name))]
pub struct UnknownPolicy {
    /// The name that was not found.
    pub name: String,
}

/// The advice for the case that an application names an expression instead of a policy, as a literal.
#[doc(hidden)]
#[macro_export]
macro_rules! policy_names_only {
    () => {
        concat!(
            $crate::policy_names!(),
            ", or leave it out for the Master's own rule: only a Master takes an expression, from its operator"
        )
    };
}

fn refusal(name: &str) -> String {
    let names = match name.starts_with(EXPRESSION) {
        true => crate::policy_names_only!(),
        false => crate::policy_names!(),
    };
    format!("no policy is called {name:?}: use {names}")
}

/// A Worker that a policy may choose.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a, R> {
    /// The Worker's slot in the index.
    pub slot: Slot,
    /// The Worker's free amounts.
    pub offer: Offer<'a>,
    /// The host of the Worker.
    pub host: &'a str,
    /// How much the application prefers the Worker: the lowest rank comes first.
    pub rank: R,
}

/// The number of units that fit on a Worker, if one executor fits.
fn units_on(demand: &Demand, offer: &Offer<'_>) -> u64 {
    demand.units_in(offer.cores, offer.memory, |name, each| offer.resources.fit(name, each))
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
