//! Reads the record of a run that did not end: which records of the input are not done?
//!
//! ```text
//! {"firesteel_map_record":1,"separator":10,"source":null}
//! > 12            12 bytes of the input follow
//! a.txt b.txt
//! - 1 1           records 1 to 1 are done
//! $               the input has no more bytes
//! ```
//!
//! A long file is not copied. In this case the header contains a description of the file:
//! `"source":{"path":"/data/urls","bytes":512000000,"modified":1767225600000,"sha256":".."}`.
//!
//! The run appends each entry immediately, so the file is complete even if the run is killed. An incomplete last entry
//! does not count.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use firesteel_protocol::byte_text;
use serde::{Deserialize, Serialize};
use sha2::Digest as _;

/// The first bytes of a run record.
const MAGIC: [u8; 26] = *b"{\"firesteel_map_record\":1,";

/// The maximum size of a file that a run record copies, in bytes. Later changes to a copied file do not matter.
const MOST_COPIED: u64 = 64 << 20;

/// The suffix of a run record's name. The rest of the name is the name of the file for the remaining items.
const UNFINISHED: &str = ".unfinished";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Header {
    firesteel_map_record: u32,
    pub(super) separator: u8,
    /// The input, if it is a file that can be read again. Otherwise the run record itself contains the input's bytes.
    pub(super) source: Option<SourceFile>,
}

/// A file's state when a run began to read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SourceFile {
    /// The path as text that can represent any bytes, see `byte_text`.
    path: String,
    bytes: u64,
    /// Milliseconds since 1970.
    modified: u128,
    /// The digest of the contents. `None` in records of older releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
}

impl Header {
    pub(super) fn new(separator: u8, source: Option<SourceFile>) -> Self {
        Self { firesteel_map_record: 1, separator, source }
    }
}

impl SourceFile {
    /// Describes a file. Reads it to the end.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let mut description = Self::glance(path)?;
        description.sha256 = Some(digest(path)?);
        Ok(description)
    }

    /// Describes a file without reading it.
    fn glance(path: &Path) -> io::Result<Self> {
        let path = path.canonicalize()?;
        let data = fs::metadata(&path)?;
        let modified = data.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        Ok(Self { path: byte_text::of_os(path), bytes: data.len(), modified, sha256: None })
    }

    /// Opens the file if it still has the same contents. Its modification time does not matter, because a copy or
    /// `touch` changes no item.
    fn open(&self) -> io::Result<File> {
        let path = byte_text::path(&self.path);
        let name = path.display();
        let now = Self::glance(&path)
            .map_err(|error| io::Error::new(error.kind(), format!("its items are in {name}: {error}")))?;
        let is_same = now.bytes == self.bytes
            && (now.modified == self.modified
                || self.sha256.is_some() && Some(digest(&path)?) == self.sha256);
        match is_same {
            true => File::open(&path),
            false => Err(io::Error::other(format!(
                "the contents of {name} have changed since the run began, and which of its items are left is known \
                 by their numbers only: restore {name}"
            ))),
        }
    }
}

/// The SHA-256 digest of a file, in hexadecimal digits.
fn digest(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut digest = sha2::Sha256::new();
    let mut piece = vec![0; 1 << 20];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()),
            count => digest.update(&piece[..count]),
        }
    }
}

/// Whether a run record copies a file of this length.
pub(super) fn is_copied(length: u64) -> bool {
    length <= MOST_COPIED
}

/// The path of the record of a run that writes its remaining items to `target`.
pub(super) fn record_path(target: &Path) -> PathBuf {
    let mut name = target.as_os_str().to_owned();
    name.push(UNFINISHED);
    name.into()
}

/// The file to read for a path: the path itself, or the record of an unfinished run if only that record exists.
pub(super) fn resolve(path: &Path) -> PathBuf {
    let record = record_path(path);
    match !path.exists() && record.exists() {
        true => record,
        false => path.to_owned(),
    }
}

#[derive(Clone, Debug)]
pub(super) struct RecordContents {
    header: Header,
    /// The position and length of each piece of the input that is in the file.
    pieces: Vec<(u64, u64)>,
    done: DoneRecords,
    /// Whether the input ends with the last piece, or is a separate file.
    is_whole: bool,
}

#[derive(Clone, Debug, Default)]
struct DoneRecords(Vec<u64>);

impl DoneRecords {
    fn insert(&mut self, record: u64) {
        let (word, bit) = (usize::try_from(record / 64).unwrap_or(usize::MAX), record % 64);
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << bit;
    }

