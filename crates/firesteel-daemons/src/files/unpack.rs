//! Archives become directories, and nothing of them lands elsewhere.
//!
//! Links are made last, so that nothing is written through one, and only those are left that stay within the
//! directory, by themselves and through each other, whether or not there is anything where they lead. What was packed is
//! read-only, its owners, times and special bits are forgotten.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::io::{self, BufReader, Read, Seek, Write};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use firesteel_core::messages::ArchiveFormat;
use flate2::read::MultiGzDecoder;
use tar::{Archive, EntryType};
use tokio_util::sync::CancellationToken;
use zip::ZipArchive;
use zip::result::ZipError;

/// Entries that an archive may have.
const MOST_ENTRIES: usize = 1_000_000;

/// How much larger than the archive its contents may be,
const MOST_RATIO: u64 = 200;

/// and what they may amount to in any case, in bytes.
const ALWAYS_FINE: u64 = 1 << 30;

/// The longest long name, or other description of an entry, in bytes.
const MOST_HEADER: u64 = 1 << 20;

/// The longest target of a link, in bytes.
const MOST_TARGET: u64 = 4096;

/// Links that the system follows on the way of one path: more are an error to it.
const MOST_FOLLOWED: u32 = 40;

/// Why an archive cannot be unpacked. A clause about it, without its name.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// It cannot be read, or is none.
    #[error("cannot unpack it: {0}")]
    Read(io::Error),
    /// The same, of a zip.
    #[error("cannot unpack it: {0}")]
    Zip(#[from] ZipError),
    /// What was packed cannot be put on the disk.
    #[error("cannot write {path:?}: {error}")]
    Write {
        /// Where to.
        path: PathBuf,
        /// The operating system's words.
        error: io::Error,
    },
    /// An entry, or the target of a link, that is elsewhere.
    #[error("its entry {entry:?} leads out of the directory")]
    LeadsOut {
        /// Its name.
        entry: PathBuf,
    },
    /// A device, a pipe.
    #[error("its entry {entry:?} is not a file, directory or link")]
    Kind {
        /// Its name.
        entry: PathBuf,
    },
    /// A name, or another description, that is absurdly long.
    #[error("the header of an entry has {length} bytes")]
    Header {
        /// How long.
        length: u64,
    },
    /// Too much for its length.
    #[error("its content is longer than {most} bytes, {MOST_RATIO} times the length of the archive")]
    TooLarge {
        /// How much would be fine.
        most: u64,
    },
    /// Too many entries.
    #[error("it has more than {MOST_ENTRIES} entries")]
    TooMany,
    /// Nobody needs it any more.
    #[error("it is no longer needed")]
    Stopped,
}

/// Looks through an archive for damage, and unpacks nothing. To be called where one may block.
///
/// # Errors
/// It cannot be read as what it is called.
pub(super) fn look_through(
    file: &File,
    format: ArchiveFormat,
    stop: &CancellationToken,
) -> Result<(), UnpackError> {
    match format {
        ArchiveFormat::Tar => survey(Stoppable { inner: from_the_start(file)?, stop }, stop),
        ArchiveFormat::TarGz => {
            survey(Stoppable { inner: MultiGzDecoder::new(from_the_start(file)?), stop }, stop)
        }
        ArchiveFormat::Zip => Ok(ZipArchive::new(from_the_start(file)?).map(drop)?),
    }
}

fn from_the_start(mut file: &File) -> Result<BufReader<&File>, UnpackError> {
    file.rewind().map_err(UnpackError::Read)?;
    Ok(BufReader::new(file))
}

/// Unpacks an archive into a directory, which is made. To be called where one may block.
///
/// # Errors
/// It cannot be read or written, or has something that it should not. What was unpacked until then is left.
pub fn unpack(
    archive: &Path,
    format: ArchiveFormat,
    directory: &Path,
    stop: &CancellationToken,
) -> Result<(), UnpackError> {
    let file = File::open(archive).map_err(UnpackError::Read)?;
    let length = file.metadata().map_err(UnpackError::Read)?.len();
    let most = length.saturating_mul(MOST_RATIO).max(ALWAYS_FINE);
    fs::create_dir(directory).map_err(write_error(directory))?;
    let root = directory.canonicalize().map_err(write_error(directory))?;
    let mut unpacking = Unpacking { root, links: BTreeMap::new(), entries: 0, most, left: most, stop };
    match format {
        ArchiveFormat::Tar => {
            look_through(&file, format, stop)?;
            unpacking.tar(from_the_start(&file)?)?;
        }
        ArchiveFormat::TarGz => {
            look_through(&file, format, stop)?;
            unpacking.tar(MultiGzDecoder::new(from_the_start(&file)?))?;
        }
        // Its directory is all that there is to look at, and is read there.
        ArchiveFormat::Zip => unpacking.zip(&file)?,
    }
    unpacking.make_links()
}

