//! Tests that need more than this repository and a Rust toolchain: a component of the machine, or another system.
//! Without the component, its tests are shown as ignored, with the reason. If `FIRESTEEL_REQUIRE` names the component,
//! or is `all`, they fail instead.

use std::process::ExitCode;

#[path = "../e2e/cluster/mod.rs"]
#[allow(dead_code, reason = "a harness is there before all of its users")]
mod cluster;
#[allow(dead_code, reason = "others use more of it")]
mod component;
mod full_disk;
mod manual;
mod metrics;
#[allow(dead_code, reason = "others use more of it")]
mod ports;
mod previous;
mod previous_release;
mod prometheus;

fn main() -> ExitCode {
    let arguments = libtest_mimic::Arguments::from_args();
    let trials =
        [full_disk::trials(), manual::trials(), metrics::trials(), previous::trials(), prometheus::trials()];
    let trials = trials.into_iter().flatten().collect();
    component::run(&arguments, trials)
}
