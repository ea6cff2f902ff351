//! Reads a requested range of a log, also from rolled and compressed files.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use firesteel_protocol::messages::{LogAuthor, LogRange, LogStart};
use firesteel_protocol::wire::MAX_LOG_PIECE;
use firesteel_worker::LogRead;
use flate2::read::MultiGzDecoder;

use super::removed_bytes::RemovedBytesTable;
use super::segments::{self, Segment, SegmentFormat, with_path};
use super::tail;
use crate::worker::directories::work_directory::WorkDirectory;

/// The number of compressed files that stay open at their last position, for clients that continue to read.
const KEPT: usize = 8;

/// How often files may be rolled during a read before reading fails.
const ATTEMPTS: u32 = 20;

/// Reads pieces of logs. All methods block the thread.
#[derive(Debug)]
pub struct LogReader {
    work: WorkDirectory,
    removed_bytes: Arc<RemovedBytesTable>,
    kept: Mutex<Vec<Inflater>>,
}

/// A compressed file that was read up to a position.
#[derive(Debug)]
struct Inflater {
    path: PathBuf,
    inode: u64,
    position: u64,
    inflated: MultiGzDecoder<File>,
}

struct Piece {
    start: u64,
    bytes: Vec<u8>,
    length: u64,
}

impl LogReader {
    /// Makes a reader for logs below this directory. `removed_bytes` is the table that the writers of the logs update.
    #[must_use]
    pub fn new(work: WorkDirectory, removed_bytes: Arc<RemovedBytesTable>) -> Self {
        Self { work, removed_bytes, kept: Mutex::default() }
    }

    /// Reads the wanted piece. The caller must have checked that the ids, which become names of directories, are sound.
    #[must_use]
    pub fn read(&self, range: &LogRange) -> LogRead {
        let directory = match &range.author {
            LogAuthor::Executor(executor) => self.work.of_executor(executor),
            LogAuthor::Driver(driver) => self.work.of_driver(driver),
        };
        let missing = || LogRead::Missing { directory: directory.display().to_string() };
        let failed = |error: io::Error| LogRead::Failed { error: error.to_string() };
        // A link on the way would lead out of the work directory.
        match directory.canonicalize() {
            Ok(real) if real == directory => {}
            Ok(_) => return missing(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return missing(),
            Err(error) => return failed(with_path(&directory, &error)),
        }
        for _ in 0..ATTEMPTS {
            match self.attempt(&directory, range) {
                Ok(Attempt::Read(Piece { start, bytes, length })) => {
                    return LogRead::Piece { start, bytes: bytes.into(), length };
                }
                Ok(Attempt::NoLog) => return missing(),
                Ok(Attempt::Moved) => {}
                Err(error) => return failed(error),
            }
        }
        failed(io::Error::other(format!(
            "{}: the log rolls over faster than it can be read",
            directory.display()
        )))
    }

    fn attempt(&self, directory: &Path, range: &LogRange) -> io::Result<Attempt> {
        let (gone, segments) = self.list(directory, range)?;
        if segments.is_empty() {
            return Ok(Attempt::NoLog);
        }
        let length = gone + segments.iter().map(|segment| segment.length).sum::<u64>();
        let start = match range.from {
            LogStart::Offset(offset) => offset.clamp(gone, length),
            LogStart::LastBytes(bytes) => length.saturating_sub(bytes).max(gone),
            LogStart::LastLines(lines) => match tail::start_of_last(&segments, lines)? {
                Some(offset) => gone + offset,
                None => return Ok(Attempt::Moved),
            },
        };
        let mut begin = gone;
        for segment in &segments {
            if start < begin + segment.length {
                let bytes = self.read_segment(segment, start - begin)?;
                return Ok(
                    bytes.map_or(Attempt::Moved, |bytes| Attempt::Read(Piece { start, bytes, length }))
                );
            }
            begin += segment.length;
        }
        Ok(Attempt::Read(Piece { start, bytes: Vec::new(), length }))
    }

    /// The number of removed bytes of the log, and the files with the remaining bytes. No file is rolled during the
    /// call.
    fn list(&self, directory: &Path, range: &LogRange) -> io::Result<(u64, Vec<Segment>)> {
        match self.removed_bytes.find(&range.author, range.stream) {
            Some(removed) => {
                let gone = removed.lock();
                Ok((*gone, segments::list(directory, range.stream)?))
            }
            None => Ok((0, segments::list(directory, range.stream)?)),
        }
    }

    /// Reads at most one piece from this offset of a file. `None` if the file was renamed or removed.
    fn read_segment(&self, segment: &Segment, offset: u64) -> io::Result<Option<Vec<u8>>> {
        let length = (segment.length - offset).min(MAX_LOG_PIECE as u64);
        let mut bytes = vec![0; usize::try_from(length).expect("a piece is small")];
        let read = match segment.format {
            SegmentFormat::Plain => match segment.open()? {
                Some(file) => file.read_exact_at(&mut bytes, offset),
                None => return Ok(None),
            },
            SegmentFormat::Gzip => match self.inflater(segment, offset)? {
                Some(mut inflater) => {
                    let read = inflater.inflated.read_exact(&mut bytes);
                    inflater.position += length;
                    self.keep(inflater);
                    read
                }
                None => return Ok(None),
            },
        };
        read.map_err(|error| with_path(&segment.path, &error))?;
        Ok(Some(bytes))
    }

    fn inflater(&self, segment: &Segment, offset: u64) -> io::Result<Option<Inflater>> {
        let mut kept = self.kept.lock().expect("no thread panics with the lock");
        let there = |inflater: &Inflater| {
            inflater.inode == segment.inode && inflater.position == offset && inflater.path == segment.path
        };
        if let Some(index) = kept.iter().position(there) {
            return Ok(Some(kept.remove(index)));
        }
        drop(kept);
        let Some(file) = segment.open()? else { return Ok(None) };
        let mut inflated = MultiGzDecoder::new(file);
        io::copy(&mut inflated.by_ref().take(offset), &mut io::sink())
            .map_err(|error| with_path(&segment.path, &error))?;
        let Segment { path, inode, .. } = segment.clone();
        Ok(Some(Inflater { path, inode, position: offset, inflated }))
    }

    fn keep(&self, inflater: Inflater) {
        let mut kept = self.kept.lock().expect("no thread panics with the lock");
        if kept.len() == KEPT {
            kept.remove(0);
        }
        kept.push(inflater);
    }
}

enum Attempt {
    Read(Piece),
    NoLog,
    /// Files were rolled during the reading, so it has to be repeated.
    Moved,
}
