//! The items that are left for another run: those that failed, and those that did not end.
//!
//! During a run, its *run record* lists the items that are done (`undone` describes the format). At the end, the items
//! that are not done are written to their file, and the run record is removed. If a run is killed, its record stays, and
//! another run can read it. So an empty file of items always means that nothing is left.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read as _, Write as _};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tempfile::NamedTempFile;

use super::input::Source;
use super::items::{Content, Item, Separator};
use super::undone::{self, Header, RecordContents, SourceFile, Undone};

/// The record of a run.
#[derive(Debug)]
pub struct RunRecord {
    /// The file that will get the items that are left.
    target: PathBuf,
    /// The path of the run record; `None` if it is an unnamed file because the target is not a regular file.
    path: Option<PathBuf>,
    file: RecordFile,
    /// Whether the input cannot be read again.
    wants_copy: bool,
    /// The records of blocks that are not done, by the number of their item.
    blocks: BTreeMap<u64, (u64, u64)>,
    /// The entries that are not written yet.
    marks: String,
    phase: Phase,
}

/// ```text
///  OPENED --begin--> BEGUN --close--> CLOSED
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The run has not begun. Dropping the record removes its file.
    Opened,
    Begun,
    Closed,
}

/// How the items can be read again if the run is killed.
enum Reread<'a> {
    /// From the input, which is a file.
    File(SourceFile),
    /// From copies that the run record gets while the input is read.
    Never,
    /// From the run record, which gets these words at once.
    Words(&'a [String]),
    /// From the run record, which gets a copy of what an earlier run left, because the earlier record may be removed.
    Copied(Undone),
}

/// The file of a run record. The thread that reads the input also writes to it.
#[derive(Clone, Debug)]
pub struct RecordFile(Arc<Mutex<File>>);

impl RecordFile {
    fn append(&self, bytes: &[&[u8]]) -> io::Result<()> {
        let mut file = self.0.lock().expect("no thread panics while it holds the lock");
        file.write_all(&bytes.concat())
    }

    /// Copies bytes of an input that cannot be read again. No bytes mean its end.
    ///
    /// # Errors
    /// They cannot be written.
    pub(super) fn copy(&self, bytes: &[u8]) -> io::Result<()> {
        match bytes {
            [] => self.append(&[b"$\n"]),
            bytes => self.append(&[format!("> {}\n", bytes.len()).as_bytes(), bytes]),
        }
    }
}

/// Why the items that are left cannot be recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file cannot be opened.
    #[error("cannot open {} for the failed items: {error}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// The items are read from that file.
    #[error("the items are read from {}: use another file for --failed", path.display())]
    IsInput {
        /// The file.
        path: PathBuf,
    },
    /// An earlier run did not end, and its record has the items.
    #[error(
        "{} has the items of a run that did not end: run them with --input {}, or remove it",
        path.display(),
        target.display()
    )]
    Unfinished {
        /// The record of the earlier run.
        path: PathBuf,
        /// The file that the earlier run would have written.
        target: PathBuf,
    },
    /// The file cannot be written.
    #[error("cannot write the failed items to {}: {error}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
}

impl RunRecord {
    /// Creates the record of a run that reads this source. The file at `path`, which will get the items that are left,
    /// does not change until the run begins.
    ///
    /// # Errors
    /// A file cannot be opened, `path` is the source, or an earlier run left a record.
    pub fn open(path: &Path, source: &Source, separator: Separator) -> Result<Self, RecordError> {
        let target = path.to_owned();
        let failed = |error| RecordError::Open { path: target.clone(), error };
        if let Source::File(input) = source
            && is_same(&undone::resolve(input), &[target.clone(), undone::record_path(&target)])
        {
            return Err(RecordError::IsInput { path: target });
        }
        let is_file = fs::metadata(path).map_or(true, |data| data.is_file());
        let (file, record_path) = match is_file {
            // Creates the record now: an error should show before hours of work.
            true => (create(&target)?, Some(undone::record_path(&target))),
            false => {
                OpenOptions::new().write(true).open(path).map_err(failed)?;
                (tempfile::tempfile().map_err(failed)?, None)
            }
        };
        let file = RecordFile(Arc::new(Mutex::new(file)));
        let (blocks, marks) = (BTreeMap::new(), String::new());
        let wants_copy = match source {
            Source::Words(_) => false,
            Source::File(path) => fs::metadata(undone::resolve(path)).is_ok_and(|data| !data.is_file()),
            Source::StandardInput => true,
        };
        let phase = Phase::Opened;
        let record =
            Self { target: target.clone(), path: record_path, file, wants_copy, blocks, marks, phase };
        record.write_header(source, separator).map_err(failed)?;
        Ok(record)
    }

