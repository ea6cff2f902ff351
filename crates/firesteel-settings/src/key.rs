//! What there is to know of a property: its row in the table of [`keys`](super::keys).

use serde::Serialize;

/// Who reads a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reader {
    /// A Master.
    Master,
    /// A Worker.
    Worker,
    /// An application: its driver, and through it its executors.
    Application,
}

/// How the meaning of a property for YARN begins.
const YARN: &str = "On YARN";

/// One property, or a family of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// Its name. A part in capitals, such as `NAME`, stands for any words there.
    pub name: &'static str,
    /// Who reads it, at least one.
    pub readers: &'static [Reader],
    /// What counts where it is not set.
    pub default: Default,
    /// What it is for, in a sentence. Blanks may stand around it: see [`Key::meaning`].
    pub(super) doc: &'static str,
}

/// What counts where a property is not set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Default {
    /// This value, as it would be written.
    Value(&'static str),
    /// What these words say.
    Otherwise(&'static str),
}

impl Reader {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Master, Self::Worker, Self::Application];

    /// In a sentence: `a Master`.
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
    /// What it is for, in a sentence.
    #[must_use]
    pub fn meaning(&self) -> &'static str {
        self.doc.trim()
    }

    /// Whether the property has a meaning only on YARN.
    #[must_use]
    pub fn is_yarns(&self) -> bool {
        self.meaning().starts_with(YARN)
    }

    /// The meaning without the words that say that it is about YARN: in a list for YARN.
    #[must_use]
    pub fn meaning_on_yarn(&self) -> &'static str {
        let meaning = self.meaning();
        meaning.strip_prefix(YARN).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(meaning)
    }

    /// Whether the property is one of Spark's; otherwise it is Firesteel's own.
    #[must_use]
    pub fn is_sparks(&self) -> bool {
        self.name.starts_with("spark.")
    }
}

impl Default {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Value(words) | Self::Otherwise(words) => words,
        }
    }
}

/// What stands in `name` where `pattern` has a part in capitals; `""` if it has none; `None` if the name is none
/// of the pattern's. A pattern that ends in `.*` has every name that begins so.
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
