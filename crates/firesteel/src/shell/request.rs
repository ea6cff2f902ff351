//! From words to what is wanted.

use std::path::PathBuf;
use std::time::Duration;

use firesteel_core::driver::Replacement;
use firesteel_core::ids::{ExecutorId, ProfileId, TaskId};
use firesteel_core::messages::ResourceProfile;
use firesteel_placement::{Cores, MiB};

use super::commands::{self, Command};
use super::words::{Place, Sentence, quote};
use crate::map::items::Separator;
use crate::map::spool::Order;
use crate::settings::size;

/// What separates the command from its items.
const ITEMS: &str = ":::";

/// What a command of the shell wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Run a command as one task.
    Run(Run),
    /// Run a command once for each item.
    Map(Map),
    /// List the executors.
    Executors,
    /// List tasks.
    Tasks(Which),
    /// Show a background task's output; the last one's if none is named.
    Watch(Option<TaskId>),
    /// Wait for background tasks; for all if none is named.
    Wait(Vec<TaskId>),
    /// Wait until executors are ready.
    WaitForExecutors {
        /// How many.
        count: usize,
        /// How long at most.
        limit: Duration,
    },
    /// End tasks; all if none is named.
    Cancel(Vec<TaskId>),
    /// Ask for executors.
    Executor {
        /// How many in all.
        total: u64,
        /// Of which profile.
        profile: ProfileId,
        /// What becomes of those that are too many.
        surplus: Surplus,
    },
    /// End executors.
    Kill {
        /// Which, at least one.
        executors: Vec<ExecutorId>,
        /// Whether others come.
        replacement: Replacement,
    },
    /// Say why there are fewer executors than asked.
    Why,
    /// Ask for executors of another profile.
    AddProfile {
        /// What they have.
        needs: ResourceProfile,
        /// How many.
        total: u64,
    },
    /// List the resource profiles.
    ListProfiles,
    /// Show the application.
    Status,
    /// Show what tasks run with.
    ShowDefaults,
    /// Set something that tasks run with.
    Set(Assignment),
    /// Show what was asked for at the start.
    Settings,
    /// Show lines that were typed: so many of the last ones.
    History(Option<usize>),
    /// Run the commands of a file.
    Source(PathBuf),
    /// Say what there is.
    Help(Option<&'static Command>),
    /// Leave.
    Quit(Option<u8>),
}

/// A command for one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Its cores, if not as is set.
    pub cores: Option<Cores>,
    /// How often it is run again when it fails.
    pub retries: u32,
    /// The command, at least the program.
    pub command: Vec<String>,
    /// Whether it is waited for.
    pub place: Place,
}

/// A command for many items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Map {
    /// Cores of a task, if not as is set.
    pub cores: Option<Cores>,
    /// The command, at least the program.
    pub command: Vec<String>,
    /// Its items.
    pub items: Items,
    /// In which order outputs come.
    pub order: Order,
}

/// Where items come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Items {
    /// The words after `:::`.
    Words(Vec<String>),
    /// A file.
    File(PathBuf, Separator),
}

/// Which tasks are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Those that have not ended, and the last that have.
    Recent,
    /// All that are remembered.
    All,
}

/// What becomes of executors that are more than are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surplus {
    /// They stay.
    Stays,
    /// They end.
    Ends,
}

/// Something that tasks run with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Assignment {
    /// Cores.
    Cores(Cores),
    /// Where.
    Directory(String),
    /// A variable of the environment; `None` takes it away.
    Variable(String, Option<String>),
}

