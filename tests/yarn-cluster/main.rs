//! Tests on a real YARN cluster, which they start and end by themselves. Where there is no Java or no Maven they are
//! shown as ignored, with the reason; where `FIRESTEEL_REQUIRE` names `yarn`, or is `all`, they fail instead.

use std::process::ExitCode;

#[allow(dead_code, reason = "other tests do more with it")]
mod cluster;
#[path = "../heavy/component.rs"]
mod component;
mod openings;
mod restart;
mod shared;
mod unmanaged;

/// One test at a time, since they have one cluster.
fn main() -> ExitCode {
    let arguments =
        libtest_mimic::Arguments { test_threads: Some(1), ..libtest_mimic::Arguments::from_args() };
    let trials = [unmanaged::trials(), openings::trials(), restart::trials()].into_iter().flatten();
    let conclusion = libtest_mimic::run(&arguments, trials.collect());
    shared::end();
    conclusion.exit_code()
}
