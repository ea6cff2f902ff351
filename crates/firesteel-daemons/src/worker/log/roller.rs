//! Writes a log into a sequence of files, rolled by time or size.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use firesteel_protocol::Timestamp;
use firesteel_protocol::messages::Stream;
use flate2::write::GzEncoder;

use super::names::Names;
use super::removed_bytes::RemovedBytes;
use super::segments::{self, COMPRESSED, active_name, with_path};
use crate::files::private;
use firesteel_settings::rolling::{Compression, Rolling, Strategy};

/// The longest file that is compressed, because the end of a gzip file cannot store a greater length.
const LONGEST_COMPRESSED: u64 = u32::MAX as u64;

/// The maximum number of bytes that are written to one file at once. A file may exceed its maximum size by less than
/// this number. Source: Spark, 4.0.1.
const SLICE: usize = 8 << 10;

/// A log that is rolled. All methods block the thread.
#[derive(Debug)]
pub struct Roller {
    directory: PathBuf,
    active: PathBuf,
    rolling: Rolling,
    removed: Arc<RemovedBytes>,
    file: File,
    length: u64,
    next: Option<Timestamp>,
    names: Names,
    /// The rolled files that exist, oldest first, each with the number of the log's bytes in it.
    rolled: VecDeque<(PathBuf, u64)>,
}

#[derive(Debug, Default)]
pub struct Written {
    /// The number of bytes at the end of the output that could not be written, and the error.
    pub dropped: Option<(usize, io::Error)>,
    /// Why files could not be rolled, compressed or removed. No output is lost by this.
    pub trouble: Option<io::Error>,
}

impl Roller {
    /// Continues a log in this directory. `file` is the log's active file.
    ///
    /// # Errors
    ///
    /// The directory or the file cannot be read.
    pub fn open(
        directory: &Path,
        stream: Stream,
        file: File,
        rolling: Rolling,
        removed: Arc<RemovedBytes>,
        now: Timestamp,
    ) -> io::Result<Self> {
        let active = directory.join(active_name(stream));
        let before = segments::list(directory, stream)?.into_iter().filter(|segment| segment.path != active);
        let rolled: VecDeque<_> = before.map(|segment| (segment.path, segment.length)).collect();
        let last = rolled.back().and_then(|(path, _)| path.file_name()?.to_str().map(str::to_owned));
        let last = last.map(|name| name.strip_suffix(COMPRESSED).map(str::to_owned).unwrap_or(name));
        Ok(Self {
            directory: directory.to_owned(),
            length: file.metadata().map_err(|error| with_path(&active, &error))?.len(),
            active,
            removed,
            file,
            next: rolling.strategy.next(now),
            names: Names::after(active_name(stream), last),
            rolled,
            rolling,
        })
    }

    #[must_use]
    pub fn write(&mut self, now: Timestamp, bytes: &[u8]) -> Written {
        let mut all = Written::default();
        for slice in bytes.chunks(SLICE) {
            let Written { dropped, trouble } = self.write_slice(now, slice);
            all.trouble = all.trouble.or(trouble);
            all.dropped = match (all.dropped, dropped) {
                (Some((before, error)), Some((more, _))) => Some((before + more, error)),
                (before, None) => before,
                (None, more) => more,
            };
        }
        all
    }

    fn write_slice(&mut self, now: Timestamp, bytes: &[u8]) -> Written {
        let mut written = Written::default();
        if !self.is_in_place() {
            written.trouble = Some(self.begin_anew());
        } else if self.is_due(now, bytes.len()) {
            let unrolled =
                |error| io::Error::other(format!("cannot roll over the log as configured: {error}"));
            written.trouble = self.roll(now).err().map(unrolled);
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            match self.file.write(rest) {
                Ok(0) => {
                    written.dropped = Some((rest.len(), io::ErrorKind::WriteZero.into()));
                    break;
                }
                Ok(count) => {
                    self.length += count as u64;
                    rest = &rest[count..];
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    written.dropped = Some((rest.len(), with_path(&self.active, &error)));
                    break;
                }
            }
        }
        written
    }

    fn is_due(&self, now: Timestamp, more: usize) -> bool {
        match self.rolling.strategy {
            // An empty file is never rolled.
            Strategy::ByTime(_) | Strategy::BySize(_) if self.length == 0 => false,
            Strategy::ByTime(_) => self.next.is_some_and(|next| next <= now),
            Strategy::BySize(most) => self.length.saturating_add(more as u64) > most,
        }
    }

