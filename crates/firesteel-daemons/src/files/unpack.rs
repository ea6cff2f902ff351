//! Unpacks archives into directories, without writing outside the directory.
//!
//! A link is kept unchanged, wherever it leads, as tar does: a packed Python environment has a link to the system's
//! interpreter. An entry that would be written through a link is refused, whatever the order of the entries (`layout`).
//! Links are made last, so that nothing is written after the first link is made. Unpacked files are read-only, and only
//! this user can read them. The owners, times and special bits in the archive are ignored.
//!
//! An archive is checked by unpacking it without writing. So the submitting machine refuses an archive for every reason
//! that does not depend on a Worker.

mod layout;

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, Write};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use firesteel_protocol::messages::ArchiveFormat;
use flate2::read::MultiGzDecoder;
use nix::sys::statvfs::statvfs;
use tar::{Archive, EntryType};
use tokio_util::sync::CancellationToken;
use zip::ZipArchive;
use zip::result::ZipError;

use self::layout::{ArchiveEntry, Layout, MOST_PATH, inside};
use super::private;

const MOST_ENTRIES: usize = 1_000_000;

/// The contents of an archive may be at most this many times as large as the archive.
const MOST_RATIO: u64 = 100;

/// Contents of at most this many bytes are allowed whatever the length of the archive.
const ALWAYS_FINE: u64 = 256 << 20;

/// The maximum length of a long name, or of another extended header of an entry, in bytes.
const MOST_HEADER: u64 = 1 << 20;

/// Why an archive cannot be unpacked. The text is a clause about the archive, without the archive's name.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    #[error("cannot unpack it: {0}")]
    Read(io::Error),
    #[error("cannot unpack it: {0}")]
    Zip(#[from] ZipError),
    #[error("cannot write {path:?}: {error}")]
    Write { path: PathBuf, error: io::Error },
    /// The path of an entry, or of a hard link's target, is absolute or contains `..`.
    #[error("its entry {entry:?} leads out of the directory")]
    LeadsOut { entry: PathBuf },
    /// A parent directory of the entry is a link.
    #[error("its entry {entry:?} leads through its link {link:?}")]
    Through { entry: PathBuf, link: PathBuf },
    /// An earlier entry has the path of this entry, or of one of its parents.
    #[error("its entry {entry:?} conflicts with the earlier entry {by:?}")]
    Taken { entry: PathBuf, by: PathBuf },
    /// A hard link whose target is not an earlier file.
    #[error("its hard link {entry:?} refers to {target:?}, which is not an earlier file in the archive")]
    NoTarget { entry: PathBuf, target: PathBuf },
    /// The name of an entry, or the target of a link, is empty, too long, or has a NUL byte.
    #[error("the name or target of its entry {entry:?} is empty, too long, or has a NUL byte")]
    Name { entry: PathBuf },
    #[error("it has no entries")]
    Empty,
    #[error("its entry {entry:?} is not a file, directory or link")]
    Kind { entry: PathBuf },
    /// A name, or another extended header, is far too long.
    #[error("the header of an entry has {length} bytes")]
    Header { length: u64 },
    #[error("its content is longer than {most} bytes, {MOST_RATIO} times the length of the archive")]
    TooLarge { most: u64 },
    /// The contents would fill the disk.
    #[error("its content is longer than {most} bytes, nine tenths of the free space on the disk")]
    NoRoom { most: u64 },
    #[error("it has more than {MOST_ENTRIES} entries")]
    TooMany,
    /// Unpacking was stopped, because the archive is no longer needed.
    #[error("it is no longer needed")]
    Stopped,
}

/// Unpacks an archive without writing anything, to find out whether it is valid. Blocks the thread.
///
/// # Errors
/// The archive is damaged, has another format, or has an entry that is not allowed.
pub(super) fn check_archive(
    file: &File,
    format: ArchiveFormat,
    stop: &CancellationToken,
) -> Result<(), UnpackError> {
    Unpacking::new(Purpose::Check, file, stop)?.all(file, format)
}

fn from_the_start(mut file: &File) -> Result<BufReader<&File>, UnpackError> {
    file.rewind().map_err(UnpackError::Read)?;
    Ok(BufReader::new(file))
}

/// Makes a directory and unpacks an archive into it. Blocks the thread.
///
/// # Errors
/// The archive cannot be read or written, or has an entry that is not allowed. Entries that were already unpacked stay.
pub fn unpack(
    archive: &Path,
    format: ArchiveFormat,
    directory: &Path,
    stop: &CancellationToken,
) -> Result<(), UnpackError> {
    let file = File::open(archive).map_err(UnpackError::Read)?;
    private::create_directory(directory).map_err(write_error(directory))?;
    let root = directory.canonicalize().map_err(write_error(directory))?;
    let mut unpacking = Unpacking::new(Purpose::Write { root }, &file, stop)?;
    unpacking.all(&file, format)?;
    unpacking.make_links()
}

fn write_error(path: &Path) -> impl FnOnce(io::Error) -> UnpackError {
    move |error| UnpackError::Write { path: path.to_owned(), error }
}