    fn has(&self, record: u64) -> bool {
        let word = usize::try_from(record / 64).unwrap_or(usize::MAX);
        self.0.get(word).is_some_and(|word| word >> (record % 64) & 1 == 1)
    }
}

impl RecordContents {
    /// Reads a run record. Returns `None` if the file is not a run record. Then the file's position does not change.
    pub(super) fn read(file: &File) -> io::Result<Option<Self>> {
        let mut magic = [0; MAGIC.len()];
        match file.read_exact_at(&mut magic, 0) {
            Ok(()) if magic == MAGIC => {}
            Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => return Err(error),
            Ok(()) | Err(_) => return Ok(None),
        }
        let mut reader = BufReader::new(file);
        reader.seek(SeekFrom::Start(0))?;
        let mut line = Vec::new();
        reader.read_until(b'\n', &mut line)?;
        let header: Header = serde_json::from_slice(&line).map_err(io::Error::other)?;
        let is_whole = header.source.is_some();
        let mut contents = Self { header, pieces: Vec::new(), done: DoneRecords::default(), is_whole };
        let size = file.metadata()?.len();
        loop {
            line.clear();
            reader.read_until(b'\n', &mut line)?;
            if line.pop() != Some(b'\n') || !contents.take(&line, &mut reader, size)? {
                return Ok(Some(contents));
            }
        }
    }

    /// Reads one entry and returns whether it is complete.
    fn take(&mut self, line: &[u8], reader: &mut BufReader<&File>, size: u64) -> io::Result<bool> {
        let text = String::from_utf8_lossy(line);
        let mut words = text.split(' ');
        let kind = words.next().unwrap_or_default();
        let numbers: Vec<u64> = words.filter_map(|word| word.parse().ok()).collect();
        match (kind, numbers.as_slice()) {
            (">", [length]) => {
                let start = reader.stream_position()?;
                if start + length > size {
                    return Ok(false);
                }
                self.pieces.push((start, *length));
                reader.seek(SeekFrom::Start(start + length))?;
            }
            ("-", [first, last]) => (*first..=*last).for_each(|record| self.done.insert(record)),
            ("$", []) => self.is_whole = true,
            _ => return Err(io::Error::other(format!("{text:?} is no entry of an unfinished run"))),
        }
        Ok(true)
    }

    /// Maximum number of bytes to read.
    pub(super) fn length(&self) -> u64 {
        match &self.header.source {
            Some(source) => source.bytes,
            None => self.pieces.iter().map(|(_, length)| length).sum(),
        }
    }

    /// The records that are not done, each with its separator.
    pub(super) fn undone(self, file: File) -> io::Result<Undone> {
        let bytes: Box<dyn Read + Send> = match &self.header.source {
            Some(source) => Box::new(source.open()?),
            None => Box::new(Pieces { file: Arc::new(file), pieces: self.pieces.clone(), at: 0 }),
        };
        let input = BufReader::with_capacity(128 << 10, bytes);
        Ok(Undone { input, contents: self, number: 0, records: 0, record: Vec::new(), read: 0 })
    }
}

/// The bytes of the input that are in the run record itself.
struct Pieces {
    file: Arc<File>,
    pieces: Vec<(u64, u64)>,
    at: usize,
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some((start, length)) = self.pieces.get_mut(self.at) {
            if *length == 0 {
                self.at += 1;
                continue;
            }
            let most = usize::try_from(*length).unwrap_or(usize::MAX).min(buffer.len());
            let read = self.file.read_at(&mut buffer[..most], *start)?;
            (*start, *length) = (*start + read as u64, *length - read as u64);
            return Ok(read);
        }
        Ok(0)
    }
}

/// The records that are not done, as bytes.
pub(super) struct Undone {
    input: BufReader<Box<dyn Read + Send>>,
    contents: RecordContents,
    /// Number of records of the input that were read.
    number: u64,
    records: u64,
    record: Vec<u8>,
    /// Number of bytes of the current record that were returned.
    read: usize,
}

impl Undone {
    /// Number of records that were read and are not done.
    pub(super) fn records(&self) -> u64 {
        self.records
    }

    /// Advances to the next undone record. Returns `false` if there is none.
    fn advance(&mut self) -> io::Result<bool> {
        let separator = self.contents.header.separator;
        loop {
            (self.read, self.number) = (0, self.number + 1);
            self.record.clear();
            self.input.read_until(separator, &mut self.record)?;
            let is_cut = self.record.last() != Some(&separator);
            if self.record.is_empty() || is_cut && !self.contents.is_whole {
                self.record.clear();
                return Ok(false);
            }
            if is_cut {
                self.record.push(separator);
            }
            if !self.contents.done.has(self.number) {
                self.records += 1;
                return Ok(true);
            }
        }
    }
}