fn write_error(path: &Path) -> impl FnOnce(io::Error) -> UnpackError {
    move |error| UnpackError::Write { path: path.to_owned(), error }
}

/// Looks at the headers alone: what describes an entry is read into memory later, and must be short.
fn survey(reader: Stoppable<'_, impl Read>, stop: &CancellationToken) -> Result<(), UnpackError> {
    // Whatever the library makes of it, a read that was stopped is no fault of the archive.
    look_at_headers(reader, stop)
        .map_err(|error| if stop.is_cancelled() { UnpackError::Stopped } else { error })
}

fn look_at_headers(reader: impl Read, stop: &CancellationToken) -> Result<(), UnpackError> {
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

/// Can be stopped between two reads: one entry may be as large as the whole archive, and is skipped by reading it.
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
    /// Links that will be made, with their targets.
    links: BTreeMap<PathBuf, PathBuf>,
    entries: usize,
    most: u64,
    /// Bytes that may still be written.
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

    /// Where an entry goes, from the root on. `None`: it is the root itself.
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
        // `a/../b` stays within, and is refused all the same: no honest program packs it.
        if path.components().any(|part| part == Component::ParentDir) {
            return Err(UnpackError::LeadsOut { entry: path.to_owned() });
        }
        Ok((at != Path::new("")).then_some(at))
    }

    /// A directory, though a link of its name came before.
    fn make_directory(&mut self, at: &Path) -> Result<(), UnpackError> {
        self.links.remove(at);
        self.make_parents(at)
    }

    fn make_parents(&self, at: &Path) -> Result<(), UnpackError> {
        let path = self.root.join(at);
        fs::create_dir_all(&path).map_err(write_error(&path))
    }

    /// Makes room for something: its parents, and of two entries of one name the last one counts.
    fn make_way(&self, at: &Path) -> Result<PathBuf, UnpackError> {
        self.make_parents(at.parent().unwrap_or(Path::new("")))?;
        let path = self.root.join(at);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(write_error(&path)(error)),
            Ok(()) | Err(_) => Ok(path),
        }
    }

    fn make_file(&mut self, at: &Path, mode: u32, content: &mut impl Read) -> Result<(), UnpackError> {
        self.links.remove(at);
        let path = self.make_way(at)?;
        let mut file = File::create_new(&path).map_err(write_error(&path))?;
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
        let mode = if mode & 0o111 == 0 { 0o444 } else { 0o555 };
        file.set_permissions(Permissions::from_mode(mode)).map_err(write_error(&path))
    }

    /// Another name for what was packed before, which may be a link.
    fn make_hard_link(&mut self, entry: &Path, at: &Path, target: &Path) -> Result<(), UnpackError> {
        let leads_out = || UnpackError::LeadsOut { entry: entry.to_owned() };
        let target = within(Path::new(""), target).ok_or_else(leads_out)?;
        if let Some(end) = self.links.get(&target).cloned() {
            self.links.insert(at.to_owned(), end);
            return Ok(());
        }
        self.links.remove(at);
        let path = self.make_way(at)?;
        fs::hard_link(self.root.join(target), &path).map_err(write_error(&path))
    }

    fn make_links(self) -> Result<(), UnpackError> {
        for (at, target) in &self.links {
            let leads_out = || UnpackError::LeadsOut { entry: at.clone() };
            let parent = at.parent().unwrap_or(Path::new(""));
            within(parent, target).ok_or_else(leads_out)?;
            // Not through a link that was made just now.
            if parent.ancestors().any(|part| self.links.contains_key(part)) {
                return Err(leads_out());
            }
            let path = self.make_way(at)?;
            symlink(target, &path).map_err(write_error(&path))?;
        }
        // Several links together can lead further than each of them says.
        match self.links.keys().find(|at| self.leads_out(at)) {
            Some(at) => Err(UnpackError::LeadsOut { entry: at.clone() }),
            None => Ok(()),
        }
    }

    /// Whether a link leads out by way of others, whatever is there. One that leads in a circle leads nowhere.
    fn leads_out(&self, link: &Path) -> bool {
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

/// The parts of a relative path, the first one last, without those that mean nothing.
fn parts(path: &Path) -> Vec<OsString> {
    let parts = path.components().filter(|part| *part != Component::CurDir);
    parts.rev().map(|part| part.as_os_str().to_owned()).collect()
}

/// A path that is meant from a place below some root: where it leads, from the root on. `None`: out of it.
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
