//! Tables of comma-separated values, with errors that name the line.

use std::fmt;
use std::io::Read;

use csv::{ErrorKind, ReaderBuilder, StringRecord};
use serde::de::DeserializeOwned;

/// A table of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// Of our own form: the cluster.
    Workers,
    /// Of our own form: what comes to it.
    Applications,
    /// Of Alibaba's form: the cluster.
    Nodes,
    /// Of Alibaba's form: what comes to it.
    Pods,
}

impl Table {
    /// The name of its file.
    #[must_use]
    pub fn file(self) -> &'static str {
        match self {
            Self::Workers => "workers.csv",
            Self::Applications => "applications.csv",
            Self::Nodes => "nodes.csv",
            Self::Pods => "pods.csv",
        }
    }
}

/// Its file.
impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.file())
    }
}

/// Why a trace cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{table}: line {line}: {wrong}")]
pub struct TraceError {
    /// In which table.
    pub table: Table,
    /// In which line, counted from 1, which is the header.
    pub line: u64,
    /// What is wrong there.
    pub wrong: Wrong,
}

/// What is wrong with a line.
#[derive(Debug, thiserror::Error)]
pub enum Wrong {
    /// The table has no such column, or the line no such field.
    #[error("there is no {0}")]
    Missing(String),
    /// A field is not of its column's kind.
    #[error("{column}: {found:?} is not {wanted}")]
    Field {
        /// Its column.
        column: String,
        /// What stands there.
        found: String,
        /// What should.
        wanted: &'static str,
    },
    /// A number is out of its range.
    #[error("{column}: {found} is not from {least} to {most}")]
    Range {
        /// Its column.
        column: &'static str,
        /// The number.
        found: u64,
        /// The least that can be used.
        least: u64,
        /// The most.
        most: u64,
    },
    /// There are more fields or fewer than columns.
    #[error("it has {found} fields, and the header {wanted}")]
    Fields {
        /// Of the line.
        found: u64,
        /// Of the header.
        wanted: u64,
    },
    /// It is no text in UTF-8.
    #[error("it is no text in UTF-8")]
    Text,
    /// There is nothing below the header.
    #[error("there is nothing")]
    Empty,
    /// The input broke off.
    #[error("cannot be read: {0}")]
    Read(std::io::Error),
}

/// Reads the rows of a table by the names of its columns; columns that are not asked for are passed over.
pub(super) fn rows<Row: DeserializeOwned>(
    table: Table,
    input: impl Read,
) -> impl Iterator<Item = Result<(u64, Row), TraceError>> {
    let mut reader = ReaderBuilder::new().trim(csv::Trim::All).from_reader(input);
    let mut header = None;
    let mut record = StringRecord::new();
    let mut over = false;
    std::iter::from_fn(move || {
        if over {
            return None;
        }
        let mut next = || {
            let header = match &mut header {
                Some(header) => header,
                none => none.insert(reader.headers().cloned().map_err(|error| (1, unread(error)))?),
            };
            let line = reader.position().line();
            match reader.read_record(&mut record) {
                Ok(false) => Ok(None),
                Ok(true) => {
                    let line = record.position().map_or(line, csv::Position::line);
                    let row = record.deserialize(Some(header));
                    row.map(|row| Some((line, row))).map_err(|error| (line, misfit(&error, header, &record)))
                }
                Err(error) => Err((error.position().map_or(line, csv::Position::line), unread(error))),
            }
        };
        let row = next();
        over = !matches!(row, Ok(Some(_)));
        row.map_err(|(line, wrong)| TraceError { table, line, wrong }).transpose()
    })
}

/// A line that is none.
fn unread(error: csv::Error) -> Wrong {
    match error.into_kind() {
        ErrorKind::Io(error) => Wrong::Read(error),
        ErrorKind::UnequalLengths { expected_len, len, .. } => {
            Wrong::Fields { found: len, wanted: expected_len }
        }
        // The reader fails in no other way; what csv may add one day is about the bytes, too.
        _ => Wrong::Text,
    }
}

/// A line that is one, with a field that is not of its column's kind.
fn misfit(error: &csv::Error, header: &StringRecord, record: &StringRecord) -> Wrong {
    let ErrorKind::Deserialize { err, .. } = error.kind() else { return Wrong::Text };
    let at = err.field().and_then(|field| usize::try_from(field).ok());
    match at.and_then(|at| Some((header.get(at)?, record.get(at)?))) {
        Some((column, found)) => Wrong::Field {
            column: column.to_owned(),
            found: found.chars().take(40).collect(),
            wanted: kind(err),
        },
        None => {
            let said = err.kind().to_string();
            let column = said
                .split('`')
                .nth(1)
                .map_or_else(|| "such field".to_owned(), |name| format!("column {name}"));
            Wrong::Missing(column)
        }
    }
}

fn kind(error: &csv::DeserializeError) -> &'static str {
    match error.kind() {
        csv::DeserializeErrorKind::ParseInt(_) => "a whole number from 0",
        csv::DeserializeErrorKind::ParseFloat(_) => "a number",
        _ => "what belongs there",
    }
}

/// The number, if it is in its range.
pub(super) fn within(column: &'static str, found: u64, least: u64, most: u64) -> Result<u64, Wrong> {
    if (least..=most).contains(&found) { Ok(found) } else { Err(Wrong::Range { column, found, least, most }) }
}
