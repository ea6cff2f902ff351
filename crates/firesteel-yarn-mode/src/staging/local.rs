//! Files on a local file system that all nodes mount at the same path.

use std::fs::{self, DirBuilder, File, Metadata, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use firesteel_protocol::time;

use super::shared_path::Described;
use super::{StagingError, unstaged};
use crate::blueprint::Visibility;

pub(super) fn make_directory(path: &Path) -> Result<(), StagingError> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(unstaged(path))
}

pub(super) fn write(path: &Path, source: &mut dyn Read) -> Result<(), StagingError> {
    let written = File::create(path).and_then(|mut file| {
        io::copy(source, &mut file)?;
        file.set_permissions(Permissions::from_mode(0o644))
    });
    written.map_err(unstaged(path))
}

/// The real path of a file, and the description of the file.
pub(super) fn described(path: &Path) -> Result<(PathBuf, Described), StagingError> {
    let path = path.canonicalize().map_err(unstaged(path))?;
    let metadata = fs::metadata(&path).map_err(unstaged(&path))?;
    if !metadata.is_file() {
        return Err(unstaged(&path)(io::Error::other("it is not a regular file")));
    }
    let timestamp = modified_millis(&metadata).map_err(unstaged(&path))?;
    let described = Described { size: metadata.len(), timestamp, visibility: visibility(&path, &metadata) };
    Ok((path, described))
}

pub(super) fn delete(path: &Path) -> Result<(), StagingError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(unstaged(path)(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn modified_millis(metadata: &Metadata) -> io::Result<u64> {
    let since = metadata.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(time::millis(since))
}

/// A file is public if everybody may read it and search the directories above it.
///
/// Source: Spark on YARN, 4.0.1.
fn visibility(path: &Path, metadata: &Metadata) -> Visibility {
    let can = |metadata: &Metadata, bit: u32| metadata.permissions().mode() & bit != 0;
    let is_open = |directory: &Path| fs::metadata(directory).is_ok_and(|metadata| can(&metadata, 0o001));
    if can(metadata, 0o004) && path.ancestors().skip(1).all(is_open) {
        Visibility::Public
    } else {
        Visibility::Private
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_everybody_can_read_is_for_everybody() {
        let (_, found) = described(Path::new("/etc/passwd")).expect("it is there");
        assert_eq!(found.visibility, Visibility::Public);
    }
}
