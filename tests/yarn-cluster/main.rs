//! Tests on a real YARN cluster, which they start and end themselves. Without Java or Maven they are shown as ignored,
//! with the reason; if `FIRESTEEL_REQUIRE` names `yarn`, or is `all`, they fail instead.

use std::process::ExitCode;

#[allow(dead_code, reason = "other tests do more with it")]
mod cluster;
#[path = "../heavy/component.rs"]
mod component;
mod master;
mod openings;
#[path = "../heavy/ports.rs"]
#[allow(dead_code, reason = "other tests do more with it")]
mod ports;
mod restart;
mod shared;
mod unmanaged;
#[path = "../heavy/wait.rs"]
#[allow(dead_code, reason = "other tests do more with it")]
mod wait;

fn main() -> ExitCode {
    shared::run([unmanaged::trials(), openings::trials(), restart::trials()])
}
