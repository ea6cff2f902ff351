//! The items that remain for another run: items that failed, and items that did not end.
//!
//! During a run, its *run record* lists the items that are done (`undone` describes the format). At the end, the
//! remaining items are written to the file for remaining items, and the run record is removed. If a run is killed, its
//! record stays, and another run can read it. So an empty file of items always means that nothing remains.
//!
//! The input may be the file for the remaining items, or the record of an earlier run for that file. Therefore all
//! items are copied to the run record before the run begins to change files. The exception is an input that is a
//! different, long file.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use firesteel_protocol::byte_text;
use tempfile::NamedTempFile;

use super::input::Source;
use super::items::{Content, Item, Separator};
use super::record_file::{Earlier, RecordFile, Reread, create, is_same, reread, take_over};
use super::undone::{self, Header, SourceFile};

#[derive(Debug)]
pub struct RunRecord {
    /// The file for the remaining items.
    target: PathBuf,
    /// The path of the run record. `None` if the record is an unnamed file, because the target is not a regular file.
    path: Option<PathBuf>,
    file: RecordFile,
    /// The record of an earlier run, from which this run takes its items.
    earlier: Option<Earlier>,
    copy: Copies,
    /// The numbers of the first and last record in each unfinished block, by the number of the block's item.
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
    /// The run has not begun. If the record is dropped now, its file is removed.
    Opened,
    Begun,
    Closed,
}

/// The part of the input that a run record contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Copies {
    /// The record contains no input: the input can be read again, or the run does not read it.
    Nothing,
    /// The record contains the part of the input that the run has read so far.
    WhileRead,
    /// The record contains the whole input, from the start.
    Whole,
}

/// How the thread that reads the input uses a run record.
#[derive(Clone, Debug)]
pub enum RecordUse {
    /// The thread does not use the record.
    Nothing,
    /// The thread copies everything that it reads to the record.
    Copy(RecordFile),
    /// The thread reads the items from the record.
    Items(RecordFile),
}

/// Why the remaining items cannot be recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error("cannot open {} for the failed items: {error}", path.display())]
    Open {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    /// The items are read from this file, but it cannot be replaced because it is not a regular file.
    #[error("the items are read from {}, which is not a regular file: use another file for --failed", path.display())]
    IsInput { path: PathBuf },
    /// An earlier run did not end, and its record still contains the items.
    #[error(
        "{path} has the items of a run that did not end: run them with --input {path}, or remove it",
        path = path.display()
    )]
    Unfinished { path: PathBuf },
    #[error("cannot write the failed items to {}: {error}", path.display())]
    Write {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
}

impl RunRecord {
    /// Creates the record of a run that reads this source. The file at `path`, which will receive the remaining items,
    /// does not change until the run begins. This file may also be the source.
    ///
    /// # Errors
    /// A file cannot be opened, or an earlier run left a record that is not the source.
    pub fn open(path: &Path, source: &Source, separator: Separator) -> Result<Self, RecordError> {
        let target = path.to_owned();
        let failed = |error| RecordError::Open { path: target.clone(), error };
        let record_path = undone::record_path(&target);
        let input = match source {
            Source::File(input) => Some(undone::resolve(input)),
            Source::Words(_) | Source::StandardInput => None,
        };
        let reads = |other: &Path| input.as_deref().is_some_and(|input| is_same(input, other));
        let is_file = fs::metadata(path).map_or(true, |data| data.is_file());
        // Creates the record now: an error should show before hours of work.
        let (file, path, earlier) = if !is_file {
            if reads(&target) {
                return Err(RecordError::IsInput { path: target });
            }
            OpenOptions::new().write(true).open(path).map_err(failed)?;
            (tempfile::tempfile().map_err(failed)?, None, None)
        } else if reads(&record_path) {
            let (file, earlier) = take_over(&record_path)
                .map_err(|error| RecordError::Open { path: record_path.clone(), error })?;
            (file, Some(record_path), Some(earlier))
        } else {
            (create(&target)?, Some(record_path), None)
        };
        let replaces_input = reads(&target);
        let reread = match (&earlier, source, &input) {
            (Some(earlier), _, _) => earlier.items(),
            (None, Source::Words(words), _) => Ok(Reread::Words(words)),
            (None, _, Some(input)) => reread(input, replaces_input),
            (None, _, None) => Ok(Reread::Never),
        };
        let file = RecordFile(Arc::new(Mutex::new(file)));
        let (blocks, marks, phase) = (BTreeMap::new(), String::new(), Phase::Opened);
        let mut record = Self { target, path, file, earlier, copy: Copies::Nothing, blocks, marks, phase };
        let written = reread.and_then(|reread| record.write_header(reread, separator));
        record.copy = written.map_err(|error| RecordError::Open { path: record.target.clone(), error })?;
        Ok(record)
    }

