//! The yardstick that fills nodes up.

use firesteel_placement::Amount;

use crate::cluster::Node;
use crate::request::Request;
use crate::scored::Score;

/// Prefers the node with the least CPU and GPU left, each in parts of the largest node. Its score has two digits, so
/// ties are common. A share goes to the fullest GPU on which it fits.
///
/// Source: the simulator that was published with FGD (commit 8f3d6417).
#[derive(Clone, Copy, Debug)]
pub(crate) struct BestFit;

impl Score for BestFit {
    fn score(&self, node: &Node, request: &Request) -> (i64, usize) {
        let cpu = (node.cpu - request.cpu) as f64 / 128_000.0;
        let gpu = (node.free() - request.thousandths()) as f64 / 8_000.0;
        let shared = match request.gpus {
            Amount::Whole(_) => 0,
            Amount::Part(share) => node.fullest(share.thousandths()).expect("the request fits"),
        };
        ((100.0 * (1.0 - 0.5 * cpu - 0.5 * gpu)) as i64, shared)
    }
}
