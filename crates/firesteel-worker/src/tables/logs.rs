//! The pending requests for logs, at most one for each connection.

use std::collections::BTreeMap;

use firesteel_protocol::ids::PeerId;

/// The pending requests, at most one for each connection. So clients cannot make the shell read and keep unlimited
/// data.
#[derive(Debug, Default)]
pub(crate) struct Logs {
    asked: BTreeMap<PeerId, Writer>,
}

/// Whether the log may grow. Determined before the log is read, so that its author's last output is not missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writer {
    Lives,
    /// Its author has ended, or an earlier Worker ran it.
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

    /// Removes the request on this connection, which is answered. Returns whether the log may have grown. `None`: the
    /// client is gone.
    pub(crate) fn answered(&mut self, peer: PeerId) -> Option<Writer> {
        self.asked.remove(&peer)
    }

    /// Removes the request of a client whose connection has ended.
    pub(crate) fn forget(&mut self, peer: PeerId) {
        self.asked.remove(&peer);
    }
}
