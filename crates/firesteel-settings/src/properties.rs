//! Properties: keys and values as text, with their origins.

use std::collections::BTreeMap;
use std::time::Duration;

use firesteel_placement::ExpressionError;
use firesteel_placement::advanced::policy::EXPRESSION;
use firesteel_placement::{Amount, Cores, MiB, Policy, policy_names, policy_names_only};
use firesteel_placement::{Rule, UnknownRule};

use super::origin::Origin;
use super::values::{duration, size};
use super::{key, keys};

/// The properties of a daemon or an application, by key. Each key has its effective value, followed by the overridden
/// values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Properties(BTreeMap<String, Vec<Property>>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    pub value: String,
    pub origin: Origin,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    #[error("--conf {text:?} is not a property: write --conf KEY=VALUE")]
    NoPair { text: String },
    /// The value does not have the syntax that the key requires.
    #[error("{key} cannot be {value:?}{}: write {expected}", from(origin))]
    Value { key: String, value: String, origin: Origin, expected: &'static str },
    /// The expression of a placement policy cannot be read.
    #[error("{key} cannot be {value:?}{}: {error}", from(origin))]
    Expression {
        key: &'static str,
        value: String,
        origin: Origin,
        /// What is wrong with the expression after `expr:`.
        error: Box<ExpressionError>,
    },
    /// A property asks for protection by filters, which are Java classes. Without them, a service would be open to
    /// everybody.
    #[error(
        "{key} cannot be {value:?}{}: its filters are Java classes, so {served} would be open: {instead}",
        from(origin)
    )]
    Unprotected {
        key: &'static str,
        value: String,
        origin: Origin,
        served: &'static str,
        instead: &'static str,
    },
    /// A PEM file is needed, and no property names it.
    #[error(
        "{key} is not set, which {needed_by} needs: name a PEM file (of a keystore openssl pkcs12 -nodes makes one)"
    )]
    NoPemFile { key: &'static str, needed_by: &'static str },
    /// A filter needs a key, and the property has none that can be used.
    #[error(
        "spark.{0}.param.secretKey is no key of at least 256 bits in base64url, which the filter {0} needs",
        crate::daemon::token_key::JWS_FILTER
    )]
    NoTokenKey,
    /// The file that a property names cannot be used.
    #[error("{key}: {path}: {error}")]
    File { key: &'static str, path: String, error: String },
    /// Tasks need a custom resource that executors do not have.
    #[error(
        "{task_key} is {value} and {executor_key} is not set: no executor could run a task; set it, too \
         (--executor-resource NAME=AMOUNT)"
    )]
    NoAddresses {
        /// The key of the amount per task.
        task_key: String,
        /// The amount per task.
        value: String,
        /// The key of the amount per executor.
        executor_key: String,
        /// Whether one of the values was set on the command line.
        is_usage: bool,
    },
    /// A task needs more of a custom resource than an executor has.
    #[error(
        "{task_key} is {value} and {executor_key} is {each}: no executor could run a task; raise one or lower the other"
    )]
    TooFewAddresses { task_key: String, value: String, executor_key: String, each: Amount, is_usage: bool },
    /// Each of two values is valid alone, but not together with the other one.
    #[error("{less} is {fewer} and {more} is {greater}: {so}; raise one or lower the other")]
    Contradiction {
        /// The key with the smaller value.
        less: &'static str,
        /// The smaller of the values.
        fewer: i64,
        /// The key with the greater value.
        more: &'static str,
        greater: i64,
        /// The consequence of using both.
        so: &'static str,
        is_usage: bool,
    },
    /// The Master is to end executors to make room for gangs, but another setting switches preemption off.
    #[error(
        "{key} is {value:?}{} and {needed} is not set: no executor would be ended; set it, too",
        from(origin)
    )]
    NoneEnded {
        key: &'static str,
        value: Duration,
        origin: Origin,
        /// The key of the other setting.
        needed: &'static str,
    },
    /// An executor would count as lost before its next heartbeat arrives.
    #[error(
        "{} is {timeout:?} and {} is {interval:?}: the timeout must be longer than the interval; raise one or lower the \
         other",
        keys::NETWORK_TIMEOUT,
        keys::HEARTBEAT_INTERVAL
    )]
    TimeoutTooShort { timeout: Duration, interval: Duration, is_usage: bool },
}

/// The part of an error that names the origin of a value. Empty for `--conf`, because the user sees the flag.
fn from(origin: &Origin) -> String {
    match origin {
        Origin::Conf => String::new(),
        Origin::Flag(_)
        | Origin::Variable(_)
        | Origin::JavaOption(_)
        | Origin::File { .. }
        | Origin::Script(_)
        | Origin::Derived(_) => format!(" ({origin})"),
    }
}