    /// Whether the active file still has its name. Somebody may have removed, renamed or replaced it.
    fn is_in_place(&self) -> bool {
        let own = match self.file.metadata() {
            Ok(own) if own.is_file() => own,
            Ok(_) | Err(_) => return true,
        };
        match fs::symlink_metadata(&self.active) {
            Ok(there) => (own.dev(), own.ino()) == (there.dev(), there.ino()),
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        }
    }

    /// Continues in a new active file, since nobody finds what is written to the old one. The new file takes the place
    /// of whatever has its name. Returns what is to be said.
    fn begin_anew(&mut self) -> io::Error {
        let mut removed = self.removed.lock();
        match create(&self.active) {
            Ok(file) => {
                *removed += std::mem::take(&mut self.length);
                drop(removed);
                self.file = file;
                with_path(
                    &self.active,
                    &io::Error::other("it was removed or replaced: continuing in a new file"),
                )
            }
            Err(error) => with_path(&self.active, &error),
        }
    }

    /// Continues in a new file. After an error the log stays in the old file, or keeps more files than it
    /// should.
    fn roll(&mut self, now: Timestamp) -> io::Result<()> {
        self.next = self.rolling.strategy.next(now);
        let path = self.directory.join(self.names.next(&self.rolling.strategy.suffix(now)));
        self.start_file(&path)?;
        let length = std::mem::take(&mut self.length);
        let path = match self.rolling.compression {
            Compression::Gzip if length <= LONGEST_COMPRESSED => match self.compress(&path) {
                Ok(compressed) => compressed,
                Err(error) => {
                    self.rolled.push_back((path, length));
                    return self.remove_surplus().and(Err(error));
                }
            },
            Compression::Gzip | Compression::Off => path,
        };
        self.rolled.push_back((path, length));
        self.remove_surplus()
    }

    /// Starts a new file. The new file exists before the old one loses its name. So if the disk is full, the log stays
    /// in the old file.
    fn start_file(&mut self, old: &Path) -> io::Result<()> {
        let fresh = self.temporary_path(&self.active);
        let file = create(&fresh)?;
        let renamed = {
            let _held = self.removed.lock();
            fs::rename(&self.active, old).and_then(|()| fs::rename(&fresh, &self.active))
        };
        match renamed {
            Ok(()) => {
                self.file = file;
                Ok(())
            }
            Err(error) => {
                // A file that cannot be removed either has a name outside of the log.
                let _ = fs::remove_file(&fresh);
                Err(with_path(&self.active, &error))
            }
        }
    }

    /// Compresses a file. The compressed file replaces the original when it is complete.
    fn compress(&self, path: &Path) -> io::Result<PathBuf> {
        let fresh = self.temporary_path(path);
        let mut compressed = path.as_os_str().to_owned();
        compressed.push(COMPRESSED);
        let compressed = PathBuf::from(compressed);
        let done = deflate(path, &fresh).and_then(|()| {
            let _held = self.removed.lock();
            fs::rename(&fresh, &compressed).and_then(|()| fs::remove_file(path))
        });
        match done {
            Ok(()) => Ok(compressed),
            Err(error) => {
                let _ = fs::remove_file(&fresh);
                Err(with_path(&compressed, &error))
            }
        }
    }

    fn remove_surplus(&mut self) -> io::Result<()> {
        let Some(retained) = self.rolling.retained else { return Ok(()) };
        while self.rolled.len() > retained as usize
            && let Some((path, length)) = self.rolled.front()
        {
            let mut gone = self.removed.lock();
            match fs::remove_file(path) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(with_path(path, &error)),
            }
            *gone += length;
            drop(gone);
            self.rolled.pop_front();
        }
        Ok(())
    }

    /// A temporary path in the same directory. Its name is not part of any log.
    fn temporary_path(&self, path: &Path) -> PathBuf {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        self.directory.join(format!(".{name}.new"))
    }
}

fn create(path: &Path) -> io::Result<File> {
    // Never writes to an existing file of this name, which may be from an earlier Worker or from an executor.
    match fs::remove_file(path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(with_path(path, &error)),
    }
    let mut options = OpenOptions::new();
    private::open_log(options.append(true).create_new(true), path).map_err(|error| with_path(path, &error))
}

fn deflate(from: &Path, into: &Path) -> io::Result<()> {
    let mut from = segments::open_file(from)?;
    let mut encoder = GzEncoder::new(create(into)?, flate2::Compression::default());
    io::copy(&mut from, &mut encoder)?;
    encoder.finish().map(drop)
}

#[cfg(test)]
mod tests;
