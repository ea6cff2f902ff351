//! Tests on a real YARN cluster, which they start and end by themselves. Where there is no Java or no Maven they are
//! shown as ignored, with the reason; where `FIRESTEEL_REQUIRE` names `yarn`, or is `all`, they fail instead.
//!
//! - `cluster`: the YARN client
//! - `application_masters`: ApplicationMasters, with real drivers
//! - `program`: the real binary
//! - `hdfs`: the real binary, built with HDFS, and a real HDFS; only with the feature `hdfs`

use std::process::ExitCode;

use firesteel_testkit::yarn::shared;

mod application_masters;
mod cluster;
#[cfg(feature = "hdfs")]
mod hdfs;
mod program;
mod wait;

fn main() -> ExitCode {
    let trials = [cluster::trials(), application_masters::trials(), program::trials()].into_iter().flatten();
    #[cfg(feature = "hdfs")]
    let trials = trials.chain(hdfs::trials());
    shared::run(trials)
}
