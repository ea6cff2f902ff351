//! Unpacking of archives into directories, without writing outside the directory.
//!
//! Links are made last, so that nothing is written through a link. A link is kept only if it stays within
//! the directory, by itself and through other links, whether or not its target exists. Unpacked files are
//! read-only and for this user alone; their owners, times and special bits are dropped.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, Write};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};

use firesteel_core::messages::ArchiveFormat;
use flate2::read::MultiGzDecoder;
use tar::{Archive, EntryType};
use tokio_util::sync::CancellationToken;
use zip::ZipArchive;
use zip::result::ZipError;

use super::private;

/// The maximum number of entries in an archive.
const MOST_ENTRIES: usize = 1_000_000;

/// The contents may be this many times larger than the archive,
const MOST_RATIO: u64 = 200;

/// and up to this many bytes in any case.
const ALWAYS_FINE: u64 = 1 << 30;

/// The maximum length of a long name, or of another description of an entry, in bytes.
const MOST_HEADER: u64 = 1 << 20;

/// The maximum length of a link's target, in bytes.
const MOST_TARGET: u64 = 4096;

/// The number of links that the system follows in one path. More are an error to it.
const MOST_FOLLOWED: u32 = 40;

/// Why an archive cannot be unpacked. Worded as a clause about the archive, without its name.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// The archive cannot be read, or it is no archive.
    #[error("cannot unpack it: {0}")]
    Read(io::Error),
    /// The zip archive cannot be read.
    #[error("cannot unpack it: {0}")]
    Zip(#[from] ZipError),
    /// The contents cannot be written to the disk.
    #[error("cannot write {path:?}: {error}")]
    Write {
        /// The path that was being written.
        path: PathBuf,
        /// The operating system's error.
        error: io::Error,
    },
    /// An entry, or the target of a link, is outside the directory.
    #[error("its entry {entry:?} leads out of the directory")]
    LeadsOut {
        /// The name of the entry.
        entry: PathBuf,
    },
    /// The entry is a device or a pipe.
    #[error("its entry {entry:?} is not a file, directory or link")]
    Kind {
        /// The name of the entry.
        entry: PathBuf,
    },
    /// A name, or another description, is far too long.
    #[error("the header of an entry has {length} bytes")]
    Header {
        /// The length in bytes.
        length: u64,
    },
    /// The contents are too large for the archive's length.
    #[error("its content is longer than {most} bytes, {MOST_RATIO} times the length of the archive")]
    TooLarge {
        /// The maximum size of the contents, in bytes.
        most: u64,
    },
    /// The archive has too many entries.
    #[error("it has more than {MOST_ENTRIES} entries")]
    TooMany,
    /// Unpacking was stopped, because the archive is no longer needed.
    #[error("it is no longer needed")]
    Stopped,
}

/// Checks an archive for damage without unpacking it. Call this where blocking is allowed.
///
/// # Errors
/// The archive cannot be read in the format that its name says.
pub(super) fn check_archive(
    file: &File,
    format: ArchiveFormat,
    stop: &CancellationToken,
) -> Result<(), UnpackError> {
    match format {
        ArchiveFormat::Tar => check_entries(Stoppable { inner: from_the_start(file)?, stop }, stop),
        ArchiveFormat::TarGz => {
            check_entries(Stoppable { inner: MultiGzDecoder::new(from_the_start(file)?), stop }, stop)
        }
        ArchiveFormat::Zip => Ok(ZipArchive::new(from_the_start(file)?).map(drop)?),
    }
}

fn from_the_start(mut file: &File) -> Result<BufReader<&File>, UnpackError> {
    file.rewind().map_err(UnpackError::Read)?;
    Ok(BufReader::new(file))
}

/// Makes a directory and unpacks an archive into it. Call this where blocking is allowed.
///
/// # Errors
/// The archive cannot be read or written, or has an entry that is not allowed. Entries unpacked until then
/// are left.
pub fn unpack(
    archive: &Path,
    format: ArchiveFormat,
    directory: &Path,
    stop: &CancellationToken,
) -> Result<(), UnpackError> {
    let file = File::open(archive).map_err(UnpackError::Read)?;
    let length = file.metadata().map_err(UnpackError::Read)?.len();
    let most = length.saturating_mul(MOST_RATIO).max(ALWAYS_FINE);
    private::create_directory(directory).map_err(write_error(directory))?;
    let root = directory.canonicalize().map_err(write_error(directory))?;
    let mut unpacking = Unpacking { root, links: BTreeMap::new(), entries: 0, most, left: most, stop };
    match format {
        ArchiveFormat::Tar => {
            check_archive(&file, format, stop)?;
            unpacking.tar(from_the_start(&file)?)?;
        }
        ArchiveFormat::TarGz => {
            check_archive(&file, format, stop)?;
            unpacking.tar(MultiGzDecoder::new(from_the_start(&file)?))?;
        }
        // The zip's central directory has all headers, and is read there.
        ArchiveFormat::Zip => unpacking.zip(&file)?,
    }
    unpacking.make_links()
}

