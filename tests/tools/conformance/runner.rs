//! Tests of the runner's command line.

use std::path::Path;
use std::process::Command;

use firesteel_testkit::component::{Component, Readiness};
use firesteel_testkit::{Finished, binary, clean, run};

use super::cases::{self, Few};

/// The runner is written in Python, so that other projects need no compiler.
pub(crate) const PYTHON: Component = Component { name: "python", look, prepare: || Readiness::Ready };

fn look() -> Result<(), String> {
    let version = "import sys; sys.exit(sys.version_info < (3, 8))";
    let done = Command::new("python3").args(["-c", version]).status();
    match done.map_err(|error| format!("python3: {error}"))?.success() {
        true => Ok(()),
        false => Err("python3 is older than 3.8".to_owned()),
    }
}

/// Runs the runner on an adapter. Options of the runner come first.
pub(crate) fn hold(options: &[&str], adapter: &[&str]) -> Finished {
    run(clean("python3").arg(cases::path("run")).args(options).arg("--").args(adapter))
}

/// Like `hold`, for a shell script in which `$FIRESTEEL` is the binary.
pub(crate) fn hold_script(options: &[&str], script: &str) -> Finished {
    let mut command = clean("python3");
    command.arg(cases::path("run")).args(options).args(["--", "sh", "-c", script]);
    run(command.env("FIRESTEEL", binary()))
}

/// Like `hold_script`, with few cases, and without cases that overflow a sum.
pub(crate) fn hold_few(few: &Few, script: &str) -> Finished {
    let (placements, passes) = (few.placements(), few.passes());
    let path = |path: &Path| path.to_str().expect("a path is text").to_owned();
    let options = ["--except", "int_overflow", "--cases", &path(&placements), "--cases", &path(&passes)];
    hold_script(&options, script)
}