/// Checks only the headers. Unpacking later reads the description of an entry into memory, so each must be short.
fn check_entries(
    reader: Stoppable<'_, impl Read>,
    most: Most,
    stop: &CancellationToken,
) -> Result<(), UnpackError> {
    // If a read was stopped, the archive is not at fault, whatever error the library reports.
    check_headers(reader, most, stop)
        .map_err(|error| if stop.is_cancelled() { UnpackError::Stopped } else { error })
}

fn check_headers(reader: impl Read, most: Most, stop: &CancellationToken) -> Result<(), UnpackError> {
    let mut left = most.bytes;
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
        // The next header comes behind the content, which is read to get there.
        left = left.checked_sub(length).ok_or_else(|| most.exceeded())?;
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

/// A reader that can be stopped between two reads. Skipping an entry reads all of the entry, which may be as large as
/// the whole archive.
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

/// The purpose for which the entries of an archive are read.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Purpose {
    Check,
    Write { root: PathBuf },
}

/// The maximum length of an archive's contents in bytes.
#[derive(Clone, Copy, Debug)]
struct Most {
    bytes: u64,
    /// Whether the disk has no room for more.
    is_of_the_disk: bool,
}

impl Most {
    fn of(purpose: &Purpose, archive: &File) -> Result<Self, UnpackError> {
        let length = archive.metadata().map_err(UnpackError::Read)?.len();
        let bytes = length.saturating_mul(MOST_RATIO).max(ALWAYS_FINE);
        let room = match purpose {
            Purpose::Check => None,
            Purpose::Write { root } => statvfs(root).ok().map(|found| {
                let free = found.blocks_available().saturating_mul(found.fragment_size());
                free - free / 10
            }),
        };
        Ok(match room {
            Some(room) if room < bytes => Self { bytes: room, is_of_the_disk: true },
            Some(_) | None => Self { bytes, is_of_the_disk: false },
        })
    }

    fn exceeded(self) -> UnpackError {
        match self.is_of_the_disk {
            true => UnpackError::NoRoom { most: self.bytes },
            false => UnpackError::TooLarge { most: self.bytes },
        }
    }
}

struct Unpacking<'a> {
    purpose: Purpose,
    layout: Layout,
    entries: usize,
    most: Most,
    /// The number of further bytes that the contents may have before they count as too large.
    left: u64,
    stop: &'a CancellationToken,
}

impl<'a> Unpacking<'a> {
    fn new(purpose: Purpose, archive: &File, stop: &'a CancellationToken) -> Result<Self, UnpackError> {
        let most = Most::of(&purpose, archive)?;
        Ok(Self { purpose, layout: Layout::default(), entries: 0, most, left: most.bytes, stop })
    }

    fn all(&mut self, file: &File, format: ArchiveFormat) -> Result<(), UnpackError> {
        match format {
            ArchiveFormat::Tar => {
                check_entries(
                    Stoppable { inner: from_the_start(file)?, stop: self.stop },
                    self.most,
                    self.stop,
                )?;
                self.tar(from_the_start(file)?)?;
            }
            ArchiveFormat::TarGz => {
                let unzipped = MultiGzDecoder::new(from_the_start(file)?);
                check_entries(Stoppable { inner: unzipped, stop: self.stop }, self.most, self.stop)?;
                let mut unzipped = MultiGzDecoder::new(from_the_start(file)?);
                self.tar(&mut unzipped)?;
                self.finish_gzip(&mut unzipped)?;
            }
            // The zip's central directory has all headers, and is read there.
            ArchiveFormat::Zip => self.zip(file)?,
        }
        if self.entries == 0 { Err(UnpackError::Empty) } else { Ok(()) }
    }

