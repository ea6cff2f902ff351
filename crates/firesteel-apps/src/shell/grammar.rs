//! The syntax of the shell's commands.

use std::time::Duration;

use firesteel_engine::driver::Replacement;
use firesteel_engine::session::{
    Assignment, Entry, Items, Map, ParsedLine, Place, Request, Run, Surplus, Target, TaskShare, Which,
};
use firesteel_placement::advanced::resources::TaskAmount;
use firesteel_placement::{Cores, MiB};
use firesteel_protocol::byte_text;
use firesteel_protocol::ids::{ExecutorId, ProfileId, TaskId};
use firesteel_protocol::messages::ResourceProfile;

use super::answers::shortened;
use super::arguments::{Arguments, RequestError};
use super::commands;
use super::words::{Sentence, quote, sentences};
use crate::map::items::Separator;
use crate::map::spool::OutputOrder;
use firesteel_settings::size;

/// The separator between the command and its items.
const ITEMS: &str = ":::";

/// Parses the lines of a script.
#[must_use]
pub fn script(text: &str) -> Vec<ParsedLine> {
    (1..).zip(text.lines()).map(|(number, line)| parse(number, line)).collect()
}

/// Parses a line. A line that cannot be split is one command that cannot be parsed.
#[must_use]
pub fn parse(number: u64, line: &str) -> ParsedLine {
    let entries = match sentences(line) {
        Ok(sentences) => sentences.into_iter().map(entry).collect(),
        Err(error) => vec![Entry { request: Err(error.to_string()), idle: None }],
    };
    ParsedLine { number, entries }
}

fn entry(sentence: Sentence) -> Entry {
    let idle = sentence.idle.clone();
    Entry { request: request(sentence).map_err(|error| error.to_string()), idle }
}

/// Parses a sentence into a request.
///
/// # Errors
/// The command is unknown, or its arguments are wrong.
pub fn request(sentence: Sentence) -> Result<Request, RequestError> {
    let Sentence { words, place, idle: _ } = sentence;
    let mut words = words.into_iter();
    let name = words.next().unwrap_or_default();
    let Some(command) = commands::find(&name) else {
        let nearest = commands::nearest(&name);
        return Err(RequestError::Unknown { name, nearest });
    };
    let mut arguments = Arguments { command, words: words.collect(), options: true };
    arguments.words.reverse();
    if place == Place::Background && command.name != "run" {
        return Err(arguments.wrong("only run works in the background with &"));
    }
    let request = match command.name {
        "run" => return run(arguments, place),
        "map" => return map(arguments),
        "executors" => Request::Executors,
        "tasks" => Request::Tasks(if arguments.flag("--all")? { Which::All } else { Which::Recent }),
        "watch" => Request::Watch(arguments.optional("a task's number")?.map(TaskId)),
        "wait" => wait(&mut arguments)?,
        "cancel" => cancel(&mut arguments)?,
        "request" => executors(&mut arguments)?,
        "kill" => kill(&mut arguments)?,
        "why" => Request::Why,
        "profile" => profile(&mut arguments)?,
        "status" => Request::Status,
        "set" => set(&mut arguments)?,
        "settings" => Request::Settings,
        "history" => Request::History(arguments.optional("a number of lines")?),
        "source" => Request::Source(arguments.required("a file")?.into()),
        "help" => match arguments.words.pop() {
            None => Request::Help(None),
            Some(name) => match commands::find(&name) {
                Some(command) => Request::Help(Some(command.name)),
                None => {
                    let nearest = commands::nearest(&name);
                    return Err(RequestError::Unknown { name, nearest });
                }
            },
        },
        "quit" => Request::Quit(arguments.optional("an exit code from 0 to 255")?),
        other => unreachable!("{other} is in the list of commands"),
    };
    arguments.end()?;
    Ok(request)
}

fn run(mut arguments: Arguments, place: Place) -> Result<Request, RequestError> {
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
    let command = arguments.command_words()?;
    let target = target.unwrap_or(Target::Profile(ProfileId::DEFAULT));
    let words = shortened(&command);
    Ok(Request::Run(Run { target, cores, retries, command, words, place }))
}

