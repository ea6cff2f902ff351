//! The syntax of the commands.

use std::collections::VecDeque;
use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use firesteel_placement::advanced::resources::TaskAmount;
use firesteel_placement::{Cores, MiB};
use firesteel_protocol::ids::{ExecutorId, ProfileId, TaskId};
use firesteel_protocol::messages::ResourceProfile;
use firesteel_protocol::{byte_text, size};

use super::command::meant;
use super::words::{Sentence, quote, sentences};
use super::{
    Assignment, Command, Entry, Items, Map, Request, Run, RunMode, Surplus, Target, TaskShare, Which,
};
use crate::driver::Replacement;
use crate::map::{OutputOrder, Separator};

/// The separator between the command and its items.
const ITEMS: &str = ":::";

/// Maximum number of characters of a command in a table or a message.
const SHOWN: usize = 60;

/// Parses a line. If the line cannot be split, returns a single command that cannot be parsed.
#[must_use]
pub fn parse(line: &str) -> Vec<Entry> {
    match sentences(line) {
        Ok(sentences) => sentences.into_iter().map(entry).collect(),
        Err(error) => vec![Entry { request: Err(error), idle: None }],
    }
}

fn entry(Sentence { words, place, idle }: Sentence) -> Entry {
    Entry { request: request(words.into(), place), idle }
}

fn request(mut words: VecDeque<String>, place: RunMode) -> Result<Request, String> {
    let command = known(&words.pop_front().unwrap_or_default())?;
    let mut arguments = Arguments { command, words };
    if place == RunMode::Background && command.name != "run" {
        return Err(arguments.wrong("only run works in the background with &"));
    }
    let request = match command.name {
        "run" => run(&mut arguments, place)?,
        "map" => map(&mut arguments)?,
        "executors" => Request::Executors,
        "tasks" => Request::Tasks(if arguments.flag("--all")? { Which::All } else { Which::Recent }),
        "watch" => Request::Watch(arguments.optional("a task's number")?.map(TaskId)),
        "wait" => wait(&mut arguments)?,
        "cancel" => cancel(&mut arguments)?,
        "request" => set_total(&mut arguments)?,
        "kill" => kill(&mut arguments)?,
        "why" => Request::Why,
        "profile" => profile(&mut arguments)?,
        "status" => Request::Status,
        "set" => set(&mut arguments)?,
        "settings" => Request::Settings,
        "history" => Request::History(arguments.optional("a number of lines")?),
        "source" => Request::Source(byte_text::path(&arguments.word("a file")?)),
        "help" => Request::Help(arguments.words.pop_front().map(|name| known(&name)).transpose()?),
        "quit" => Request::Quit(arguments.optional("an exit code from 0 to 255")?),
        other => unreachable!("{other} is in the list of commands"),
    };
    match arguments.words.pop_front() {
        None => Ok(request),
        Some(word) => Err(arguments.wrong(format!("{} has no meaning here", quote(&word)))),
    }
}

fn known(name: &str) -> Result<Command, String> {
    Command::find(name).ok_or_else(|| {
        let meant = meant(name, Command::all().map(|command| command.name));
        format!("unknown command {}{meant}; the command help lists all", quote(name))
    })
}

fn run(arguments: &mut Arguments, place: RunMode) -> Result<Request, String> {
    let (mut target, mut cores, mut retries) = (None, None, 0);
    while let Some(option) = arguments.leading_option() {
        match option.as_str() {
            "--cores" => cores = Some(arguments.cores()?),
            "--profile" | "--on" if target.is_some() => {
                return Err(arguments.wrong("--on and --profile exclude each other, and each is given once"));
            }
            "--profile" => target = Some(Target::Profile(ProfileId(arguments.parsed("a profile's number")?))),
            "--on" => target = Some(Target::Executor(ExecutorId(arguments.parsed("an executor's number")?))),
            "--retries" => retries = arguments.parsed("a number of times")?,
            other => return Err(arguments.no_option(other)),
        }
    }
    let command = arguments.command()?;
    let target = target.unwrap_or(Target::Profile(ProfileId::DEFAULT));
    let words = shortened(&command);
    Ok(Request::Run(Run { target, cores, retries, command, words, place }))
}

/// A command as a user can type it, shortened to fit on a line.
fn shortened(words: &[String]) -> String {
    let line = words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}..", &line[..at]),
        None => line,
    }
}

