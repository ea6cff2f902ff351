//! The items: where they come from and how they are cut.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, PipeReader, PipeWriter, Read};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::thread;

use bytes::Bytes;
use firesteel_core::wire::MAX_STDIN;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use tokio::sync::mpsc;

/// The longest argument that Linux gives to a program (`MAX_ARG_STRLEN` without the closing NUL).
pub const MAX_ARGUMENT: usize = (128 << 10) - 1;

/// The longest record of a block, so that it fits with its separator.
const MAX_RECORD: usize = MAX_STDIN - 1;

/// How many arguments, and how many blocks, may be read ahead.
const AHEAD: (usize, usize) = (256, 2);

/// Where the items come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The words after `:::`.
    Words(Vec<String>),
    /// A file.
    File(PathBuf),
    /// Standard input.
    StandardInput,
}

/// `items.txt`, `standard input`, `the words after :::`.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Words(_) => f.write_str("the words after :::"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::StandardInput => f.write_str("standard input"),
        }
    }
}

/// How the bytes of a source become items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// What ends a record.
    pub separator: Separator,
    /// What an item is made of.
    pub unit: Unit,
}

/// What ends a record. The last record needs no end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Separator {
    /// A line feed.
    Newline,
    /// A NUL byte, as `find -print0` writes it.
    Nul,
}

/// What an item is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// One record, without its separator. An empty line is an empty item.
    Record,
    /// Whole records of about so many bytes together; one that is longer makes a block of its own.
    Block {
        /// At most [`MAX_STDIN`].
        bytes: usize,
    },
}

/// One item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Counted from 1.
    pub number: u64,
    /// What it is.
    pub content: Content,
}

/// What an item is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A word for the command line.
    Argument(String),
    /// Bytes for standard input.
    Block {
        /// The first of its records, counted from 1.
        first: u64,
        /// The last one.
        last: u64,
        /// The records with their separators.
        bytes: Bytes,
    },
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Argument(text) => f.write_str(text),
            Self::Block { first, last, .. } => write!(f, "records {first} to {last}"),
        }
    }
}

/// Why the items end early.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// The file cannot be opened.
    #[error("cannot open {origin}: {error}")]
    Open {
        /// Which.
        origin: Origin,
        /// Why.
        error: io::Error,
    },
    /// The source cannot be read any further.
    #[error("cannot read {origin} after record {records}: {error}")]
    Read {
        /// Which.
        origin: Origin,
        /// Whole records read so far.
        records: u64,
        /// Why.
        error: io::Error,
    },
    /// A record is longer than a command can take.
    #[error("{origin}, record {record}: longer than the {limit} bytes that {place} may have")]
    TooLong {
        /// In which source.
        origin: Origin,
        /// Which record, counted from 1.
        record: u64,
        /// The limit in bytes.
        limit: usize,
        /// What has the limit.
        place: &'static str,
    },
    /// A record is no text, so that it cannot become an argument.
    #[error("{origin}, record {record}: byte {position} is not UTF-8; only --pipe takes any bytes")]
    NotText {
        /// In which source.
        origin: Origin,
        /// Which record, counted from 1.
        record: u64,
        /// The first bad byte, counted from 1.
        position: usize,
    },
    /// A record has a NUL byte in it, which no argument can have.
    #[error("{origin}, record {record}: has a NUL byte; are the items separated by NUL (--null)?")]
    NulInside {
        /// In which source.
        origin: Origin,
        /// Which record, counted from 1.
        record: u64,
    },
}

/// The name of a source in an error.
pub type Origin = Box<str>;

/// The items as they are read: a thread reads ahead a little, and ends when this is dropped.
#[derive(Debug)]
pub struct Input {
    items: mpsc::Receiver<Result<Item, InputError>>,
    first: Option<Result<Item, InputError>>,
    count: Option<u64>,
    _open: PipeWriter,
}

