//! Messages that do not exist in the version of an older peer.

use firesteel_protocol::version::Version;
use firesteel_protocol::wire::Message;

/// The peer speaks a version of the protocol that does not have a message, so the message is not sent. A request fails
/// with this error. Other messages of a daemon are left out, because older versions never need a message that a newer
/// version added.
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
    /// The message was added in a later version.
    pub(super) fn check<M: Message>(message: &M, theirs: Version) -> Result<(), Self> {
        let needed = message.since();
        if needed > theirs { Err(Self { theirs, needed }) } else { Ok(()) }
    }
}
