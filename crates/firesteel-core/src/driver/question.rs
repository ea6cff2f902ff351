//! What the shell asks: a look at the tables, and why there are fewer executors than asked.

use std::collections::BTreeSet;
use std::fmt;

use firesteel_placement::Shortfall;

use super::{Driver, Effect, View};
use crate::ids::ProfileId;
use crate::messages::DriverToMaster;

/// So many questions wait for the Master at most. One more, and the oldest goes without an answer of the Master.
const MOST_OPEN: usize = 16;

/// The number of a question, chosen by the shell and never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct QuestionId(pub u64);

impl fmt::Display for QuestionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// What the shell may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// How do the tables look?
    Look,
    /// Why are there fewer executors than asked? The Master knows.
    Explain,
}

/// What a driver answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The tables, to `Look`.
    View(View),
    /// What the Master says is missing, by profile, to `Explain`; nothing if every executor that was asked for is
    /// assigned.
    Shortfalls(Vec<(ProfileId, Shortfall)>),
    /// No Master has the application at the moment, or this one has not answered.
    NoMaster,
}

/// The questions that wait for the Master.
#[derive(Clone, Debug, Default)]
pub(super) struct Questions {
    open: BTreeSet<QuestionId>,
}

impl Questions {
    pub(super) fn len(&self) -> usize {
        self.open.len()
    }
}

impl Driver {
    pub(super) fn on_ask(&mut self, number: QuestionId, question: Question) {
        match question {
            Question::Look => self.answer(number, Answer::View(self.view())),
            Question::Explain => {
                if self.questions.len() >= MOST_OPEN
                    && let Some(oldest) = self.questions.open.pop_first()
                {
                    self.answer(oldest, Answer::NoMaster);
                }
                self.questions.open.insert(number);
                if let Some(app) = self.registration.app().cloned() {
                    self.send_master(DriverToMaster::RequestShortfall { app });
                }
            }
        }
    }

    /// The Master's word is the answer to every question that waits for it: no earlier word was so fresh.
    pub(super) fn answer_open(&mut self, answer: &Answer) {
        for number in std::mem::take(&mut self.questions.open) {
            self.answer(number, answer.clone());
        }
    }

    fn answer(&mut self, number: QuestionId, answer: Answer) {
        self.effects.push(Effect::Answer { number, answer });
    }
}