impl Input {
    /// Opens the source and starts to read.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn open(source: Source, cut: Cut) -> Result<Self, InputError> {
        let origin = Origin::from(source.to_string());
        let failed = |error| InputError::Open { origin: origin.clone(), error };
        let (ended, open) = io::pipe().map_err(failed)?;
        let capacity = match cut.unit {
            Unit::Record => AHEAD.0,
            Unit::Block { .. } => AHEAD.1,
        };
        let (sender, items) = mpsc::channel(capacity);
        let mut count = None;
        let thread = thread::Builder::new().name("input".into());
        match source {
            Source::Words(words) => {
                count = Some(words.len() as u64);
                thread.spawn(move || send_words(words, &origin, &sender))
            }
            Source::File(path) => {
                let file = File::open(path).map_err(failed)?;
                thread.spawn(move || send_records(UntilEnded { file, ended }, cut, &origin, &sender))
            }
            Source::StandardInput => {
                let file = File::from(io::stdin().as_fd().try_clone_to_owned().map_err(failed)?);
                thread.spawn(move || send_records(UntilEnded { file, ended }, cut, &origin, &sender))
            }
        }
        .map_err(|error| InputError::Open { origin: "a thread".into(), error })?;
        Ok(Self { items, first: None, count, _open: open })
    }

    /// Waits for the first item. Whether there is one.
    ///
    /// # Errors
    /// The input begins with one.
    pub async fn begin(&mut self) -> Result<bool, InputError> {
        self.first = self.items.recv().await.transpose()?.map(Ok);
        Ok(self.first.is_some())
    }

    /// The next item; `None` after the last one and after an error. May be dropped and called again.
    pub async fn next(&mut self) -> Option<Result<Item, InputError>> {
        match self.first.take() {
            Some(first) => Some(first),
            None => self.items.recv().await,
        }
    }

    /// How many items there are in all, where that is known from the start.
    #[must_use]
    pub fn count(&self) -> Option<u64> {
        self.count
    }
}

type Sender = mpsc::Sender<Result<Item, InputError>>;

fn send_words(words: Vec<String>, origin: &Origin, sender: &Sender) {
    for (number, word) in (1..).zip(words) {
        let item = argument(word.into_bytes(), number, origin)
            .map(|word| Item { number, content: Content::Argument(word) });
        let last = item.is_err();
        if sender.blocking_send(item).is_err() || last {
            return;
        }
    }
}

fn send_records(source: UntilEnded, cut: Cut, origin: &Origin, sender: &Sender) {
    let mut items = Items::new(BufReader::with_capacity(128 << 10, source), cut, origin.clone());
    loop {
        let item = items.next();
        let last = !matches!(item, Ok(Some(_)));
        if let Some(item) = item.transpose()
            && sender.blocking_send(item).is_err()
        {
            return;
        }
        if last {
            return;
        }
    }
}

/// A file whose reader gives up, as at the end of the file, when the other end of a pipe is closed.
struct UntilEnded {
    file: File,
    ended: PipeReader,
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
                // Somebody who shares our standard input made it non-blocking.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return done,
            }
        }
    }
}

/// Cuts bytes into items.
struct Items<R> {
    reader: R,
    cut: Cut,
    origin: Origin,
    /// Records taken so far.
    records: u64,
    items: u64,
    /// A record that was read and belongs to the next block.
    left: Vec<u8>,
}

impl<R: BufRead> Items<R> {
    fn new(reader: R, cut: Cut, origin: Origin) -> Self {
        Self { reader, cut, origin, records: 0, items: 0, left: Vec::new() }
    }

    fn next(&mut self) -> Result<Option<Item>, InputError> {
        let content = match self.cut.unit {
            Unit::Record => self.argument()?.map(Content::Argument),
            Unit::Block { bytes } => self.block(bytes)?,
        };
        Ok(content.map(|content| {
            self.items += 1;
            Item { number: self.items, content }
        }))
    }

    fn argument(&mut self) -> Result<Option<String>, InputError> {
        let mut record = self.record(MAX_ARGUMENT, "an argument")?;
        if record.is_empty() {
            return Ok(None);
        }
        record.pop_if(|last| *last == self.separator());
        self.records += 1;
        argument(record, self.records, &self.origin).map(Some)
    }

