//! Why a process could not be started. The operating system reports the same error for a missing directory
//! and a missing program; the texts here tell them apart.

use std::io;

use firesteel_core::byte_text;
use firesteel_core::process::{StartFailure, StartStep};

/// Checks that a process can be started in this directory.
///
/// # Errors
/// The directory does not exist or cannot be entered.
pub fn enter(path: &str) -> Result<(), StartFailure> {
    let failure = |error: String| StartFailure { step: StartStep::Directory, error };
    match byte_text::path(path).metadata() {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(failure(format!("{path}: not a directory"))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(failure(format!("{path}: not found"))),
        Err(error) => Err(failure(format!("{path}: {error}"))),
    }
}

/// The failure to start the program itself.
pub fn not_started(program: &str, error: &io::Error) -> StartFailure {
    let (step, error) = match error.kind() {
        io::ErrorKind::NotFound => (StartStep::Lookup, format!("{program}: not found")),
        io::ErrorKind::PermissionDenied => (StartStep::Lookup, format!("{program}: {error}")),
        _ => (StartStep::Program, format!("{program}: {error}")),
    };
    StartFailure { step, error }
}
