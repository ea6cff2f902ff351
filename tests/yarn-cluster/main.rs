//! Tests on a real YARN cluster, which they start and end by themselves. Where there is no Java or no Maven they are
//! shown as ignored, with the reason; where `FIRESTEEL_REQUIRE` names `yarn`, or is `all`, they fail instead.

use std::process::ExitCode;

#[allow(dead_code, reason = "whoever starts one by hand is told more of it")]
mod cluster;
#[path = "../heavy/component.rs"]
mod component;
mod unmanaged;

/// One cluster at a time: it has four processes of some hundred MiB each.
fn main() -> ExitCode {
    let arguments =
        libtest_mimic::Arguments { test_threads: Some(1), ..libtest_mimic::Arguments::from_args() };
    libtest_mimic::run(&arguments, unmanaged::trials()).exit_code()
}
