//! The items that are left for another run: those that failed and those that did not come to their end.
//!
//! While a run goes on, a file beside the one that gets them keeps account of what is done (`undone`
//! says what is in it). When the run has ended, the items that are not done are written in whole, and the account is
//! removed. A run that is killed leaves its account, from which another run reads: an empty file of items always means
//! that nothing was left.

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
use super::undone::{self, Account, Header, SourceFile, Undone};

/// The account of a run that goes on.
#[derive(Debug)]
pub struct Record {
    /// The file that gets what is left.
    target: PathBuf,
    /// The account; nothing if the target is no file, and the account has no name.
    account: Option<PathBuf>,
    log: Log,
    /// Whether the input cannot be read again.
    wants_copy: bool,
    /// The records of blocks that are not done, by the number of their item.
    blocks: BTreeMap<u64, (u64, u64)>,
    /// Entries that are not written yet.
    marks: String,
    phase: Phase,
}

/// ```text
///  OPENED --begin--> BEGUN --close--> CLOSED
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nothing was done yet: the account goes as it came.
    Opened,
    Begun,
    Closed,
}

/// Whether an input can be read again when the run was killed.
enum Again<'a> {
    /// It can: it is a file.
    File(SourceFile),
    /// It cannot.
    Never,
    /// The words are written into the account at once.
    Words(&'a [String]),
    /// It is what another run left undone, which is copied at once: that run's account may be removed.
    Copied(Undone),
}

/// The way into an account, for the thread that reads the input, too.
#[derive(Clone, Debug)]
pub struct Log(Arc<Mutex<File>>);

impl Log {
    fn append(&self, bytes: &[&[u8]]) -> io::Result<()> {
        let mut file = self.0.lock().expect("nobody panics with the file in hand");
        file.write_all(&bytes.concat())
    }

