//! Named set-ups of a Master, which `plan` and `simulate` compare.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use firesteel_core::master::Config;
use firesteel_placement::{Policy, Strategy, WorkerOrder};

/// A policy, a strategy and an order of Workers under one name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Setup {
    /// Spark's default: spread out, Workers with most free cores first.
    #[default]
    Spark,
    /// Spark's consolidation (`spark.deploy.spreadOutApps=false`): one Worker is filled before the next.
    SparkConsolidate,
    /// Consolidation, Workers with fewest free cores first, so that partly used Workers are filled up.
    CoresAscending,
    /// Each executor where the least capacity is left over ([`Policy::BestFit`]).
    BestFit,
    /// Each executor where the rest is of most use to other requests ([`Policy::LeastFragmentation`]).
    LeastFragmentation,
    /// Each executor where the least is spoilt for what applications ask for ([`Policy::LearnedFragmentation`]).
    LearnedFragmentation,
    /// Each executor where its application has the fewest executors ([`Policy::SpreadHeld`]).
    SpreadHeld,
    /// Executors that end at the same time together ([`Policy::Lifetimes`]).
    Lifetimes,
}

impl Setup {
    /// All set-ups, in the order in which they are listed.
    pub const ALL: [Self; 8] = [
        Self::Spark,
        Self::SparkConsolidate,
        Self::CoresAscending,
        Self::BestFit,
        Self::LeastFragmentation,
        Self::LearnedFragmentation,
        Self::SpreadHeld,
        Self::Lifetimes,
    ];

    /// Name of the set-up in kebab case: `spark-consolidate`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Spark => Policy::Spark.name(),
            Self::SparkConsolidate => "spark-consolidate",
            Self::CoresAscending => "cores-ascending",
            Self::BestFit => Policy::BestFit.name(),
            Self::LeastFragmentation => Policy::LeastFragmentation.name(),
            Self::LearnedFragmentation => Policy::LearnedFragmentation.name(),
            Self::SpreadHeld => Policy::SpreadHeld.name(),
            Self::Lifetimes => Policy::Lifetimes.name(),
        }
    }

    /// What the set-up does, in half a sentence.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Spark => "spread over the Workers with the most free cores (the default of Spark)",
            Self::SparkConsolidate => {
                "fill the Worker with the most free cores, then the next (spreadOutApps=false)"
            }
            Self::CoresAscending => "fill the Worker with the fewest free cores, then the next",
            Self::BestFit => Policy::BestFit.meaning(),
            Self::LeastFragmentation => Policy::LeastFragmentation.meaning(),
            Self::LearnedFragmentation => Policy::LearnedFragmentation.meaning(),
            Self::SpreadHeld => Policy::SpreadHeld.meaning(),
            Self::Lifetimes => Policy::Lifetimes.meaning(),
        }
    }

    /// The settings of a Master with this set-up. Settings that do not concern placement are those of `base`.
    #[must_use]
    pub fn config(self, base: Config) -> Config {
        let (policy, strategy, worker_order) = match self {
            Self::Spark => (Policy::Spark, Strategy::SpreadOut, WorkerOrder::CoresFreeDesc),
            Self::SparkConsolidate => (Policy::Spark, Strategy::Consolidate, WorkerOrder::CoresFreeDesc),
            Self::CoresAscending => (Policy::Spark, Strategy::Consolidate, WorkerOrder::CoresFreeAsc),
            Self::BestFit => (Policy::BestFit, Strategy::SpreadOut, WorkerOrder::CoresFreeDesc),
            Self::LeastFragmentation => {
                (Policy::LeastFragmentation, Strategy::SpreadOut, WorkerOrder::CoresFreeDesc)
            }
            Self::LearnedFragmentation => {
                (Policy::LearnedFragmentation, Strategy::SpreadOut, WorkerOrder::CoresFreeDesc)
            }
            Self::SpreadHeld => (Policy::SpreadHeld, Strategy::SpreadOut, WorkerOrder::CoresFreeDesc),
            Self::Lifetimes => (Policy::Lifetimes, Strategy::SpreadOut, WorkerOrder::CoresFreeDesc),
        };
        Config { policy, strategy, worker_order, ..base }
    }
}

/// Writes the name of the set-up.
impl Display for Setup {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Finds the set-up of that name.
impl FromStr for Setup {
    type Err = UnknownSetup;

    fn from_str(name: &str) -> Result<Self, UnknownSetup> {
        let found = Self::ALL.into_iter().find(|setup| setup.name() == name);
        found.ok_or_else(|| UnknownSetup { name: name.to_owned() })
    }
}

/// The error for a name that no set-up has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown policy {name:?}: use one of {}", names())]
pub struct UnknownSetup {
    /// The name as given.
    pub name: String,
}

fn names() -> String {
    let names: Vec<&str> = Setup::ALL.iter().map(|setup| setup.name()).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_set_up_is_found_by_its_name_and_decides_in_its_own_way() {
        let mut seen = Vec::new();
        for setup in Setup::ALL {
            assert_eq!(setup.name().parse(), Ok(setup));
            let config = setup.config(Config::default());
            assert!(!seen.contains(&config), "{setup} decides as another one does");
            seen.push(config);
        }
        for policy in Policy::ALL {
            let setup: Setup = policy.name().parse().expect("each policy has a set-up of its name");
            assert_eq!(setup.config(Config::default()).policy, policy);
        }
        assert_eq!(Setup::default().config(Config::default()), Config::default(), "the default is Spark's");
        let unknown = "sparks".parse::<Setup>().expect_err("no such set-up").to_string();
        assert!(
            unknown.starts_with("unknown policy \"sparks\": use one of spark, spark-consolidate, "),
            "{unknown}"
        );
    }
}
