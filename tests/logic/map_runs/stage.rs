//! Plays a page: one map run, without a driver and a disk.

use std::collections::BTreeMap;

use bytes::Bytes;
use firesteel_engine::driver::{Ending, ExecutorLoss, FailureCause, Note, TaskOutcome, TaskRequest, Unfit};
use firesteel_engine::map::{Config, Effect, Event, Item, MapRun, Remark, Scope, Unusable};
use firesteel_placement::Cores;
use firesteel_protocol::ids::{AttemptId, ExecutorId, ProfileId, TaskId};
use firesteel_protocol::messages::{ApplicationEnd, ExecutorState, Stream, TaskDirectory, TaskEnd, TaskSpec};
use firesteel_protocol::process::{Command, ExitStatus};
use firesteel_protocol::{EndRequest, Machine as _, NoteLevel, Timestamp};

use crate::scripts::command::{Words, millis};
use crate::scripts::{BEGINNING, Timed as _, timed};

/// A map run under test.
pub struct Stage {
    run: MapRun,
    now: Timestamp,
    read: u64,
}

impl Default for Stage {
    fn default() -> Self {
        let config = Config { scope: Scope::Application, profile: ProfileId::DEFAULT, items: None };
        Self { run: MapRun::new(config), now: BEGINNING, read: 0 }
    }
}

timed!(Stage, run: MapRun, Event::Deadline);

impl Stage {
    /// Plays one command. Returns the run's effects, one per line.
    pub fn play(&mut self, line: &str) -> Vec<String> {
        let (verb, words) = Words::of(line);
        match verb {
            "run" => self.begin(&words),
            "item" => self.read_items(&words),
            "input-ended" => self.apply(Event::InputEnded),
            "input-failed" => {
                let item = match words.names_from(0).first() {
                    Some(&"taken") => Unusable::Taken,
                    _ => Unusable::None,
                };
                self.apply(Event::InputFailed { error: "record 3 is no text".to_owned(), item })
            }
            "executor" => {
                let host = words.name(1).to_owned();
                let cores = words.cores("cores").expect("an executor has cores");
                let executor = executor(words.name(0));
                self.apply(Event::NoteReceived(Note::ExecutorRegistered {
                    executor,
                    profile: ProfileId::DEFAULT,
                    host,
                    cores,
                }))
            }
            "executor-lost" => {
                let (executor, host) = (executor(words.name(0)), words.name(1).to_owned());
                let loss = ExecutorLoss::Disconnected;
                self.apply(Event::NoteReceived(Note::ExecutorLost { executor, host, loss, tasks: 1 }))
            }
            "output" => {
                let bytes = Bytes::copy_from_slice(words.name(1).as_bytes());
                let attempt = attempt(&words);
                self.apply(Event::OutputReceived { attempt, stream: Stream::Stdout, bytes })
            }
            "discarded" => self.apply(Event::OutputDiscarded { attempt: attempt(&words) }),
            "succeeded" | "failed" | "cancelled" | "unfit" => self.end_tasks(verb, &words),
            "printed" => {
                let tasks = words.names_from(0).iter().map(|name| task(name)).collect();
                self.apply(Event::Printed { tasks })
            }
            "output-closed" => self.apply(Event::OutputClosed),
            "output-lost" => self.apply(Event::OutputLost { error: "the disk is full".to_owned() }),
            "reader-closed" => self.apply(Event::ReaderClosed),
            "record-lost" => self.apply(Event::RecordLost { error: "the disk is full".to_owned() }),
            "rest-left" => {
                let items = words.names_from(0).first().map(|items| count(items));
                self.apply(Event::RestLeft { items })
            }
            "application-ended" => self.apply(Event::ApplicationEnded(ending(words.name(0)))),
            "driver-ended" => self.apply(Event::DriverEnded),
            "signal" => self.apply(Event::EndRequested(match words.name(0) {
                "INT" => EndRequest::Interrupt,
                "TERM" => EndRequest::Terminate,
                other => panic!("no signal is called {other:?}"),
            })),
            "advance" => self.advance(millis(words.name(0))),
            "totals" => self.totals(),
            other => panic!("no command is called {other:?}"),
        }
    }

    /// `run items=10`, `run first=5 e0=host1:4`: another run.
    fn begin(&mut self, words: &Words<'_>) -> Vec<String> {
        let (mut first, mut items, mut executors) = (None, None, Vec::new());
        for &(key, value) in words.settings() {
            match key {
                "first" => first = Some(task(value)),
                "items" => items = Some(count(value)),
                name => {
                    let (host, cores) = value.split_once(':').expect("host:cores");
                    let number = name.strip_prefix('e').expect("an executor is called e0");
                    let cores = Cores(cores.parse().expect("a number"));
                    executors.push((executor(number), host.to_owned(), cores));
                }
            }
        }
        let scope = match first {
            Some(first) => Scope::Tasks { first, executors },
            None => Scope::Application,
        };
        *self = Self {
            run: MapRun::new(Config { scope, profile: ProfileId::DEFAULT, items }),
            now: self.now,
            read: 0,
        };
        self.apply(Event::Start)
    }

