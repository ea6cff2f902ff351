//! The description of a property: its row in the table of [`keys`](super::keys).

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reader {
    Master,
    Worker,
    /// An application: its driver, and the executors, which get their settings from the driver.
    Application,
}

/// The prefix of the meaning of each property for YARN.
const YARN: &str = "On YARN";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// The name. A part in capitals, such as `NAME`, stands for any text.
    pub name: &'static str,
    /// The programs that read the property: Master, Worker or application. At least one.
    pub readers: &'static [Reader],
    pub default: Default,
    /// The meaning, in one sentence. Blanks may surround the text: see [`Key::meaning`].
    pub(super) doc: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Default {
    /// This value, written as a user would set it.
    Value(&'static str),
    /// A default that is described by a text.
    Otherwise(&'static str),
}

impl Reader {
    pub const ALL: [Self; 3] = [Self::Master, Self::Worker, Self::Application];

    #[must_use]
    pub fn described(self) -> &'static str {
        match self {
            Self::Master => "a Master",
            Self::Worker => "a Worker",
            Self::Application => "an application",
        }
    }
}

impl Key {
    /// The meaning of the property, in one sentence.
    #[must_use]
    pub fn meaning(&self) -> &'static str {
        self.doc.trim()
    }

    /// Whether the property has a meaning only on YARN.
    #[must_use]
    pub fn is_yarns(&self) -> bool {
        self.meaning().starts_with(YARN)
    }

    /// The meaning without the prefix `On YARN`, for a list of YARN properties.
    #[must_use]
    pub fn meaning_on_yarn(&self) -> &'static str {
        let meaning = self.meaning();
        meaning.strip_prefix(YARN).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(meaning)
    }

    /// Whether the property is one of Spark's. Otherwise it is one of Firesteel's own.
    #[must_use]
    pub fn is_sparks(&self) -> bool {
        self.name.starts_with("spark.")
    }
}

impl Default {
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Value(words) | Self::Otherwise(words) => words,
        }
    }
}

/// The part of `name` that matches the capitals in `pattern`. `""` if the pattern has no capitals, `None` if the name
/// does not match. A pattern that ends in `.*` matches every name with this prefix.
#[must_use]
pub fn matched<'a>(pattern: &str, name: &'a str) -> Option<&'a str> {
    if let Some(beginning) = pattern.strip_suffix('*') {
        return name.strip_prefix(beginning);
    }
    match pattern.split('.').find(|part| part.len() > 1 && part.bytes().all(|b| b.is_ascii_uppercase())) {
        Some(part) => {
            let (before, after) = pattern.split_once(part).expect("the part is one of the pattern's");
            name.strip_prefix(before)?.strip_suffix(after).filter(|found| !found.is_empty())
        }
        None => (pattern == name).then_some(""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_in_capitals_stands_for_any_words() {
        let amount = "spark.executor.resource.NAME.amount";
        assert_eq!(matched(amount, "spark.executor.resource.gpu.amount"), Some("gpu"));
        assert_eq!(matched(amount, "spark.executor.resource.a.b.amount"), Some("a.b"));
        for other in [
            "spark.executor.resource..amount",
            "spark.executor.resource.amount",
            "spark.executor.resource.gpu",
        ] {
            assert_eq!(matched(amount, other), None, "{other}");
        }
        assert_eq!(matched("spark.executorEnv.NAME", "spark.executorEnv.LANG"), Some("LANG"));
        assert_eq!(matched("spark.executorEnv.NAME", "spark.executorEnv."), None);
    }

    #[test]
    fn other_patterns_are_whole_names_or_beginnings() {
        assert_eq!(matched("spark.cores.max", "spark.cores.max"), Some(""));
        assert_eq!(matched("spark.cores.max", "spark.cores.maximum"), None);
        assert_eq!(matched("spark.sql.*", "spark.sql.shuffle.partitions"), Some("shuffle.partitions"));
        assert_eq!(matched("spark.sql.*", "spark.sqlx"), None);
    }
}