    fn block(&mut self, target: usize) -> Result<Option<Content>, InputError> {
        let first = self.records + 1;
        let mut block = std::mem::take(&mut self.left);
        self.records += u64::from(!block.is_empty());
        while block.len() < target {
            let record = self.record(MAX_RECORD, "a record for standard input")?;
            if record.is_empty() {
                break;
            }
            if !block.is_empty() && block.len() + record.len() > target {
                self.left = record;
                break;
            }
            self.records += 1;
            block.extend_from_slice(&record);
        }
        let last = self.records;
        Ok((!block.is_empty()).then(|| Content::Block { first, last, bytes: block.into() }))
    }

    /// The next record with its separator; empty at the end.
    fn record(&mut self, limit: usize, place: &'static str) -> Result<Vec<u8>, InputError> {
        let separator = self.separator();
        let mut record = Vec::new();
        // One byte more than may be, so that what is too long shows.
        let most = limit + 1;
        let read = self.reader.by_ref().take(most as u64).read_until(separator, &mut record);
        let (origin, records) = (self.origin.clone(), self.records);
        if let Err(error) = read {
            return Err(InputError::Read { origin, records, error });
        }
        if record.len() == most && record.last() != Some(&separator) {
            return Err(InputError::TooLong { origin, record: records + 1, limit, place });
        }
        Ok(record)
    }

    fn separator(&self) -> u8 {
        match self.cut.separator {
            Separator::Newline => b'\n',
            Separator::Nul => 0,
        }
    }
}