/// Why a command cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// There is no such command.
    #[error("there is no command {}{}: help lists them", quote(.name), meant(*.nearest))]
    Unknown {
        /// As it was typed.
        name: String,
        /// What may have been meant.
        nearest: Option<&'static str>,
    },
    /// It is written otherwise.
    #[error("{wrong}: write {}", .command.usage)]
    Usage {
        /// What is wrong.
        wrong: String,
        /// Which command it is.
        command: &'static Command,
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

impl Request {
    /// What a sentence wants.
    ///
    /// # Errors
    /// There is no such command, or it is written otherwise.
    pub fn of(sentence: Sentence) -> Result<Self, RequestError> {
        let Sentence { words, place } = sentence;
        let mut words = words.into_iter();
        let name = words.next().unwrap_or_default();
        let Some(command) = commands::find(&name) else {
            let nearest = commands::nearest(&name);
            return Err(RequestError::Unknown { name, nearest });
        };
        let mut arguments = Arguments { command, words: words.collect(), options: true };
        arguments.words.reverse();
        if place == Place::Background && command.name != "run" {
            return Err(arguments.wrong("only run can be put into the background with &"));
        }
        let request = match command.name {
            "run" => return run(arguments, place),
            "map" => return map(arguments),
            "executors" => Self::Executors,
            "tasks" => Self::Tasks(if arguments.flag("--all")? { Which::All } else { Which::Recent }),
            "watch" => Self::Watch(arguments.optional("a task's number")?.map(TaskId)),
            "wait" => wait(&mut arguments)?,
            "cancel" => cancel(&mut arguments)?,
            "request" => executors(&mut arguments)?,
            "kill" => kill(&mut arguments)?,
            "why" => Self::Why,
            "profile" => profile(&mut arguments)?,
            "status" => Self::Status,
            "set" => set(&mut arguments)?,
            "settings" => Self::Settings,
            "history" => Self::History(arguments.optional("a number of lines")?),
            "source" => Self::Source(arguments.required("a file")?.into()),
            "help" => match arguments.words.pop() {
                None => Self::Help(None),
                Some(name) => match commands::find(&name) {
                    Some(command) => Self::Help(Some(command)),
                    None => {
                        let nearest = commands::nearest(&name);
                        return Err(RequestError::Unknown { name, nearest });
                    }
                },
            },
            "quit" => Self::Quit(arguments.optional("an exit code from 0 to 255")?),
            other => unreachable!("{other} is in the list of commands"),
        };
        arguments.end()?;
        Ok(request)
    }
}

/// The words after a command's name, the next one last.
struct Arguments {
    command: &'static Command,
    words: Vec<String>,
    /// Whether a word may still be an option: none is after `--`.
    options: bool,
}

impl Arguments {
    fn wrong(&self, wrong: impl Into<String>) -> RequestError {
        RequestError::Usage { wrong: wrong.into(), command: self.command }
    }

    fn required(&mut self, what: &str) -> Result<String, RequestError> {
        self.words.pop().ok_or_else(|| self.wrong(format!("{what} is missing")))
    }

    fn parsed<T: std::str::FromStr>(&mut self, what: &str) -> Result<T, RequestError> {
        let word = self.required(what)?;
        word.parse().map_err(|_| self.wrong(format!("{} is not {what}", quote(&word))))
    }

    fn optional<T: std::str::FromStr>(&mut self, what: &str) -> Result<Option<T>, RequestError> {
        if self.words.is_empty() { Ok(None) } else { self.parsed(what).map(Some) }
    }

    fn all<T: std::str::FromStr>(&mut self, what: &str) -> Result<Vec<T>, RequestError> {
        let mut all = Vec::new();
        while !self.words.is_empty() {
            all.push(self.parsed(what)?);
        }
        Ok(all)
    }

    /// Takes a flag away, wherever it stands.
    fn flag(&mut self, flag: &str) -> Result<bool, RequestError> {
        let before = self.words.len();
        self.words.retain(|word| word != flag);
        match before - self.words.len() {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.wrong(format!("{flag} is there twice"))),
        }
    }

    /// Takes an option and its value away, wherever they stand.
    fn option(&mut self, option: &str) -> Result<Option<String>, RequestError> {
        let Some(at) = self.words.iter().rposition(|word| word == option) else { return Ok(None) };
        if at == 0 {
            return Err(self.wrong(format!("{option} has no value")));
        }
        let value = self.words.remove(at - 1);
        self.words.remove(at - 1);
        Ok(Some(value))
    }

    fn option_parsed<T: std::str::FromStr>(
        &mut self,
        option: &str,
        what: &str,
    ) -> Result<Option<T>, RequestError> {
        let Some(word) = self.option(option)? else { return Ok(None) };
        let parsed = word.parse().map_err(|_| self.wrong(format!("{option} {} is not {what}", quote(&word))));
        parsed.map(Some)
    }

    /// The next option before the command itself begins.
    fn leading_option(&mut self) -> Option<String> {
        let is_option = |word: &String| word.starts_with('-') && word.len() > 1;
        if !self.options || !self.words.last().is_some_and(is_option) {
            return None;
        }
        let option = self.words.pop()?;
        self.options = option != "--";
        self.options.then_some(option)
    }

    fn cores(&mut self) -> Result<Cores, RequestError> {
        let cores: i64 = self.parsed("a number of cores")?;
        match cores {
            1.. => Ok(Cores(cores)),
            _ => Err(self.wrong("a task has at least 1 core")),
        }
    }

    fn command_words(&mut self) -> Result<Vec<String>, RequestError> {
        let mut words = std::mem::take(&mut self.words);
        words.reverse();
        match words.is_empty() {
            true => Err(self.wrong("there is no command to run")),
            false => Ok(words),
        }
    }

    fn end(&mut self) -> Result<(), RequestError> {
        match self.words.pop() {
            None => Ok(()),
            Some(word) => Err(self.wrong(format!("{} has no meaning here", quote(&word)))),
        }
    }
}

