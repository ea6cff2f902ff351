//! The real binary on a real YARN cluster. Where there is no Java or no Maven these tests are shown as ignored, with the
//! reason; where `FIRESTEEL_REQUIRE` names `yarn`, or is `all`, they fail instead.

use std::process::ExitCode;

#[path = "../e2e/cluster.rs"]
#[allow(dead_code, reason = "other tests do more with it")]
mod binary;
#[path = "../yarn-cluster/cluster.rs"]
#[allow(dead_code, reason = "other tests do more with it")]
mod cluster;
#[path = "../heavy/component.rs"]
mod component;
mod ground;
mod honoured;
mod losses;
mod refusals;
mod runs;
#[path = "../yarn-cluster/shared.rs"]
mod shared;

/// One test at a time, since they have one cluster.
fn main() -> ExitCode {
    let arguments =
        libtest_mimic::Arguments { test_threads: Some(1), ..libtest_mimic::Arguments::from_args() };
    let trials =
        [runs::trials(), refusals::trials(), honoured::trials(), losses::trials()].into_iter().flatten();
    let conclusion = libtest_mimic::run(&arguments, trials.collect());
    shared::end();
    conclusion.exit_code()
}
