//! A simulated world of one YARN allocator.
//!
//! A fake manager grants containers late, in the wrong place, too many, or twice, and loses containers.
//! Executors fail. A driver changes its targets. Calls are lost on the way there or back, and the manager
//! may forget everything.
//!
//! [`Scenario`] describes a world, and [`run`] simulates it, with virtual time and chance from a seed.
//! While faults strike, the allocator's own invariants are checked after each event, and its effects are
//! compared with what is really so (`truth`). Then all faults stop. There must be as many executors as are
//! wanted, and nothing else.
//!
//! - `scenario`, `run`: the description of a world, and one run.
//! - `manager`: the fake manager and its machines.
//! - `truth`: the second set of books, and the laws.
//! - `sabotage`: the deliberate bugs.

mod manager;
mod run;
mod sabotage;
mod scenario;
mod truth;

use std::collections::BTreeMap;

use firesteel_core::Kind;
use firesteel_core::allocator::{AllocateFailure, Cause, Effect, Event, Failure, Loss, Note};

pub use manager::{Care, Held, Manager};
pub use run::{Outcome, run, run_sabotaged};
pub use sabotage::ContainerSabotage;
pub use scenario::Scenario;

/// How often each thing that can happen to an allocator has happened, over many runs, by enum and variant.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    counts: BTreeMap<(&'static str, &'static str), u64>,
}

impl Coverage {
    fn count<K: Kind>(&mut self, kind: &K) {
        *self.counts.entry((K::ENUM, kind.kind())).or_default() += 1;
    }

    fn event(&mut self, event: &Event) {
        self.count(event);
        if let Event::AllocateFailed(failure) = event {
            self.count(failure);
        }
    }

    fn effect(&mut self, effect: &Effect) {
        self.count(effect);
        match effect {
            Effect::Note(note) => self.count(note),
            Effect::Fail(failure) => self.count(failure),
            Effect::ExecutorEnded { loss, .. } => {
                self.count(loss);
                if let Loss::Ended { cause, .. } = loss {
                    self.count(cause);
                }
            }
            Effect::Allocate(_)
            | Effect::Register
            | Effect::Launch(_)
            | Effect::Decommission { .. }
            | Effect::AnswerLoss { .. } => {}
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
        let all = names::<Event>()
            .chain(names::<Effect>())
            .chain(names::<Note>())
            .chain(names::<AllocateFailure>())
            .chain(names::<Loss>())
            .chain(names::<Cause>())
            .chain(names::<Failure>());
        all.map(|key| (key.0, key.1, self.counts.get(&key).copied().unwrap_or(0))).collect()
    }
}
