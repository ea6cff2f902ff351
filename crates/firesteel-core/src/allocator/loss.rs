//! Why executors are gone, and who wants to know.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use super::cause::Cause;
use crate::ids::ExecutorId;

/// Why an executor is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Its container ended.
    Ended {
        /// Why the container ended.
        cause: Cause,
        /// What the manager says about it.
        diagnostics: String,
    },
    /// The driver wanted it ended.
    Killed,
    /// Its process could not be started.
    NotStarted {
        /// The error, in words for people.
        error: String,
    },
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended { cause, diagnostics } if diagnostics.is_empty() => cause.fmt(f),
            Self::Ended { cause, diagnostics } => write!(f, "{cause}: {diagnostics}"),
            Self::Killed => f.write_str("it was ended as the driver wanted"),
            Self::NotStarted { error } => write!(f, "it could not be started: {error}"),
        }
    }
}

/// So many losses are remembered that nobody has asked for.
const MOST_REMEMBERED: usize = 1000;
/// So many questions can be open.
pub(super) const MOST_OPEN: usize = 1000;

/// Losses that nobody has asked for yet, and questions about executors that are not lost yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Losses {
    /// In the order in which they came, for the bound.
    order: VecDeque<ExecutorId>,
    known: BTreeMap<ExecutorId, Loss>,
    open: BTreeMap<ExecutorId, Vec<u64>>,
    open_in_all: usize,
}

impl Losses {
    /// Whether a question waits.
    pub(super) fn is_awaited(&self) -> bool {
        self.open_in_all > 0
    }

    /// Remembers a question about an executor that is not lost yet. Whether there is room.
    pub(super) fn ask(&mut self, executor: ExecutorId, question: u64) -> bool {
        let room = self.open_in_all < MOST_OPEN;
        if room {
            self.open.entry(executor).or_default().push(question);
            self.open_in_all += 1;
        }
        room
    }

    /// Tells a loss to whoever asks first.
    pub(super) fn tell(&mut self, executor: ExecutorId) -> Option<Loss> {
        let loss = self.known.remove(&executor)?;
        self.order.retain(|other| *other != executor);
        Some(loss)
    }

    /// An executor is lost. Returns the questions that this answers; without any the loss is kept for the first one.
    pub(super) fn lose(&mut self, executor: ExecutorId, loss: &Loss) -> Vec<u64> {
        let questions = self.open.remove(&executor).unwrap_or_default();
        self.open_in_all -= questions.len();
        if questions.is_empty() {
            if self.order.len() >= MOST_REMEMBERED
                && let Some(oldest) = self.order.pop_front()
            {
                self.known.remove(&oldest);
            }
            self.order.push_back(executor);
            self.known.insert(executor, loss.clone());
        }
        questions
    }

    /// What contradicts itself.
    pub(super) fn contradiction(&self, lives: impl Fn(ExecutorId) -> bool) -> Option<String> {
        let open: usize = self.open.values().map(Vec::len).sum();
        if open != self.open_in_all {
            return Some(format!("{open} questions are open, {} are counted", self.open_in_all));
        }
        if self.order.len() != self.known.len() || self.order.len() > MOST_REMEMBERED {
            return Some(format!("{} losses are known, {} in order", self.known.len(), self.order.len()));
        }
        let dead = self.open.keys().find(|executor| !lives(**executor))?;
        Some(format!("a question about executor {dead}, which is gone, is open"))
    }
}
