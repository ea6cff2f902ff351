//! A question of one of the two kinds, and its answer.

use serde::Serialize;

use super::{CallAnswer, PassAnswer, PassError, PlacementCall, SchedulePass};

/// A question of one of the two kinds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// A placement call: one application, Workers in a given order.
    Call(PlacementCall),
    /// A scheduling pass: all applications, all Workers.
    Pass(SchedulePass),
}

/// The answer to a question, serialised without the name of its kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Answer {
    Call(CallAnswer),
    Pass(PassAnswer),
}

impl Question {
    /// Decides the question.
    ///
    /// # Errors
    /// The fields of a pass contradict each other.
    pub fn answer(&self) -> Result<Answer, PassError> {
        match self {
            Self::Call(call) => Ok(Answer::Call(call.answer())),
            Self::Pass(pass) => pass.answer().map(Answer::Pass),
        }
    }
}
