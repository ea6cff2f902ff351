//! The sequence of requests that arrive, and the ranks that break ties.

use firesteel_placement::advanced::resources::WHOLE;

use firesteel_sim::dice::Dice;

use crate::cluster::Cluster;
use crate::request::{Request, Workload};

/// What arrives in one run, from a seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Arrivals {
    /// The requests, in order of arrival.
    pub(crate) requests: Vec<Request>,
    /// The rank of each node: of nodes with equal scores, the lowest rank is taken.
    pub(crate) ranks: Vec<u32>,
}

impl Arrivals {
    /// Shuffles the workload, and then brings the GPUs that it asks for to 130 % of the cluster's: by removing requests
    /// at random, or by appending copies of random ones until the next copy would be too much.
    ///
    /// The published procedure counts a copy that asks for several GPUs as one when it looks whether there is room for
    /// it.
    pub(crate) fn new(workload: &Workload, cluster: &Cluster, seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let mut requests = workload.requests.clone();
        dice.shuffle(&mut requests);
        let goal = cluster.gpus() * WHOLE * 13 / 10;
        let mut asked: u64 = requests.iter().map(Request::thousandths).sum();
        while asked > goal {
            let at = dice.index(requests.len()).expect("they ask for something");
            asked -= requests.remove(at).thousandths();
        }
        if workload.requests.iter().any(|request| !request.gpus.is_none()) {
            loop {
                let request = *dice.pick(&workload.requests);
                if asked + request.of_each() > goal {
                    break;
                }
                asked += request.thousandths();
                requests.push(request);
            }
        }
        let mut ranks: Vec<u32> = (0..).take(cluster.nodes.len()).collect();
        dice.shuffle(&mut ranks);
        Self { requests, ranks }
    }
}
