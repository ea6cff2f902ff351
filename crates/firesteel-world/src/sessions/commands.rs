//! What is typed in a world, and what its files have.

use std::path::Path;
use std::time::Duration;

use firesteel_engine::driver::Replacement;
use firesteel_engine::map::{OutputOrder, Separator};
use firesteel_engine::session::{
    Assignment, Entry, Items, Map, ParsedLine, Place, Request, Run, Surplus, Target, TaskShare, Which,
};
use firesteel_placement::Cores;
use firesteel_protocol::ids::{ExecutorId, ProfileId, TaskId};
use firesteel_protocol::messages::ResourceProfile;
use firesteel_sim::dice::Dice;

/// A line of up to three commands.
pub(super) fn line(dice: &mut Dice, number: u64) -> ParsedLine {
    let entries = (0..dice.below(4)).map(|_| entry(dice)).collect();
    ParsedLine { number, entries }
}

/// A line of commands in the background.
pub(super) fn crowd(count: u64) -> ParsedLine {
    let run = Run { place: Place::Background, ..a_run(Target::Profile(ProfileId::DEFAULT)) };
    let entry = Entry { request: Ok(Request::Run(run)), idle: None };
    ParsedLine { number: 1, entries: vec![entry; usize::try_from(count).expect("it is small")] }
}

/// The path of a file that reads itself.
const ITSELF: &str = "itself";

/// A file of commands. Some read a file that reads itself.
pub(super) fn file(dice: &mut Dice, path: &Path, recursive: u64) -> Vec<ParsedLine> {
    let entries = vec![Entry { request: Ok(Request::Source(ITSELF.into())), idle: None }];
    let itself = |number| ParsedLine { number, entries };
    if path == Path::new(ITSELF) {
        return vec![itself(1)];
    }
    let mut lines: Vec<ParsedLine> = (1..=dice.below(4)).map(|number| line(dice, number)).collect();
    if dice.one_in(recursive) {
        lines.push(itself(lines.len() as u64 + 1));
    }
    lines
}

fn entry(dice: &mut Dice) -> Entry {
    let idle = dice.one_in(10).then(|| "|".to_owned());
    if dice.one_in(30) {
        return Entry { request: Err("there is no such command".to_owned()), idle };
    }
    Entry { request: Ok(request(dice)), idle }
}

fn request(dice: &mut Dice) -> Request {
    match dice.below(26) {
        0..=3 => Request::Run(run(dice, Place::Foreground)),
        4..=6 => Request::Run(run(dice, Place::Background)),
        7 => Request::Map(map(dice)),
        8 => Request::Executors,
        9 => Request::Tasks(*dice.pick(&[Which::Recent, Which::All])),
        10 => Request::Watch(dice.one_in(3).then(|| task(dice))),
        11 => Request::Wait(if dice.one_in(2) { Vec::new() } else { vec![task(dice), task(dice)] }),
        12 => {
            let count = usize::try_from(dice.below(4)).expect("it is small");
            Request::WaitForExecutors { count, limit: Duration::from_secs(dice.below(4)) }
        }
        13 => Request::Cancel(if dice.one_in(2) { Vec::new() } else { vec![task(dice)] }),
        14 => {
            let surplus = *dice.pick(&[Surplus::Stays, Surplus::Ends]);
            Request::SetTotal { total: dice.below(5), profile: profile(dice), surplus }
        }
        15 => {
            let replacement = *dice.pick(&[Replacement::Wanted, Replacement::Unwanted]);
            Request::Kill { executors: vec![executor(dice)], replacement }
        }
        16 => Request::Why,
        17 => {
            let needs = ResourceProfile::default();
            Request::AddProfile { needs, task: TaskShare::default(), total: dice.below(3) }
        }
        18 => Request::ListProfiles,
        19 => Request::Status,
        20 => Request::ShowDefaults,
        21 => Request::Set(assignment(dice)),
        22 => dice.pick(&[Request::Settings, Request::History(None), Request::History(Some(3))]).clone(),
        23 | 24 => Request::Source("commands".into()),
        _ => match dice.below(3) {
            0 => Request::Quit(dice.one_in(2).then_some(7)),
            1 => Request::Help(Some("run")),
            _ => Request::Help(None),
        },
    }
}

fn run(dice: &mut Dice, place: Place) -> Run {
    let target = match dice.one_in(5) {
        true => Target::Executor(executor(dice)),
        false => Target::Profile(profile(dice)),
    };
    Run { place, ..a_run(target) }
}

fn a_run(target: Target) -> Run {
    let (command, words) = (vec!["true".to_owned()], "true".to_owned());
    Run { target, cores: None, retries: 0, command, words, place: Place::Foreground }
}

fn map(dice: &mut Dice) -> Map {
    let items = match dice.one_in(2) {
        true => Items::Words(vec!["a".to_owned()]),
        false => Items::File("items".into(), Separator::Newline),
    };
    let (profile, command) = (profile(dice), vec!["true".to_owned()]);
    Map { profile, cores: Some(Cores(1)), command, items, order: OutputOrder::Input }
}

fn assignment(dice: &mut Dice) -> Assignment {
    let value = dice.one_in(2).then(|| "value".to_owned());
    let assignments = [
        Assignment::Cores(Cores(2)),
        Assignment::Directory("data".to_owned()),
        Assignment::Directory("executor".to_owned()),
        Assignment::Variable("NAME".to_owned(), value),
    ];
    dice.pick(&assignments).clone()
}

fn task(dice: &mut Dice) -> TaskId {
    TaskId(dice.between(1, 12))
}

fn executor(dice: &mut Dice) -> ExecutorId {
    ExecutorId(u32::try_from(dice.below(4)).expect("it is small"))
}

fn profile(dice: &mut Dice) -> ProfileId {
    *dice.pick(&[ProfileId::DEFAULT, ProfileId::DEFAULT, ProfileId::DEFAULT, ProfileId(1)])
}
