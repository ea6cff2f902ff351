//! A map run in a small world of its own: an input, a driver, a reader of outputs and a record of items, all made up.
//!
//! [`Scenario`] says what a world is made of, [`run`] lets it happen, with virtual time and chance from a seed: items come
//! late, tasks fail, readers are slow and leave, disks fill up, people interrupt once, twice and in echo, the application
//! is killed, the driver panics. After each event the run's own invariants are checked, and what it does is held against
//! what is really so (`truth`): every item is accounted for exactly once, what is left for another run and what is done
//! are together what was read, and the run ends.

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
pub struct Seen {
    counts: BTreeMap<(&'static str, &'static str), u64>,
}

impl Seen {
    fn count<K: Kind>(&mut self, kind: &K) {
        *self.counts.entry((K::ENUM, kind.kind())).or_default() += 1;
    }

    fn effect(&mut self, effect: &Effect) {
        self.count(effect);
        if let Effect::Remark(remark) = effect {
            self.count(remark);
        }
    }

    /// Adds what another run has seen.
    pub fn add(&mut self, other: &Self) {
        for (key, count) in &other.counts {
            *self.counts.entry(*key).or_default() += count;
        }
    }

    /// Everything that can happen, with how often it has: enum, variant, count.
    #[must_use]
    pub fn rows(&self) -> Vec<(&'static str, &'static str, u64)> {
        fn names<K: Kind>() -> impl Iterator<Item = (&'static str, &'static str)> {
            K::NAMES.iter().map(|name| (K::ENUM, *name))
        }
        let all = names::<Event>().chain(names::<Effect>()).chain(names::<Remark>()).chain(names::<Ending>());
        all.map(|key| (key.0, key.1, self.counts.get(&key).copied().unwrap_or(0))).collect()
    }
}
