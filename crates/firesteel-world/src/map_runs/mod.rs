//! A simulated world of one map run: an input, a driver, a reader of outputs and a record of items, all fake.
//!
//! [`Scenario`] describes a world, and [`run`] simulates it, with virtual time and chance from a seed. Items come late,
//! tasks fail, readers are slow and leave, and disks fill up. Users interrupt once, twice or with an echo. The application
//! is killed, or the driver panics. After each event the run's own invariants are checked, and its effects are compared
//! with the facts. Every item is accounted for exactly once. The items that are done and the items that are left
//! are together the items that were read. The run ends.
//!
//! - `scenario`, `run`: the description of a world, and one run.
//! - `truth`: the facts, and the laws.
//! - `sabotage`: the deliberate bugs.

mod run;
mod sabotage;
mod scenario;
mod truth;

use std::collections::BTreeMap;

use firesteel_core::Kind;
use firesteel_core::map::{Effect, Ending, Event, Remark};

pub use run::{Outcome, run, run_sabotaged};
pub use sabotage::MapSabotage;
pub use scenario::{Fault, Scenario};

/// How often everything that can happen to a map run has happened, over many runs: by enum and variant.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    counts: BTreeMap<(&'static str, &'static str), u64>,
}

impl Coverage {
    fn count<K: Kind>(&mut self, kind: &K) {
        *self.counts.entry((K::ENUM, kind.kind())).or_default() += 1;
    }

    fn effect(&mut self, effect: &Effect) {
        self.count(effect);
        if let Effect::Remark(remark) = effect {
            self.count(remark);
        }
    }

    /// Adds the counts of another run.
    pub fn add(&mut self, other: &Self) {
        for (key, count) in &other.counts {
            *self.counts.entry(*key).or_default() += count;
        }
    }

    /// All that can happen, as enum, variant and count.
    #[must_use]
    pub fn rows(&self) -> Vec<(&'static str, &'static str, u64)> {
        fn names<K: Kind>() -> impl Iterator<Item = (&'static str, &'static str)> {
            K::NAMES.iter().map(|name| (K::ENUM, *name))
        }
        let all = names::<Event>().chain(names::<Effect>()).chain(names::<Remark>()).chain(names::<Ending>());
        all.map(|key| (key.0, key.1, self.counts.get(&key).copied().unwrap_or(0))).collect()
    }
}
