//! Splits bytes into items.

use std::io::{BufRead, Read};

use bytes::Bytes;
use firesteel_protocol::byte_text;
use firesteel_protocol::wire::MAX_STDIN;

use super::input::{InputError, Origin};

pub use firesteel_engine::map::Separator;

/// The longest argument that Linux passes to a program (`MAX_ARG_STRLEN` without the closing NUL).
pub const MAX_ARGUMENT: usize = (128 << 10) - 1;

/// The maximum length of a record in a block, which must also have space for its separator.
const MAX_RECORD: usize = MAX_STDIN - 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    pub separator: Separator,
    /// Content of one item: a record or a block.
    pub unit: Unit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// One record without its separator. An empty line is an empty item.
    Record,
    /// Whole records with about this number of bytes in total. A longer record is a block by itself.
    Block {
        /// The target size of a block, at most [`MAX_STDIN`].
        bytes: usize,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The number of the item, counted from 1.
    pub number: u64,
    pub content: Content,
    /// The preferred hosts of the item. Empty: no preference.
    pub hosts: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Display)]
pub enum Content {
    /// An argument for the command line. It can represent [any bytes](byte_text) except NUL.
    Argument(String),
    /// Bytes for the task's standard input.
    #[display("records {first} to {last}")]
    Block {
        /// The number of the first record, counted from 1.
        first: u64,
        /// The number of the last record, counted from 1.
        last: u64,
        /// The records with their separators.
        bytes: Bytes,
    },
}

impl Unit {
    /// The name for the lines of a file of remaining items. For blocks, these are records, because another run may form
    /// other blocks.
    pub(super) fn left_noun(self) -> &'static str {
        match self {
            Self::Record => "item",
            Self::Block { .. } => "record",
        }
    }
}

/// Splits bytes into items.
pub(super) struct Items<R> {
    reader: R,
    cut: Cut,
    origin: Origin,
    records: u64,
    items: u64,
    /// A record that was read but belongs to the next block.
    left: Vec<u8>,
}

impl<R: BufRead> Items<R> {
    pub(super) fn new(reader: R, cut: Cut, origin: Origin) -> Self {
        Self { reader, cut, origin, records: 0, items: 0, left: Vec::new() }
    }

    pub(super) fn next(&mut self) -> Result<Option<Item>, InputError> {
        let content = match self.cut.unit {
            Unit::Record => self.argument()?.map(Content::Argument),
            Unit::Block { bytes } => self.block(bytes)?,
        };
        Ok(content.map(|content| {
            self.items += 1;
            Item { number: self.items, content, hosts: Vec::new() }
        }))
    }

    pub(super) fn argument(&mut self) -> Result<Option<String>, InputError> {
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

    /// The next record with its separator. Empty at the end of the input.
    fn record(&mut self, limit: usize, place: &'static str) -> Result<Vec<u8>, InputError> {
        let separator = self.separator();
        let mut record = Vec::new();
        // Read one byte more than the limit, to detect a record that is too long.
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
        self.cut.separator.byte()
    }
}

/// The record as an argument for a command line.
pub(super) fn argument(record: Vec<u8>, number: u64, origin: &Origin) -> Result<String, InputError> {
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
    Ok(byte_text::of(record))
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

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
        let (good, error) = arguments(b"one\na\0b\n", Separator::Newline);
        assert_eq!(good, ["one"]);
        assert_eq!(
            error.as_deref(),
            Some("in, record 2: has a NUL byte: if NUL bytes separate the items, add --null")
        );
    }

    #[test]
    fn an_item_is_any_bytes_but_nul_and_the_separator() {
        let all: Vec<u8> = (1..=255).collect();
        let (items, error) = arguments(&all, Separator::Nul);
        assert_eq!((items.len(), error), (1, None));
        assert_eq!(*byte_text::bytes(&items[0]), all);
        let longest = vec![0xff; MAX_ARGUMENT];
        assert_eq!(arguments(&longest, Separator::Newline).1, None, "its length is that of its bytes");
    }

    #[test]
    fn an_argument_may_be_as_long_as_linux_allows_and_no_longer() {
        for ending in ["", "\n"] {
            let longest = format!("a\n{}{ending}", "x".repeat(MAX_ARGUMENT));
            assert_eq!(arguments(longest.as_bytes(), Separator::Newline).1, None);
            let longer = format!("a\n{}{ending}", "x".repeat(MAX_ARGUMENT + 1));
            assert_eq!(
                arguments(longer.as_bytes(), Separator::Newline).1.as_deref(),
                Some("in, record 2: longer than 131071 bytes, the maximum for an argument")
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
            Some("in, record 1: longer than 8388607 bytes, the maximum for a record for standard input")
        );
    }
}
