//! Reads tables of comma-separated values, with errors that name the line.

use std::fmt;
use std::io::Read;

use csv::{ErrorKind, ReaderBuilder, StringRecord};
use serde::de::DeserializeOwned;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// The Workers, in Firesteel's own form.
    Workers,
    /// The applications, in Firesteel's own form.
    Applications,
    /// The nodes, in Alibaba's form.
    Nodes,
    /// The pods, in Alibaba's form.
    Pods,
}

impl Table {
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

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.file())
    }
}

/// Why a trace cannot be read, with the table and the line.
#[derive(Debug, thiserror::Error)]
#[error("{table}: line {line}: {wrong}")]
pub struct TraceError {
    pub table: Table,
    /// The number of the line. The header is line 1.
    pub line: u64,
    pub wrong: Wrong,
}

#[derive(Debug, thiserror::Error)]
pub enum Wrong {
    #[error("there is no {0}")]
    Missing(String),
    #[error("{column}: {found:?} is not {wanted}")]
    Field { column: String, found: String, wanted: &'static str },
    #[error("{column}: {found} is not from {least} to {most}")]
    Range {
        column: &'static str,
        found: u64,
        /// The smallest number that is allowed.
        least: u64,
        /// The greatest number that is allowed.
        most: u64,
    },
    /// The line has more or fewer fields than the header.
    #[error("the line has {found} fields, but the header has {wanted}")]
    Fields { found: u64, wanted: u64 },
    /// The line is not UTF-8 text.
    #[error("not UTF-8 text")]
    Text,
    #[error("the table has no rows below its header")]
    Empty,
    #[error("cannot be read: {0}")]
    Read(std::io::Error),
}

/// Reads the rows of a table by the names of its columns. Unknown columns are ignored.
pub fn rows<Row: DeserializeOwned>(
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
                    row.map(|row| Some((line, row)))
                        .map_err(|error| (line, field_error(&error, header, &record)))
                }
                Err(error) => Err((error.position().map_or(line, csv::Position::line), unread(error))),
            }
        };
        let row = next();
        over = !matches!(row, Ok(Some(_)));
        row.map_err(|(line, wrong)| TraceError { table, line, wrong }).transpose()
    })
}

/// Converts an error of the csv crate into an error of the trace.
fn unread(error: csv::Error) -> Wrong {
    match error.into_kind() {
        ErrorKind::Io(error) => Wrong::Read(error),
        ErrorKind::UnequalLengths { expected_len, len, .. } => {
            Wrong::Fields { found: len, wanted: expected_len }
        }
        // The reader fails in no other way. A future error of csv would also be about the bytes.
        _ => Wrong::Text,
    }
}

/// The error for a field that is missing or malformed.
fn field_error(error: &csv::Error, header: &StringRecord, record: &StringRecord) -> Wrong {
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
        _ => "a valid value",
    }
}

/// Returns the number if it is within its limits.
///
/// # Errors
/// The number is not within its limits.
pub fn within(column: &'static str, found: u64, least: u64, most: u64) -> Result<u64, Wrong> {
    if (least..=most).contains(&found) { Ok(found) } else { Err(Wrong::Range { column, found, least, most }) }
}
