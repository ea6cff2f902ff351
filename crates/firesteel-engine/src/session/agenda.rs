//! The commands that are still to be served: those of the line at hand, and those of files inside files.

use std::collections::VecDeque;
use std::path::PathBuf;

use super::{Entry, ParsedLine, Position};

/// Maximum depth of nested `source` commands.
pub(super) const DEPTH: usize = 16;

/// The commands that are still to be served.
#[derive(Clone, Debug, Default)]
pub(super) struct Agenda {
    /// Where the command at hand is.
    position: Position,
    /// The rest of the line at hand.
    entries: VecDeque<Entry>,
    /// The files that are being read, one inside the other.
    files: Vec<File>,
}

/// A file that is being read.
#[derive(Clone, Debug)]
struct File {
    path: PathBuf,
    lines: VecDeque<ParsedLine>,
    /// The exit code of its last command that failed.
    failure: u8,
    /// Where its `source` command is, and what follows it on the line.
    outer: (Position, VecDeque<Entry>),
}

/// What comes next.
#[derive(Clone, Debug)]
pub(super) enum Next {
    /// A command.
    Entry(Entry),
    /// The end of a file, whose `source` command has this exit code.
    FileOver(u8),
    /// Nothing: a line is wanted.
    Nothing,
}

impl Agenda {
    pub(super) fn position(&self) -> &Position {
        &self.position
    }

    /// The number of files that are being read.
    pub(super) fn depth(&self) -> usize {
        self.files.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.files.is_empty()
    }

    /// Begins a line that was typed, or a script's.
    pub(super) fn begin(&mut self, position: Position, line: ParsedLine) {
        self.position = position;
        self.entries = line.entries.into();
    }

    /// Begins a file at the command at hand.
    pub(super) fn open(&mut self, path: PathBuf, lines: Vec<ParsedLine>) {
        let outer = (std::mem::take(&mut self.position), std::mem::take(&mut self.entries));
        self.files.push(File { path, lines: lines.into(), failure: 0, outer });
    }

    /// Takes what comes next.
    pub(super) fn next(&mut self) -> Next {
        loop {
            if let Some(entry) = self.entries.pop_front() {
                return Next::Entry(entry);
            }
            let Some(file) = self.files.last_mut() else { return Next::Nothing };
            match file.lines.pop_front() {
                Some(ParsedLine { number, entries }) => {
                    self.position = Position::File { path: file.path.clone(), line: number };
                    self.entries = entries.into();
                }
                None => {
                    let failure = file.failure;
                    if let Some(file) = self.files.pop() {
                        (self.position, self.entries) = file.outer;
                    }
                    return Next::FileOver(failure);
                }
            }
        }
    }

    /// Notes that a command of the file at hand has failed.
    pub(super) fn fail(&mut self, code: u8) {
        if let Some(file) = self.files.last_mut() {
            file.failure = code;
        }
    }

    /// Leaves out the rest of the file at hand, or of the line if no file is being read.
    pub(super) fn stop(&mut self) {
        self.entries.clear();
        if let Some(file) = self.files.last_mut() {
            file.lines.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(number: u64, names: &[&str]) -> ParsedLine {
        let entry = |name: &&str| Entry { request: Err((*name).to_owned()), idle: None };
        ParsedLine { number, entries: names.iter().map(entry).collect() }
    }

    fn next(agenda: &mut Agenda) -> (String, Position) {
        let next = match agenda.next() {
            Next::Entry(entry) => entry.request.expect_err("it has a name"),
            Next::FileOver(code) => format!("over {code}"),
            Next::Nothing => "nothing".to_owned(),
        };
        (next, agenda.position().clone())
    }

    #[test]
    fn files_are_read_inside_files_and_the_rest_of_the_line_comes_after_them() {
        let mut agenda = Agenda::default();
        agenda.begin(Position::Line(7), line(7, &["a", "b"]));
        assert_eq!(next(&mut agenda), ("a".to_owned(), Position::Line(7)));
        agenda.open("x".into(), vec![line(1, &[]), line(2, &["c"])]);
        let inside = |path: &str, line| Position::File { path: path.into(), line };
        assert_eq!(next(&mut agenda), ("c".to_owned(), inside("x", 2)));
        agenda.open("y".into(), vec![line(1, &["d"]), line(2, &["e"])]);
        assert_eq!(next(&mut agenda), ("d".to_owned(), inside("y", 1)));
        agenda.fail(3);
        agenda.stop();
        assert_eq!(next(&mut agenda), ("over 3".to_owned(), inside("x", 2)));
        assert_eq!(next(&mut agenda), ("over 0".to_owned(), Position::Line(7)));
        assert_eq!(next(&mut agenda), ("b".to_owned(), Position::Line(7)));
        assert_eq!(next(&mut agenda), ("nothing".to_owned(), Position::Line(7)));
        assert!(agenda.is_empty());
    }
}