impl SettingError {
    /// Whether the error concerns the command line. Otherwise, it concerns a file or a variable.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        match self {
            Self::NoPair { .. } => true,
            Self::File { .. } | Self::NoPemFile { .. } | Self::NoTokenKey => false,
            Self::Contradiction { is_usage, .. }
            | Self::TimeoutTooShort { is_usage, .. }
            | Self::NoAddresses { is_usage, .. }
            | Self::TooFewAddresses { is_usage, .. } => *is_usage,
            Self::Value { origin, .. }
            | Self::Expression { origin, .. }
            | Self::Unprotected { origin, .. }
            | Self::NoneEnded { origin, .. } => origin.is_command_line(),
        }
    }
}

impl Properties {
    /// The properties of `--conf` flags. If a key occurs several times, the last one counts.
    ///
    /// # Errors
    /// The error for the first text that is not `key=value`.
    pub fn parse<'a>(pairs: impl IntoIterator<Item = &'a str>) -> Result<Self, SettingError> {
        let mut properties = Self::default();
        for text in pairs {
            match text.split_once('=') {
                Some((key, value)) if !key.trim().is_empty() => {
                    properties.set(key.trim(), value.trim(), Origin::Conf);
                }
                Some(_) | None => return Err(SettingError::NoPair { text: text.to_owned() }),
            }
        }
        Ok(properties)
    }

    pub fn set(&mut self, key: &str, value: impl Into<String>, origin: Origin) {
        self.0.entry(key.to_owned()).or_default().insert(0, Property { value: value.into(), origin });
    }

    /// Sets a property, with lower precedence than its earlier values.
    pub fn set_weaker(&mut self, key: &str, value: impl Into<String>, origin: Origin) {
        self.0.entry(key.to_owned()).or_default().push(Property { value: value.into(), origin });
    }

    /// Removes a property with all its values.
    pub fn unset(&mut self, key: &str) {
        self.0.remove(key);
    }

    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.property(key).map(|property| property.value.as_str())
    }

    #[must_use]
    pub fn origin(&self, key: &str) -> Option<&Origin> {
        self.property(key).map(|property| &property.origin)
    }

    /// The overridden values of a property, in order of precedence.
    pub fn overridden(&self, key: &str) -> impl Iterator<Item = &Property> {
        self.all(key).skip(1)
    }

    /// The effective value, followed by the overridden values.
    pub fn all(&self, key: &str) -> impl Iterator<Item = &Property> {
        self.0.get(key).into_iter().flatten()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.each().map(|(key, property)| (key, property.value.as_str()))
    }

    pub fn each(&self) -> impl Iterator<Item = (&str, &Property)> {
        self.0.iter().filter_map(|(key, all)| Some((key.as_str(), all.first()?)))
    }

    fn property(&self, key: &str) -> Option<&Property> {
        self.0.get(key)?.first()
    }

    /// All properties of a family, by the part of the name that replaces `NAME` in the family's row.
    pub fn family(&self, pattern: &'static str) -> impl Iterator<Item = (&str, &str)> {
        self.iter().filter_map(move |(key, value)| Some((key::matched(pattern, key)?, value)))
    }

    /// The names of all properties of a family, or of a single property.
    pub fn names(&self, pattern: &'static str) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str).filter(move |name| key::matched(pattern, name).is_some())
    }

    /// The value of a property, parsed by `read`. `None` if it is not set.
    ///
    /// # Errors
    /// The value cannot be parsed.
    pub fn read<T>(
        &self,
        key: &str,
        expected: &'static str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, SettingError> {
        let Some(Property { value, origin }) = self.property(key) else { return Ok(None) };
        let error = || SettingError::Value {
            key: key.to_owned(),
            value: value.clone(),
            origin: origin.clone(),
            expected,
        };
        read(value).map(Some).ok_or_else(error)
    }

    /// The value `true` or `false`, in upper or lower case.
    ///
    /// # Errors
    /// The value is neither `true` nor `false`.
    pub fn boolean(&self, key: &str) -> Result<Option<bool>, SettingError> {
        self.read(key, "true or false", |text| match text.to_ascii_lowercase().as_str() {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        })
    }

    /// A whole number that is not negative.
    ///
    /// # Errors
    /// The value is not a whole number, or is negative.
    pub fn count(&self, key: &str) -> Result<Option<u32>, SettingError> {
        self.read(key, "a whole number from 0 to 4294967295", |text| text.parse().ok())
    }

    /// A whole number of at least one.
    ///
    /// # Errors
    /// The value is anything else.
    pub fn positive(&self, key: &str) -> Result<Option<u32>, SettingError> {
        self.read(key, "a whole number from 1 to 4294967295", |text| {
            text.parse().ok().filter(|count| *count > 0)
        })
    }

    /// A number greater than 0, by which an amount is multiplied.
    ///
    /// # Errors
    /// The value is anything else.
    pub fn factor(&self, key: &str) -> Result<Option<f64>, SettingError> {
        let positive =
            |text: &str| text.parse().ok().filter(|factor: &f64| factor.is_finite() && *factor > 0.0);
        self.read(key, "a number greater than 0, such as 0.1", positive)
    }

    /// A number of cores, at least one.
    ///
    /// # Errors
    /// The value is anything else.
    pub fn cores(&self, key: &str) -> Result<Option<Cores>, SettingError> {
        let positive = |text: &str| text.parse::<i32>().ok().filter(|cores| *cores > 0);
        let cores = self.read(key, "a whole number from 1 to 2147483647", positive)?;
        Ok(cores.map(|cores| Cores(cores.into())))
    }

    /// The policy in `firesteel.placement.policy`, for an application.
    ///
    /// # Errors
    /// The value is not the name of a policy. Expressions are also refused, because only Masters accept them.
    pub fn policy(&self) -> Result<Option<Policy>, SettingError> {
        let is_expression = self.get(keys::PLACEMENT_POLICY).is_some_and(|text| text.starts_with(EXPRESSION));
        let expected = if is_expression { policy_names_only!() } else { policy_names!() };
        self.read(keys::PLACEMENT_POLICY, expected, |text| text.parse().ok())
    }

    /// The policy or the expression in `firesteel.placement.policy`, for a Master.
    ///
    /// # Errors
    /// The value is anything else, or the expression cannot be read.
    pub fn rule(&self) -> Result<Option<Rule>, SettingError> {
        const EXPECTED: &str = concat!(policy_names!(), ", or expr: and an expression");
        let key = keys::PLACEMENT_POLICY;
        let wrong = self.property(key).and_then(|Property { value, origin }| match value.parse::<Rule>() {
            Err(UnknownRule::Expression(error)) => {
                let (value, origin, error) = (value.clone(), origin.clone(), Box::new(error));
                Some(SettingError::Expression { key, value, origin, error })
            }
            Err(UnknownRule::Policy(_)) | Ok(_) => None,
        });
        wrong.map_or_else(|| self.read(key, EXPECTED, |text| text.parse().ok()), Err)
    }

    /// An amount of memory. A number without a unit counts MiB.
    ///
    /// # Errors
    /// The value is anything else, or less than 1 MiB.
    pub fn memory(&self, key: &str) -> Result<Option<MiB>, SettingError> {
        self.read(key, size::EXPECTED, |text| size::memory(text, size::Unit::MiB).ok())
    }

    /// A duration. A number without a unit counts `plain` units.
    ///
    /// # Errors
    /// The value is anything else.
    pub fn duration(&self, key: &str, plain: duration::Unit) -> Result<Option<Duration>, SettingError> {
        self.read(key, duration::EXPECTED, |text| duration::parse(text, plain))
    }

    /// A duration that is not zero.
    ///
    /// # Errors
    /// The value is anything else.
    pub fn period(&self, key: &str, plain: duration::Unit) -> Result<Option<Duration>, SettingError> {
        let expected = "a duration of at least 1 ms, such as 500ms, 10s or 1min";
        let least = Duration::from_millis(1);
        self.read(key, expected, |text| duration::parse(text, plain).filter(|period| *period >= least))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_several_values_counts_and_blanks_around_them_do_not() {
        let properties = Properties::parse(["spark.a=1", " spark.b = x=y ", "spark.a=2", "spark.c="])
            .expect("they are pairs");
        let expected = [("spark.a", "2"), ("spark.b", "x=y"), ("spark.c", "")];
        assert_eq!(properties.iter().collect::<Vec<_>>(), expected);
        for text in ["spark.a", "=1", ""] {
            assert!(matches!(Properties::parse([text]), Err(SettingError::NoPair { .. })), "{text:?}");
        }
    }

    #[test]
    fn an_error_names_key_value_and_what_is_expected() {
        let properties = Properties::parse(["spark.cores.max=0"]).expect("it is a pair");
        let error = properties.cores("spark.cores.max").expect_err("it is not positive");
        assert_eq!(
            error.to_string(),
            "spark.cores.max cannot be \"0\": write a whole number from 1 to 2147483647"
        );
        assert_eq!(properties.cores("spark.executor.cores"), Ok(None));
    }
}
