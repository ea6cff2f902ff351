//! The program of another release, whose path is in `FIRESTEEL_PREVIOUS`. `tests/mixed-versions` builds this program.

use std::env;
use std::process::Command;

use crate::clean;

/// Checks that the variable `FIRESTEEL_PREVIOUS` names a program that can be run.
///
/// # Errors
/// There is no such program.
pub fn look() -> Result<(), String> {
    let path =
        env::var("FIRESTEEL_PREVIOUS").map_err(|_| "FIRESTEEL_PREVIOUS names no program".to_owned())?;
    let done = Command::new(&path).arg("--version").output().map_err(|error| format!("{path}: {error}"))?;
    done.status.success().then_some(()).ok_or_else(|| format!("{path} --version fails"))
}

/// A command of the other release, with a clean environment.
pub fn command() -> Command {
    clean(env::var("FIRESTEEL_PREVIOUS").expect("it was looked for"))
}
