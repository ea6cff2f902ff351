//! The law that a peer that has met a later leader leaves the former leaders, and sends them no more messages.
//!
//! Reason: messages of a former leader may be in transit for any time. The later leader has read the former leader's
//! records, and may have decided differently since. So a peer must not carry out an order if it can know that the order
//! is old. No message counts on a connection that its owner has closed.

use std::collections::BTreeMap;

use firesteel_protocol::Leadership;

use crate::cluster::network::links::{LinkIndex, Side};
use crate::cluster::processes::node::Body;
use crate::cluster::world::{NodeIndex, World};

/// The greatest epoch of a leader that each node has met.
#[derive(Debug, Default)]
pub(super) struct EpochsSeen(BTreeMap<NodeIndex, u64>);

impl World {
    /// A node is about to receive a Master's hello.
    pub(crate) fn meets(&mut self, node: NodeIndex, leadership: &Leadership) {
        if let Leadership::Here { epoch } = leadership {
            let known = self.terms.heed.0.entry(node).or_default();
            *known = (*known).max(*epoch);
        }
    }

    /// The epoch of the Master at the other end of a connection, if this node has met a Master with a later epoch.
    pub(crate) fn outdated(&self, node: NodeIndex, link: LinkIndex) -> Option<u64> {
        let known = self.terms.heed.0.get(&node)?;
        let link = &self.links[link.0];
        let epoch = self.terms.epoch_of(link.end(Side::Listener).node)?;
        (link.side_of(node) == Side::Dialler && epoch < *known).then_some(epoch)
    }

    /// Checks that a node that has received a Master's hello leaves the former leaders.
    pub(crate) fn check_former_ones_left(&mut self, node: NodeIndex) {
        let is_kept = |link: &&LinkIndex| {
            let row = &self.links[link.0];
            row.is_open() && row.sends(row.side_of(node)) && self.outdated(node, **link).is_some()
        };
        let ungreeted = |link: &&LinkIndex| {
            let end = self.links[link.0].end(Side::Dialler);
            self.ungreeted.contains(&(end.node, end.peer))
        };
        let kept = self.node(node).connections.iter().filter(is_kept).find(|link| !ungreeted(link)).copied();
        if let Some(epoch) = kept.and_then(|link| self.outdated(node, link)) {
            self.heeds(node, epoch, "does not leave");
        }
    }

    /// Checks that a node does not send a message to a former leader.
    pub(crate) fn check_heed(&mut self, node: NodeIndex, link: LinkIndex) {
        if let Some(epoch) = self.outdated(node, link) {
            self.heeds(node, epoch, "speaks to");
        }
    }

    fn heeds(&mut self, node: NodeIndex, epoch: u64, how: &str) {
        // Only the Master of its application can report to it that all is over.
        let is_over = match &self.node(node).body {
            Body::Launcher(body) => body.is_over(),
            _ => false,
        };
        if !is_over {
            let name = self.node(node).body.name();
            self.violate(format!("{name} has met a later leader, and {how} that of epoch {epoch}"));
        }
    }
}
