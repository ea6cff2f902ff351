//! The reasons why executors have ended, and the driver's questions about them.

use std::collections::{BTreeMap, VecDeque};

use firesteel_protocol::ids::ExecutorId;

use super::cause::Cause;

#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind, firesteel_protocol::Display)]
#[kind("loss")]
pub enum Loss {
    #[display("{cause}{}{diagnostics}", if diagnostics.is_empty() { "" } else { ": " })]
    Ended {
        cause: Cause,
        /// The manager's message about the end, in words.
        diagnostics: String,
    },
    #[display("the driver ended it")]
    Killed,
    #[display("cannot start it: {error}")]
    NotStarted { error: String },
}

/// The maximum number of remembered losses about which the driver has not asked.
const MOST_REMEMBERED: usize = 1000;
/// The maximum number of the driver's open questions about live executors.
pub(super) const MOST_OPEN: usize = 1000;

#[derive(Clone, Debug, Default)]
pub(super) struct Losses {
    /// The executors in the order of their losses, to drop the oldest.
    order: VecDeque<ExecutorId>,
    known: BTreeMap<ExecutorId, Loss>,
    open: BTreeMap<ExecutorId, Vec<u64>>,
    open_in_all: usize,
}

impl Losses {
    pub(super) fn is_awaited(&self) -> bool {
        self.open_in_all > 0
    }

    /// Adds a question about an executor that has not ended. Returns `false` if there are too many questions.
    pub(super) fn ask(&mut self, executor: ExecutorId, question: u64) -> bool {
        let room = self.open_in_all < MOST_OPEN;
        if room {
            self.open.entry(executor).or_default().push(question);
            self.open_in_all += 1;
        }
        room
    }

    /// Removes and returns a loss, for the first question about it.
    pub(super) fn tell(&mut self, executor: ExecutorId) -> Option<Loss> {
        let loss = self.known.remove(&executor)?;
        self.order.retain(|other| *other != executor);
        Some(loss)
    }

    /// Records that an executor has ended. Returns the questions that are now answered. If there are none, keeps the
    /// loss for the first question.
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
