//! The rule by which a Master chooses Workers: a named policy, or an expression.

use std::fmt;
use std::str::FromStr;

use super::expression::{Expression, ExpressionError};
use super::{Policy, UnknownPolicy};

/// The prefix of an expression, where the name of a policy could be given instead.
pub const EXPRESSION: &str = "expr:";

/// The rule by which a Master chooses Workers for applications that name no policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// A policy with a name.
    Policy(Policy),
    /// Chooses the Worker where the expression's value is lowest: [`fill`](super::fill()) by
    /// [`Measure::Expression`](super::Measure::Expression).
    Expression(Expression),
}

impl Rule {
    /// The policy that is most similar to this rule. For an expression, this is the policy that breaks its ties.
    #[must_use]
    pub fn nearest_policy(&self) -> Policy {
        match self {
            Self::Policy(policy) => *policy,
            Self::Expression(_) => Policy::BestFit,
        }
    }
}

/// Spark's rule.
impl Default for Rule {
    fn default() -> Self {
        Self::Policy(Policy::default())
    }
}

impl From<Policy> for Rule {
    fn from(policy: Policy) -> Self {
        Self::Policy(policy)
    }
}

impl From<Expression> for Rule {
    fn from(expression: Expression) -> Self {
        Self::Expression(expression)
    }
}

/// Why a text is not a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnknownRule {
    /// No policy has the given name.
    #[error("no policy is called {:?}: use {names}, or {EXPRESSION} and an expression", .0.name, names = crate::policy_names!())]
    Policy(UnknownPolicy),
    /// The expression cannot be read.
    #[error(transparent)]
    Expression(#[from] ExpressionError),
}

/// Parses the name of a policy, or `expr:` and an expression.
impl FromStr for Rule {
    type Err = UnknownRule;

    fn from_str(text: &str) -> Result<Self, UnknownRule> {
        match text.strip_prefix(EXPRESSION) {
            Some(expression) => Ok(Self::Expression(expression.parse()?)),
            None => text.parse().map(Self::Policy).map_err(UnknownRule::Policy),
        }
    }
}

/// Formats the name of the policy, or `expr:` and the expression.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Policy(policy) => policy.fmt(f),
            Self::Expression(expression) => write!(f, "{EXPRESSION}{expression}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_read_as_it_is_shown() {
        for text in ["best-fit", "expr:left.cores", "expr:if(asked.gpu > 0, 1, total.gpu)"] {
            let rule: Rule = text.parse().expect("it is a rule");
            assert_eq!(rule.to_string(), text);
        }
        let spaced: Rule = "expr: left.cores ".parse().expect("it is a rule");
        assert_eq!(spaced.to_string(), "expr:left.cores");
        assert_eq!(spaced.nearest_policy(), Policy::BestFit);
    }

    #[test]
    fn what_is_no_rule_is_refused_with_what_to_write() {
        let refused = |text: &str| text.parse::<Rule>().expect_err(text).to_string();
        assert_eq!(
            refused("best"),
            concat!(
                "no policy is called \"best\": use ",
                crate::policy_names!(),
                ", or expr: and an expression"
            )
        );
        assert_eq!(
            refused("expr:left.core"),
            "at character 6 of the expression: \"core\" looks like cores: write cores, or \"core\" in quotes for a custom resource"
        );
    }
}
