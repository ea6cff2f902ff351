//! The pending requests for logs, at most one for each connection.

use std::collections::BTreeMap;

use firesteel_protocol::ids::PeerId;

/// The pending requests, at most one for each connection. The limit keeps clients from making the daemon read and store
/// unlimited data.
#[derive(Debug, Default)]
pub(crate) struct Logs {
    asked: BTreeMap<PeerId, Writer>,
}

/// Whether the log may still grow. This is determined before the log is read, so that its author's last output is not
/// missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writer {
    Lives,
    /// The log's author has ended, or an earlier Worker ran it.
    Over,
}

impl Logs {
    pub(crate) fn is_asked(&self, peer: PeerId) -> bool {
        self.asked.contains_key(&peer)
    }

    /// Adds a request for a log of this writer.
    pub(crate) fn ask(&mut self, peer: PeerId, writer: Writer) {
        self.asked.insert(peer, writer);
    }

    /// Removes the request on this connection, which is now answered. Returns whether the log may have grown. `None`:
    /// the client has disconnected.
    pub(crate) fn answered(&mut self, peer: PeerId) -> Option<Writer> {
        self.asked.remove(&peer)
    }

    /// Removes the request of a client whose connection has ended.
    pub(crate) fn forget(&mut self, peer: PeerId) {
        self.asked.remove(&peer);
    }
}
