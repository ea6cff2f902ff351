//! Checks whether a command's program is a file that the application copies to executors, or should copy.

use std::os::unix::fs::PermissionsExt;

use firesteel_protocol::byte_text;
use firesteel_protocol::messages::TaskDirectory;
use firesteel_settings::application::ApplicationSettings;

/// A warning about a command that executors will not find or cannot run. `None`: no problem was found.
pub(super) fn remark(
    program: &str,
    settings: &ApplicationSettings,
    directory: &TaskDirectory,
) -> Option<String> {
    if program.starts_with('/') {
        return None;
    }
    let last = program.rsplit('/').next().unwrap_or(program);
    let brought = settings.files.iter().map(|file| split(file)).find(|(_, name)| *name == last);
    match brought {
        Some(_) if !program.contains('/') => {
            Some(format!("{program} is searched in PATH: the copied file is ./{program}"))
        }
        Some((path, _)) if !is_executable(path) => {
            Some(format!("{path} is not executable: run chmod +x {path}"))
        }
        Some(_) => None,
        None if is_missing(program, settings, directory) => Some(format!(
            "{program} is not in the executors' directories, where the command runs: copy it there with --files {program} \
             (as ./{last}), or write --chdir . if all machines share this directory"
        )),
        None => None,
    }
}

/// Splits a file's path from its name at the destination.
fn split(file: &str) -> (&str, &str) {
    match file.rsplit_once('#') {
        Some((path, name)) => (path, name),
        None => (file, file.rsplit('/').next().unwrap_or(file)),
    }
}

/// Whether the program is a file on this machine that will be missing on the executors' machines. Contents of archives
/// are not examined.
fn is_missing(program: &str, settings: &ApplicationSettings, directory: &TaskDirectory) -> bool {
    let is_elsewhere = match directory {
        TaskDirectory::Executor => settings.archives.is_empty(),
        TaskDirectory::Path(_) => false,
    };
    is_elsewhere && program.contains('/') && byte_text::path(program).is_file()
}

/// Whether the file is executable. A file that cannot be examined counts as executable. The error is reported later,
/// when the file is read.
fn is_executable(path: &str) -> bool {
    byte_text::path(path).metadata().map_or(true, |found| found.permissions().mode() & 0o111 != 0)
}