fn map(arguments: &mut Arguments) -> Result<Request, String> {
    let (mut profile, mut cores, mut file) = (ProfileId::DEFAULT, None, None);
    let (mut separator, mut order) = (Separator::Newline, OutputOrder::Input);
    while let Some(option) = arguments.leading_option() {
        match option.as_str() {
            "--cores" => cores = Some(arguments.cores()?),
            "--profile" => profile = ProfileId(arguments.parsed("a profile's number")?),
            "-i" | "--input" => file = Some(byte_text::path(&arguments.word("a file")?)),
            "-0" | "--null" => separator = Separator::Nul,
            "--unordered" => order = OutputOrder::Completion,
            other => return Err(arguments.no_option(other)),
        }
    }
    let mut command = arguments.command()?;
    let words = command.iter().position(|word| word == ITEMS).map(|at| {
        let items = command.split_off(at + 1);
        command.pop();
        items
    });
    if command.is_empty() {
        return Err(arguments.wrong("no command before :::"));
    }
    let items = match (words, file) {
        (Some(words), None) => Items::Words(words),
        (None, Some(file)) => Items::File(file, separator),
        (Some(_), Some(_)) => return Err(arguments.wrong("items are given both after ::: and with -i")),
        (None, None) => return Err(arguments.wrong("no items given")),
    };
    Ok(Request::Map(Map { profile, cores, command, items, order }))
}

fn wait(arguments: &mut Arguments) -> Result<Request, String> {
    let seconds: Option<u32> = arguments.number("--for", "a number of seconds")?;
    match (arguments.number("--executors", "a number of executors")?, seconds) {
        (Some(count), seconds) => {
            Ok(Request::WaitForExecutors(count, Duration::from_secs(seconds.unwrap_or(60).into())))
        }
        (None, Some(_)) => Err(arguments.wrong("--for needs --executors")),
        (None, None) => Ok(Request::Wait(arguments.all("a task's number", TaskId)?)),
    }
}

fn cancel(arguments: &mut Arguments) -> Result<Request, String> {
    let all = arguments.flag("--all")?;
    let tasks = arguments.all("a task's number", TaskId)?;
    match (all, tasks.is_empty()) {
        (true, true) | (false, false) => Ok(Request::Cancel(tasks)),
        (false, true) => Err(arguments.wrong("give the number of a task")),
        (true, false) => Err(arguments.wrong("tasks and --all exclude each other")),
    }
}

fn set_total(arguments: &mut Arguments) -> Result<Request, String> {
    let surplus = if arguments.flag("--kill")? { Surplus::Ends } else { Surplus::Stays };
    let profile = arguments.number("--profile", "a profile's number")?.map_or(ProfileId::DEFAULT, ProfileId);
    Ok(Request::SetTotal(arguments.parsed("a number of executors")?, profile, surplus))
}

fn kill(arguments: &mut Arguments) -> Result<Request, String> {
    let replacement = if arguments.flag("--replace")? { Replacement::Wanted } else { Replacement::Unwanted };
    let executors = arguments.all("an executor's number", ExecutorId)?;
    match executors.is_empty() {
        true => Err(arguments.wrong("give the number of an executor")),
        false => Ok(Request::Kill(executors, replacement)),
    }
}

fn profile(arguments: &mut Arguments) -> Result<Request, String> {
    match arguments.words.pop_front().as_deref() {
        None | Some("list") => return Ok(Request::ListProfiles),
        Some("add") => {}
        Some(other) => return Err(arguments.wrong(format!("{} has no meaning here", quote(other)))),
    }
    let cores = arguments.number("--cores", "a number of cores")?.map(Cores);
    let mut needs = ResourceProfile { cores, ..ResourceProfile::default() };
    if let Some(text) = arguments.value("--memory")? {
        let mib = size::bytes(&text, size::Unit::MiB).ok().and_then(|bytes| i64::try_from(bytes >> 20).ok());
        let wrong = || format!("--memory {} is not a size such as 512m or 2g", quote(&text));
        needs.memory = Some(MiB(mib.ok_or_else(|| arguments.wrong(wrong()))?));
    }
    while let Some(text) = arguments.value("--resource")? {
        let pair = text.split_once('=').and_then(|(name, count)| Some((name, count.parse().ok()?)));
        let (name, count) = pair
            .filter(|(name, _)| !name.is_empty())
            .ok_or_else(|| arguments.wrong(format!("--resource {} is not NAME=AMOUNT", quote(&text))))?;
        needs.resources.insert(name.to_owned(), count);
    }
    let task = task_share(arguments, &needs)?;
    let total = arguments.parsed("a number of executors")?;
    needs.check().map_err(|error| arguments.wrong(error))?;
    Ok(Request::AddProfile(needs, task, total))
}