    /// `item a`, `item a bytes=100`, `item times=70`: the next items of the input.
    fn read_items(&mut self, words: &Words<'_>) -> Vec<String> {
        let times = words.setting("times").map_or(1, count);
        let bytes = words.setting("bytes").map_or(0, |bytes| usize::try_from(count(bytes)).expect("it fits"));
        let mut lines = Vec::new();
        for _ in 0..times {
            self.read += 1;
            let name =
                words.names_from(0).first().map_or_else(|| format!("i{}", self.read), ToString::to_string);
            let item = Item { number: self.read, words: name, bytes, request: request() };
            lines = self.apply(Event::InputItem(item));
        }
        lines
    }

    /// `succeeded 0 1 2 on=0`, `failed 3`.
    fn end_tasks(&mut self, verb: &str, words: &Words<'_>) -> Vec<String> {
        let executor = words.setting("on").map_or(ExecutorId(0), executor);
        let mut lines = Vec::new();
        for name in words.names_from(0) {
            let task = task(name);
            let attempt = AttemptId { task, attempt: 0 };
            let outcome = match verb {
                "succeeded" => TaskOutcome::Succeeded { attempt, executor, locality: None },
                "failed" => {
                    let cause = FailureCause::Ended(TaskEnd::Exited(ExitStatus::Code(1)));
                    TaskOutcome::Failed { attempt, executor, locality: None, failures: 4, cause }
                }
                "unfit" => TaskOutcome::Unfit(Unfit::TooLong { length: 2, limit: 1 }),
                _ => TaskOutcome::Cancelled,
            };
            lines.extend(self.apply(Event::TaskEnded { task, outcome }));
        }
        lines
    }

    fn totals(&self) -> Vec<String> {
        let (totals, ending) = (self.run.tally().totals, self.run.ending());
        let unread = totals.unread.map_or_else(|| "unknown".to_owned(), |unread| unread.to_string());
        vec![
            format!(
                "{} taken: {} succeeded ({} not printed), {} failed, {} cancelled, {} unusable, {} open; \
                 unread: {unread}; left for another run: {}",
                totals.taken,
                totals.succeeded,
                totals.unprinted,
                totals.failed,
                totals.cancelled,
                totals.unusable,
                totals.open,
                totals.left(),
            ),
            format!("{ending:?}"),
        ]
    }

    fn apply(&mut self, event: Event) -> Vec<String> {
        let effects = self.run.apply(self.now, event);
        if let Err(violation) = self.run.check() {
            panic!("{violation}");
        }
        effects.iter().map(line).collect()
    }
}

fn line(effect: &Effect) -> String {
    match effect {
        Effect::ReadItem => "input <- read an item".to_owned(),
        Effect::Submit { task, .. } => format!("driver <- task {task}"),
        Effect::FinishApplication { outcome } => format!("driver <- finish the application: {outcome}"),
        Effect::CancelApplication { outcome, until } => {
            format!("driver <- cancel the application, until {until:?}: {outcome}")
        }
        Effect::CancelTasks { tasks } => {
            let tasks: Vec<String> = tasks.iter().map(ToString::to_string).collect();
            format!("driver <- end tasks {}", tasks.join(", "))
        }
        Effect::Output { attempt, bytes, .. } => format!("output <- {} bytes of {attempt}", bytes.len()),
        Effect::DiscardOutput { attempt } => format!("output <- forget {attempt}"),
        Effect::Print { task, attempt: Some(attempt) } => format!("output <- print task {task}: {attempt}"),
        Effect::Print { task, attempt: None } => format!("output <- print nothing for task {task}"),
        Effect::CloseOutput => "output <- print what is left".to_owned(),
        Effect::MarkDone { number } => format!("record <- item {number} is done"),
        Effect::LeaveRest => "record <- leave the rest".to_owned(),
        Effect::Remark(remark) => {
            let level = match remark.level() {
                NoteLevel::Info => "",
                NoteLevel::Warn => "error: ",
            };
            match remark {
                Remark::Driver(note) => format!("({note})"),
                other => format!("({level}{other:?})"),
            }
        }
        Effect::Finish => "the run is over".to_owned(),
    }
}

fn ending(name: &str) -> Ending {
    match name {
        "completed" => Ending::Completed,
        "cancelled" => Ending::Cancelled,
        "killed" => Ending::Removed(ApplicationEnd::Killed { by: "ann@host".to_owned() }),
        "failed" => Ending::Removed(ApplicationEnd::ExecutorsFailed {
            failures: 10,
            last: ExecutorState::Exited(ExitStatus::Code(1)),
        }),
        "no-master" => Ending::NoMaster { errors: Vec::new() },
        other => panic!("no application ends {other:?}"),
    }
}

fn request() -> TaskRequest {
    let command = Command { program: "true".to_owned(), arguments: Vec::new(), environment: BTreeMap::new() };
    let directory = TaskDirectory::Executor;
    TaskSpec { command, directory, stdin: Bytes::new(), cores: Cores(1) }.into()
}

fn attempt(words: &Words<'_>) -> AttemptId {
    let (task_name, attempt) = words.name(0).split_once('.').expect("an attempt is called 3.0");
    AttemptId { task: task(task_name), attempt: attempt.parse().expect("a number") }
}

fn task(name: &str) -> TaskId {
    TaskId(count(name))
}

fn executor(name: &str) -> ExecutorId {
    ExecutorId(u32::try_from(count(name)).expect("it is small"))
}

fn count(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("{text:?} is no number"))
}
