//! The contract that every state machine keeps.

pub mod kind;
pub mod mentions;

use std::fmt;

use crate::machine::kind::Kind;
use crate::time::Timestamp;

/// A state machine: a value that takes events and returns effects.
///
/// - [`apply`](Machine::apply) is total: it neither panics nor fails, whatever a peer sends. A bad request becomes a
///   refusal among the effects.
/// - The one task that owns the machine performs the effects one by one, in order.
/// - The time is the argument `now`, which never goes back. Random numbers come from a generator whose seed the machine
///   got when it was made.
/// - Nothing waits inside `apply`: an answer is a later event.
pub trait Machine {
    type Event: Kind + fmt::Debug + Send + 'static;
    /// What the machine asks its daemon to do.
    type Effect;
    /// Why the machine wants a call at its deadline.
    type Reason: fmt::Debug;

    /// Takes one event at the time `now`, changes the tables, and returns the effects in order.
    fn apply(&mut self, now: Timestamp, event: Self::Event) -> Vec<Self::Effect>;

    /// When to call `apply` with the machine's deadline event if no other event comes before, and why. The deadline
    /// event may come early or late, because the machine compares `now` itself.
    fn next_deadline(&self) -> Option<(Timestamp, Self::Reason)>;

    /// Whether an event only asks for a copy of tables. Debug builds of the daemons do not check the invariants after
    /// such an event.
    fn only_asks(_event: &Self::Event) -> bool {
        false
    }

    /// Checks the invariants of the tables. The simulator calls this after every event. Debug builds of the daemons
    /// call it, too, except after events that [only ask](Self::only_asks): a client reads a large state in many pages.
    ///
    /// # Errors
    /// The first invariant that does not hold, as a sentence with its numbers.
    fn check(&self) -> Result<(), Violation>;
}

/// The effects of the current event, in the order in which the daemon performs them. Every machine has this field: its
/// handlers add effects, and `apply` returns all of them at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effects<E> {
    batch: Vec<E>,
    /// The first invariant that a handler found broken.
    broken: Option<Violation>,
}

impl<E> Effects<E> {
    pub fn push(&mut self, effect: E) {
        self.batch.push(effect);
    }

    pub fn reserve(&mut self, effects: usize) {
        self.batch.reserve(effects);
    }

    /// Adds a note, which becomes a line of the log.
    pub fn note<N>(&mut self, note: N)
    where
        E: From<N>,
    {
        self.batch.push(note.into());
    }

    pub fn extend(&mut self, effects: impl IntoIterator<Item = E>) {
        self.batch.extend(effects);
    }

    /// Returns the effects for the daemon, and leaves none behind.
    pub fn take(&mut self) -> Vec<E> {
        std::mem::take(&mut self.batch)
    }

    /// Records that a handler found a broken invariant and did not do its work. The machine continues to run. The log
    /// gets a warning, and `check` fails from now on.
    pub fn violated(&mut self, violation: Violation)
    where
        E: From<Violation>,
    {
        self.broken.get_or_insert_with(|| violation.clone());
        self.batch.push(violation.into());
    }

    /// Checks that no handler found an invariant broken, and that no effect is left between two events.
    pub fn check(&self, machine: &'static str) -> Result<(), Violation> {
        if let Some(violation) = &self.broken {
            return Err(violation.clone());
        }
        if self.batch.is_empty() {
            return Ok(());
        }
        let sentence = format!("{} effects were not handed out", self.batch.len());
        Err(Violation { machine, sentence })
    }
}

impl<E> Default for Effects<E> {
    fn default() -> Self {
        Self { batch: Vec::new(), broken: None }
    }
}

/// The level of a note. Every machine has a type `Note`, which derives its level
/// (`#[derive(firesteel_protocol::Note)]`). The daemon writes one line of the log for each note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoteLevel {
    Info,
    /// An event that an operator should check.
    Warn,
}

/// An invariant that does not hold, which means a bug in a state machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{machine}: {sentence}")]
pub struct Violation {
    pub machine: &'static str,
    /// The invariant, and the values that break it.
    pub sentence: String,
}

/// Returns a [`Violation`] unless the condition holds: `ensure!("master", a == b, "a is {a}, b is {b}")`.
#[macro_export]
macro_rules! ensure {
    ($machine:literal, $condition:expr, $($sentence:tt)+) => {
        if !$condition {
            return Err($crate::machine::Violation { machine: $machine, sentence: format!($($sentence)+) });
        }
    };
}
pub use crate::ensure;