    fn write_header(&self, reread: Reread<'_>, separator: Separator) -> io::Result<Copies> {
        let separator = separator.byte();
        let begin = |file: Option<SourceFile>| {
            let header = serde_json::to_string(&Header::new(separator, file)).map_err(io::Error::other)?;
            self.file.append(&[header.as_bytes(), b"\n"])
        };
        match reread {
            Reread::File(file) => begin(Some(file)).map(|()| Copies::Nothing),
            Reread::Never => begin(None).map(|()| Copies::WhileRead),
            Reread::Words(words) => {
                begin(None)?;
                let mut bytes = Vec::new();
                for word in words {
                    bytes.extend_from_slice(&byte_text::bytes(word));
                    bytes.push(separator);
                }
                self.file.copy(&bytes).map(|()| Copies::Nothing)
            }
            Reread::Copied(items) => {
                begin(None)?;
                self.file.copy_all(items).map(|()| Copies::Whole)
            }
        }
    }

    #[must_use]
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// How the thread that reads the input uses this record.
    #[must_use]
    pub fn kept(&self) -> RecordUse {
        match self.copy {
            Copies::Nothing => RecordUse::Nothing,
            Copies::WhileRead => RecordUse::Copy(self.file.clone()),
            Copies::Whole => RecordUse::Items(self.file.clone()),
        }
    }

    /// Begins the run. The run's record now replaces the record of an earlier run.
    ///
    /// # Errors
    /// A file cannot be replaced or removed.
    pub fn begin(&mut self) -> Result<(), RecordError> {
        if let (Some(earlier), Some(path)) = (self.earlier.take(), &self.path) {
            earlier.own.persist(path).map_err(|error| self.failed(error.error))?;
        }
        self.phase = Phase::Begun;
        match self.path.as_ref().map(|_| fs::remove_file(&self.target)) {
            Some(Err(error)) if error.kind() != io::ErrorKind::NotFound => Err(self.failed(error)),
            Some(Err(_) | Ok(())) | None => Ok(()),
        }
    }

    /// Remembers the numbers of the input records in this item.
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

    /// Writes the marks to the record.
    ///
    /// # Errors
    /// The record cannot be written.
    pub fn flush(&mut self) -> Result<(), RecordError> {
        if self.marks.is_empty() {
            return Ok(());
        }
        let marks = std::mem::take(&mut self.marks);
        self.file.append(&[marks.as_bytes()]).map_err(|error| self.failed(error))
    }

