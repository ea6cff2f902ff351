//! The states of an executor, numbered as in Spark's `ExecutorState`.

use super::{Fields, Unreadable};
use crate::scala::{self, Mismatch};

/// The state of an executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each variant is the state of that name")]
pub enum ExecutorState {
    Launching,
    Running,
    Killed,
    Failed,
    Lost,
    Exited,
    Decommissioned,
}

impl ExecutorState {
    /// All states, in the order of their numbers.
    const ALL: [Self; 7] = [
        Self::Launching,
        Self::Running,
        Self::Killed,
        Self::Failed,
        Self::Lost,
        Self::Exited,
        Self::Decommissioned,
    ];

    /// Whether an executor in this state has ended.
    pub fn is_finished(self) -> bool {
        match self {
            Self::Launching | Self::Running | Self::Decommissioned => false,
            Self::Killed | Self::Failed | Self::Lost | Self::Exited => true,
        }
    }

    /// The state's number in Spark's enumeration, counted from 0.
    pub(crate) fn number(self) -> i32 {
        self as i32
    }

    /// Reads the state in a field.
    pub(super) fn read(object: &Fields<'_>, field: &'static str) -> Result<Self, Unreadable> {
        let value = object.value(field)?;
        let state = || {
            let (class, number) = scala::enumeration_id(value).ok()?;
            let is_state = class == "org.apache.spark.deploy.ExecutorState$";
            Self::ALL.get(usize::try_from(number).ok()?).filter(|_| is_state).copied()
        };
        state().ok_or_else(|| object.mismatch(field, Mismatch::new("the state of an executor", value)))
    }
}
