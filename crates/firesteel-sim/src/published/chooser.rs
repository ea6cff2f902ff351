//! A policy of the experiment.

use super::{Cluster, Request};

/// Where a request goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The node.
    pub node: usize,
    /// The GPU of the node, if the request is for a share of one.
    pub gpu: usize,
}

/// Chooses a node for each request.
pub trait Chooser {
    /// Chooses a node on which the request fits; `None` if it fits on no node. Each request is asked for once, and is then
    /// placed where the chooser says.
    fn choose(&mut self, cluster: &Cluster, ranks: &[u32], request: &Request) -> Option<Choice>;
}
