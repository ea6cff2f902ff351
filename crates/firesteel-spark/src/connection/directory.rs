//! The Workers of Spark's that a Master knows, by any connection.

use std::collections::BTreeMap;

use firesteel_protocol::ids::{PeerId, WorkerId};
use firesteel_protocol::secret::Secret;

/// The peer that each registered Worker is to the Master, for all connections at its port.
///
/// A Worker may register once more over another connection, and report over both. What it says over the earlier one is then
/// said for the later one. The token keeps others from speaking for it: who shows another one was never that Worker.
#[derive(Debug, Default)]
pub struct Directory {
    workers: BTreeMap<WorkerId, (Secret, PeerId)>,
}

impl Directory {
    /// Enters a Worker, in place of the entry that there was.
    pub fn enter(&mut self, worker: WorkerId, token: Secret, peer: PeerId) {
        self.workers.insert(worker, (token, peer));
    }

    /// Removes a Worker if it is this peer.
    pub fn withdraw(&mut self, worker: &WorkerId, peer: PeerId) {
        if self.workers.get(worker).is_some_and(|(_, there)| *there == peer) {
            self.workers.remove(worker);
        }
    }

    /// The peer that a Worker with this token is. `None` if there is none.
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
