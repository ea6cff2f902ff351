//! Tests that need a program, a right or a kernel of the machine: `mount`, groff, promtool, Prometheus, Python,
//! Chromium, or another release of Firesteel. Where a component is missing its tests are shown as ignored, with the
//! reason; where `FIRESTEEL_REQUIRE` names the component, or is `all`, they fail instead.

use std::process::ExitCode;

use firesteel_testkit::component;

mod confined;
mod conformance;
mod contained;
mod escapes;
mod full_disk;
mod grants;
mod limits;
mod manual;
mod metrics;
mod pages;
mod previous;
mod prometheus;

fn main() -> ExitCode {
    // The pages have a cluster of thousands of connections.
    firesteel_host::daemon::raise_open_files();
    let arguments = libtest_mimic::Arguments::from_args();
    let trials = [
        confined::trials(),
        contained::trials(),
        escapes::trials(),
        full_disk::trials(),
        grants::trials(),
        limits::trials(),
        manual::trials(),
        metrics::trials(),
        previous::trials(),
        prometheus::trials(),
        conformance::trials(),
        pages::trials(),
    ];
    let code = component::run(&arguments, trials.into_iter().flatten().collect());
    pages::end();
    code
}
