//! The real binary on a real YARN cluster. Without Java or Maven these tests are shown as ignored, with the reason; if
//! `FIRESTEEL_REQUIRE` names `yarn`, or is `all`, they fail instead.

use std::process::ExitCode;

#[path = "../e2e/cluster/mod.rs"]
#[allow(dead_code, reason = "other tests do more with it")]
mod binary;
#[path = "../yarn-cluster/cluster.rs"]
#[allow(dead_code, reason = "other tests do more with it")]
mod cluster;
mod commands;
#[path = "../heavy/component.rs"]
mod component;
mod honoured;
mod losses;
#[path = "../heavy/ports.rs"]
#[allow(dead_code, reason = "other tests do more with it")]
mod ports;
mod refusals;
mod runs;
#[path = "../yarn-cluster/shared.rs"]
mod shared;
#[path = "../heavy/wait.rs"]
#[allow(dead_code, reason = "other tests do more with it")]
mod wait;

fn main() -> ExitCode {
    shared::run([runs::trials(), refusals::trials(), honoured::trials(), losses::trials()])
}