fn write_error(path: &Path) -> impl FnOnce(io::Error) -> UnpackError {
    move |error| UnpackError::Write { path: path.to_owned(), error }
}

/// Checks the headers alone. The description of an entry is read into memory later, so it must be short.
fn check_entries(reader: Stoppable<'_, impl Read>, stop: &CancellationToken) -> Result<(), UnpackError> {
    // A read that was stopped is not the archive's fault, whatever error the library makes of it.
    check_headers(reader, stop)
        .map_err(|error| if stop.is_cancelled() { UnpackError::Stopped } else { error })
}

fn check_headers(reader: impl Read, stop: &CancellationToken) -> Result<(), UnpackError> {
    let mut archive = Archive::new(reader);
    for (number, entry) in archive.entries().map_err(UnpackError::Read)?.raw(true).enumerate() {
        if stop.is_cancelled() {
            return Err(UnpackError::Stopped);
        }
        if number >= MOST_ENTRIES * 3 {
            return Err(UnpackError::TooMany);
        }
        let entry = entry.map_err(UnpackError::Read)?;
        let length = entry.header().entry_size().map_err(UnpackError::Read)?;
        let kind = entry.header().entry_type();
        let describes = kind.is_gnu_longname()
            || kind.is_gnu_longlink()
            || kind.is_pax_local_extensions()
            || kind.is_pax_global_extensions();
        if describes && length > MOST_HEADER {
            return Err(UnpackError::Header { length });
        }
    }
    Ok(())
}

/// A reader that can be stopped between two reads. One entry may be as large as the whole archive, and is
/// skipped by reading it.
struct Stoppable<'a, R> {
    inner: R,
    stop: &'a CancellationToken,
}

impl<R: Read> Read for Stoppable<'_, R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self.stop.is_cancelled() {
            true => Err(io::Error::other("it is no longer needed")),
            false => self.inner.read(bytes),
        }
    }
}

struct Unpacking<'a> {
    root: PathBuf,
    /// The links to make, each with its target.
    links: BTreeMap<PathBuf, PathBuf>,
    entries: usize,
    most: u64,
    /// The number of bytes that may still be written.
    left: u64,
    stop: &'a CancellationToken,
}

