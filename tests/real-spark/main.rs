//! Unmodified applications of Apache Spark on Firesteel's Master and Workers. `tests/real-spark/install` installs the
//! releases. The tests run if `FIRESTEEL_REQUIRE` names `spark`, or is `all`; they fail if a release is missing.
//! Otherwise they are shown as ignored, with the reason. With `FIRESTEEL_SPARKS=3.4.4,4.1.4` every scenario runs on
//! each of these releases instead, and Firesteel is not compared with Spark's own daemons.
//!
//! Two tests run at a time: each has several JVMs, which wait about as long as they compute.

use std::process::ExitCode;

use libtest_mimic::Arguments;

mod applications;
#[path = "../e2e/cluster/mod.rs"]
#[allow(dead_code, reason = "other tests do more with it")]
mod binary;
mod cluster;
mod compared;
mod complaints;
#[path = "../heavy/component.rs"]
#[allow(dead_code, reason = "other tests do more with it")]
mod component;
mod conformance;
#[path = "../zookeeper/ensemble.rs"]
#[allow(dead_code, reason = "other tests do more with it")]
mod ensemble;
mod losses;
#[path = "../heavy/ports.rs"]
#[allow(dead_code, reason = "other tests do more with it")]
mod ports;
#[path = "../e2e/proxy.rs"]
mod proxy;
mod shuffle_service;
mod standalone;
mod standby;
mod submissions;
#[path = "../heavy/wait.rs"]
#[allow(dead_code, reason = "other tests do more with it")]
mod wait;
mod workers;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(2);
    let mut trials = vec![applications::trials(), losses::trials()];
    if cluster::named_releases().is_none() {
        trials.extend([
            shuffle_service::trials(),
            compared::trials(),
            workers::trials(),
            standby::trials(),
            complaints::trials(),
            conformance::trials(),
            submissions::trials(),
        ]);
    }
    component::run(&arguments, trials.into_iter().flatten().collect())
}