fn run(mut arguments: Arguments, place: Place) -> Result<Request, RequestError> {
    let (mut cores, mut retries) = (None, 0);
    while let Some(option) = arguments.leading_option() {
        match option.as_str() {
            "--cores" => cores = Some(arguments.cores()?),
            "--retries" => retries = arguments.parsed("a number of times")?,
            other => return Err(arguments.wrong(format!("{other} is no option of run"))),
        }
    }
    let command = arguments.command_words()?;
    Ok(Request::Run(Run { cores, retries, command, place }))
}

fn map(mut arguments: Arguments) -> Result<Request, RequestError> {
    let (mut cores, mut file) = (None, None);
    let (mut separator, mut order) = (Separator::Newline, Order::Input);
    while let Some(option) = arguments.leading_option() {
        match option.as_str() {
            "--cores" => cores = Some(arguments.cores()?),
            "-i" | "--input" => file = Some(PathBuf::from(arguments.required("a file")?)),
            "-0" | "--null" => separator = Separator::Nul,
            "--unordered" => order = Order::Completion,
            other => return Err(arguments.wrong(format!("{other} is no option of map"))),
        }
    }
    let mut command = arguments.command_words()?;
    let words = command.iter().position(|word| word == ITEMS).map(|at| {
        let items = command.split_off(at + 1);
        command.pop();
        items
    });
    if command.is_empty() {
        return Err(arguments.wrong("there is no command before :::"));
    }
    let items = match (words, file) {
        (Some(words), None) => Items::Words(words),
        (None, Some(file)) => Items::File(file, separator),
        (Some(_), Some(_)) => return Err(arguments.wrong("items come either after ::: or from -i")),
        (None, None) => return Err(arguments.wrong("there are no items")),
    };
    Ok(Request::Map(Map { cores, command, items, order }))
}

fn wait(arguments: &mut Arguments) -> Result<Request, RequestError> {
    let seconds: Option<u32> = arguments.option_parsed("--for", "a number of seconds")?;
    match (arguments.option_parsed("--executors", "a number of executors")?, seconds) {
        (Some(count), seconds) => {
            let limit = Duration::from_secs(seconds.unwrap_or(60).into());
            Ok(Request::WaitForExecutors { count, limit })
        }
        (None, Some(_)) => Err(arguments.wrong("--for belongs to --executors")),
        (None, None) => Ok(Request::Wait(tasks(arguments)?)),
    }
}

