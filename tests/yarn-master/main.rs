//! ApplicationMasters on a real YARN cluster, with real drivers. Without Java or Maven these tests are shown as
//! ignored, with the reason; if `FIRESTEEL_REQUIRE` names `yarn`, or is `all`, they fail instead.

use std::process::ExitCode;

mod application;
#[path = "../yarn-cluster/cluster.rs"]
#[allow(dead_code, reason = "others use more of it")]
mod cluster;
#[path = "../heavy/component.rs"]
mod component;
mod masters;
#[path = "../heavy/ports.rs"]
#[allow(dead_code, reason = "other tests do more with it")]
mod ports;
#[path = "../yarn-cluster/shared.rs"]
mod shared;
#[path = "../heavy/wait.rs"]
#[allow(dead_code, reason = "other tests do more with it")]
mod wait;

fn main() -> ExitCode {
    shared::run([masters::trials()])
}
