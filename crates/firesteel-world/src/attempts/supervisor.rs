//! The manager's view of an application: its current attempt, and how the application has ended.

use firesteel_application_master::FinalStatus;

#[derive(Clone, Debug)]
pub(super) struct Supervisor {
    /// The last attempt that the manager has begun, counted from 0.
    pub(super) current: usize,
    pub(super) state: AttemptState,
    most: u32,
}

/// The state of the application at the manager.
///
/// ```text
///  Begun --register--> Known --unregister--> Over(Some(status))
///    ^                   |
///    `-- next attempt ---+---- no attempt is left ----> Over(None)
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AttemptState {
    Begun,
    Known,
    /// The manager was restarted, so the attempt has to register again.
    Forgotten,
    /// The attempt has ended, and another one will begin.
    Between,
    /// The application has ended, with the status that its attempt reported, or because no attempt is left.
    Over(Option<FinalStatus>),
}

impl Supervisor {
    pub(super) fn new(most: u32) -> Self {
        Self { current: 0, state: AttemptState::Begun, most }
    }

    pub(super) fn accepts(&self, attempt: usize) -> bool {
        attempt == self.current
            && match self.state {
                AttemptState::Begun | AttemptState::Known | AttemptState::Forgotten => true,
                AttemptState::Between | AttemptState::Over(_) => false,
            }
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.state, AttemptState::Over(_))
    }

    /// The manager notices the end of an attempt. Returns whether another attempt begins.
    pub(super) fn lose(&mut self) -> bool {
        let more = (self.current as u64) + 1 < u64::from(self.most);
        self.state = if more { AttemptState::Between } else { AttemptState::Over(None) };
        more
    }
}
