//! A policy of the experiment, and one run with it.

use crate::arrivals::Arrivals;
use crate::cluster::Cluster;
use crate::curve::Curve;
use crate::request::Request;

/// Where a request goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) node: usize,
    /// The GPU of the node, if the request is for a share of one.
    pub(crate) gpu: usize,
}

/// Chooses a node for each request.
pub(crate) trait Chooser {
    /// Chooses a node on which the request fits; `None` if it fits on no node. Each request is asked for once, and is
    /// then placed where the chooser says.
    fn choose(&mut self, cluster: &Cluster, ranks: &[u32], request: &Request) -> Option<Choice>;
}

/// Lets the requests arrive one at a time, each of which is placed where the policy says. Nothing ever leaves.
///
/// # Panics
/// If the policy chooses a node on which the request does not fit, or none although it fits somewhere: that is a bug.
pub(crate) fn run(mut cluster: Cluster, arrivals: &Arrivals, policy: &mut dyn Chooser) -> Curve {
    let mut curve = Curve::new(cluster.gpus());
    for request in &arrivals.requests {
        let choice = policy.choose(&cluster, &arrivals.ranks, request);
        match choice {
            Some(choice) => {
                let node = &mut cluster.nodes[choice.node];
                assert!(node.fits(request), "{request:?} does not fit on {node:?}");
                node.take(request, choice.gpu);
            }
            None => debug_assert!(!cluster.nodes.iter().any(|node| node.fits(request)), "{request:?} fits"),
        }
        curve.arrived(request.thousandths(), choice.is_some());
    }
    curve
}
