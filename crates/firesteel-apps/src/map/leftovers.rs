//! The items that a run leaves: those that failed and those that did not come to their end, for another run.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::input::{Input, InputError, Source};
use super::items::{Content, Item, Separator};
use super::preference::Preference;

/// A file that gets the items that are left, each as the input had it.
#[derive(Debug)]
pub struct Leftovers {
    path: PathBuf,
    file: BufWriter<File>,
    separator: u8,
    /// The column of the hosts, from 1, and what stands between columns.
    column: Option<(usize, String)>,
    count: u64,
}

/// Why items that are left are not written.
#[derive(Debug, thiserror::Error)]
pub enum LeftoversError {
    /// The file cannot be opened.
    #[error("cannot open {} for the failed items: {error}", path.display())]
    Open {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The items are read from that file.
    #[error("the items are read from {}: use another file for --failed", path.display())]
    IsInput {
        /// Which.
        path: PathBuf,
    },
    /// The file cannot be written.
    #[error("cannot write the failed items to {}: {error}", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The items that were not begun cannot be read.
    #[error("{} lacks the last items: {error}", path.display())]
    Rest {
        /// Which.
        path: PathBuf,
        /// What is wrong with the input.
        error: InputError,
    },
}

impl Leftovers {
    /// Opens the file, and empties it.
    ///
    /// # Errors
    /// It cannot be opened, or is the one that the items are read from.
    pub fn open(
        path: &Path,
        source: &Source,
        separator: Separator,
        preference: &Preference,
    ) -> Result<Self, LeftoversError> {
        let path = path.to_owned();
        let failed = |error| LeftoversError::Open { path: path.clone(), error };
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path).map_err(failed)?;
        let identity = |file: &File| file.metadata().map(|data| (data.is_file(), data.dev(), data.ino()));
        let ours = identity(&file).map_err(failed)?;
        if let Source::File(input) = source
            && File::open(input).and_then(|input| identity(&input)).is_ok_and(|theirs| theirs == ours)
        {
            return Err(LeftoversError::IsInput { path });
        }
        if let (true, ..) = ours {
            file.set_len(0).map_err(failed)?;
        }
        let column = match preference {
            Preference::Column { number, delimiter } => Some((*number, delimiter.clone())),
            Preference::None | Preference::File(_) => None,
        };
        Ok(Self { path, file: BufWriter::new(file), separator: separator.byte(), column, count: 0 })
    }

    /// Where they go.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// An item as the input had it, with its hosts, and with what ends it.
    #[must_use]
    pub fn record(&self, item: &Item) -> Bytes {
        let mut record = match &item.content {
            Content::Block { bytes, .. } if bytes.ends_with(&[self.separator]) => return bytes.clone(),
            Content::Block { bytes, .. } => bytes.to_vec(),
            Content::Argument(text) => match &self.column {
                Some((number, delimiter)) => {
                    let hosts = item.hosts.join(",");
                    let mut columns: Vec<&str> = text.split(delimiter.as_str()).collect();
                    columns.insert(columns.len().min(number - 1), &hosts);
                    columns.join(delimiter).into_bytes()
                }
                None => text.clone().into_bytes(),
            },
        };
        record.push(self.separator);
        record.into()
    }

    /// Leaves an item.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn leave(&mut self, record: &[u8]) -> Result<(), LeftoversError> {
        self.count += 1;
        self.file.write_all(record).map_err(|error| LeftoversError::Write { path: self.path.clone(), error })
    }

    /// Leaves what of the input was not taken, where the input is known to have an end, and writes everything.
    ///
    /// # Errors
    /// The rest cannot be read or written.
    pub async fn close(&mut self, input: &mut Input) -> Result<(), LeftoversError> {
        while input.is_at_hand()
            && let Some(item) = input.next().await
        {
            let item = item.map_err(|error| LeftoversError::Rest { path: self.path.clone(), error })?;
            self.leave(&self.record(&item))?;
        }
        self.file.flush().map_err(|error| LeftoversError::Write { path: self.path.clone(), error })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::items::{Cut, Unit};

    #[tokio::test]
    async fn items_are_left_as_the_input_had_them() {
        let directory = tempfile::tempdir().expect("a directory");
        let (input, left) = (directory.path().join("input"), directory.path().join("left"));
        std::fs::write(&input, "a\th1,h2\nb\t\n").expect("written");
        std::fs::write(&left, "of another run, which was longer\n").expect("written");
        let source = Source::File(input.clone());
        let preference = Preference::Column { number: 2, delimiter: "\t".into() };
        let cut = Cut { separator: Separator::Newline, unit: Unit::Record };
        let mut leftovers =
            Leftovers::open(&left, &source, cut.separator, &preference).expect("it can be written");
        let mut items = Input::open(source.clone(), cut, preference.clone()).expect("it is there");
        leftovers.close(&mut items).await.expect("a sound input");
        assert_eq!(leftovers.count(), 2);
        assert_eq!(std::fs::read_to_string(&left).expect("it is text"), "a\th1,h2\nb\t\n");

        let error = Leftovers::open(&input, &source, cut.separator, &preference).expect_err("it is read");
        assert!(matches!(error, LeftoversError::IsInput { .. }), "{error}");
        assert_eq!(std::fs::read_to_string(&input).expect("it is text"), "a\th1,h2\nb\t\n");
    }
}
