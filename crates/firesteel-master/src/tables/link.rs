//! The link of a Worker or an application: its connection, or none while it is away.

use firesteel_protocol::ids::PeerId;

/// The link of a Worker or an application: its connection, or none while it is away.
///
/// ```text
///                registers, with its id and token
///  AWAY (after a restart of the Master) ---------> HERE ---> HERE (on another connection)
///    |                                              |
///    | the recovery ends                            | its connection ends
///    v                                              v
///  lost                                            lost
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    Here(PeerId),
    /// The Worker or application has had no connection since the Master was restarted. It can return until the recovery
    /// ends.
    Away,
}

impl Link {
    pub(crate) fn peer(self) -> Option<PeerId> {
        match self {
            Self::Here(peer) => Some(peer),
            Self::Away => None,
        }
    }

    pub(crate) fn is_here(self) -> bool {
        self.peer().is_some()
    }
}

impl From<PeerId> for Link {
    fn from(peer: PeerId) -> Self {
        Self::Here(peer)
    }
}
