//! One run of the experiment.

use super::{Arrivals, Chooser, Cluster, Curve};

/// Lets the requests arrive one at a time, each of which is placed where the policy says. Nothing ever leaves.
///
/// # Panics
/// If the policy chooses a node on which the request does not fit, or none although it fits somewhere: that is a bug.
pub fn run(mut cluster: Cluster, arrivals: &Arrivals, policy: &mut dyn Chooser) -> Curve {
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
