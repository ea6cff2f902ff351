//! The lines of a page's sessions: the simplest form of the commands, without quotes and options.

use std::time::Duration;

use firesteel_engine::driver::Replacement;
use firesteel_engine::map::OutputOrder;
use firesteel_engine::session::{
    Entry, Items, Map, ParsedLine, Place, Request, Run, Surplus, Target, TaskShare, Which,
};
use firesteel_protocol::ids::{ExecutorId, ProfileId, TaskId};
use firesteel_protocol::messages::ResourceProfile;

use crate::scripts::command::millis;

/// `run a & ; wait`: a line of commands.
pub fn parse(number: u64, line: &str) -> ParsedLine {
    let commands = line.split(';').map(str::trim).filter(|command| !command.is_empty());
    ParsedLine { number, entries: commands.map(entry).collect() }
}

/// `run a / run b`: a file of lines.
pub fn parse_file(text: &str) -> Vec<ParsedLine> {
    (1..).zip(text.split('/')).map(|(number, line)| parse(number, line)).collect()
}

fn entry(command: &str) -> Entry {
    let words: Vec<&str> = command.split_whitespace().collect();
    let (name, arguments) = words.split_first().expect("a command has a name");
    let idle = arguments.contains(&"|").then(|| "|".to_owned());
    Entry { request: request(name, arguments), idle }
}

fn request(name: &str, arguments: &[&str]) -> Result<Request, String> {
    let first = || arguments.first().map(|word| number(word));
    Ok(match name {
        "run" => Request::Run(run(arguments)),
        "run-in-profile" => {
            let target =
                Target::Profile(ProfileId(u32::try_from(number(arguments[0])).expect("it is small")));
            Request::Run(Run { target, ..run(&arguments[1..]) })
        }
        "map" => Request::Map(Map {
            profile: ProfileId::DEFAULT,
            cores: None,
            command: vec!["true".to_owned()],
            items: Items::Words(arguments.iter().map(ToString::to_string).collect()),
            order: OutputOrder::Input,
        }),
        "executors" => Request::Executors,
        "tasks" => Request::Tasks(Which::Recent),
        "watch" => Request::Watch(first().map(TaskId)),
        "wait" => Request::Wait(tasks(arguments)),
        "wait-executors" => Request::WaitForExecutors {
            count: usize::try_from(number(arguments[0])).expect("it is small"),
            limit: Duration::from_millis(millis(arguments[1])),
        },
        "cancel" => Request::Cancel(tasks(arguments)),
        "request" => Request::SetTotal {
            total: number(arguments[0]),
            profile: ProfileId::DEFAULT,
            surplus: if arguments.contains(&"kill") { Surplus::Ends } else { Surplus::Stays },
        },
        "kill" => {
            let executors = vec![ExecutorId(u32::try_from(number(arguments[0])).expect("it is small"))];
            Request::Kill { executors, replacement: Replacement::Unwanted }
        }
        "why" => Request::Why,
        "profile-add" => Request::AddProfile {
            needs: ResourceProfile::default(),
            task: TaskShare::default(),
            total: number(arguments[0]),
        },
        "source" => Request::Source(arguments[0].into()),
        "quit" => Request::Quit(first().map(|code| u8::try_from(code).expect("an exit code"))),
        other => return Err(format!("unknown command {other}")),
    })
}

fn run(arguments: &[&str]) -> Run {
    let (command, place) = match arguments.split_last() {
        Some((&"&", command)) => (command, Place::Background),
        _ => (arguments, Place::Foreground),
    };
    Run {
        target: Target::Profile(ProfileId::DEFAULT),
        cores: None,
        retries: 0,
        command: command.iter().map(ToString::to_string).collect(),
        words: command.join(" "),
        place,
    }
}

fn tasks(arguments: &[&str]) -> Vec<TaskId> {
    arguments.iter().map(|word| TaskId(number(word))).collect()
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("{text:?} is no number"))
}