    /// Writes the remaining items to their file, removes the run record, and returns the number of remaining records.
    /// This can take as long as reading the input again.
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
        let (mut undone, _) = self.file.items()?;
        let file = self.file.0.lock().expect("no thread panics while it holds the lock");
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
    fn drop(&mut self) {
        if let (Phase::Opened, Some(path), None) = (self.phase, &self.path, &self.earlier) {
            // All its items can still be read from their source.
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

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
    }

    /// The bytes that the thread reads as input.
    fn items(record: &RunRecord) -> String {
        let RecordUse::Items(file) = record.kept() else { panic!("{record:?} has no items") };
        let mut text = String::new();
        file.items().expect("it has items").0.read_to_string(&mut text).expect("it is text");
        text
    }

    #[test]
    fn the_list_that_is_read_is_also_the_one_that_gets_what_is_left_every_time() {
        let directory = tempfile::tempdir().expect("a directory");
        let todo = directory.path().join("todo");
        let source = Source::File(todo.clone());
        let open = || RunRecord::open(&todo, &source, Separator::Newline).expect("it can be replaced");
        fs::write(&todo, "a\nb\nc").expect("written");
        for (read, done, left) in
            [("a\nb\nc\n", 2, "a\nc\n"), ("a\nc\n", 1, "c\n"), ("c\n", 1, ""), ("", 1, "")]
        {
            drop(open());
            let mut record = open();
            assert_eq!(items(&record), read);
            record.begin().expect("it can be removed");
            record.mark(done);
            record.close().expect("it can be written");
            assert_eq!(fs::read_to_string(&todo).expect("it is text"), left);
        }
    }

    #[test]
    fn a_run_that_was_killed_goes_on_with_the_same_command_line() {
        let directory = tempfile::tempdir().expect("a directory");
        let todo = directory.path().join("todo");
        let open =
            |source: &Path| RunRecord::open(&todo, &Source::File(source.to_owned()), Separator::Newline);
        fs::write(&todo, "a\nb\nc\n").expect("written");
        let mut killed = open(&todo).expect("it can be replaced");
        killed.begin().expect("it can be removed");
        killed.mark(2);
        killed.flush().expect("it can be written");
        let error = open(&todo).expect_err("that run has not ended").to_string();
        assert!(error.contains("todo.unfinished") && error.contains("has not ended"), "{error}");
        drop(killed);
        // A record of a run that did not begin changes nothing when it is dropped.
        drop(open(&todo).expect("it can be taken over"));
        for source in [todo.clone(), undone::record_path(&todo)] {
            let mut again = open(&source).expect("it can be taken over");
            assert_eq!(items(&again), "a\nc\n");
            let error = open(&source).expect_err("another run takes it").to_string();
            assert!(error.contains("has not ended"), "{error}");
            again.begin().expect("it takes the place of the old one");
            drop(again);
            let files: Vec<_> = fs::read_dir(directory.path()).expect("a directory").flatten().collect();
            assert_eq!(files.len(), 1, "{files:?}");
        }
        let mut last = open(&todo).expect("it can be taken over");
        last.begin().expect("it takes the place of the old one");
        last.mark(1);
        assert_eq!(last.close().expect("it can be written"), 1);
        assert_eq!(fs::read_to_string(&todo).expect("it is text"), "c\n");
    }

    #[test]
    fn a_list_that_is_edited_while_it_runs_changes_no_item() {
        let directory = tempfile::tempdir().expect("a directory");
        let (input, left) = (directory.path().join("input"), directory.path().join("left"));
        fs::write(&input, "a\nb\nc\n").expect("written");
        let source = Source::File(input.clone());
        let mut record = RunRecord::open(&left, &source, Separator::Newline).expect("it can be written");
        record.begin().expect("nothing is there");
        record.mark(1);
        record.flush().expect("it can be written");
        fs::remove_file(&input).expect("it is ours");
        assert_eq!(items(&record), "b\nc\n");
        assert_eq!(record.close().expect("it can be written"), 2);
        assert_eq!(fs::read_to_string(&left).expect("it is text"), "b\nc\n");
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
        assert!(
            error.to_string().contains("--input") && error.to_string().contains("left.unfinished"),
            "{error}"
        );
    }

    fn copied(record: &RunRecord) -> RecordFile {
        let RecordUse::Copy(file) = record.kept() else { panic!("{record:?} gets no copy") };
        file
    }

    #[test]
    fn blocks_are_left_by_their_records_and_pipes_are_copied() {
        let directory = tempfile::tempdir().expect("a directory");
        let left = directory.path().join("left");
        let mut record = RunRecord::open(&left, &Source::StandardInput, Separator::Newline).expect("written");
        record.begin().expect("nothing is there");
        copied(&record).copy(b"1\n2\n3\n4").expect("written");
        for (number, first, last) in [(1, 1, 2), (2, 3, 4)] {
            let content = Content::Block { first, last, bytes: Bytes::new() };
            record.take(&Item { content, ..item(number) });
        }
        record.mark(1);
        copied(&record).copy(b"").expect("written");
        assert_eq!(record.close().expect("it can be written"), 2);
        assert_eq!(fs::read_to_string(&left).expect("it is text"), "3\n4\n");
    }
}