    /// Bytes were read from an input that cannot be read again.
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

/// Why items that are left are not written.
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
    /// An earlier run did not end, and its items are there.
    #[error(
        "{} has the items of a run that did not end: run them with --input {}, or remove it",
        account.display(),
        target.display()
    )]
    Unfinished {
        /// Its account.
        account: PathBuf,
        /// The file that it would have written.
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

impl Record {
    /// Opens the account for what is left of that source. Nothing else is changed until the run begins.
    ///
    /// # Errors
    /// It cannot be opened, is the one that the items are read from, or is that of another run.
    pub fn open(path: &Path, source: &Source, separator: Separator) -> Result<Self, RecordError> {
        let target = path.to_owned();
        let failed = |error| RecordError::Open { path: target.clone(), error };
        if let Source::File(input) = source
            && is_same(&undone::resolve(input), &[target.clone(), undone::unfinished(&target)])
        {
            return Err(RecordError::IsInput { path: target });
        }
        let is_file = fs::metadata(path).map_or(true, |data| data.is_file());
        let (file, account) = match is_file {
            // Whether it can be written is to be known before hours of work.
            true => (create(&target)?, Some(undone::unfinished(&target))),
            false => {
                OpenOptions::new().write(true).open(path).map_err(failed)?;
                (tempfile::tempfile().map_err(failed)?, None)
            }
        };
        let log = Log(Arc::new(Mutex::new(file)));
        let (blocks, marks) = (BTreeMap::new(), String::new());
        let wants_copy = match source {
            Source::Words(_) => false,
            Source::File(path) => fs::metadata(undone::resolve(path)).is_ok_and(|data| !data.is_file()),
            Source::StandardInput => true,
        };
        let phase = Phase::Opened;
        let record = Self { target: target.clone(), account, log, wants_copy, blocks, marks, phase };
        record.write_header(source, separator).map_err(failed)?;
        Ok(record)
    }

    fn write_header(&self, source: &Source, separator: Separator) -> io::Result<()> {
        let separator = separator.byte();
        let again = match source {
            Source::File(path) if fs::metadata(undone::resolve(path)).is_ok_and(|data| data.is_file()) => {
                let path = undone::resolve(path);
                match undone::open(&File::open(&path)?)? {
                    Some((undone, _)) => Again::Copied(undone),
                    None => Again::File(SourceFile::of(&path)?),
                }
            }
            Source::Words(words) => Again::Words(words),
            Source::File(_) | Source::StandardInput => Again::Never,
        };
        let begin = |file: Option<SourceFile>| {
            let header = serde_json::to_string(&Header::new(separator, file)).map_err(io::Error::other)?;
            self.log.append(&[header.as_bytes(), b"\n"])
        };
        match again {
            Again::File(file) => begin(Some(file)),
            Again::Never => begin(None),
            Again::Words(words) => {
                begin(None)?;
                let bytes = words.iter().flat_map(|word| word.bytes().chain(std::iter::once(separator)));
                self.log.copy(&bytes.collect::<Vec<u8>>())
            }
            Again::Copied(mut undone) => {
                begin(None)?;
                let mut buffer = vec![0; 128 << 10];
                loop {
                    let read = undone.read(&mut buffer)?;
                    self.log.copy(&buffer[..read])?;
                    if read == 0 {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Where what is left goes.
    #[must_use]
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Where bytes of the input are to be copied to as they are read, if it cannot be read again.
    #[must_use]
    pub fn copy(&self) -> Option<Log> {
        self.wants_copy.then(|| self.log.clone())
    }

    /// The run begins: what an earlier run left in the file counts no longer.
    ///
    /// # Errors
    /// The file cannot be removed.
    pub fn begin(&mut self) -> Result<(), RecordError> {
        self.phase = Phase::Begun;
        match self.account.as_ref().map(|_| fs::remove_file(&self.target)) {
            Some(Err(error)) if error.kind() != io::ErrorKind::NotFound => Err(self.failed(error)),
            Some(Err(_) | Ok(())) | None => Ok(()),
        }
    }

    /// An item was taken from the input.
    pub fn take(&mut self, item: &Item) {
        match item.content {
            Content::Argument(_) => {}
            Content::Block { first, last, .. } => drop(self.blocks.insert(item.number, (first, last))),
        }
    }

    /// An item is done. It is written with the next [`flush`](Self::flush).
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
        self.log.append(&[marks.as_bytes()]).map_err(|error| self.failed(error))
    }

    /// Writes what is left into its file, and removes the account. How many records there are. May take as long as
    /// reading the input again.
    ///
    /// # Errors
    /// It cannot be written; the account stays.
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
        let file = self.log.0.lock().expect("nobody panics with the file in hand");
        let account = Account::read(&file)?.ok_or_else(|| io::Error::other("its account is damaged"))?;
        let mut undone = account.undone(file.try_clone()?)?;
        match &self.account {
            Some(account) => {
                let directory = account.parent().filter(|path| !path.as_os_str().is_empty());
                let new = NamedTempFile::new_in(directory.unwrap_or(Path::new(".")))?;
                let mut writer = BufWriter::new(new.as_file());
                io::copy(&mut undone, &mut writer)?;
                writer.flush()?;
                drop(writer);
                new.as_file().set_permissions(file.metadata()?.permissions())?;
                new.as_file().sync_data()?;
                new.persist(&self.target).map_err(|error| error.error)?;
                fs::remove_file(account)?;
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

impl Drop for Record {
    /// A run that has not begun leaves nothing behind.
    fn drop(&mut self) {
        if let (Phase::Opened, Some(account)) = (self.phase, &self.account) {
            // It has no items that are not where they were.
            let _ = fs::remove_file(account);
        }
    }
}

/// A new account, locked for as long as it is written.
fn create(target: &Path) -> Result<File, RecordError> {
    let account = undone::unfinished(target);
    let mut options = OpenOptions::new();
    match options.create_new(true).read(true).append(true).open(&account) {
        Ok(file) => {
            // Where files cannot be locked, nobody else can see that it is in use.
            let _ = file.try_lock();
            Ok(file)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(RecordError::Unfinished { account, target: target.to_owned() })
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
    fn items_are_left_as_the_input_had_them_and_the_account_goes() {
        let directory = tempfile::tempdir().expect("a directory");
        let (input, left) = (directory.path().join("input"), directory.path().join("left"));
        fs::write(&input, "a\th1,h2\nb\t\nc\t").expect("written");
        fs::write(&left, "of another run, which was longer\n").expect("written");
        let source = Source::File(input.clone());
        let mut record = Record::open(&left, &source, Separator::Newline).expect("it can be written");
        record.begin().expect("it can be removed");
        assert!(!left.exists() && undone::unfinished(&left).exists());
        (1..=2).for_each(|number| record.take(&item(number)));
        record.mark(2);
        assert_eq!(record.close().expect("a sound input"), 2);
        assert_eq!(fs::read_to_string(&left).expect("it is text"), "a\th1,h2\nc\t\n");
        assert!(!undone::unfinished(&left).exists());

        let error = Record::open(&input, &source, Separator::Newline).expect_err("it is read");
        assert!(matches!(error, RecordError::IsInput { .. }), "{error}");
    }

    #[test]
    fn a_run_that_does_not_begin_leaves_everything_as_it_was() {
        let directory = tempfile::tempdir().expect("a directory");
        let left = directory.path().join("left");
        fs::write(&left, "a\n").expect("written");
        let words = Source::Words(vec!["b".to_owned()]);
        drop(Record::open(&left, &words, Separator::Newline).expect("it can be written"));
        assert_eq!(fs::read_to_string(&left).expect("it is text"), "a\n");
        assert!(!undone::unfinished(&left).exists());
    }

    #[test]
    fn a_run_that_is_killed_leaves_its_account_and_no_other_run_overwrites_it() {
        let directory = tempfile::tempdir().expect("a directory");
        let left = directory.path().join("left");
        let words = Source::Words(vec!["a".to_owned(), "b".to_owned()]);
        let mut record = Record::open(&left, &words, Separator::Newline).expect("it can be written");
        record.begin().expect("nothing is there");
        record.mark(1);
        record.flush().expect("it can be written");
        drop(record);
        assert!(!left.exists());
        let error = Record::open(&left, &words, Separator::Newline).expect_err("an account is there");
        assert!(matches!(error, RecordError::Unfinished { .. }), "{error}");
        let error =
            Record::open(&left, &Source::File(left.clone()), Separator::Newline).expect_err("it is read");
        assert!(matches!(error, RecordError::IsInput { .. }), "{error}");
    }

    #[test]
    fn blocks_are_left_by_their_records_and_pipes_are_copied() {
        let directory = tempfile::tempdir().expect("a directory");
        let left = directory.path().join("left");
        let mut record = Record::open(&left, &Source::StandardInput, Separator::Newline).expect("written");
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