impl Unpacking<'_> {
    fn tar(&mut self, reader: impl Read) -> Result<(), UnpackError> {
        let mut archive = Archive::new(reader);
        for entry in archive.entries().map_err(UnpackError::Read)? {
            let mut entry = entry.map_err(UnpackError::Read)?;
            let path = entry.path().map_err(UnpackError::Read)?.into_owned();
            let kind = entry.header().entry_type();
            if kind == EntryType::XGlobalHeader {
                continue;
            }
            let Some(at) = self.admit(&path)? else { continue };
            let target = entry.link_name().map_err(UnpackError::Read)?.map(|target| target.into_owned());
            match kind {
                EntryType::Directory => self.make_directory(&at)?,
                EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                    let mode = entry.header().mode().unwrap_or(0o644);
                    self.make_file(&at, mode, &mut entry)?;
                }
                EntryType::Symlink => drop(self.links.insert(at, target.unwrap_or_default())),
                EntryType::Link => self.make_hard_link(&path, &at, &target.unwrap_or_default())?,
                _ => return Err(UnpackError::Kind { entry: path }),
            }
        }
        Ok(())
    }

    fn zip(&mut self, file: &File) -> Result<(), UnpackError> {
        let mut archive = ZipArchive::new(BufReader::new(file))?;
        for index in 0..archive.len() {
            let mut entry = archive.by_index(index)?;
            let path = PathBuf::from(entry.name());
            let Some(at) = self.admit(&path)? else { continue };
            if entry.is_dir() {
                self.make_directory(&at)?;
            } else if entry.is_symlink() {
                let mut target = Vec::new();
                (&mut entry).take(MOST_TARGET + 1).read_to_end(&mut target).map_err(UnpackError::Read)?;
                if target.len() as u64 > MOST_TARGET {
                    return Err(UnpackError::Header { length: entry.size() });
                }
                self.links.insert(at, OsString::from_vec(target).into());
            } else {
                let mode = entry.unix_mode().unwrap_or(0o644);
                self.make_file(&at, mode, &mut entry)?;
            }
        }
        Ok(())
    }

    /// Where an entry goes, relative to the root. `None` if it is the root itself.
    fn admit(&mut self, path: &Path) -> Result<Option<PathBuf>, UnpackError> {
        if self.stop.is_cancelled() {
            return Err(UnpackError::Stopped);
        }
        self.entries += 1;
        if self.entries > MOST_ENTRIES {
            return Err(UnpackError::TooMany);
        }
        let at =
            within(Path::new(""), path).ok_or_else(|| UnpackError::LeadsOut { entry: path.to_owned() })?;
        // `a/../b` stays within the root. It is refused all the same, because no honest program packs such
        // a path.
        if path.components().any(|part| part == Component::ParentDir) {
            return Err(UnpackError::LeadsOut { entry: path.to_owned() });
        }
        Ok((at != Path::new("")).then_some(at))
    }

    /// Makes a directory, even if a link of that name came before.
    fn make_directory(&mut self, at: &Path) -> Result<(), UnpackError> {
        self.links.remove(at);
        self.make_parents(at)
    }

    fn make_parents(&self, at: &Path) -> Result<(), UnpackError> {
        let path = self.root.join(at);
        private::create_directories(&path).map_err(write_error(&path))
    }

    /// Prepares the place of an entry: makes its parents and removes an earlier entry of the same name,
    /// because the last one counts.
    fn clear_path(&self, at: &Path) -> Result<PathBuf, UnpackError> {
        self.make_parents(at.parent().unwrap_or(Path::new("")))?;
        let path = self.root.join(at);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(write_error(&path)(error)),
            Ok(()) | Err(_) => Ok(path),
        }
    }

    fn make_file(&mut self, at: &Path, mode: u32, content: &mut impl Read) -> Result<(), UnpackError> {
        self.links.remove(at);
        let path = self.clear_path(at)?;
        let mut file = private::create_file(&path).map_err(write_error(&path))?;
        let mut piece = vec![0; 64 << 10];
        loop {
            if self.stop.is_cancelled() {
                return Err(UnpackError::Stopped);
            }
            let count = content.read(&mut piece).map_err(UnpackError::Read)?;
            if count == 0 {
                break;
            }
            let left = self.left.checked_sub(count as u64);
            self.left = left.ok_or(UnpackError::TooLarge { most: self.most })?;
            file.write_all(&piece[..count]).map_err(write_error(&path))?;
        }
        private::seal(&file, mode & 0o111 != 0).map_err(write_error(&path))
    }

    /// Makes another name for an earlier entry, which may be a link.
    fn make_hard_link(&mut self, entry: &Path, at: &Path, target: &Path) -> Result<(), UnpackError> {
        let leads_out = || UnpackError::LeadsOut { entry: entry.to_owned() };
        let target = within(Path::new(""), target).ok_or_else(leads_out)?;
        if let Some(end) = self.links.get(&target).cloned() {
            self.links.insert(at.to_owned(), end);
            return Ok(());
        }
        self.links.remove(at);
        let path = self.clear_path(at)?;
        fs::hard_link(self.root.join(target), &path).map_err(write_error(&path))
    }

    fn make_links(self) -> Result<(), UnpackError> {
        for (at, target) in &self.links {
            let leads_out = || UnpackError::LeadsOut { entry: at.clone() };
            let parent = at.parent().unwrap_or(Path::new(""));
            within(parent, target).ok_or_else(leads_out)?;
            // The path must not lead through a link of this archive.
            if parent.ancestors().any(|part| self.links.contains_key(part)) {
                return Err(leads_out());
            }
            let path = self.clear_path(at)?;
            symlink(target, &path).map_err(write_error(&path))?;
        }
        // Several links together can lead further out than each of them alone.
        match self.links.keys().find(|at| self.is_outside(at)) {
            Some(at) => Err(UnpackError::LeadsOut { entry: at.clone() }),
            None => Ok(()),
        }
    }

    /// Whether a link leads out of the root through other links, whether or not its target exists. Links in
    /// a circle lead nowhere.
    fn is_outside(&self, link: &Path) -> bool {
        let mut end = link.parent().unwrap_or(Path::new("")).to_owned();
        let mut rest: Vec<OsString> = parts(&self.links[link]);
        let mut followed = 0;
        while let Some(part) = rest.pop() {
            if part == ".." {
                if !end.pop() {
                    return true;
                }
                continue;
            }
            end.push(part);
            if let Some(target) = self.links.get(&end) {
                followed += 1;
                if followed > MOST_FOLLOWED {
                    return false;
                }
                end.pop();
                rest.extend(parts(target));
            }
        }
        false
    }
}

/// The parts of a relative path, in reverse order, without parts that mean nothing.
fn parts(path: &Path) -> Vec<OsString> {
    let parts = path.components().filter(|part| *part != Component::CurDir);
    parts.rev().map(|part| part.as_os_str().to_owned()).collect()
}

/// Resolves a path from a place below some root. Returns it relative to the root, or `None` if it leads out
/// of the root.
fn within(place: &Path, path: &Path) -> Option<PathBuf> {
    let mut end = place.to_owned();
    for part in path.components() {
        match part {
            Component::Normal(name) => end.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                if !end.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(end)
}

#[cfg(test)]
mod tests;
