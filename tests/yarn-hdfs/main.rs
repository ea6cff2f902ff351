//! The real binary, built with HDFS, on a real YARN cluster with a real HDFS. Without Java or Maven these tests are
//! shown as ignored, with the reason; if `FIRESTEEL_REQUIRE` names `yarn`, or is `all`, they fail instead.

use std::process::ExitCode;

#[path = "../e2e/cluster/mod.rs"]
#[allow(dead_code, reason = "other tests do more with it")]
mod binary;
#[path = "../yarn-cluster/cluster.rs"]
#[allow(dead_code, reason = "other tests do more with it")]
mod cluster;
#[path = "../yarn-mode/commands.rs"]
#[allow(dead_code, reason = "other tests do more with it")]
mod commands;
#[path = "../heavy/component.rs"]
mod component;
mod hdfs;
#[path = "../heavy/ports.rs"]
#[allow(dead_code, reason = "other tests do more with it")]
mod ports;
#[path = "../yarn-cluster/shared.rs"]
mod shared;
mod staged;
#[path = "../heavy/wait.rs"]
#[allow(dead_code, reason = "other tests do more with it")]
mod wait;

fn main() -> ExitCode {
    shared::run([staged::trials()])
}
