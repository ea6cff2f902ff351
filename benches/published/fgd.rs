//! The yardstick that counts fragments: FGD.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use firesteel_placement::Amount;

use firesteel_sim::trace::Models;

use crate::cluster::Node;
use crate::request::{Request, Workload};
use crate::scored::Score;

/// Prefers the node where the request makes the fewest GPUs useless for typical requests, which are taken from the
/// whole workload in advance.
///
/// Source: Weng et al., "Beware of Fragmentation", ATC 2023, and the simulator that was published with it (commit
/// 8f3d6417). The published results add up the parts of a fragment in another order, which moves a mean by 0.06 at
/// most.
#[derive(Clone, Debug)]
pub(crate) struct Fgd {
    /// The most frequent requests that make up 95 % of the workload, each with its part of these. Memory plays no part.
    typical: Vec<(Request, f64)>,
}

impl Fgd {
    /// For this workload.
    pub(crate) fn new(workload: &Workload) -> Self {
        let mut counts: BTreeMap<(u64, u64, u64, Models, Amount), u64> = BTreeMap::new();
        for request in &workload.requests {
            let Request { cpu, gpus, models, .. } = *request;
            *counts.entry((cpu, request.of_each(), gpus.addresses(), models, gpus)).or_default() += 1;
        }
        let mut kinds: Vec<_> = counts.into_iter().collect();
        kinds.sort_by_key(|(kind, count)| Reverse((*count, *kind)));
        let enough = workload.requests.len() as f64 * 0.95;
        let mut typical = Vec::new();
        let mut all = 0;
        for ((cpu, _, _, models, gpus), count) in kinds {
            if all as f64 >= enough {
                break;
            }
            all += count;
            typical.push((Request { cpu, memory: 0, gpus, models }, count as f64));
        }
        typical.iter_mut().for_each(|(_, part)| *part /= all as f64);
        Self { typical }
    }

    /// The thousandths of the node's free GPUs that a typical request cannot use, as a mean.
    fn fragment(&self, node: &Node) -> f64 {
        let free = node.free();
        let of = |request: &Request| match request.gpus.is_none() || !node.fits(request) {
            true => free,
            false => node.gpus.iter().filter(|free| **free < request.of_each()).sum::<u64>(),
        };
        self.typical.iter().map(|(request, part)| part * of(request) as f64).sum()
    }
}

impl Score for Fgd {
    fn score(&self, node: &Node, request: &Request) -> (i64, usize) {
        let before = self.fragment(node);
        let after = |gpu: usize| {
            let mut after = node.clone();
            after.take(request, gpu);
            let less = before - self.fragment(&after);
            (100.0 / (1.0 + (-less / 1000.0).exp())) as i64
        };
        match request.gpus {
            Amount::Whole(_) => (after(0), 0),
            Amount::Part(share) => {
                let fitting = (0..node.gpus.len()).filter(|gpu| node.gpus[*gpu] >= share.thousandths());
                let best =
                    fitting.map(|gpu| (after(gpu), gpu)).max_by_key(|(score, gpu)| (*score, Reverse(*gpu)));
                best.expect("the request fits")
            }
        }
    }
}
