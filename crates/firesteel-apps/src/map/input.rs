//! The source of the items: words, a file, or standard input. A separate thread reads the source.

use std::fs::{self, File};
use std::io::{self, BufReader, PipeReader, PipeWriter, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::thread;

use firesteel_host::standard;
use firesteel_placement::advanced::words::counted;
use firesteel_protocol::byte_text;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use tokio::sync::mpsc;

use super::items::{Content, Cut, Item, Items, Unit, argument};
use super::preference::{Preference, Preferences};
use super::record_file::RecordFile;
use super::run_record::RecordUse;
use super::undone;

/// How many arguments, and how many blocks, the thread may read ahead.
const AHEAD: (usize, usize) = (256, 2);

/// Maximum number of bytes that are checked before the first item runs.
const MOST_CHECKED: u64 = 64 << 20;

#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Display)]
pub enum Source {
    /// The words after `:::`. They can represent [any bytes](byte_text).
    #[display("the items after :::")]
    Words(Vec<String>),
    #[display("{}", _0.display())]
    File(PathBuf),
    #[display("standard input")]
    StandardInput,
}

/// Why no more items can be read.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    #[error("cannot open {origin}: {error}")]
    Open {
        origin: Origin,
        #[source]
        error: io::Error,
    },
    #[error("cannot read {origin} after record {records}: {error}")]
    Read {
        origin: Origin,
        /// Number of complete records read before the error.
        records: u64,
        #[source]
        error: io::Error,
    },
    /// A record is longer than an argument or standard input may be.
    #[error("{origin}, record {record}: longer than {limit} bytes, the maximum for {place}")]
    TooLong {
        origin: Origin,
        /// The number of the record, counted from 1.
        record: u64,
        limit: usize,
        /// The place where the limit applies, for the error message.
        place: &'static str,
    },
    /// A record lacks the column with its hosts.
    #[error(
        "{origin}, record {record}: has {}, and the hosts are expected in column {wanted}: check --delimiter",
        counted(*columns, "column")
    )]
    NoColumn {
        origin: Origin,
        /// The number of the record, counted from 1.
        record: u64,
        columns: usize,
        /// The number of the column with the hosts, counted from 1.
        wanted: usize,
    },
    /// The file of hosts has fewer lines than there are items.
    #[error(
        "{origin} ends after line {lines}, and item {item} needs a line: write an empty one for no preference"
    )]
    HostsMissing {
        origin: Origin,
        lines: u64,
        /// The number of the first item without a line.
        item: u64,
    },
    /// The file of hosts has more lines than there are items.
    #[error("{origin}, line {line}: has hosts, but there is no item {line}")]
    HostsLeft {
        origin: Origin,
        /// The number of the first extra line that names hosts.
        line: u64,
        items: u64,
    },
    /// A record contains a NUL byte, which an argument cannot contain.
    #[error("{origin}, record {record}: has a NUL byte: if NUL bytes separate the items, add --null")]
    NulInside {
        origin: Origin,
        /// The number of the record, counted from 1.
        record: u64,
    },
}

/// The source of an error, as text for the user.
pub type Origin = Box<str>;

/// The items of a source. A thread reads a few items ahead, and ends when this value is dropped.
#[derive(Debug)]
pub struct Input {
    items: mpsc::Receiver<Result<Item, InputError>>,
    first: Option<Result<Item, InputError>>,
    count: Option<u64>,
    /// A remark on the source for the user.
    remark: Option<String>,
    _open: PipeWriter,
}

