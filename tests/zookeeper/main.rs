//! Several Masters that share a cluster, with a real ZooKeeper: which one leads, which one takes over, and the
//! consequences.
//!
//! - `ensemble`, `host`: servers of ZooKeeper, and the hosts of processes
//! - `shared`, `exact_map`: a cluster, and a `map` on it whose output is known
//! - `network`: a network of hosts that can be cut
//! - `masters`, `partitions`, `releases`, `rounds`: the tests

use std::process::ExitCode;

#[path = "../e2e/cluster/mod.rs"]
#[allow(dead_code, reason = "a harness is there before all of its users")]
mod cluster;
#[path = "../heavy/component.rs"]
#[allow(dead_code, reason = "others use more of it")]
mod component;
#[allow(dead_code, reason = "a harness is there before all of its users")]
mod ensemble;
mod exact_map;
mod masters;
mod network;
mod partitions;
#[path = "../heavy/ports.rs"]
#[allow(dead_code, reason = "others use more of it")]
mod ports;
#[path = "../heavy/previous_release.rs"]
mod previous_release;
#[path = "../e2e/proxy.rs"]
mod proxy;
mod releases;
mod rounds;
mod shared;
#[path = "../heavy/wait.rs"]
#[allow(dead_code, reason = "others use more of it")]
mod wait;

fn main() -> ExitCode {
    if let Some(trial) = network::trial() {
        partitions::run(&trial);
        return ExitCode::SUCCESS;
    }
    // One ensemble at a time.
    let arguments =
        libtest_mimic::Arguments { test_threads: Some(1), ..libtest_mimic::Arguments::from_args() };
    let trials = [masters::trials(), partitions::trials(), releases::trials(), rounds::trials()]
        .into_iter()
        .flatten()
        .collect();
    component::run(&arguments, trials)
}
