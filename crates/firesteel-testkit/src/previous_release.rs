//! The program of another release, which `FIRESTEEL_PREVIOUS` names. `tests/mixed-versions` builds it.

use std::env;
use std::process::Command;

use crate::clean;

/// Checks that the variable names a program that runs.
///
/// # Errors
/// It does not.
pub fn look() -> Result<(), String> {
    let path =
        env::var("FIRESTEEL_PREVIOUS").map_err(|_| "FIRESTEEL_PREVIOUS names no program".to_owned())?;
    let done = Command::new(&path).arg("--version").output().map_err(|error| format!("{path}: {error}"))?;
    done.status.success().then_some(()).ok_or_else(|| format!("{path} --version fails"))
}

/// The other release, with an environment of its own.
pub fn command() -> Command {
    clean(env::var("FIRESTEEL_PREVIOUS").expect("it was looked for"))
}