impl Input {
    /// Opens the source and starts to read. A short source that can be read without waiting is checked first. So errors
    /// are reported before any item runs, and the number of items is known.
    ///
    /// The unfinished items of an earlier run are read from its run record. If this run's own record already contains
    /// the items, they are read from this record. Bytes that cannot be read again are copied to this record.
    ///
    /// # Errors
    /// The file cannot be opened, or the checked part contains an unusable item.
    pub fn open(
        source: Source,
        cut: Cut,
        preference: Preference,
        kept: RecordUse,
    ) -> Result<Self, InputError> {
        let (source, remark) = resolve(source);
        let origin = Origin::from(source.to_string());
        let failed = |error| InputError::Open { origin: origin.clone(), error };
        let (ended, open) = io::pipe().map_err(failed)?;
        let count = check_whole(&source, cut, &preference, &kept, &ended)?;
        let preferences = preferences(preference, &origin, &ended)?;
        let capacity = match cut.unit {
            Unit::Record => AHEAD.0,
            Unit::Block { .. } => AHEAD.1,
        };
        let (sender, items) = mpsc::channel(capacity);
        let thread = thread::Builder::new().name("input".into());
        match source {
            Source::Words(words) => {
                thread.spawn(move || send(word_items(words, &origin), preferences, &sender))
            }
            Source::File(path) => {
                let bytes = bytes(&path, ended, kept).map_err(failed)?;
                thread.spawn(move || send_records(bytes, cut, &origin, preferences, &sender))
            }
            Source::StandardInput => {
                let file = File::from(
                    standard::stdin().and_then(|stdin| stdin.as_fd().try_clone_to_owned()).map_err(failed)?,
                );
                let bytes = Box::new(UntilEnded { file, ended, copy: copy(kept) });
                thread.spawn(move || send_records(bytes, cut, &origin, preferences, &sender))
            }
        }
        .map_err(|error| InputError::Open { origin: "a thread".into(), error })?;
        Ok(Self { items, first: None, count, remark, _open: open })
    }

    /// Waits for the first item. Returns whether there is a first item.
    ///
    /// # Errors
    /// The first item cannot be read.
    pub async fn begin(&mut self) -> Result<bool, InputError> {
        self.first = self.items.recv().await.transpose()?.map(Ok);
        Ok(self.first.is_some())
    }

    /// The next item, or `None` after the last item and after an error. If this future is dropped, the next call
    /// returns the same item.
    pub async fn next(&mut self) -> Option<Result<Item, InputError>> {
        match self.first.take() {
            Some(first) => Some(first),
            None => self.items.recv().await,
        }
    }

    /// The total number of items, if it is known before the run.
    #[must_use]
    pub fn count(&self) -> Option<u64> {
        self.count
    }

    /// A remark on the source for the user, if there is one.
    #[must_use]
    pub fn remark(&self) -> Option<&str> {
        self.remark.as_deref()
    }
}

type Sender = mpsc::Sender<Result<Item, InputError>>;

/// The number of bytes to read. `None` if reading may have to wait.
fn length(source: &Source, preference: &Preference, kept: &RecordUse) -> Option<u64> {
    let file = |path: &PathBuf| {
        let data = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        let undone = File::open(path).ok().and_then(|file| undone::open(&file).ok().flatten());
        Some(undone.map_or(data.len(), |(_, length)| length))
    };
    let items = match source {
        Source::Words(_) => Some(0),
        Source::File(path) => match kept {
            RecordUse::Items(record) => record.items().ok().map(|(_, length)| length),
            RecordUse::Nothing | RecordUse::Copy(_) => file(path),
        },
        Source::StandardInput => None,
    };
    let hosts = match preference {
        Preference::None | Preference::Column { .. } => Some(0),
        Preference::File(path) => file(path),
    };
    Some(items?.saturating_add(hosts?))
}

/// Reads all items and hosts to check them, if they are short and can be read without waiting. Returns the number of
/// items.
fn check_whole(
    source: &Source,
    cut: Cut,
    preference: &Preference,
    kept: &RecordUse,
    ended: &PipeReader,
) -> Result<Option<u64>, InputError> {
    let origin = Origin::from(source.to_string());
    if length(source, preference, kept).is_none_or(|length| length > MOST_CHECKED) {
        return Ok(None);
    }
    let preferences = preferences(preference.clone(), &origin, ended)?;
    match source {
        Source::Words(words) => all_usable(word_items(words.clone(), &origin), preferences).map(Some),
        Source::File(path) => {
            let again = match kept {
                RecordUse::Items(record) => RecordUse::Items(record.clone()),
                RecordUse::Nothing | RecordUse::Copy(_) => RecordUse::Nothing,
            };
            let opened = ended.try_clone().and_then(|ended| bytes(path, ended, again));
            let opened = opened.map_err(|error| InputError::Open { origin: origin.clone(), error })?;
            let mut items = Items::new(BufReader::with_capacity(128 << 10, opened), cut, origin);
            all_usable(std::iter::from_fn(|| items.next().transpose()), preferences).map(Some)
        }
        Source::StandardInput => Ok(None),
    }
}

