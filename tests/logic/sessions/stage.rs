//! Where a page is played: one session, without a driver or a terminal.
//!
//! The terminal prints at once, and says nothing of it, unless it is `slow`.

use std::collections::BTreeMap;

use firesteel_engine::driver::{
    Allocation, Ending, ExecutorLoss, ExecutorView, ExecutorViewState, FailureCause, Note, TaskNeeds,
    TaskOutcome, View,
};
use firesteel_engine::session::{
    Commands, Config, Defaults, Effect, Event, MapEnd, OnFailure, Piece, Reader, Session,
};
use firesteel_placement::explain::shortfall::{Amounts, Missing, Reason};
use firesteel_placement::{Cores, ExecutorLimit, Resources, Shortfall};
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{AppId, AttemptId, ExecutorId, ProfileId, TaskId, WorkerId};
use firesteel_protocol::messages::{ApplicationEnd, ExecutorState, TaskDirectory, TaskEnd};
use firesteel_protocol::process::ExitStatus;
use firesteel_protocol::{EndRequest, Machine as _, Timestamp};

use super::words::words;
use crate::scripts::command::{Words, millis};
use crate::scripts::{BEGINNING, Timed as _, timed};

/// A session on its stage.
pub struct Stage {
    session: Session,
    now: Timestamp,
    terminal: Terminal,
}

/// How fast the terminal is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Terminal {
    Fast,
    Slow,
}

impl Default for Stage {
    fn default() -> Self {
        Self::of(Commands::Typed, OnFailure::GoesOn, BEGINNING)
    }
}

timed!(Stage, session: Session, Event::Deadline);

impl Stage {
    fn of(commands: Commands, on_failure: OnFailure, now: Timestamp) -> Self {
        let (needs, directory, environment) =
            (TaskNeeds::default(), TaskDirectory::Executor, BTreeMap::new());
        let defaults = Defaults { needs, directory, environment };
        let config = Config { commands, on_failure, defaults, allocation: Allocation::Fixed };
        Self { session: Session::new(config), now, terminal: Terminal::Fast }
    }

    /// Plays one command, and returns what the session did, a line each.
    pub fn play(&mut self, line: &str) -> Vec<String> {
        let (verb, arguments) = Words::of(line);
        match verb {
            "typed" => self.begin(Commands::Typed, OnFailure::GoesOn),
            "script" => self.begin(Commands::Script, OnFailure::Stops),
            "script-goes-on" => self.begin(Commands::Script, OnFailure::GoesOn),
            "terminal" => {
                self.terminal = if arguments.name(0) == "slow" { Terminal::Slow } else { Terminal::Fast };
                Vec::new()
            }
            "line" => self.apply(Event::LineRead(line.trim_start_matches("line").to_owned())),
            "line-discarded" => self.apply(Event::LineDiscarded),
            "lines-ended" => self.apply(Event::LinesEnded),
            "settled" => self.apply(Event::OutputSettled),
            // `file-read run a / run b`: a file of two lines.
            "file-read" => {
                self.apply(Event::FileRead(line.trim_start_matches("file-read").replace('/', "\n")))
            }
            "file-failed" => self.apply(Event::FileFailed("no such file".to_owned())),
            "items-opened" => self.apply(Event::ItemsOpened),
            "map-ended" => {
                let count = |key: &str| arguments.setting(key).map_or(0, number);
                let code = u8::try_from(count("code")).expect("an exit code");
                let (items, failed) = (count("items"), count("failed"));
                self.apply(Event::MapEnded(MapEnd { items, failed, code, reader: Reader::Reads }))
            }
            "printed" => self.replayed(Piece::Printed, &arguments),
            "nothing" => self.replayed(Piece::Nothing, &arguments),
            "tables" => self.apply(Event::TablesSeen(tables(&arguments))),
            "explained" => self.apply(Event::MasterAnswered(Some(vec![(ProfileId::DEFAULT, shortfall())]))),
            "no-master" => self.apply(Event::MasterAnswered(None)),
            "reader-closed" => self.apply(Event::ReaderClosed),
            "signal" => self.apply(Event::EndRequested(match arguments.name(0) {
                "INT" => EndRequest::Interrupt,
                "TERM" => EndRequest::Terminate,
                other => panic!("no signal is called {other:?}"),
            })),
            "advance" => self.advance(millis(arguments.name(0))),
            "route" => vec![format!("{:?}", self.session.route(task(arguments.name(0))))],
            _ => self.report(verb, &arguments),
        }
    }

    fn begin(&mut self, commands: Commands, on_failure: OnFailure) -> Vec<String> {
        *self = Self::of(commands, on_failure, self.now);
        Vec::new()
    }

    /// `printed`, `nothing lost`: a piece of a record, or of one that is incomplete.
    fn replayed(&mut self, piece: Piece, arguments: &Words<'_>) -> Vec<String> {
        let is_incomplete = arguments.names_from(0).contains(&"lost");
        let loss = is_incomplete.then(|| "is forgotten".to_owned());
        self.apply(Event::Replayed(piece, loss))
    }