fn tasks(arguments: &mut Arguments) -> Result<Vec<TaskId>, RequestError> {
    Ok(arguments.all("a task's number")?.into_iter().map(TaskId).collect())
}

fn cancel(arguments: &mut Arguments) -> Result<Request, RequestError> {
    let all = arguments.flag("--all")?;
    let tasks = tasks(arguments)?;
    match (all, tasks.is_empty()) {
        (true, true) | (false, false) => Ok(Request::Cancel(tasks)),
        (false, true) => Err(arguments.wrong("a task's number is missing")),
        (true, false) => Err(arguments.wrong("either tasks are named or it is --all")),
    }
}

fn executors(arguments: &mut Arguments) -> Result<Request, RequestError> {
    let surplus = if arguments.flag("--kill")? { Surplus::Ends } else { Surplus::Stays };
    let profile: Option<u32> = arguments.option_parsed("--profile", "a profile's number")?;
    let total = arguments.parsed("a number of executors")?;
    Ok(Request::Executor { total, profile: profile.map_or(ProfileId::DEFAULT, ProfileId), surplus })
}

fn kill(arguments: &mut Arguments) -> Result<Request, RequestError> {
    let replace = arguments.flag("--replace")?;
    let executors: Vec<u32> = arguments.all("an executor's number")?;
    if executors.is_empty() {
        return Err(arguments.wrong("an executor's number is missing"));
    }
    let replacement = if replace { Replacement::Wanted } else { Replacement::Unwanted };
    Ok(Request::Kill { executors: executors.into_iter().map(ExecutorId).collect(), replacement })
}

fn profile(arguments: &mut Arguments) -> Result<Request, RequestError> {
    match arguments.words.pop().as_deref() {
        None | Some("list") => Ok(Request::ListProfiles),
        Some("add") => {
            let mut needs = ResourceProfile {
                cores: arguments.option_parsed("--cores", "a number of cores")?.map(Cores),
                ..ResourceProfile::default()
            };
            if let Some(text) = arguments.option("--memory")? {
                let memory = size::bytes(&text, size::Unit::MiB).ok();
                let memory = memory.and_then(|bytes| i64::try_from(bytes >> 20).ok()).ok_or_else(|| {
                    arguments.wrong(format!("--memory {} is not a size such as 512m or 2g", quote(&text)))
                })?;
                needs.memory = Some(MiB(memory));
            }
            while let Some(text) = arguments.option("--resource")? {
                let pair = text.split_once('=').and_then(|(name, count)| Some((name, count.parse().ok()?)));
                let (name, count) = pair
                    .filter(|(name, _)| !name.is_empty())
                    .ok_or_else(|| arguments.wrong(format!("--resource {} is not NAME=N", quote(&text))))?;
                needs.resources.insert(name.to_owned(), count);
            }
            let total = arguments.parsed("a number of executors")?;
            needs.check().map_err(|error| arguments.wrong(error.to_string()))?;
            Ok(Request::AddProfile { needs, total })
        }
        Some(other) => Err(arguments.wrong(format!("{} has no meaning here", quote(other)))),
    }
}

fn set(arguments: &mut Arguments) -> Result<Request, RequestError> {
    Ok(match arguments.words.pop().as_deref() {
        None => Request::ShowDefaults,
        Some("cores") => Request::Set(Assignment::Cores(arguments.cores()?)),
        Some("directory") => Request::Set(Assignment::Directory(arguments.required("a directory")?)),
        Some("env") => {
            let word = arguments.required("a variable")?;
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                None => (word, None),
            };
            if name.is_empty() {
                return Err(arguments.wrong("a variable has a name"));
            }
            Request::Set(Assignment::Variable(name, value))
        }
        Some(other) => return Err(arguments.wrong(format!("{} cannot be set", quote(other)))),
    })
}

#[cfg(test)]
mod tests;
