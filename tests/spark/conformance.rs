//! Compares Spark's own Master with the decisions recorded from it, by the runner and the adapter for other projects.

use std::path::Path;
use std::process::Command;

use libtest_mimic::Trial;

use crate::cluster::{home, jvm_options, line_of};
use crate::scenario::Scenario;

pub(crate) fn trials() -> Vec<Trial> {
    Scenario::trials(vec![Scenario::on_all("sparks_own_master_decides_as_recorded", own_master)])
}

/// All cases for the release. Compiling the adapter takes most of the time.
fn own_master(version: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/conformance");
    let mut command = Command::new("python3");
    command.arg(folder.join("run")).args(["--release", version, "--"]);
    let done = command
        .arg(folder.join("spark/adapter"))
        .arg(home(version))
        .env("JAVA_TOOL_OPTIONS", jvm_options(version))
        .output()
        .expect("python3 can be started");
    let (said, complaints) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    let cases = if line_of(version) < "4.0" { 6000 } else { 7000 };
    assert_eq!(said, format!("{cases} cases: {cases} the same, 0 differ\n"), "{complaints}");
    assert!(done.status.success(), "{complaints}");
}