/// A record as a word for a command line.
fn argument(record: Vec<u8>, number: u64, origin: &Origin) -> Result<String, InputError> {
    let origin = origin.clone();
    if record.len() > MAX_ARGUMENT {
        return Err(InputError::TooLong {
            origin,
            record: number,
            limit: MAX_ARGUMENT,
            place: "an argument",
        });
    }
    if record.contains(&0) {
        return Err(InputError::NulInside { origin, record: number });
    }
    String::from_utf8(record).map_err(|error| {
        let position = error.utf8_error().valid_up_to() + 1;
        InputError::NotText { origin, record: number, position }
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const LINES: Cut = Cut { separator: Separator::Newline, unit: Unit::Record };

    fn items(bytes: &[u8], cut: Cut) -> (Vec<Item>, Option<String>) {
        let mut items = Items::new(BufReader::with_capacity(7, bytes), cut, "in".into());
        let mut all = Vec::new();
        loop {
            match items.next() {
                Ok(Some(item)) => all.push(item),
                Ok(None) => return (all, None),
                Err(error) => return (all, Some(error.to_string())),
            }
        }
    }

    fn arguments(bytes: &[u8], separator: Separator) -> (Vec<String>, Option<String>) {
        let (items, error) = items(bytes, Cut { separator, unit: Unit::Record });
        assert!((1..).zip(&items).all(|(number, item)| item.number == number));
        (items.into_iter().map(|item| item.content.to_string()).collect(), error)
    }

    fn blocks(bytes: &[u8], target: usize) -> Vec<(u64, u64, Vec<u8>)> {
        let (items, error) =
            items(bytes, Cut { separator: Separator::Newline, unit: Unit::Block { bytes: target } });
        assert_eq!(error, None);
        let parts = items.into_iter().map(|item| match item.content {
            Content::Block { first, last, bytes } => (first, last, bytes.to_vec()),
            Content::Argument(word) => panic!("{word} is no block"),
        });
        parts.collect()
    }

    #[test]
    fn a_line_is_an_item_and_the_last_one_needs_no_end() {
        for (bytes, expected) in [
            (&b""[..], &[][..]),
            (b"\n", &[""]),
            (b"a", &["a"]),
            (b"a\n", &["a"]),
            (b"a b\n\n c\r\nlonger than the buffer", &["a b", "", " c\r", "longer than the buffer"]),
        ] {
            assert_eq!(
                arguments(bytes, Separator::Newline),
                (expected.iter().map(|s| s.to_string()).collect(), None)
            );
        }
        assert_eq!(arguments(b"a\nb\0c\0", Separator::Nul).0, ["a\nb", "c"]);
    }

    #[test]
    fn what_cannot_be_an_argument_ends_the_items_with_its_place() {
        let (good, error) = arguments(b"one\ntwo\nth\xffree\nfour\n", Separator::Newline);
        assert_eq!(good, ["one", "two"]);
        assert_eq!(error.as_deref(), Some("in, record 3: byte 3 is not UTF-8; only --pipe takes any bytes"));

        let (good, error) = arguments(b"one\na\0b\n", Separator::Newline);
        assert_eq!(good, ["one"]);
        assert_eq!(
            error.as_deref(),
            Some("in, record 2: has a NUL byte; are the items separated by NUL (--null)?")
        );
    }

    #[test]
    fn an_argument_may_be_as_long_as_linux_allows_and_no_longer() {
        for ending in ["", "\n"] {
            let longest = format!("a\n{}{ending}", "x".repeat(MAX_ARGUMENT));
            assert_eq!(arguments(longest.as_bytes(), Separator::Newline).1, None);
            let longer = format!("a\n{}{ending}", "x".repeat(MAX_ARGUMENT + 1));
            assert_eq!(
                arguments(longer.as_bytes(), Separator::Newline).1.as_deref(),
                Some("in, record 2: longer than the 131071 bytes that an argument may have")
            );
        }
    }

    #[test]
    fn blocks_hold_whole_records_up_to_the_size() {
        assert_eq!(blocks(b"", 8), []);
        assert_eq!(blocks(b"ab\ncd\nef\n", 6), [(1, 2, b"ab\ncd\n".to_vec()), (3, 3, b"ef\n".to_vec())]);
        assert_eq!(blocks(b"ab\ncd\nef", 7), [(1, 2, b"ab\ncd\n".to_vec()), (3, 3, b"ef".to_vec())]);
        assert_eq!(
            blocks(b"a\nmuch longer\nb\nc\n", 4),
            [(1, 1, b"a\n".to_vec()), (2, 2, b"much longer\n".to_vec()), (3, 4, b"b\nc\n".to_vec())]
        );
        assert_eq!(blocks(b"\xff\0\n", 100), [(1, 1, b"\xff\0\n".to_vec())]);
    }

    #[test]
    fn a_record_that_no_block_can_hold_is_refused() {
        let cut = Cut { separator: Separator::Newline, unit: Unit::Block { bytes: 10 } };
        let mut bytes = vec![b'x'; MAX_RECORD];
        assert_eq!(items(&bytes, cut).1, None);
        bytes.push(b'x');
        assert_eq!(
            items(&bytes, cut).1.as_deref(),
            Some("in, record 1: longer than the 8388607 bytes that a record for standard input may have")
        );
    }

    #[tokio::test]
    async fn words_are_counted_from_the_start() {
        let mut input = Input::open(Source::Words(vec!["a".into(), String::new()]), LINES).expect("words");
        assert_eq!(input.count(), Some(2));
        let first = input.next().await.expect("an item").expect("a good one");
        assert_eq!(first, Item { number: 1, content: Content::Argument("a".into()) });
        assert_eq!(input.next().await.expect("an item").expect("a good one").number, 2);
        assert!(input.next().await.is_none());
    }

    #[tokio::test]
    async fn a_file_is_read_and_one_that_is_missing_is_named() {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(b"a\nb\n").expect("written");
        let mut input = Input::open(Source::File(file.path().to_owned()), LINES).expect("it is there");
        assert_eq!(input.count(), None);
        let mut all = Vec::new();
        while let Some(item) = input.next().await {
            all.push(item.expect("a good one").content.to_string());
        }
        assert_eq!(all, ["a", "b"]);

        let error = Input::open(Source::File("/nowhere/items".into()), LINES).expect_err("it is missing");
        assert_eq!(error.to_string(), "cannot open /nowhere/items: No such file or directory (os error 2)");
        let mut directory = Input::open(Source::File("/".into()), LINES).expect("Linux opens directories");
        let error = directory.next().await.expect("an error").expect_err("no file");
        assert_eq!(error.to_string(), "cannot read / after record 0: Is a directory (os error 21)");
    }

    #[test]
    fn a_reader_that_waits_ends_with_the_run() {
        let (read, _never_written) = io::pipe().expect("a pipe");
        let (ended, open) = io::pipe().expect("a pipe");
        let file = File::from(std::os::fd::OwnedFd::from(read));
        let reader = thread::spawn(move || UntilEnded { file, ended }.read(&mut [0; 8]).expect("an end"));
        drop(open);
        assert_eq!(reader.join().expect("no panic"), 0);
    }
}
