//! Files and directories on a Worker that other users of the machine cannot read.
//!
//! A file of an application may be readable only by its owner, such as a key. The Worker's copy is therefore never
//! readable by more users than the original: only the Worker's user reads it. The mode is given when a file is made, so
//! there is no moment at which others could open it.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// The mode of a directory that only its owner can use.
const PRIVATE_DIRECTORY: u32 = 0o700;

/// The mode of a directory of executors. The directory's group may read logs in it.
const SHARED_DIRECTORY: u32 = 0o750;

/// How often to try to make a directory whose parent is being removed at the same time.
const ATTEMPTS: u32 = 5;

/// The mode of an executor's log.
const LOG: u32 = 0o640;

/// Makes a directory that only its owner can use.
///
/// # Errors
/// The directory exists, or cannot be made.
pub(crate) fn create_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(PRIVATE_DIRECTORY).create(path)
}

/// Makes a directory that only its owner can use, with its parents, unless it exists.
///
/// # Errors
/// The directory cannot be made.
pub(crate) fn create_directories(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(PRIVATE_DIRECTORY).create(path)
}

/// Makes a directory that its group may read, with its parents, unless it exists. Other users cannot use it.
///
/// # Errors
/// The directory cannot be made.
pub(crate) fn create_group_directories(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(SHARED_DIRECTORY).create(path)
}

/// Repeats an attempt that failed because the empty parent directory was removed at the same moment.
///
/// # Errors
///
/// The error of the last attempt.
pub(crate) fn despite_removal(make: impl Fn() -> io::Result<()>) -> io::Result<()> {
    let mut made = make();
    for _ in 1..ATTEMPTS {
        match made {
            Err(error) if error.kind() == io::ErrorKind::NotFound => made = make(),
            other => return other,
        }
    }
    made
}

/// Makes a file that only its owner can read, and opens it for writing.
///
/// # Errors
/// The file exists, or cannot be made.
pub(crate) fn create_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Makes a complete file read-only. Only the owner can still read it.
///
/// # Errors
///
/// The mode cannot be changed.
pub(crate) fn seal(file: &File, executable: bool) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode(if executable { 0o500 } else { 0o400 }))
}

/// Opens an executor's log with these options. A new file can be read by its owner and its group.
///
/// # Errors
/// The file cannot be opened.
pub(crate) fn open_log(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    options.mode(LOG).open(path)
}