    fn write_header(&self, source: &Source, separator: Separator) -> io::Result<()> {
        let separator = separator.byte();
        let reread = match source {
            Source::File(path) if fs::metadata(undone::resolve(path)).is_ok_and(|data| data.is_file()) => {
                let path = undone::resolve(path);
                match undone::open(&File::open(&path)?)? {
                    Some((undone, _)) => Reread::Copied(undone),
                    None => Reread::File(SourceFile::of(&path)?),
                }
            }
            Source::Words(words) => Reread::Words(words),
            Source::File(_) | Source::StandardInput => Reread::Never,
        };
        let begin = |file: Option<SourceFile>| {
            let header = serde_json::to_string(&Header::new(separator, file)).map_err(io::Error::other)?;
            self.file.append(&[header.as_bytes(), b"\n"])
        };
        match reread {
            Reread::File(file) => begin(Some(file)),
            Reread::Never => begin(None),
            Reread::Words(words) => {
                begin(None)?;
                let bytes = words.iter().flat_map(|word| word.bytes().chain(std::iter::once(separator)));
                self.file.copy(&bytes.collect::<Vec<u8>>())
            }
            Reread::Copied(mut undone) => {
                begin(None)?;
                let mut buffer = vec![0; 128 << 10];
                loop {
                    let read = undone.read(&mut buffer)?;
                    self.file.copy(&buffer[..read])?;
                    if read == 0 {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// The file that will get the items that are left.
    #[must_use]
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// The file that gets a copy of the input, if the input cannot be read again.
    #[must_use]
    pub fn copy(&self) -> Option<RecordFile> {
        self.wants_copy.then(|| self.file.clone())
    }

    /// Begins the run: removes the items that an earlier run left.
    ///
    /// # Errors
    /// The file cannot be removed.
    pub fn begin(&mut self) -> Result<(), RecordError> {
        self.phase = Phase::Begun;
        match self.path.as_ref().map(|_| fs::remove_file(&self.target)) {
            Some(Err(error)) if error.kind() != io::ErrorKind::NotFound => Err(self.failed(error)),
            Some(Err(_) | Ok(())) | None => Ok(()),
        }
    }

    /// Remembers which records of the input are in this item.
    pub fn take(&mut self, item: &Item) {
        match item.content {
            Content::Argument(_) => {}
            Content::Block { first, last, .. } => drop(self.blocks.insert(item.number, (first, last))),
        }
    }

    /// Marks an item as done. The next [`flush`](Self::flush) writes the mark.
    pub fn mark(&mut self, number: u64) {
        let (first, last) = self.blocks.remove(&number).unwrap_or((number, number));
        // Writing to a string does not fail.
        let _ = writeln!(self.marks, "- {first} {last}");
    }

    /// Writes the marks.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn flush(&mut self) -> Result<(), RecordError> {
        if self.marks.is_empty() {
            return Ok(());
        }
        let marks = std::mem::take(&mut self.marks);
        self.file.append(&[marks.as_bytes()]).map_err(|error| self.failed(error))
    }

    /// Writes the items that are left to their file, removes the run record, and returns the number of records that are
    /// left. May take as long as reading the input again.
    ///
    /// # Errors
    /// The file cannot be written. Then the run record stays.
    pub fn close(mut self) -> Result<u64, RecordError> {
        self.flush()?;
        let left = self.write_rest();
        if left.is_ok() {
            self.phase = Phase::Closed;
        } else {
            self.phase = Phase::Begun;
        }
        left.map_err(|error| self.failed(error))
    }

    fn write_rest(&self) -> io::Result<u64> {
        let file = self.file.0.lock().expect("no thread panics while it holds the lock");
        let contents =
            RecordContents::read(&file)?.ok_or_else(|| io::Error::other("its run record is damaged"))?;
        let mut undone = contents.undone(file.try_clone()?)?;
        match &self.path {
            Some(path) => {
                let directory = path.parent().filter(|path| !path.as_os_str().is_empty());
                let new = NamedTempFile::new_in(directory.unwrap_or(Path::new(".")))?;
                let mut writer = BufWriter::new(new.as_file());
                io::copy(&mut undone, &mut writer)?;
                writer.flush()?;
                drop(writer);
                new.as_file().set_permissions(file.metadata()?.permissions())?;
                new.as_file().sync_data()?;
                new.persist(&self.target).map_err(|error| error.error)?;
                fs::remove_file(path)?;
            }
            None => {
                let mut writer = BufWriter::new(OpenOptions::new().write(true).open(&self.target)?);
                io::copy(&mut undone, &mut writer)?;
                writer.flush()?;
            }
        }
        Ok(undone.records())
    }

    fn failed(&self, error: io::Error) -> RecordError {
        RecordError::Write { path: self.target.clone(), error }
    }
}

impl Drop for RunRecord {
    /// Removes the record of a run that has not begun.
    fn drop(&mut self) {
        if let (Phase::Opened, Some(path)) = (self.phase, &self.path) {
            // All its items can still be read where they were.
            let _ = fs::remove_file(path);
        }
    }
}

/// Creates a run record, locked until the run ends.
fn create(target: &Path) -> Result<File, RecordError> {
    let path = undone::record_path(target);
    let mut options = OpenOptions::new();
    match options.create_new(true).read(true).append(true).open(&path) {
        Ok(file) => {
            // Some file systems have no locks. Other runs cannot see there that it is in use.
            let _ = file.try_lock();
            Ok(file)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(RecordError::Unfinished { path, target: target.to_owned() })
        }
        Err(error) => Err(RecordError::Open { path: target.to_owned(), error }),
    }
}

fn is_same(input: &Path, others: &[PathBuf]) -> bool {
    let identity = |path: &Path| fs::metadata(path).ok().map(|data| (data.dev(), data.ino()));
    let ours = identity(input);
    ours.is_some() && others.iter().any(|other| identity(other) == ours)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn item(number: u64) -> Item {
        Item { number, content: Content::Argument(String::new()), hosts: Vec::new() }
    }

    #[test]
    fn items_are_left_as_the_input_had_them_and_the_run_record_goes() {
        let directory = tempfile::tempdir().expect("a directory");
        let (input, left) = (directory.path().join("input"), directory.path().join("left"));
        fs::write(&input, "a\th1,h2\nb\t\nc\t").expect("written");
        fs::write(&left, "of another run, which was longer\n").expect("written");
        let source = Source::File(input.clone());
        let mut record = RunRecord::open(&left, &source, Separator::Newline).expect("it can be written");
        record.begin().expect("it can be removed");
        assert!(!left.exists() && undone::record_path(&left).exists());
        (1..=2).for_each(|number| record.take(&item(number)));
        record.mark(2);
        assert_eq!(record.close().expect("a sound input"), 2);
        assert_eq!(fs::read_to_string(&left).expect("it is text"), "a\th1,h2\nc\t\n");
        assert!(!undone::record_path(&left).exists());

        let error = RunRecord::open(&input, &source, Separator::Newline).expect_err("it is read");
        assert!(matches!(error, RecordError::IsInput { .. }), "{error}");
    }

    #[test]
    fn a_run_that_does_not_begin_leaves_everything_as_it_was() {
        let directory = tempfile::tempdir().expect("a directory");
        let left = directory.path().join("left");
        fs::write(&left, "a\n").expect("written");
        let words = Source::Words(vec!["b".to_owned()]);
        drop(RunRecord::open(&left, &words, Separator::Newline).expect("it can be written"));
        assert_eq!(fs::read_to_string(&left).expect("it is text"), "a\n");
        assert!(!undone::record_path(&left).exists());
    }

    #[test]
    fn a_run_that_is_killed_leaves_its_record_and_no_other_run_overwrites_it() {
        let directory = tempfile::tempdir().expect("a directory");
        let left = directory.path().join("left");
        let words = Source::Words(vec!["a".to_owned(), "b".to_owned()]);
        let mut record = RunRecord::open(&left, &words, Separator::Newline).expect("it can be written");
        record.begin().expect("nothing is there");
        record.mark(1);
        record.flush().expect("it can be written");
        drop(record);
        assert!(!left.exists());
        let error = RunRecord::open(&left, &words, Separator::Newline).expect_err("a run record is there");
        assert!(matches!(error, RecordError::Unfinished { .. }), "{error}");
        let error =
            RunRecord::open(&left, &Source::File(left.clone()), Separator::Newline).expect_err("it is read");
        assert!(matches!(error, RecordError::IsInput { .. }), "{error}");
    }

    #[test]
    fn blocks_are_left_by_their_records_and_pipes_are_copied() {
        let directory = tempfile::tempdir().expect("a directory");
        let left = directory.path().join("left");
        let mut record = RunRecord::open(&left, &Source::StandardInput, Separator::Newline).expect("written");
        record.begin().expect("nothing is there");
        record.copy().expect("a pipe is copied").copy(b"1\n2\n3\n4").expect("written");
        for (number, first, last) in [(1, 1, 2), (2, 3, 4)] {
            let content = Content::Block { first, last, bytes: Bytes::new() };
            record.take(&Item { content, ..item(number) });
        }
        record.mark(1);
        record.copy().expect("a pipe is copied").copy(b"").expect("written");
        assert_eq!(record.close().expect("it can be written"), 2);
        assert_eq!(fs::read_to_string(&left).expect("it is text"), "3\n4\n");
    }
}
