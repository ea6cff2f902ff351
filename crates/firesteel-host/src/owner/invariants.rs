//! When a daemon checks its machine's invariants: in builds with debug assertions, after events.

use std::time::{Duration, Instant};

use firesteel_protocol::Machine;

/// A check that takes longer than this is not done after each event.
const QUICK: Duration = Duration::from_micros(100);

/// The share of the time that longer checks may take: one in this number.
const SHARE: u32 = 5;

#[derive(Debug, Default)]
pub(super) struct Invariants {
    /// No check before this time.
    next: Option<Instant>,
}

impl Invariants {
    /// Checks the invariants after an event.
    ///
    /// # Panics
    /// An invariant is violated.
    pub(super) fn check(&mut self, machine: &impl Machine) {
        if !cfg!(debug_assertions) {
            return;
        }
        let begun = Instant::now();
        if self.next.is_some_and(|next| begun < next) {
            return;
        }
        if let Err(violation) = machine.check() {
            panic!("{violation}");
        }
        let took = begun.elapsed();
        self.next = (took > QUICK).then(|| begun + took * SHARE);
    }
}