impl Read for Undone {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.read == self.record.len() && !self.advance()? {
            return Ok(0);
        }
        let read = (&self.record[self.read..]).read(buffer)?;
        self.read += read;
        Ok(read)
    }
}

/// The records that are not done, and their maximum length in bytes. `None` if the file is not a run record. Returns an
/// error if a run is still writing the file.
pub(super) fn open(file: &File) -> io::Result<Option<(Undone, u64)>> {
    if !file.metadata()?.is_file() {
        return Ok(None);
    }
    let Some(contents) = RecordContents::read(file)? else { return Ok(None) };
    if file.try_lock_shared().is_err() {
        return Err(still_written());
    }
    let length = contents.length();
    contents.undone(file.try_clone()?).map(|undone| Some((undone, length)))
}

/// The error for the record of a run that is still running.
pub(super) fn still_written() -> io::Error {
    io::Error::other("the run that writes it has not ended")
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn run_record(entries: &str, source: Option<SourceFile>) -> File {
        let mut file = tempfile::tempfile().expect("a file");
        let header = serde_json::to_string(&Header::new(b'\n', source)).expect("JSON");
        file.write_all(format!("{header}\n{entries}").as_bytes()).expect("written");
        file
    }

    fn undone(file: &File) -> String {
        let (mut undone, _) = open(file).expect("it can be read").expect("it is a run record");
        let mut text = String::new();
        undone.read_to_string(&mut text).expect("it can be read");
        text
    }

    #[test]
    fn what_is_not_done_is_read_from_pieces_whatever_the_order_of_entries() {
        for (entries, expected) in [
            ("", ""),
            ("> 6\na\nb\nc\n", "a\nb\nc\n"),
            ("> 6\na\nb\nc\n- 2 2\n", "a\nc\n"),
            ("> 3\na\nb- 1 1\n> 3\n\nc\n- 3 3\n", "b\n"),
            ("> 6\na\nb\nc\n- 1 3\n", ""),
            // The last record has no separator: it counts only if the input has ended.
            ("> 3\na\nb", "a\n"),
            ("> 3\na\nb$\n", "a\nb\n"),
            // Incomplete entries do not count.
            ("> 4\na\nb\n- 1", "a\nb\n"),
            ("> 4\na\nb\n> 10\nc", "a\nb\n"),
        ] {
            assert_eq!(undone(&run_record(entries, None)), expected, "{entries:?}");
        }
    }

    #[test]
    fn what_is_not_done_is_read_from_the_input_if_its_contents_are_the_same() {
        let mut input = tempfile::NamedTempFile::new().expect("a file");
        input.write_all(b"a\nb\nc").expect("written");
        let source = SourceFile::of(input.path()).expect("it is there");
        let file = run_record("- 1 1\n", Some(source.clone()));
        assert_eq!(undone(&file), "b\nc\n");
        let touch = |file: &File| file.set_modified(UNIX_EPOCH).expect("it is ours");
        touch(input.as_file());
        assert_eq!(undone(&file), "b\nc\n", "only its time is another");

        let path = input.path().canonicalize().expect("it is there");
        let expected = format!("the contents of {} have changed since the run began", path.display());
        let refused = |file: &File| open(file).err().expect("it has changed").to_string();
        fs::write(input.path(), "a\nB\nc").expect("written");
        touch(input.as_file());
        assert!(refused(&file).starts_with(&expected), "{}", refused(&file));
        input.write_all(b"\nd\n").expect("written");
        assert!(refused(&file).starts_with(&expected), "{}", refused(&file));

        // A record of an older release has no digest: the file's time decides.
        fs::write(input.path(), "a\nb\nc").expect("written");
        let old = SourceFile { sha256: None, ..SourceFile::of(input.path()).expect("it is there") };
        let file = run_record("- 1 1\n", Some(old));
        assert_eq!(undone(&file), "b\nc\n");
        touch(input.as_file());
        assert!(refused(&file).starts_with(&expected), "{}", refused(&file));
    }

    #[test]
    fn another_file_is_no_run_record() {
        let mut file = tempfile::tempfile().expect("a file");
        assert!(open(&file).expect("it can be read").is_none());
        file.write_all(b"{\"a\":1}\nand more than a word\n").expect("written");
        file.seek(SeekFrom::Start(0)).expect("it is a file");
        assert!(open(&file).expect("it can be read").is_none());
        assert_eq!(file.stream_position().expect("it is a file"), 0, "it is still to be read");
    }
}
