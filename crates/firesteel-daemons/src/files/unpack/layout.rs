//! The paths in an archive, computed from its entries before any entry is written.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use super::UnpackError;

/// The maximum length of a name in a path, in bytes, on all usual file systems.
const MOST_NAME: usize = 255;

/// The maximum length of a path and of a link's target, in bytes.
pub(super) const MOST_PATH: usize = 4095;

/// The kind of entry that an archive has at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ArchiveEntry {
    Directory,
    File,
    /// A symbolic link with its target. As in tar, the target may be any path.
    Link(PathBuf),
}

/// The entries of an archive so far, by path. No entry is below a link, so nothing is ever written through a link.
#[derive(Debug, Default)]
pub(super) struct Layout(BTreeMap<PathBuf, ArchiveEntry>);

impl Layout {
    /// Puts an entry at a path that [`inside`] has normalized. Returns the earlier entry at this path.
    pub(super) fn put(
        &mut self,
        entry: &Path,
        at: &Path,
        place: ArchiveEntry,
    ) -> Result<Option<ArchiveEntry>, UnpackError> {
        if let ArchiveEntry::Link(target) = &place
            && !is_target(target)
        {
            return Err(UnpackError::Name { entry: entry.to_owned() });
        }
        for parent in parents(at) {
            match self.0.get(parent) {
                None => drop(self.0.insert(parent.to_owned(), ArchiveEntry::Directory)),
                Some(ArchiveEntry::Directory) => {}
                Some(ArchiveEntry::Link(_)) => {
                    return Err(UnpackError::Through { entry: entry.to_owned(), link: parent.to_owned() });
                }
                Some(ArchiveEntry::File) => return Err(taken(entry, parent)),
            }
        }
        if self.0.get(at) == Some(&ArchiveEntry::Directory) && place != ArchiveEntry::Directory {
            return Err(taken(entry, at));
        }
        Ok(self.0.insert(at.to_owned(), place))
    }

    /// Resolves the target of a hard link. The target must be an earlier file or link whose path does not lead through
    /// a link.
    pub(super) fn linked(&self, entry: &Path, target: &Path) -> Result<(PathBuf, ArchiveEntry), UnpackError> {
        let at = inside(target).map_err(|_| UnpackError::LeadsOut { entry: entry.to_owned() })?;
        for parent in parents(&at) {
            if let Some(ArchiveEntry::Link(_)) = self.0.get(parent) {
                return Err(UnpackError::Through { entry: entry.to_owned(), link: parent.to_owned() });
            }
        }
        match self.0.get(&at) {
            Some(place @ (ArchiveEntry::File | ArchiveEntry::Link(_))) => Ok((at, place.clone())),
            Some(ArchiveEntry::Directory) | None => {
                Err(UnpackError::NoTarget { entry: entry.to_owned(), target: target.to_owned() })
            }
        }
    }

    pub(super) fn links(&self) -> impl Iterator<Item = (&Path, &Path)> {
        self.0.iter().filter_map(|(at, place)| match place {
            ArchiveEntry::Link(target) => Some((at.as_path(), target.as_path())),
            ArchiveEntry::Directory | ArchiveEntry::File => None,
        })
    }
}

fn parents(at: &Path) -> impl Iterator<Item = &Path> {
    at.ancestors().skip(1).filter(|parent| !parent.as_os_str().is_empty())
}

fn taken(entry: &Path, by: &Path) -> UnpackError {
    UnpackError::Taken { entry: entry.to_owned(), by: by.to_owned() }
}

fn is_target(target: &Path) -> bool {
    let bytes = target.as_os_str().as_bytes();
    !bytes.is_empty() && bytes.len() <= MOST_PATH && !bytes.contains(&0)
}

/// Normalizes a path in an archive, relative to the root. The result is empty if the path is the root itself.
///
/// The path `a/../b` is refused although it stays within the root: no usual program packs it, and `a` may be a link.
pub(super) fn inside(path: &Path) -> Result<PathBuf, UnpackError> {
    let mut at = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => {
                if name.len() > MOST_NAME || name.as_bytes().contains(&0) {
                    return Err(UnpackError::Name { entry: path.to_owned() });
                }
                at.push(name);
            }
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(UnpackError::LeadsOut { entry: path.to_owned() });
            }
        }
    }
    match at.as_os_str().len() > MOST_PATH {
        true => Err(UnpackError::Name { entry: path.to_owned() }),
        false => Ok(at),
    }
}