/// The number of items. Returns an error if an item or its hosts cannot be used.
fn all_usable(
    items: impl Iterator<Item = Result<Item, InputError>>,
    mut preferences: Preferences,
) -> Result<u64, InputError> {
    let mut count = 0;
    for item in items {
        preferences.add_hosts(item?)?;
        count += 1;
    }
    preferences.end(count)?;
    Ok(count)
}

fn word_items(words: Vec<String>, origin: &Origin) -> impl Iterator<Item = Result<Item, InputError>> {
    (1..).zip(words).map(|(number, word)| {
        let word = argument(byte_text::bytes(&word).into_owned(), number, origin)?;
        Ok(Item { number, content: Content::Argument(word), hosts: Vec::new() })
    })
}

fn send_records(source: Bytes, cut: Cut, origin: &Origin, preferences: Preferences, sender: &Sender) {
    let mut items = Items::new(BufReader::with_capacity(128 << 10, source), cut, origin.clone());
    send(std::iter::from_fn(|| items.next().transpose()), preferences, sender);
}

/// Sends the items, each with its hosts, until the first error.
fn send(
    items: impl Iterator<Item = Result<Item, InputError>>,
    mut preferences: Preferences,
    sender: &Sender,
) {
    let mut sent = 0;
    for item in items {
        let item = item.and_then(|item| preferences.add_hosts(item));
        let last = item.is_err();
        if sender.blocking_send(item).is_err() || last {
            return;
        }
        sent += 1;
    }
    if let Err(error) = preferences.end(sent) {
        // If the receiver is gone, nobody waits for the error.
        let _ = sender.blocking_send(Err(error));
    }
}

fn preferences(
    preference: Preference,
    items: &Origin,
    ended: &PipeReader,
) -> Result<Preferences, InputError> {
    match preference {
        Preference::None => Ok(Preferences::None),
        Preference::Column { number, delimiter } => {
            Ok(Preferences::Column { number, delimiter, origin: items.clone() })
        }
        Preference::File(path) => {
            let origin = Origin::from(path.display().to_string());
            let open = || Ok((File::open(&path)?, ended.try_clone()?));
            let (file, ended) = open().map_err(|error| InputError::Open { origin: origin.clone(), error })?;
            let lines: Box<dyn Read + Send> = Box::new(UntilEnded { file, ended, copy: None });
            Ok(Preferences::Lines { lines: BufReader::new(lines), origin, read: 0 })
        }
    }
}

/// A file that is read until its end, or until the pipe `ended` is closed at the other end. Then it reports the end of
/// the file.
struct UntilEnded {
    file: File,
    ended: PipeReader,
    /// The run record that receives a copy of all bytes that are read.
    copy: Option<RecordFile>,
}

impl UntilEnded {
    fn copied(&self, bytes: &[u8]) -> io::Result<()> {
        let Some(copy) = &self.copy else { return Ok(()) };
        let failed = |error| io::Error::other(format!("cannot copy the input to the run record: {error}"));
        copy.copy(bytes).map_err(failed)
    }
}

type Bytes = Box<dyn Read + Send>;

/// The bytes of a file. For the run record of an unfinished run, the bytes of its unfinished items.
fn bytes(path: &Path, ended: PipeReader, kept: RecordUse) -> io::Result<Bytes> {
    if let RecordUse::Items(record) = &kept {
        return Ok(Box::new(record.items()?.0));
    }
    let file = File::open(path)?;
    Ok(match undone::open(&file)? {
        Some((undone, _)) => Box::new(undone),
        None => Box::new(UntilEnded { file, ended, copy: copy(kept) }),
    })
}

fn copy(kept: RecordUse) -> Option<RecordFile> {
    match kept {
        RecordUse::Copy(record) => Some(record),
        RecordUse::Nothing | RecordUse::Items(_) => None,
    }
}

