//! Reads questions from lines and writes answers as lines.

use std::io::{self, BufRead, Write};

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};

use super::{Answer, PassError, PlacementCall, Question, SchedulePass};

/// Why a line cannot be used. Lines are numbered from 1.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    #[error("line {line} cannot be read: {source}")]
    Read { line: u64, source: io::Error },
    /// A field is missing or has a wrong value.
    #[error("line {line}: {}{}", at(field), said(reason))]
    Field {
        line: u64,
        /// The path of the field, as in `apps[2].profiles[0].cores`. For a missing field, the path of the object that
        /// lacks it. Empty for the whole line.
        field: String,
        reason: serde_json::Error,
    },
    /// The fields are valid, but contradict each other.
    #[error("line {line}: {reason}")]
    Pass { line: u64, reason: PassError },
}

/// Reads questions of both kinds, one per line. A line with `apps` is a pass, and any other line is a call. Empty lines
/// are ignored. Reading stops when the input fails.
pub fn questions(input: impl BufRead) -> impl Iterator<Item = Result<Question, LineError>> {
    lines(input, question)
}

/// Reads questions as [`questions`] does, and answers each of them.
pub fn answers(input: impl BufRead) -> impl Iterator<Item = Result<Answer, LineError>> {
    lines(input, |line, text| {
        question(line, text)?.answer().map_err(|reason| LineError::Pass { line, reason })
    })
}

fn question(line: u64, text: &[u8]) -> Result<Question, LineError> {
    let kind: Kind = parse(line, text)?;
    match kind.apps {
        Some(_) => parse(line, text).map(Question::Pass),
        None => parse(line, text).map(Question::Call),
    }
}

/// Reads placement calls only, as [`questions`] does.
pub fn calls(input: impl BufRead) -> impl Iterator<Item = Result<PlacementCall, LineError>> {
    lines(input, parse)
}

/// Reads scheduling passes only, as [`questions`] does.
pub fn passes(input: impl BufRead) -> impl Iterator<Item = Result<SchedulePass, LineError>> {
    lines(input, parse)
}

/// Writes an answer as one line.
///
/// # Errors
/// Writing to `output` fails.
pub fn write_line(output: &mut impl Write, answer: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *output, answer)?;
    output.write_all(b"\n")
}

fn lines<T>(
    mut input: impl BufRead,
    parse: impl Fn(u64, &[u8]) -> Result<T, LineError>,
) -> impl Iterator<Item = Result<T, LineError>> {
    let mut line = 0;
    let mut text = Vec::new();
    let mut failed = false;
    std::iter::from_fn(move || {
        while !failed {
            text.clear();
            line += 1;
            match input.read_until(b'\n', &mut text) {
                Ok(0) => return None,
                Ok(_) if text.trim_ascii().is_empty() => {}
                Ok(_) => return Some(parse(line, &text)),
                Err(source) => {
                    failed = true;
                    return Some(Err(LineError::Read { line, source }));
                }
            }
        }
        None
    })
}

#[derive(Deserialize)]
struct Kind {
    apps: Option<IgnoredAny>,
}

fn parse<T: DeserializeOwned>(line: u64, text: &[u8]) -> Result<T, LineError> {
    let at_field = |error: serde_path_to_error::Error<serde_json::Error>| LineError::Field {
        line,
        field: path(error.path()),
        reason: error.into_inner(),
    };
    let mut json = serde_json::Deserializer::from_slice(text);
    let parsed = serde_path_to_error::deserialize(&mut json).map_err(at_field)?;
    json.end().map_err(|reason| LineError::Field { line, field: String::new(), reason })?;
    Ok(parsed)
}

/// The path without its unknown end. The end is unknown if the line breaks off.
fn path(path: &serde_path_to_error::Path) -> String {
    path.to_string().trim_end_matches('?').trim_end_matches('.').to_owned()
}

fn at(field: &str) -> String {
    if field.is_empty() { String::new() } else { format!("{field}: ") }
}

/// The reason without the parser's line number, which is always 1.
fn said(reason: &serde_json::Error) -> String {
    let said = reason.to_string();
    let place = format!(" at line {} column {}", reason.line(), reason.column());
    said.strip_suffix(&place).unwrap_or(&said).to_owned()
}
