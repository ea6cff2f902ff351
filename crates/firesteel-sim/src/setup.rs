//! Named set-ups of a Master: what `plan` and `simulate` hold against each other.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use firesteel_core::master::Config;
use firesteel_placement::{Policy, Strategy, WorkerOrder};

/// How a Master decides, as a whole, under one name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Setup {
    /// Spark's default: spread out, Workers with most free cores first.
    #[default]
    Spark,
    /// Spark's consolidation (`spark.deploy.spreadOutApps=false`): one Worker is filled before the next.
    SparkConsolidate,
    /// Consolidation in the order of fewest free cores, so that what is begun is filled up first.
    CoresAscending,
    /// Where the least is left over ([`Policy::BestFit`]).
    BestFit,
    /// Where what is left over is of the most use to others ([`Policy::LeastFragmentation`]).
    LeastFragmentation,
    /// Where the application runs the fewest executors already ([`Policy::SpreadHeld`]).
    SpreadHeld,
}

impl Setup {
    /// All of them, in the order in which they are told.
    pub const ALL: [Self; 6] = [
        Self::Spark,
        Self::SparkConsolidate,
        Self::CoresAscending,
        Self::BestFit,
        Self::LeastFragmentation,
        Self::SpreadHeld,
    ];

    /// Its name, in kebab case: `spark-consolidate`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Spark => Policy::Spark.name(),
            Self::SparkConsolidate => "spark-consolidate",
            Self::CoresAscending => "cores-ascending",
            Self::BestFit => Policy::BestFit.name(),
            Self::LeastFragmentation => Policy::LeastFragmentation.name(),
            Self::SpreadHeld => Policy::SpreadHeld.name(),
        }
    }

    /// What it does, in half a sentence for people.
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
            Self::SpreadHeld => Policy::SpreadHeld.meaning(),
        }
    }

    /// The settings of a Master that decides so; what is not about deciding stays as it is in `base`.
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
            Self::SpreadHeld => (Policy::SpreadHeld, Strategy::SpreadOut, WorkerOrder::CoresFreeDesc),
        };
        Config { policy, strategy, worker_order, ..base }
    }
}

/// Its name.
impl Display for Setup {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// By its name.
impl FromStr for Setup {
    type Err = UnknownSetup;

    fn from_str(name: &str) -> Result<Self, UnknownSetup> {
        let found = Self::ALL.into_iter().find(|setup| setup.name() == name);
        found.ok_or_else(|| UnknownSetup { name: name.to_owned() })
    }
}

/// A name that no set-up has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no policy is called {name:?}: use {}", names())]
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
            unknown.starts_with("no policy is called \"sparks\": use spark, spark-consolidate, "),
            "{unknown}"
        );
    }
}
