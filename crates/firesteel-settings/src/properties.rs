//! Properties: keys and values as text.

use std::collections::BTreeMap;
use std::time::Duration;

use firesteel_placement::{Cores, MiB, Policy, policy_names};

use super::origin::Origin;
use super::{duration, key, keys, size};

/// The properties of a daemon or an application, by key: what counts, and then what that beats.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Properties(BTreeMap<String, Vec<Property>>);

/// A value, and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// The value as it was given.
    pub value: String,
    /// Where it comes from.
    pub origin: Origin,
}

/// A property that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// It is not a pair.
    #[error("--conf {text:?} is not a property: write --conf KEY=VALUE")]
    NoPair {
        /// What was given.
        text: String,
    },
    /// Its value is not what its key needs.
    #[error("{key} cannot be {value:?}{}: write {expected}", from(origin))]
    Value {
        /// The key.
        key: String,
        /// Its value.
        value: String,
        /// Where that comes from.
        origin: Origin,
        /// How a value looks.
        expected: &'static str,
    },
    /// A file that a property names cannot be used.
    #[error("{key}: {path}: {error}")]
    File {
        /// The key.
        key: &'static str,
        /// The file.
        path: String,
        /// What is wrong with it.
        error: String,
    },
    /// A task takes of a custom resource, and executors have none.
    #[error(
        "{task_key} is {value} and {executor_key} is not set: no executor could run a task; set it, too \
         (--executor-resource NAME=AMOUNT)"
    )]
    NoAddresses {
        /// The key of what a task takes.
        task_key: String,
        /// Its value.
        value: String,
        /// The key of what an executor has.
        executor_key: String,
        /// Whether one of them stands on the command line.
        is_usage: bool,
    },
    /// A task takes more of a custom resource than an executor has.
    #[error(
        "{task_key} is {value} and {executor_key} is {each}: no executor could run a task; raise one or lower the other"
    )]
    TooFewAddresses {
        /// The key of what a task takes.
        task_key: String,
        /// Its value.
        value: String,
        /// The key of what an executor has.
        executor_key: String,
        /// Its value.
        each: u64,
        /// Whether one of them stands on the command line.
        is_usage: bool,
    },
    /// Two values, each of which could be used, cannot be used together.
    #[error("{less} is {fewer} and {more} is {greater}: {so}; raise one or lower the other")]
    Contradiction {
        /// The key with the lesser value.
        less: &'static str,
        /// Its value.
        fewer: i64,
        /// The key with the greater value.
        more: &'static str,
        /// Its value.
        greater: i64,
        /// What would come of it.
        so: &'static str,
        /// Whether one of them stands on the command line.
        is_usage: bool,
    },
}

/// What an error adds about where a value comes from. Whoever wrote `--conf` sees it there.
fn from(origin: &Origin) -> String {
    match origin {
        Origin::Conf => String::new(),
        Origin::Flag(_)
        | Origin::Variable(_)
        | Origin::JavaOption(_)
        | Origin::File { .. }
        | Origin::Derived(_) => format!(" ({origin})"),
    }
}

impl SettingError {
    /// Whether it is the command line that is wrong. Otherwise a file or a variable is.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        match self {
            Self::NoPair { .. } => true,
            Self::File { .. } => false,
            Self::Contradiction { is_usage, .. }
            | Self::NoAddresses { is_usage, .. }
            | Self::TooFewAddresses { is_usage, .. } => *is_usage,
            Self::Value { origin, .. } => origin.is_command_line(),
        }
    }
}

impl Properties {
    /// The properties of `--conf` flags. The last of several with one key counts.
    ///
    /// # Errors
    /// The first that is not `key=value`.
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

    /// Sets a property, above whatever it was before.
    pub fn set(&mut self, key: &str, value: impl Into<String>, origin: Origin) {
        self.0.entry(key.to_owned()).or_default().insert(0, Property { value: value.into(), origin });
    }

    /// Sets a property, below whatever it was before.
    pub fn set_weaker(&mut self, key: &str, value: impl Into<String>, origin: Origin) {
        self.0.entry(key.to_owned()).or_default().push(Property { value: value.into(), origin });
    }

    /// Forgets a property, and whatever it was before.
    pub fn unset(&mut self, key: &str) {
        self.0.remove(key);
    }

    /// A value as it was given.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.property(key).map(|property| property.value.as_str())
    }

    /// Where a value comes from.
    #[must_use]
    pub fn origin(&self, key: &str) -> Option<&Origin> {
        self.property(key).map(|property| &property.origin)
    }

    /// Values that do not count, since another beats them, the strongest first.
    pub fn beaten(&self, key: &str) -> impl Iterator<Item = &Property> {
        self.all(key).skip(1)
    }

    /// The value that counts, and then those that it beats.
    pub fn all(&self, key: &str) -> impl Iterator<Item = &Property> {
        self.0.get(key).into_iter().flatten()
    }

    /// Every property.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.each().map(|(key, property)| (key, property.value.as_str()))
    }

    /// Every property, with its origin.
    pub fn each(&self) -> impl Iterator<Item = (&str, &Property)> {
        self.0.iter().filter_map(|(key, all)| Some((key.as_str(), all.first()?)))
    }

    fn property(&self, key: &str) -> Option<&Property> {
        self.0.get(key)?.first()
    }

    /// Every property of a family, by what stands in the place of `NAME` in its row of the table.
    pub fn family(&self, pattern: &'static str) -> impl Iterator<Item = (&str, &str)> {
        self.iter().filter_map(move |(key, value)| Some((key::matched(pattern, key)?, value)))
    }

    /// The names of all properties of a family, or of the one.
    pub fn names(&self, pattern: &'static str) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str).filter(move |name| key::matched(pattern, name).is_some())
    }

    /// A value that `read` understands. `None`: not set.
    ///
    /// # Errors
    /// It is set and `read` has no answer.
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

    /// `true` or `false`, in any case.
    ///
    /// # Errors
    /// It is set to something else.
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
    /// It is set to something else.
    pub fn count(&self, key: &str) -> Result<Option<u32>, SettingError> {
        self.read(key, "a whole number from 0 to 4294967295", |text| text.parse().ok())
    }

    /// Cores, at least one.
    ///
    /// # Errors
    /// It is set to something else.
    pub fn cores(&self, key: &str) -> Result<Option<Cores>, SettingError> {
        let positive = |text: &str| text.parse::<i32>().ok().filter(|cores| *cores > 0);
        let cores = self.read(key, "a whole number from 1 to 2147483647", positive)?;
        Ok(cores.map(|cores| Cores(cores.into())))
    }

    /// `firesteel.placement.policy`, a Master's or an application's.
    ///
    /// # Errors
    /// It is set to something else.
    pub fn policy(&self) -> Result<Option<Policy>, SettingError> {
        self.read(keys::PLACEMENT_POLICY, policy_names!(), |text| text.parse().ok())
    }

    /// Memory; a number alone counts MiB.
    ///
    /// # Errors
    /// It is set to something else or to less than 1 MiB.
    pub fn memory(&self, key: &str) -> Result<Option<MiB>, SettingError> {
        self.read(key, size::EXPECTED, |text| size::memory(text, size::Unit::MiB).ok())
    }

    /// A duration; a number alone counts `plain`.
    ///
    /// # Errors
    /// It is set to something else.
    pub fn duration(&self, key: &str, plain: duration::Unit) -> Result<Option<Duration>, SettingError> {
        self.read(key, duration::EXPECTED, |text| duration::parse(text, plain))
    }

    /// A duration that is not zero.
    ///
    /// # Errors
    /// It is set to something else.
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
