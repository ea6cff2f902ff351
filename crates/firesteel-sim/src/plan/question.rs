//! A line of either kind, and its answer.

use serde::Serialize;

use super::{CallAnswer, PassAnswer, PassError, PlacementCall, SchedulePass};

/// A line of a plan, of either kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// One application over workers in a given order.
    Call(PlacementCall),
    /// All applications over all workers.
    Pass(SchedulePass),
}

/// The answer to a line of a plan: written as the answer to its kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Answer {
    /// To a call.
    Call(CallAnswer),
    /// To a pass.
    Pass(PassAnswer),
}

impl Question {
    /// Decides.
    ///
    /// # Errors
    /// A pass may say what cannot be.
    pub fn answer(&self) -> Result<Answer, PassError> {
        match self {
            Self::Call(call) => Ok(Answer::Call(call.answer())),
            Self::Pass(pass) => pass.answer().map(Answer::Pass),
        }
    }
}
