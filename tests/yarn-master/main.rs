//! ApplicationMasters on a real YARN cluster, with real drivers. Where there is no Java or no Maven these tests are shown
//! as ignored, with the reason; where `FIRESTEEL_REQUIRE` names `yarn`, or is `all`, they fail instead.

use std::process::ExitCode;

mod application;
#[path = "../yarn-cluster/cluster.rs"]
#[allow(dead_code, reason = "others use more of it")]
mod cluster;
#[path = "../heavy/component.rs"]
mod component;
mod masters;
#[path = "../yarn-cluster/shared.rs"]
mod shared;

/// One test at a time, since they have one cluster.
fn main() -> ExitCode {
    let arguments =
        libtest_mimic::Arguments { test_threads: Some(1), ..libtest_mimic::Arguments::from_args() };
    let conclusion = libtest_mimic::run(&arguments, masters::trials());
    shared::end();
    conclusion.exit_code()
}
