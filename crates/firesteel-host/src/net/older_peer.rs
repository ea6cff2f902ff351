//! Messages that a peer is too old for.

use firesteel_protocol::version::Version;
use firesteel_protocol::wire::Message;

/// A peer speaks a version of the protocol that lacks a message. The message is not sent. A request fails with this
/// error. A daemon's other messages are left out, since no version adds a message that older versions need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it speaks version {theirs} of the protocol, and this needs version {needed}: upgrade it")]
pub struct OlderPeer {
    pub theirs: Version,
    pub needed: Version,
}

impl OlderPeer {
    /// Checks that a peer of this version has the message.
    ///
    /// # Errors
    /// The message is newer.
    pub(super) fn check<M: Message>(message: &M, theirs: Version) -> Result<(), Self> {
        let needed = message.since();
        if needed > theirs { Err(Self { theirs, needed }) } else { Ok(()) }
    }
}
