//! Questions of the driver's owner: a view of the tables, or the reason for a shortage of executors.

use std::collections::BTreeSet;
use std::fmt;

use firesteel_placement::Shortfall;
use firesteel_protocol::ids::ProfileId;
use firesteel_protocol::messages::DriverToMaster;

use super::{Driver, Effect, View};

/// The maximum number of questions that wait for the Master. At the limit, the oldest is answered without the Master.
const MOST_OPEN: usize = 16;

/// The number of a question. The driver's owner chooses it and never uses it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct QuestionId(pub u64);

impl fmt::Display for QuestionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A question that the driver's owner may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Asks for a copy of the driver's tables.
    Look,
    /// Asks the Master why there are fewer executors than requested.
    Explain,
}

#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("answer")]
pub enum Answer {
    View(View),
    /// The answer to `Explain`: the shortfalls by profile, as the Master reports them. Empty if every requested
    /// executor is assigned.
    Shortfalls(Vec<(ProfileId, Shortfall)>),
    /// No Master has the application at the moment, or the Master has not answered.
    NoMaster,
}

/// The questions that wait for the Master's answer, oldest first.
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

    /// Answers every question that waits for the Master.
    pub(super) fn answer_open(&mut self, answer: &Answer) {
        for number in std::mem::take(&mut self.questions.open) {
            self.answer(number, answer.clone());
        }
    }

    fn answer(&mut self, number: QuestionId, answer: Answer) {
        self.effects.push(Effect::Answer { number, answer });
    }
}
