//! The requests for logs that are being answered, at most one for each connection.

use std::collections::BTreeMap;

use firesteel_protocol::ids::PeerId;

/// The requests that are being answered, at most one for each connection. So clients cannot make the shell
/// read and keep any amount.
#[derive(Debug, Default)]
pub(crate) struct Logs {
    asked: BTreeMap<PeerId, Writer>,
}

/// Whether the log may grow. Determined before the log is read, so that its author's last output is not
/// missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writer {
    /// Its author is live.
    Lives,
    /// Its author has ended, or an earlier Worker ran it.
    Over,
}

impl Logs {
    /// Whether a request on this connection is being answered.
    pub(crate) fn is_asked(&self, peer: PeerId) -> bool {
        self.asked.contains_key(&peer)
    }

    /// A request for a log of this writer is being answered.
    pub(crate) fn ask(&mut self, peer: PeerId, writer: Writer) {
        self.asked.insert(peer, writer);
    }

    /// The request on this connection is answered. Returns whether the log may have grown, or `None` if the client is gone.
    pub(crate) fn answered(&mut self, peer: PeerId) -> Option<Writer> {
        self.asked.remove(&peer)
    }

    /// A client's connection has ended.
    pub(crate) fn forget(&mut self, peer: PeerId) {
        self.asked.remove(&peer);
    }
}
