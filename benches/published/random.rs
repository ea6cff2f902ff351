//! The yardstick without a rule.

use firesteel_placement::Amount;

use firesteel_sim::dice::Dice;

use crate::chooser::{Choice, Chooser};
use crate::cluster::Cluster;
use crate::request::Request;

/// Chooses any node on which a request fits, and any GPU there on which a share fits, all with the same chance.
#[derive(Clone, Debug)]
pub(crate) struct Random(Dice);

impl Random {
    /// With this seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(Dice::new(seed))
    }
}

impl Chooser for Random {
    fn choose(&mut self, cluster: &Cluster, _: &[u32], request: &Request) -> Option<Choice> {
        let nodes = cluster.nodes.iter().enumerate();
        let fitting: Vec<usize> = nodes.filter(|(_, node)| node.fits(request)).map(|(at, _)| at).collect();
        let node = fitting[self.0.index(fitting.len())?];
        let gpus = cluster.nodes[node].gpus.iter().enumerate();
        let gpu = match request.gpus {
            Amount::Whole(_) => 0,
            Amount::Part(share) => {
                let fitting: Vec<usize> =
                    gpus.filter(|(_, free)| **free >= share.thousandths()).map(|(at, _)| at).collect();
                *self.0.pick(&fitting)
            }
        };
        Some(Choice { node, gpu })
    }
}