/// Parses the share of a profile's executor that a task takes. The executor must have these resources.
fn task_share(arguments: &mut Arguments, needs: &ResourceProfile) -> Result<TaskShare, String> {
    let too_large = |task: String, executor: String, option: &str| {
        format!(
            "a task needs {task}, but an executor has {executor}: raise --{option}, or lower --task-{option}"
        )
    };
    let cores: Option<i64> = arguments.number("--task-cores", "a number of cores")?;
    if let Some(cores) = cores.filter(|cores| *cores < 1) {
        return Err(arguments.wrong(format!("--task-cores {cores}: a task has at least 1 core")));
    }
    let mut task = TaskShare { cores: cores.map(Cores), ..TaskShare::default() };
    if let (Some(cores), Some(each)) = (task.cores, needs.cores)
        && cores > each
    {
        return Err(too_large(format!("{cores} cores"), each.to_string(), "cores"));
    }
    while let Some(text) = arguments.value("--task-resource")? {
        let pair = text.split_once('=').and_then(|(name, amount)| {
            let each = TaskAmount::of_amounts(&needs.resources, name);
            Some((name, each, TaskAmount::of_executor(amount, each).ok()?))
        });
        let (name, each, amount) = pair.ok_or_else(|| {
            let words = "NAME=AMOUNT, a whole number or at most 0.5";
            arguments.wrong(format!("--task-resource {} is not {words}", quote(&text)))
        })?;
        if amount.tasks_on(each) == Some(0) {
            return Err(too_large(format!("{amount} {name}"), each.to_string(), "resource"));
        }
        task.resources.insert(name.to_owned(), amount);
    }
    Ok(task)
}

fn set(arguments: &mut Arguments) -> Result<Request, String> {
    Ok(match arguments.words.pop_front().as_deref() {
        None => Request::ShowDefaults,
        Some("cores") => Request::Set(Assignment::Cores(arguments.cores()?)),
        Some("directory") => Request::Set(Assignment::Directory(arguments.word("a directory")?)),
        Some("env") => {
            let word = arguments.word("a variable")?;
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                None => (word, None),
            };
            if name.is_empty() {
                return Err(arguments.wrong("a variable needs a name"));
            }
            Request::Set(Assignment::Variable(name, value))
        }
        Some(other) => return Err(arguments.wrong(format!("{} cannot be set", quote(other)))),
    })
}

/// The arguments of a command that are not parsed yet.
struct Arguments {
    command: Command,
    words: VecDeque<String>,
}

impl Arguments {
    fn wrong(&self, wrong: impl Display) -> String {
        format!("{wrong}: write {}", self.command.usage)
    }

    fn no_option(&self, option: &str) -> String {
        let options = self.command.options();
        let meant = meant(option, options.iter().map(String::as_str).filter(|known| known.starts_with("--")));
        self.wrong(format!("{} has no option {}{meant}", self.command.name, quote(option)))
    }

    fn word(&mut self, what: &str) -> Result<String, String> {
        self.words.pop_front().ok_or_else(|| self.wrong(format!("{what} is missing")))
    }

    fn parsed<T: FromStr>(&mut self, what: &str) -> Result<T, String> {
        let word = self.word(what)?;
        word.parse().map_err(|_| self.wrong(format!("{} is not {what}", quote(&word))))
    }

    fn optional<T: FromStr>(&mut self, what: &str) -> Result<Option<T>, String> {
        if self.words.is_empty() { Ok(None) } else { self.parsed(what).map(Some) }
    }

    /// Takes all remaining words, and parses them as numbers.
    fn all<N: FromStr, T>(&mut self, what: &str, of: impl Fn(N) -> T) -> Result<Vec<T>, String> {
        let mut all = Vec::new();
        while let Some(number) = self.optional(what)? {
            all.push(of(number));
        }
        Ok(all)
    }

    /// Removes a flag from any position. Returns whether the flag was present.
    fn flag(&mut self, flag: &str) -> Result<bool, String> {
        let before = self.words.len();
        self.words.retain(|word| word != flag);
        match before - self.words.len() {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.wrong(format!("{flag} is given twice"))),
        }
    }

    /// Removes an option from any position and returns its value.
    fn value(&mut self, option: &str) -> Result<Option<String>, String> {
        let Some(at) = self.words.iter().position(|word| word == option) else { return Ok(None) };
        self.words.remove(at);
        self.words.remove(at).ok_or_else(|| self.wrong(format!("{option} needs a value"))).map(Some)
    }

    fn number<T: FromStr>(&mut self, option: &str, what: &str) -> Result<Option<T>, String> {
        let Some(word) = self.value(option)? else { return Ok(None) };
        let parsed = word.parse().map_err(|_| self.wrong(format!("{option} {} is not {what}", quote(&word))));
        parsed.map(Some)
    }

    /// Takes the next option before the words of a command begin. `--` ends the options.
    fn leading_option(&mut self) -> Option<String> {
        let option = self.words.pop_front_if(|word| word.starts_with('-') && word.len() > 1)?;
        (option != "--").then_some(option)
    }

    fn cores(&mut self) -> Result<Cores, String> {
        match self.parsed("a number of cores")? {
            cores @ 1.. => Ok(Cores(cores)),
            _ => Err(self.wrong("a task has at least 1 core")),
        }
    }

    /// Takes all remaining words, which are the words of a command.
    fn command(&mut self) -> Result<Vec<String>, String> {
        match self.words.front().map(String::as_str) {
            None => Err(self.wrong("no command given")),
            Some("") => Err(self.wrong("the name of the command is empty")),
            Some(_) => Ok(std::mem::take(&mut self.words).into()),
        }
    }
}

#[cfg(test)]
mod tests;