/// The source that is really read. For a result file that an unfinished run has not written yet, this is its run
/// record.
fn resolve(source: Source) -> (Source, Option<String>) {
    let Source::File(path) = &source else { return (source, None) };
    let found = undone::resolve(path);
    if found == *path {
        return (source, None);
    }
    let remark = format!(
        "the run that was to write {} did not end: reading the items that it did not finish from {}, \
         which is not needed once they are done",
        path.display(),
        found.display()
    );
    (Source::File(found), Some(remark))
}

impl Read for UntilEnded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let mut fds = [
                PollFd::new(self.file.as_fd(), PollFlags::POLLIN),
                PollFd::new(self.ended.as_fd(), PollFlags::POLLIN),
            ];
            match poll(&mut fds, PollTimeout::NONE) {
                Err(Errno::EINTR) => continue,
                Err(error) => return Err(error.into()),
                Ok(_) => {}
            }
            if fds[1].revents().is_some_and(|ready| !ready.is_empty()) {
                return Ok(0);
            }
            match self.file.read(buffer) {
                // Another process that shares this standard input made it non-blocking.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Ok(read) => {
                    self.copied(&buffer[..read])?;
                    return Ok(read);
                }
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::map::items::Separator;

    const LINES: Cut = Cut { separator: Separator::Newline, unit: Unit::Record };

    #[tokio::test]
    async fn words_are_counted_from_the_start() {
        let mut input = Input::open(
            Source::Words(vec!["a".into(), String::new()]),
            LINES,
            Preference::None,
            RecordUse::Nothing,
        )
        .expect("words");
        assert_eq!(input.count(), Some(2));
        let first = input.next().await.expect("an item").expect("a good one");
        assert_eq!(first, Item { number: 1, content: Content::Argument("a".into()), hosts: Vec::new() });
        assert_eq!(input.next().await.expect("an item").expect("a good one").number, 2);
        assert!(input.next().await.is_none());
    }

    #[tokio::test]
    async fn a_file_is_read_and_one_that_is_missing_is_named() {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(b"a\nb\n").expect("written");
        let mut input =
            Input::open(Source::File(file.path().to_owned()), LINES, Preference::None, RecordUse::Nothing)
                .expect("it is there");
        assert_eq!(input.count(), Some(2));
        let mut all = Vec::new();
        while let Some(item) = input.next().await {
            all.push(item.expect("a good one").content.to_string());
        }
        assert_eq!(all, ["a", "b"]);

        let error =
            Input::open(Source::File("/nowhere/items".into()), LINES, Preference::None, RecordUse::Nothing)
                .expect_err("it is missing");
        assert_eq!(error.to_string(), "cannot open /nowhere/items: No such file or directory (os error 2)");
        let mut directory =
            Input::open(Source::File("/".into()), LINES, Preference::None, RecordUse::Nothing)
                .expect("Linux opens directories");
        let error = directory.next().await.expect("an error").expect_err("no file");
        assert_eq!(error.to_string(), "cannot read / after record 0: Is a directory (os error 21)");
    }

    #[test]
    fn what_is_wrong_with_a_file_shows_before_anything_is_done() {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(b"a\nb\nc\xff\0\n").expect("written");
        let error =
            Input::open(Source::File(file.path().to_owned()), LINES, Preference::None, RecordUse::Nothing)
                .expect_err("record 3 can be no argument");
        assert!(matches!(error, InputError::NulInside { record: 3, .. }), "{error}");
        let words = Source::Words(vec!["a".into(), "b".into(), "c".into(), "d".into()]);
        let error = Input::open(words, LINES, Preference::File(file.path().to_owned()), RecordUse::Nothing)
            .expect_err("the hosts of item 3 are no text");
        assert!(error.to_string().contains("after record 2"), "{error}");
    }

    #[test]
    fn a_reader_that_waits_ends_with_the_run() {
        let (read, _never_written) = io::pipe().expect("a pipe");
        let (ended, open) = io::pipe().expect("a pipe");
        let file = File::from(std::os::fd::OwnedFd::from(read));
        let reader =
            thread::spawn(move || UntilEnded { file, ended, copy: None }.read(&mut [0; 8]).expect("an end"));
        drop(open);
        assert_eq!(reader.join().expect("no panic"), 0);
    }
}
