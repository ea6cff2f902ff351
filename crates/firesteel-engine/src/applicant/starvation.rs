//! Finds out why an application gets no executor.

use std::time::Duration;

use firesteel_protocol::time::Timestamp;

/// Measures how long the application has had no executor that takes tasks. Decides when to ask the Master for the
/// reason.
///
/// Source: Spark's driver, 4.0.1, warns every 15 s that "Initial job has not accepted any resources". Firesteel asks
/// the Master for the reason.
#[derive(Clone, Debug)]
pub(crate) struct Starvation {
    /// How long to wait before the first question.
    first: Duration,
    timeout: Duration,
    hunger: Option<UnmetRequest>,
    asked: Asked,
}

#[derive(Clone, Copy, Debug)]
struct UnmetRequest {
    since: Timestamp,
    /// When to ask for the reason next.
    ask_at: Timestamp,
}

/// Why the application asked the Master for the shortfall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    Nothing,
    /// To learn of permanent shortfalls immediately.
    AtOnce,
    /// Because the application has got no executor.
    Starving,
}

impl Starvation {
    pub(crate) fn new(timeout: Duration) -> Self {
        Self { first: timeout, timeout, hunger: None, asked: Asked::Nothing }
    }

    /// Waits only `first` before the first question, so that a user soon learns why nothing happens. Waits `timeout`
    /// before later questions.
    pub(crate) fn early(first: Duration, timeout: Duration) -> Self {
        Self { first: first.min(timeout), ..Self::new(timeout) }
    }

    /// An executor takes tasks: the measurement ends.
    pub(crate) fn fed(&mut self) {
        self.hunger = None;
    }

    /// No executor takes tasks: the measurement begins.
    pub(crate) fn hungry(&mut self, now: Timestamp) {
        self.hunger.get_or_insert(UnmetRequest { since: now, ask_at: now + self.first });
    }

    pub(crate) fn deadline(&self) -> Option<Timestamp> {
        self.hunger.map(|hunger| hunger.ask_at)
    }

    /// How long there has been no executor, if a note about it is due.
    pub(crate) fn due(&mut self, now: Timestamp) -> Option<Duration> {
        let hunger = self.hunger.as_mut().filter(|hunger| hunger.ask_at <= now)?;
        // Only the first question is early.
        let first = hunger.since + self.timeout;
        hunger.ask_at = if first > now { first } else { now + self.timeout };
        // Only an application that has just begun is silent.
        self.first = self.timeout;
        Some(now.since(hunger.since))
    }

    /// How long there has been no executor.
    pub(crate) fn waited(&self, now: Timestamp) -> Option<Duration> {
        self.hunger.map(|hunger| now.since(hunger.since))
    }

    pub(crate) fn asked(&mut self, why: Asked) {
        self.asked = why;
    }

    /// Handles the Master's answer. Returns why the Master was asked.
    pub(crate) fn answered(&mut self) -> Asked {
        std::mem::replace(&mut self.asked, Asked::Nothing)
    }
}
