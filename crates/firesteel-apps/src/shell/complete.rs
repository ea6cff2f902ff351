//! Completion of commands, their arguments, executor and task numbers, and files.

use std::sync::{Arc, Mutex};

use firesteel_engine::session::Command;
use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};

/// The numbers of executors and tasks, which change during the session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Living {
    pub(super) executors: Vec<String>,
    pub(super) tasks: Vec<String>,
}

/// Completes a line at the prompt.
pub(super) struct Completion {
    living: Arc<Mutex<Living>>,
    files: FilenameCompleter,
}

impl Completion {
    pub(super) fn new(living: Arc<Mutex<Living>>) -> Self {
        Self { living, files: FilenameCompleter::new() }
    }
}

impl Helper for Completion {}
impl Highlighter for Completion {}
impl Validator for Completion {}

impl Hinter for Completion {
    type Hint = String;
}

impl Completer for Completion {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        position: usize,
        context: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let typed = &line[..position];
        let start = typed.rfind(|c: char| c.is_whitespace() || c == ';' || c == '&').map_or(0, |at| at + 1);
        let word = &typed[start..];
        // The words of the last command before this one.
        let command = typed[..start].rsplit([';', '&']).next().unwrap_or_default();
        let words: Vec<&str> = command.split_whitespace().collect();
        let options = words.first().and_then(|name| Command::find(name)).map_or(Vec::new(), Command::options);
        if word.starts_with('-') && !options.is_empty() {
            return Ok((start, pairs(word, options.iter().map(String::as_str))));
        }
        let living = self.living.lock().expect("nobody panics with it in hand").clone();
        let found = match words[..] {
            [] | ["help" | "?"] => pairs(word, Command::all().map(|command| command.name)),
            ["kill", ..] => pairs(word, living.executors.iter().map(String::as_str)),
            ["watch" | "wait" | "cancel", ..] => pairs(word, living.tasks.iter().map(String::as_str)),
            ["profile"] => pairs(word, ["add", "list"].into_iter()),
            ["set"] => pairs(word, ["cores", "directory", "env"].into_iter()),
            ["run" | "map" | "source", ..] | ["set", "directory", ..] => {
                return self.files.complete(line, position, context);
            }
            _ => Vec::new(),
        };
        Ok((start, found))
    }
}

/// The candidates that begin with the word, each followed by a blank.
fn pairs<'a>(word: &str, all: impl Iterator<Item = &'a str>) -> Vec<Pair> {
    all.filter(|name| name.starts_with(word))
        .map(|name| Pair { display: name.to_owned(), replacement: format!("{name} ") })
        .collect()
}

#[cfg(test)]
mod tests {
    use rustyline::history::MemHistory;

    use super::*;

    fn completed(line: &str) -> Vec<String> {
        let living = Living {
            executors: vec!["0".into(), "10".into(), "11".into()],
            tasks: vec!["3".into(), "4".into()],
        };
        let completion = Completion::new(Arc::new(Mutex::new(living)));
        let history = MemHistory::new();
        let (start, found) =
            completion.complete(line, line.len(), &Context::new(&history)).expect("it completes");
        found.iter().map(|pair| format!("{}{}", &line[..start], pair.replacement)).collect()
    }

    #[test]
    fn every_word_is_completed_by_its_place() {
        for (line, expected) in [
            ("ex", &["executors "][..]),
            ("s", &["status ", "set ", "settings ", "source "]),
            ("run x; wa", &["run x; watch ", "run x; wait "]),
            ("help prof", &["help profile "]),
            ("kill 1", &["kill 10 ", "kill 11 "]),
            ("kill 0 --r", &["kill 0 --replace "]),
            ("watch ", &["watch 3 ", "watch 4 "]),
            ("set d", &["set directory "]),
            ("profile ", &["profile add ", "profile list "]),
            ("run --c", &["run --cores "]),
            ("run ls /etc/host", &["run ls /etc/hostname", "run ls /etc/hosts"]),
            ("status x", &[]),
        ] {
            let found = completed(line);
            match line.contains("/etc") {
                true => assert!(expected.iter().all(|name| found.iter().any(|it| it == name)), "{found:?}"),
                false => assert_eq!(found, expected, "{line}"),
            }
        }
    }
}