    /// Reads the rest after the last entry, since the checksum comes at the end. Bytes after the checksum are ignored,
    /// as in gzip.
    fn finish_gzip(&self, rest: &mut impl Read) -> Result<(), UnpackError> {
        let rest = Stoppable { inner: rest, stop: self.stop };
        match io::copy(&mut rest.take(self.most.bytes.saturating_add(1)), &mut io::sink()) {
            Ok(read) if read > self.most.bytes => Err(self.most.exceeded()),
            Err(_) if self.stop.is_cancelled() => Err(UnpackError::Stopped),
            Err(error) if error.to_string() != "invalid gzip header" => Err(UnpackError::Read(error)),
            Ok(_) | Err(_) => Ok(()),
        }
    }

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
            let target = target.unwrap_or_default();
            match kind {
                EntryType::Directory => self.make_directory(&path, &at)?,
                EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                    let mode = entry.header().mode().unwrap_or(0o644);
                    self.make_file(&path, &at, mode, &mut entry)?;
                }
                EntryType::Symlink => self.keep_link(&path, &at, target)?,
                EntryType::Link => self.make_hard_link(&path, &at, &target)?,
                _ => return Err(UnpackError::Kind { entry: path }),
            }
        }
        Ok(())
    }

    fn zip(&mut self, file: &File) -> Result<(), UnpackError> {
        let mut archive = ZipArchive::new(from_the_start(file)?)?;
        for index in 0..archive.len() {
            let mut entry = archive.by_index(index)?;
            let path = PathBuf::from(entry.name());
            let Some(at) = self.admit(&path)? else { continue };
            if entry.is_dir() {
                self.make_directory(&path, &at)?;
            } else if entry.is_symlink() {
                let mut target = Vec::new();
                let most = MOST_PATH as u64 + 1;
                (&mut entry).take(most).read_to_end(&mut target).map_err(UnpackError::Read)?;
                self.keep_link(&path, &at, OsString::from_vec(target).into())?;
            } else {
                let mode = entry.unix_mode().unwrap_or(0o644);
                self.make_file(&path, &at, mode, &mut entry)?;
            }
        }
        Ok(())
    }

    /// The path of an entry, relative to the root of the archive. `None` if the path is the root itself.
    fn admit(&mut self, path: &Path) -> Result<Option<PathBuf>, UnpackError> {
        if self.stop.is_cancelled() {
            return Err(UnpackError::Stopped);
        }
        self.entries += 1;
        if self.entries > MOST_ENTRIES {
            return Err(UnpackError::TooMany);
        }
        let at = inside(path)?;
        Ok((at != Path::new("")).then_some(at))
    }

    /// Makes a directory, even if an earlier entry with this name was a file or a link.
    fn make_directory(&mut self, entry: &Path, at: &Path) -> Result<(), UnpackError> {
        let before = self.layout.put(entry, at, ArchiveEntry::Directory)?;
        let Purpose::Write { root } = &self.purpose else { return Ok(()) };
        if before == Some(ArchiveEntry::File) {
            clear(root, at)?;
        }
        make_directories(root, at)
    }

    /// Writes a file. The file replaces an earlier file or link with this name, because the last entry counts.
    fn make_file(
        &mut self,
        entry: &Path,
        at: &Path,
        mode: u32,
        content: &mut impl Read,
    ) -> Result<(), UnpackError> {
        self.layout.put(entry, at, ArchiveEntry::File)?;
        let mut written = match &self.purpose {
            Purpose::Check => None,
            Purpose::Write { root } => {
                let path = clear(root, at)?;
                Some((private::create_file(&path).map_err(write_error(&path))?, path))
            }
        };
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
            self.left = left.ok_or_else(|| self.most.exceeded())?;
            if let Some((file, path)) = &mut written {
                file.write_all(&piece[..count]).map_err(write_error(path))?;
            }
        }
        match written {
            Some((file, path)) => private::seal(&file, mode & 0o111 != 0).map_err(write_error(&path)),
            None => Ok(()),
        }
    }

    /// Remembers a link, to be made after everything else. An earlier file at the link's path is removed at once, so
    /// that no hard link can refer to that file.
    fn keep_link(&mut self, entry: &Path, at: &Path, target: PathBuf) -> Result<(), UnpackError> {
        let before = self.layout.put(entry, at, ArchiveEntry::Link(target))?;
        match (&self.purpose, before) {
            (Purpose::Write { root }, Some(ArchiveEntry::File)) => clear(root, at).map(drop),
            (Purpose::Write { .. } | Purpose::Check, _) => Ok(()),
        }
    }

    /// Makes a hard link to an earlier entry, which may itself be a symbolic link.
    fn make_hard_link(&mut self, entry: &Path, at: &Path, target: &Path) -> Result<(), UnpackError> {
        let (target, place) = self.layout.linked(entry, target)?;
        if target == at {
            return Ok(());
        }
        if let ArchiveEntry::Link(end) = place {
            return self.keep_link(entry, at, end);
        }
        self.layout.put(entry, at, ArchiveEntry::File)?;
        let Purpose::Write { root } = &self.purpose else { return Ok(()) };
        let path = clear(root, at)?;
        fs::hard_link(root.join(target), &path).map_err(write_error(&path))
    }

    fn make_links(self) -> Result<(), UnpackError> {
        let Purpose::Write { root } = &self.purpose else { return Ok(()) };
        // All parents first: a file system that ignores case would find an earlier link in the place of a parent.
        for (at, _) in self.layout.links() {
            make_directories(root, at.parent().unwrap_or(Path::new("")))?;
        }
        for (at, target) in self.layout.links() {
            let path = root.join(at);
            symlink(target, &path).map_err(write_error(&path))?;
        }
        Ok(())
    }
}

fn make_directories(root: &Path, at: &Path) -> Result<(), UnpackError> {
    let path = root.join(at);
    private::create_directories(&path).map_err(write_error(&path))
}

/// Prepares the path of an entry: makes its parents and removes an earlier entry with the same name.
fn clear(root: &Path, at: &Path) -> Result<PathBuf, UnpackError> {
    make_directories(root, at.parent().unwrap_or(Path::new("")))?;
    let path = root.join(at);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(write_error(&path)(error)),
        Ok(()) | Err(_) => Ok(path),
    }
}

#[cfg(test)]
mod tests;
