//! Unmodified applications of Apache Spark on Firesteel's Master and Workers. `tests/spark/install` installs the
//! releases. The tests run where `FIRESTEEL_REQUIRE` names `spark`, or is `all`, and fail there if a release is
//! missing; elsewhere they are shown as ignored, with the reason. With `FIRESTEEL_SPARKS=3.4.4,4.1.4` every scenario is
//! tried on each of these releases instead, and Firesteel is not compared with Spark's own daemons.
//!
//! Two tests run at a time: each has several JVMs, which wait about as long as they compute.

use std::process::ExitCode;

use firesteel_testkit::component;
use libtest_mimic::Arguments;

mod applications;
mod clients;
mod cluster;
mod compared;
mod complaints;
mod conformance;
mod losses;
mod scenario;
mod secrets;
mod shuffle_service;
mod standalone;
mod standby;
mod submissions;
mod tls;
mod workers;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(2);
    let mut trials = vec![applications::trials(), losses::trials()];
    if cluster::named_releases().is_none() {
        trials.extend([
            secrets::trials(),
            shuffle_service::trials(),
            compared::trials(),
            workers::trials(),
            standby::trials(),
            complaints::trials(),
            conformance::trials(),
            submissions::trials(),
            tls::trials(),
            clients::trials(),
        ]);
    }
    component::run(&arguments, trials.into_iter().flatten().collect())
}
