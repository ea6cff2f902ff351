//! The arguments of a command, taken one after the other.

use firesteel_placement::Cores;
use firesteel_settings::near::near;

use super::commands::Command;
use super::words::quote;

/// Why a command cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// The command is unknown.
    #[error("unknown command {}{}; the command help lists all", quote(.name), meant(*.nearest))]
    Unknown {
        /// Name of the command as typed.
        name: String,
        /// The command that the user probably meant.
        nearest: Option<&'static str>,
    },
    /// The arguments of the command are wrong.
    #[error("{wrong}: write {}", .command.usage)]
    Usage {
        /// Description of the mistake.
        wrong: String,
        /// The command that was typed.
        command: &'static Command,
    },
    /// A task would need more than its executor has.
    #[error(
        "a task needs {task}, but an executor has {executor}: raise --{option}, or lower --task-{option}"
    )]
    TooLargeTask {
        /// What a task needs.
        task: String,
        /// What an executor has of it.
        executor: String,
        /// The option that sets what an executor has, without dashes.
        option: &'static str,
    },
}

fn meant(nearest: Option<&str>) -> String {
    nearest.map(|name| format!(" (did you mean {name}?)")).unwrap_or_default()
}

impl PartialEq for Command {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Command {}

/// The arguments of a command; the next one is at the end of the list.
pub(super) struct Arguments {
    pub(super) command: &'static Command,
    pub(super) words: Vec<String>,
    /// Whether an argument may still be an option, which is false after `--`.
    pub(super) options: bool,
}

impl Arguments {
    pub(super) fn wrong(&self, wrong: impl Into<String>) -> RequestError {
        RequestError::Usage { wrong: wrong.into(), command: self.command }
    }

    /// The error for an option that the command does not have. Its usage lists those that it has.
    pub(super) fn no_option(&self, option: &str) -> RequestError {
        let is_letter = |c: char| c == '-' || c.is_ascii_alphanumeric();
        let words = self.command.usage.split(|c| !is_letter(c)).filter(|word| word.starts_with("--"));
        let nearest = meant(near(option, words));
        self.wrong(format!("{} has no option {}{nearest}", self.command.name, quote(option)))
    }

    pub(super) fn required(&mut self, what: &str) -> Result<String, RequestError> {
        self.words.pop().ok_or_else(|| self.wrong(format!("{what} is missing")))
    }

    pub(super) fn parsed<T: std::str::FromStr>(&mut self, what: &str) -> Result<T, RequestError> {
        let word = self.required(what)?;
        word.parse().map_err(|_| self.wrong(format!("{} is not {what}", quote(&word))))
    }

    pub(super) fn optional<T: std::str::FromStr>(&mut self, what: &str) -> Result<Option<T>, RequestError> {
        if self.words.is_empty() { Ok(None) } else { self.parsed(what).map(Some) }
    }

    pub(super) fn all<T: std::str::FromStr>(&mut self, what: &str) -> Result<Vec<T>, RequestError> {
        let mut all = Vec::new();
        while !self.words.is_empty() {
            all.push(self.parsed(what)?);
        }
        Ok(all)
    }

    /// Removes a flag from any position and returns whether it was there.
    pub(super) fn flag(&mut self, flag: &str) -> Result<bool, RequestError> {
        let before = self.words.len();
        self.words.retain(|word| word != flag);
        match before - self.words.len() {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.wrong(format!("{flag} is given twice"))),
        }
    }

    /// Removes an option and its value from any position.
    pub(super) fn option(&mut self, option: &str) -> Result<Option<String>, RequestError> {
        let Some(at) = self.words.iter().rposition(|word| word == option) else { return Ok(None) };
        if at == 0 {
            return Err(self.wrong(format!("{option} needs a value")));
        }
        let value = self.words.remove(at - 1);
        self.words.remove(at - 1);
        Ok(Some(value))
    }

    pub(super) fn option_parsed<T: std::str::FromStr>(
        &mut self,
        option: &str,
        what: &str,
    ) -> Result<Option<T>, RequestError> {
        let Some(word) = self.option(option)? else { return Ok(None) };
        let parsed = word.parse().map_err(|_| self.wrong(format!("{option} {} is not {what}", quote(&word))));
        parsed.map(Some)
    }

    /// The next option before the command itself begins.
    pub(super) fn leading_option(&mut self) -> Option<String> {
        let is_option = |word: &String| word.starts_with('-') && word.len() > 1;
        if !self.options || !self.words.last().is_some_and(is_option) {
            return None;
        }
        let option = self.words.pop()?;
        self.options = option != "--";
        self.options.then_some(option)
    }

    pub(super) fn cores(&mut self) -> Result<Cores, RequestError> {
        let cores: i64 = self.parsed("a number of cores")?;
        match cores {
            1.. => Ok(Cores(cores)),
            _ => Err(self.wrong("a task has at least 1 core")),
        }
    }

    pub(super) fn command_words(&mut self) -> Result<Vec<String>, RequestError> {
        let mut words = std::mem::take(&mut self.words);
        words.reverse();
        match words.first().map(String::as_str) {
            None => Err(self.wrong("no command given")),
            Some("") => Err(self.wrong("the name of the command is empty")),
            Some(_) => Ok(words),
        }
    }

    pub(super) fn end(&mut self) -> Result<(), RequestError> {
        match self.words.pop() {
            None => Ok(()),
            Some(word) => Err(self.wrong(format!("{} has no meaning here", quote(&word)))),
        }
    }
}