fn map(mut arguments: Arguments) -> Result<Request, RequestError> {
    let (mut profile, mut cores, mut file) = (ProfileId::DEFAULT, None, None);
    let (mut separator, mut order) = (Separator::Newline, OutputOrder::Input);
    while let Some(option) = arguments.leading_option() {
        match option.as_str() {
            "--cores" => cores = Some(arguments.cores()?),
            "--profile" => profile = ProfileId(arguments.parsed("a profile's number")?),
            "-i" | "--input" => file = Some(byte_text::path(&arguments.required("a file")?)),
            "-0" | "--null" => separator = Separator::Nul,
            "--unordered" => order = OutputOrder::Completion,
            other => return Err(arguments.no_option(other)),
        }
    }
    let mut command = arguments.command_words()?;
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
        (Some(_), Some(_)) => {
            return Err(arguments.wrong("items are given both after ::: and with -i"));
        }
        (None, None) => return Err(arguments.wrong("no items given")),
    };
    Ok(Request::Map(Map { profile, cores, command, items, order }))
}

fn wait(arguments: &mut Arguments) -> Result<Request, RequestError> {
    let seconds: Option<u32> = arguments.option_parsed("--for", "a number of seconds")?;
    match (arguments.option_parsed("--executors", "a number of executors")?, seconds) {
        (Some(count), seconds) => {
            let limit = Duration::from_secs(seconds.unwrap_or(60).into());
            Ok(Request::WaitForExecutors { count, limit })
        }
        (None, Some(_)) => Err(arguments.wrong("--for needs --executors")),
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
        (false, true) => Err(arguments.wrong("give the number of a task")),
        (true, false) => Err(arguments.wrong("tasks and --all exclude each other")),
    }
}

fn executors(arguments: &mut Arguments) -> Result<Request, RequestError> {
    let surplus = if arguments.flag("--kill")? { Surplus::Ends } else { Surplus::Stays };
    let profile: Option<u32> = arguments.option_parsed("--profile", "a profile's number")?;
    let total = arguments.parsed("a number of executors")?;
    Ok(Request::SetTotal { total, profile: profile.map_or(ProfileId::DEFAULT, ProfileId), surplus })
}

fn kill(arguments: &mut Arguments) -> Result<Request, RequestError> {
    let replace = arguments.flag("--replace")?;
    let executors: Vec<u32> = arguments.all("an executor's number")?;
    if executors.is_empty() {
        return Err(arguments.wrong("give the number of an executor"));
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
                let (name, count) = pair.filter(|(name, _)| !name.is_empty()).ok_or_else(|| {
                    arguments.wrong(format!("--resource {} is not NAME=AMOUNT", quote(&text)))
                })?;
                needs.resources.insert(name.to_owned(), count);
            }
            let task = task_share(arguments, &needs)?;
            let total = arguments.parsed("a number of executors")?;
            needs.check().map_err(|error| arguments.wrong(error.to_string()))?;
            Ok(Request::AddProfile { needs, task, total })
        }
        Some(other) => Err(arguments.wrong(format!("{} has no meaning here", quote(other)))),
    }
}

/// The share of a profile's executor that a task takes. The executor must have these resources.
fn task_share(arguments: &mut Arguments, needs: &ResourceProfile) -> Result<TaskShare, RequestError> {
    let cores: Option<i64> = arguments.option_parsed("--task-cores", "a number of cores")?;
    if let Some(cores) = cores.filter(|cores| *cores < 1) {
        return Err(arguments.wrong(format!("--task-cores {cores}: a task has at least 1 core")));
    }
    let mut task = TaskShare { cores: cores.map(Cores), ..TaskShare::default() };
    if let (Some(cores), Some(each)) = (task.cores, needs.cores)
        && cores > each
    {
        let (task, executor) = (format!("{cores} cores"), each.to_string());
        return Err(RequestError::TooLargeTask { task, executor, option: "cores" });
    }
    while let Some(text) = arguments.option("--task-resource")? {
        let pair = text.split_once('=').and_then(|(name, amount)| {
            let each = TaskAmount::of_amounts(&needs.resources, name);
            Some((name, each, TaskAmount::of_executor(amount, each).ok()?))
        });
        let (name, each, amount) = pair.ok_or_else(|| {
            let words = "NAME=AMOUNT, a whole number or at most 0.5";
            arguments.wrong(format!("--task-resource {} is not {words}", quote(&text)))
        })?;
        if amount.tasks_on(each) == Some(0) {
            let (task, executor) = (format!("{amount} {name}"), each.to_string());
            return Err(RequestError::TooLargeTask { task, executor, option: "resource" });
        }
        task.resources.insert(name.to_owned(), amount);
    }
    Ok(task)
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
                return Err(arguments.wrong("a variable needs a name"));
            }
            Request::Set(Assignment::Variable(name, value))
        }
        Some(other) => return Err(arguments.wrong(format!("{} cannot be set", quote(other)))),
    })
}

#[cfg(test)]
mod tests;
