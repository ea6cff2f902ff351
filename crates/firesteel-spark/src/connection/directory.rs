//! The Spark Workers that a Master has registered, over all connections.

use std::collections::BTreeMap;

use firesteel_protocol::ids::{PeerId, WorkerId};
use firesteel_protocol::secret::Secret;

/// Maps each registered Worker to its peer at the Master, for all connections of the Master's port.
///
/// A Worker may register again over another connection, and send reports over both. Messages on the earlier connection
/// are then passed on as if they came on the later one. The token prevents other peers from sending messages in the
/// Worker's name: a peer with another token was never this Worker.
#[derive(Debug, Default)]
pub struct Directory {
    workers: BTreeMap<WorkerId, (Secret, PeerId)>,
}

impl Directory {
    /// Enters a Worker. Replaces an earlier entry of the Worker.
    pub fn enter(&mut self, worker: WorkerId, token: Secret, peer: PeerId) {
        self.workers.insert(worker, (token, peer));
    }

    /// Removes a Worker, if the Worker's entry names this peer.
    pub fn withdraw(&mut self, worker: &WorkerId, peer: PeerId) {
        if self.workers.get(worker).is_some_and(|(_, there)| *there == peer) {
            self.workers.remove(worker);
        }
    }

    /// The peer of the Worker with this token. `None` if no Worker has this id and this token.
    #[must_use]
    pub fn find(&self, worker: &WorkerId, token: &Secret) -> Option<PeerId> {
        self.workers.get(worker).filter(|(known, _)| known == token).map(|(_, peer)| *peer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_is_found_by_its_id_and_its_token_until_that_peer_withdraws() {
        let (worker, token) = (WorkerId::new("worker-1"), Secret::new("10.0.0.1"));
        let mut directory = Directory::default();
        directory.enter(worker.clone(), token.clone(), PeerId(1));
        assert_eq!(directory.find(&worker, &token), Some(PeerId(1)));
        assert_eq!(directory.find(&worker, &Secret::new("10.0.0.2")), None, "another machine");
        assert_eq!(directory.find(&WorkerId::new("worker-2"), &token), None);
        directory.enter(worker.clone(), token.clone(), PeerId(2));
        directory.withdraw(&worker, PeerId(1));
        assert_eq!(directory.find(&worker, &token), Some(PeerId(2)), "by another connection");
        directory.withdraw(&worker, PeerId(2));
        assert_eq!(directory.find(&worker, &token), None);
    }
}
