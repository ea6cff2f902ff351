//! Several Masters that share a cluster, with a real ZooKeeper: who leads, who takes over, and what that costs whom.
//!
//! - `shared`, `exact_map`: a cluster, and a `map` on it whose output is known
//! - `network`: a network of hosts that can be cut
//! - `masters`, `partitions`, `releases`, `rounds`: the tests

use std::process::ExitCode;

use firesteel_testkit::component;

mod exact_map;
mod masters;
mod network;
mod partitions;
mod releases;
mod rounds;
mod shared;

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
