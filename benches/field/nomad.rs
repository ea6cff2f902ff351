//! The workload of `BenchmarkServiceScheduler` among Nomad's scheduler benchmarks: one job of 300 to 1,200 allocations
//! is placed on 1,000 to 10,000 empty nodes.
//!
//! The corresponding terms:
//!
//! | Nomad | Firesteel |
//! |---|---|
//! | a node of four cores of 3,500 MHz and 32,000 MB | a Worker of 14 cores and 32,000 MiB |
//! | an allocation of 6,000 MHz and 6,000 MB: two fit on a node | an executor of 6 cores and 6,000 MiB |
//! | a job without spread: nodes are packed (binpack) | an application with the policy `best-fit` |
//! | a job that is spread over racks | Spark's rule, spread out |
//! | one evaluation of the job | the application registers |
//!
//! Workers have no racks in Standalone mode: Spark's rule spreads over all Workers alike.

use firesteel_master::Config;
use firesteel_placement::Policy;
use firesteel_protocol::messages::Placing;

use super::cluster::{Ask, Size, decided, master, registers};
use super::workload::{Scale, Workload, timed};

const NODES: [u64; 3] = [1_000, 5_000, 10_000];
const ALLOCATIONS: [u64; 4] = [300, 600, 900, 1_200];
const NODE: Size = Size { cores: 14, memory: 32_000 };
const ALLOCATION: Size = Size { cores: 6, memory: 6_000 };

pub fn workloads(scale: Scale) -> Vec<Workload> {
    let mut workloads = Vec::new();
    for (words, policy) in [("packed", Policy::BestFit), ("spread", Policy::Spark)] {
        for nodes in NODES {
            for allocations in ALLOCATIONS {
                let (workers, executors) = (scale.of(nodes), scale.of(allocations));
                workloads.push(Workload {
                    name: format!("nomad {nodes} {allocations} {words}"),
                    decisions: executors,
                    goal: None,
                    once: Box::new(move || {
                        let mut master = master(Config::default(), workers, NODE);
                        let placing = Placing { policy: Some(policy), ..Placing::default() };
                        let ask = Ask { executors, each: ALLOCATION, placing };
                        let (time, effects) = timed(&mut master, vec![registers(0, &ask)]);
                        assert_eq!(decided(&effects), (executors, 0));
                        time
                    }),
                });
            }
        }
    }
    workloads
}
