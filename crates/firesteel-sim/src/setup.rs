//! Named set-ups of a Master, which `plan` and `simulate` compare.

use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use firesteel_master::Config;
use firesteel_placement::ExpressionError;
use firesteel_placement::advanced::policy::EXPRESSION;
use firesteel_placement::{Expression, Rule};
use firesteel_placement::{Policy, Strategy, WorkerOrder};

/// A named combination of a policy, a strategy and an order of Workers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Setup {
    /// Spark's default: executors are spread out, over Workers with the most free cores first.
    #[default]
    Spark,
    /// Spark's consolidation (`spark.deploy.spreadOutApps=false`): one Worker is filled before the next one.
    SparkConsolidate,
    /// Consolidation over Workers with the fewest free cores first, so that partly used Workers are filled.
    CoresAscending,
    /// Each executor goes to the Worker where the least capacity is left over ([`Policy::BestFit`]).
    BestFit,
    /// Each executor goes to the Worker whose remaining capacity is then most useful to other requests
    /// ([`Policy::LeastFragmentation`]).
    LeastFragmentation,
    /// Each executor goes to the Worker where it makes the least capacity unusable for the requests seen so far
    /// ([`Policy::LearnedFragmentation`]).
    LearnedFragmentation,
    /// Each executor goes to the Worker where its application has the fewest executors ([`Policy::SpreadHeld`]).
    SpreadHeld,
    /// Executors that will end at the same time share Workers ([`Policy::Lifetimes`]).
    Lifetimes,
    /// Each executor goes to the Worker with the smallest value of an expression ([`Rule::Expression`]).
    Expression(Expression),
}

impl Setup {
    /// All set-ups with a name, in the order of lists.
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

    /// Name of the set-up in kebab case, such as `spark-consolidate`. For an expression, its text after `expr:`.
    #[must_use]
    pub fn name(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::Spark => Policy::Spark.name(),
            Self::SparkConsolidate => "spark-consolidate",
            Self::CoresAscending => "cores-ascending",
            Self::BestFit => Policy::BestFit.name(),
            Self::LeastFragmentation => Policy::LeastFragmentation.name(),
            Self::LearnedFragmentation => Policy::LearnedFragmentation.name(),
            Self::SpreadHeld => Policy::SpreadHeld.name(),
            Self::Lifetimes => Policy::Lifetimes.name(),
            Self::Expression(expression) => return Cow::Owned(format!("{EXPRESSION}{expression}")),
        })
    }

    /// The effect of the set-up, as a phrase.
    #[must_use]
    pub fn meaning(&self) -> &'static str {
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
            Self::Expression(_) => "each executor on the Worker where the value of the expression is least",
        }
    }

    /// The settings of a Master with this set-up. All settings that do not affect placement come from `base`.
    #[must_use]
    pub fn config(&self, base: Config) -> Config {
        let (policy, strategy, worker_order) = match self {
            Self::Expression(expression) => {
                return Config { rule: Rule::Expression(expression.clone()), ..base };
            }
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
        Config { rule: policy.into(), strategy, worker_order, ..base }
    }
}

impl Display for Setup {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(&self.name())
    }
}

/// Finds the set-up with this name, or parses the expression after `expr:`.
impl FromStr for Setup {
    type Err = UnknownSetup;

    fn from_str(name: &str) -> Result<Self, UnknownSetup> {
        if let Some(expression) = name.strip_prefix(EXPRESSION) {
            return Ok(Self::Expression(expression.parse()?));
        }
        let found = Self::ALL.into_iter().find(|setup| setup.name() == name);
        found.ok_or_else(|| UnknownSetup::Name { name: name.to_owned() })
    }
}

/// Why a text is not a set-up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnknownSetup {
    #[error("unknown policy {name:?}: use one of {}, or {EXPRESSION} and an expression", names())]
    Name { name: String },
    /// The expression cannot be parsed.
    #[error(transparent)]
    Expression(#[from] ExpressionError),
}

fn names() -> String {
    let names: Vec<_> = Setup::ALL.iter().map(Setup::name).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_set_up_is_found_by_its_name_and_decides_in_its_own_way() {
        let mut seen = Vec::new();
        for setup in Setup::ALL {
            let config = setup.config(Config::default());
            assert_eq!(setup.name().parse(), Ok(setup.clone()));
            assert!(!seen.contains(&config), "{setup} decides as another one does");
            seen.push(config);
        }
        for policy in Policy::ALL {
            let setup: Setup = policy.name().parse().expect("each policy has a set-up of its name");
            assert_eq!(setup.config(Config::default()).rule, policy.into());
        }
        assert_eq!(Setup::default().config(Config::default()), Config::default(), "the default is Spark's");
        let unknown = "sparks".parse::<Setup>().expect_err("no such set-up").to_string();
        assert!(
            unknown.starts_with("unknown policy \"sparks\": use one of spark, spark-consolidate, "),
            "{unknown}"
        );
        let expression = "expr:left.cores";
        let setup: Setup = expression.parse().expect("it is an expression");
        assert_eq!(
            (setup.name().as_ref(), setup.config(Config::default()).rule.to_string().as_str()),
            (expression, expression)
        );
        let wrong = "expr:left.core".parse::<Setup>().expect_err("no such field").to_string();
        assert!(wrong.starts_with("at character 6 of the expression: "), "{wrong}");
    }
}
