//! Completion of commands, their arguments, executor and task numbers, and files.

use std::sync::{Arc, Mutex};

use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};

use super::commands::COMMANDS;

/// Completions that change during the session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Living {
    /// Numbers of the executors.
    pub executors: Vec<String>,
    /// Numbers of the tasks that the session remembers.
    pub tasks: Vec<String>,
}

/// The kind of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Words(&'static [&'static str]),
    Commands,
    Executors,
    Tasks,
    Files,
    Nothing,
}

/// Completes a line at the prompt.
pub struct Completion {
    living: Arc<Mutex<Living>>,
    files: FilenameCompleter,
}

impl Completion {
    /// Creates a completion with the current numbers of executors and tasks.
    #[must_use]
    pub fn new(living: Arc<Mutex<Living>>) -> Self {
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
        let kind = kind(&typed[..start]);
        let options = options(&typed[..start]);
        let word = &typed[start..];
        if word.starts_with('-') && !options.is_empty() {
            return Ok((start, pairs(word, options.iter().copied())));
        }
        let living = self.living.lock().expect("nobody panics with it in hand").clone();
        let found = match kind {
            Kind::Words(words) => pairs(word, words.iter().copied()),
            Kind::Commands => pairs(word, COMMANDS.iter().map(|command| command.name)),
            Kind::Executors => pairs(word, living.executors.iter().map(String::as_str)),
            Kind::Tasks => pairs(word, living.tasks.iter().map(String::as_str)),
            Kind::Files => return self.files.complete(line, position, context),
            Kind::Nothing => Vec::new(),
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

/// The kind of word that may follow this part of a line.
fn kind(before: &str) -> Kind {
    let mut words = command_words(before);
    match (words.next(), words.next()) {
        (None, _) | (Some("help" | "?"), None) => Kind::Commands,
        (Some("kill"), _) => Kind::Executors,
        (Some("watch" | "wait" | "cancel"), _) => Kind::Tasks,
        (Some("profile"), None) => Kind::Words(&["add", "list"]),
        (Some("set"), None) => Kind::Words(&["cores", "directory", "env"]),
        (Some("run" | "map" | "source"), _) | (Some("set"), Some("directory")) => Kind::Files,
        (Some(_), _) => Kind::Nothing,
    }
}

/// The options of the command in this part of a line.
fn options(before: &str) -> &'static [&'static str] {
    match command_words(before).next() {
        Some("run") => &["--profile", "--cores", "--retries"],
        Some("map") => &["--profile", "--cores", "--input", "--null", "--unordered"],
        Some("tasks" | "jobs" | "ps" | "cancel") => &["--all"],
        Some("wait") => &["--executors", "--for"],
        Some("request") => &["--profile", "--kill"],
        Some("kill") => &["--replace"],
        Some("profile") => &["--cores", "--memory", "--resource", "--task-cores", "--task-resource"],
        Some(_) | None => &[],
    }
}

/// The words of the last command in this part of a line.
fn command_words(before: &str) -> impl Iterator<Item = &str> {
    before.rsplit([';', '&']).next().unwrap_or_default().split_whitespace()
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