    /// What the driver reports.
    fn report(&mut self, verb: &str, arguments: &Words<'_>) -> Vec<String> {
        match verb {
            "registered" => {
                let (app, master) = (AppId::new("app-1"), Address::new("master", 7077));
                self.apply(Event::NoteReceived(Note::Registered { app, master }))
            }
            "executor" => {
                let executor = executor(arguments.name(0));
                let (profile, host, cores) = (ProfileId::DEFAULT, "host1".to_owned(), Cores(2));
                self.apply(Event::NoteReceived(Note::ExecutorRegistered { executor, profile, host, cores }))
            }
            "executor-lost" => {
                let (executor, host) = (executor(arguments.name(0)), "host1".to_owned());
                let loss = ExecutorLoss::Ended(ExecutorState::Exited(ExitStatus::Code(1)));
                self.apply(Event::NoteReceived(Note::ExecutorLost { executor, host, loss, tasks: 1 }))
            }
            "refused" => self.apply(Event::NoteReceived(Note::TargetIsDynamic { total: 3 })),
            "discarded" => self.apply(Event::OutputDiscarded(task(arguments.name(0)))),
            "succeeded" | "failed" | "cancelled" => self.end_task(verb, arguments),
            "application-ended" => self.apply(Event::ApplicationEnded(match arguments.name(0) {
                "cancelled" => Ending::Cancelled,
                "killed" => Ending::Removed(ApplicationEnd::Killed { by: "ann@host".to_owned() }),
                "no-master" => Ending::NoMaster { errors: Vec::new() },
                other => panic!("no application ends {other:?}"),
            })),
            "driver-ended" => self.apply(Event::DriverEnded),
            other => panic!("no command is called {other:?}"),
        }
    }

    /// `succeeded 1`, `failed 2 code=3`, `cancelled 3`.
    fn end_task(&mut self, verb: &str, arguments: &Words<'_>) -> Vec<String> {
        let (task, executor) = (task(arguments.name(0)), ExecutorId(0));
        let attempt = AttemptId { task, attempt: 0 };
        let outcome = match verb {
            "succeeded" => TaskOutcome::Succeeded { attempt, executor, locality: None },
            "failed" => {
                let code = arguments.setting("code").map_or(1, number);
                let status = ExitStatus::Code(i32::try_from(code).expect("an exit code"));
                let cause = FailureCause::Ended(TaskEnd::Exited(status));
                TaskOutcome::Failed { attempt, executor, locality: None, failures: 1, cause }
            }
            _ => TaskOutcome::Cancelled,
        };
        self.apply(Event::TaskEnded(task, outcome))
    }

    fn apply(&mut self, event: Event) -> Vec<String> {
        let effects = self.session.apply(self.now, event);
        if let Err(violation) = self.session.check() {
            panic!("{violation}");
        }
        let mut lines = Vec::new();
        for effect in &effects {
            match (self.terminal, effect) {
                (Terminal::Fast, Effect::EndLine | Effect::Unmute) => {}
                (Terminal::Fast, Effect::Settle) => lines.extend(self.apply(Event::OutputSettled)),
                (_, effect) => lines.push(words(effect)),
            }
        }
        lines
    }
}

/// `tables 0 1? wanted=2 profiles=1`: executor 0 is ready, and executor 1 is assigned; a profile was added.
fn tables(arguments: &Words<'_>) -> View {
    let executors = arguments.names_from(0).iter().map(|name| {
        let (id, state) = match name.strip_suffix('?') {
            Some(id) => (id, ExecutorViewState::Announced),
            None => (*name, ExecutorViewState::Offering),
        };
        ExecutorView {
            id: executor(id),
            profile: ProfileId::DEFAULT,
            worker: WorkerId::new("worker-1"),
            host: "host1".to_owned(),
            cores: Cores(2),
            resources: Resources::default(),
            state,
            running: Vec::new(),
        }
    });
    let wanted = arguments.setting("wanted").map_or(2, number);
    let added = u32::try_from(arguments.setting("profiles").map_or(0, number)).expect("it is small");
    let targets = (0..=added).map(|profile| (ProfileId(profile), ExecutorLimit::AtMost(wanted)));
    View {
        app: Some(AppId::new("app-1")),
        master: None,
        submitted: 0,
        waiting: 0,
        running: 0,
        succeeded: 0,
        failed: 0,
        cancelled: 0,
        failed_attempts: 0,
        targets: targets.collect(),
        executors: executors.collect(),
    }
}

fn shortfall() -> Shortfall {
    let missing = Missing::Executors { missing: 1, of: 2 };
    Shortfall { missing, asked: Amounts::default(), reason: Reason::NoWorkers }
}

fn task(name: &str) -> TaskId {
    TaskId(number(name))
}

fn executor(name: &str) -> ExecutorId {
    ExecutorId(u32::try_from(number(name)).expect("it is small"))
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("{text:?} is no number"))
}
