//! The result of a run, and its coverage, for the worlds of a single state machine.

use std::collections::BTreeMap;

use firesteel_protocol::Kind;

#[derive(Debug, Default)]
pub struct Outcome {
    pub coverage: Coverage,
    pub events: u64,
    /// The broken law, if any: what should be true, and what was found.
    pub violation: Option<String>,
    /// One line for each event and effect.
    pub trace: Vec<String>,
}

impl Outcome {
    /// The result of a run that has not begun. `kinds` are the enums to count.
    pub(crate) fn of(kinds: &[Kinds]) -> Self {
        Self { coverage: Coverage::of(kinds), ..Self::default() }
    }
}

/// How often each event, effect and fault of a machine occurred, over many runs: by enum and variant.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    counts: BTreeMap<(&'static str, &'static str), u64>,
}

/// The name of an enum and the names of its variants.
pub(crate) type Kinds = (&'static str, &'static [&'static str]);

/// The names of an enum and of its variants.
pub(crate) fn kinds<K: Kind>() -> Kinds {
    (K::ENUM, K::NAMES)
}

impl Coverage {
    /// A coverage in which all counts are 0.
    fn of(kinds: &[Kinds]) -> Self {
        let names =
            kinds.iter().flat_map(|(name, variants)| variants.iter().map(|variant| (*name, *variant)));
        Self { counts: names.map(|name| (name, 0)).collect() }
    }

    pub(crate) fn count<K: Kind>(&mut self, kind: &K) {
        *self.counts.entry((K::ENUM, kind.kind())).or_default() += 1;
    }

    /// Adds the counts of another run.
    pub fn add(&mut self, other: &Self) {
        for (key, count) in &other.counts {
            *self.counts.entry(*key).or_default() += count;
        }
    }

    /// How often this variant of this enum occurred.
    #[must_use]
    pub fn times(&self, name: &str, variant: &str) -> u64 {
        let rows = self.rows().filter(|(row, other, _)| (*row, *other) == (name, variant));
        rows.map(|(.., count)| count).sum()
    }

    /// All variants, as enum, variant and count.
    pub fn rows(&self) -> impl Iterator<Item = (&'static str, &'static str, u64)> {
        self.counts.iter().map(|((name, variant), count)| (*name, *variant, *count))
    }
}
