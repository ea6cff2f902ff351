//! Why executors have ended, and the driver's questions about it.

use std::collections::{BTreeMap, VecDeque};

use firesteel_protocol::ids::ExecutorId;

use super::cause::Cause;

/// Why an executor has ended.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind, firesteel_protocol::Display)]
#[kind("loss")]
pub enum Loss {
    /// Its container ended.
    #[display("{cause}{}{diagnostics}", if diagnostics.is_empty() { "" } else { ": " })]
    Ended {
        /// Why the container ended.
        cause: Cause,
        /// What the manager says about it, in words.
        diagnostics: String,
    },
    /// The driver ended it.
    #[display("the driver ended it")]
    Killed,
    /// Its process could not be started.
    #[display("cannot start it: {error}")]
    NotStarted {
        /// The error, in words for people.
        error: String,
    },
}

/// The maximum number of remembered losses for which the driver has not asked.
const MOST_REMEMBERED: usize = 1000;
/// The maximum number of open questions.
pub(super) const MOST_OPEN: usize = 1000;

/// Losses for which the driver has not asked, and questions about executors that have not ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Losses {
    /// The executors in the order of their losses, to drop the oldest.
    order: VecDeque<ExecutorId>,
    known: BTreeMap<ExecutorId, Loss>,
    open: BTreeMap<ExecutorId, Vec<u64>>,
    open_in_all: usize,
}

impl Losses {
    /// Whether a question is open.
    pub(super) fn is_awaited(&self) -> bool {
        self.open_in_all > 0
    }

    /// Adds a question about an executor that has not ended. Returns whether there was room for it.
    pub(super) fn ask(&mut self, executor: ExecutorId, question: u64) -> bool {
        let room = self.open_in_all < MOST_OPEN;
        if room {
            self.open.entry(executor).or_default().push(question);
            self.open_in_all += 1;
        }
        room
    }

    /// Takes a loss, for the first question about it.
    pub(super) fn tell(&mut self, executor: ExecutorId) -> Option<Loss> {
        let loss = self.known.remove(&executor)?;
        self.order.retain(|other| *other != executor);
        Some(loss)
    }

    /// An executor has ended. Returns the questions that this answers. Without any, the loss is kept for the
    /// first question.
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

    /// Checks the table. Returns the first contradiction.
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
