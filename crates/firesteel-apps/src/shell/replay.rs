//! Prints a record piece by piece.

use std::io;

use super::keeper::Record;

/// Where the record that is printed was left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Bookmark {
    /// The position of the next byte.
    at: u64,
    /// How often the record had started over.
    rounds: u64,
}

impl Bookmark {
    /// The beginning of a record.
    pub(super) fn beginning(record: &Record) -> Self {
        Self { at: 0, rounds: record.rounds() }
    }

    /// The next bytes; none at the end. A record that has started over is read from its beginning.
    ///
    /// # Errors
    /// The record cannot be read.
    pub(super) fn read(&mut self, record: &Record) -> io::Result<Vec<u8>> {
        if record.rounds() != self.rounds {
            *self = Self::beginning(record);
        }
        let bytes = record.read(self.at)?;
        self.at += bytes.len() as u64;
        Ok(bytes)
    }
}
