//! The facts of a world with one session, with which the session's effects are compared.

use std::collections::{BTreeSet, VecDeque};

use firesteel_engine::driver;
use firesteel_engine::session::{Commands, Config, Entry, Event, OnFailure, Reader, Request, parse};
use firesteel_protocol::EndRequest;
use firesteel_protocol::ids::{ProfileId, TaskId};

use super::command::{Command, Facts};

/// The facts of a world.
#[derive(Debug, Default)]
pub(super) struct Truth {
    is_script: bool,
    stops_at_failure: bool,
    /// The steps that are still to be carried out.
    steps: VecDeque<Step>,
    /// The commands that read files, nested in one another. Each has the exit code of the last command that failed in
    /// its file.
    sources: Vec<(Command, u8)>,
    /// The current command.
    pub(super) current: Option<Command>,
    pub(super) tasks: Facts,
    /// Profiles that the session has confirmed as added (`Answer::ProfileAdded`).
    pub(super) profiles: BTreeSet<ProfileId>,
    /// The number of the next task.
    pub(super) next: TaskId,
    pub(super) last_failure: u8,
    pub(super) warned: bool,
    /// Whether the session has requested a line. The fields below: whether it waits for an answer, discards outputs,
    /// and has a map run.
    pub(super) reads: bool,
    pub(super) asks: bool,
    pub(super) muted: bool,
    pub(super) maps: bool,
    /// The exit code with which the session must end now.
    pub(super) left: Option<u8>,
    /// The tasks that a script waits for before it ends.
    pub(super) last_tasks: Option<Vec<TaskId>>,
    /// The task that a ctrl-c must end.
    pub(super) to_cancel: Option<TaskId>,
    pub(super) requests: Vec<EndRequest>,
    /// When the end was first requested, other than by ctrl-c and before the session ended by itself.
    pub(super) asked: Option<u64>,
    /// Whether the session must end immediately.
    pub(super) must_leave: bool,
    /// Whether the session has explained why executors are missing.
    pub(super) explained: bool,
    pub(super) over: Option<driver::Ending>,
    pub(super) driver_is_gone: bool,
    pub(super) reader_is_gone: bool,
    pub(super) is_leaving: bool,
    /// Whether the session has returned the effect `Finish`.
    pub(super) finished: bool,
    /// The first law that an event has shown to be broken.
    pub(super) broken: Option<String>,
}

/// One step of a line or a file.
#[derive(Debug)]
enum Step {
    Command(Entry),
    EndOfFile,
}

impl Truth {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            is_script: config.commands == Commands::Script,
            stops_at_failure: config.on_failure == OnFailure::Stops,
            next: TaskId::FIRST,
            ..Self::default()
        }
    }

    /// Enters an event of the session.
    pub(super) fn told(&mut self, now: u64, event: &Event) {
        match event {
            Event::LineRead(_) | Event::LineDiscarded | Event::LinesEnded | Event::LinesFailed(_) => {
                self.reads = false;
            }
            Event::TablesSeen(_)
            | Event::MasterAnswered(_)
            | Event::Replayed(..)
            | Event::ItemsOpened
            | Event::ItemsFailed(_)
            | Event::FileRead(_)
            | Event::FileFailed(_)
            | Event::OutputSettled => self.asks = false,
            Event::MapFailed(_) | Event::MapEnded(_) => self.maps = false,
            _ => {}
        }
        match event {
            Event::LineRead(line) => {
                self.steps = parse(line).into_iter().map(Step::Command).collect();
                self.begin_next();
            }
            Event::LinesEnded => self.leave(None),
            Event::LinesFailed(_) => self.left = Some(1),
            Event::TaskEnded(task, outcome) if !self.is_leaving => {
                if let Some(fact) = self.tasks.0.get_mut(task) {
                    fact.outcome = Some(outcome.clone());
                }
            }
            Event::ApplicationEnded(ending) => self.over = Some(ending.clone()),
            Event::DriverEnded => self.driver_is_gone = true,
            Event::FileRead(text) => self.open_file(text),
            Event::MapEnded(end) => {
                self.next.0 += end.items;
                self.reader_is_gone |= end.reader == Reader::Gone;
                self.current.iter_mut().for_each(|command| command.code = Some(end.code));
            }
            Event::OutputSettled => self.settled(),
            Event::ReaderClosed => {
                self.reader_is_gone = true;
                self.must_leave |= self.current.is_some();
            }
            Event::EndRequested(request) => self.on_request(now, *request),
            _ => {}
        }
    }

    fn on_request(&mut self, now: u64, request: EndRequest) {
        self.requests.push(request);
        if request == EndRequest::Interrupt {
            let task = self.current.as_ref().filter(|_| !self.is_leaving).and_then(Command::foreground);
            self.to_cancel = task.filter(|task| self.tasks.outcome(*task).is_none());
        } else if !self.is_leaving {
            self.asked.get_or_insert(now);
            self.must_leave = true;
        }
    }

    fn open_file(&mut self, text: &str) {
        if let Some(source) = self.current.take_if(|command| command.is_of(&["Source"])) {
            self.sources.push((source, 0));
            self.steps.push_front(Step::EndOfFile);
            let entries: Vec<Entry> = text.lines().flat_map(parse).collect();
            entries.into_iter().rev().for_each(|entry| self.steps.push_front(Step::Command(entry)));
            self.begin_next();
        }
    }

    /// Everything is printed. The current command is over, unless only its task's output was printed.
    fn settled(&mut self) {
        let Some(mut command) = self.current.take().filter(|_| !self.is_leaving) else { return };
        if !command.is_printed && command.foreground().is_some_and(|task| self.tasks.outcome(task).is_some())
        {
            command.is_printed = true;
            self.current = Some(command);
            return;
        }
        if let Err(sentence) = command.end(&self.tasks, self.is_script) {
            self.broken.get_or_insert(sentence);
        }
        self.end_command(command.exit_code(&self.tasks));
    }

    fn end_command(&mut self, code: u8) {
        if code != 0 {
            self.last_failure = code;
            match self.sources.last_mut() {
                Some((_, failure)) => {
                    *failure = code;
                    while self.stops_at_failure
                        && self.steps.pop_front_if(|it| matches!(it, Step::Command(_))).is_some()
                    {
                    }
                }
                None if self.stops_at_failure && self.is_script => {
                    self.left = Some(code);
                    return;
                }
                None => {}
            }
        }
        self.begin_next();
    }

    fn begin_next(&mut self) {
        match self.steps.pop_front() {
            Some(Step::Command(entry)) => {
                let command = Command::begin(entry.request, &self.tasks);
                match command.request {
                    Ok(Request::Quit(code)) => self.leave(code),
                    Ok(_) => self.warned = false,
                    Err(_) => {}
                }
                self.current = Some(command);
            }
            Some(Step::EndOfFile) => {
                self.warned = false;
                self.current = self.sources.pop().map(|(mut source, code)| {
                    source.code = Some(code);
                    source
                });
            }
            None => {}
        }
    }

    fn leave(&mut self, code: Option<u8>) {
        let open = self.tasks.open();
        match (self.is_script, code) {
            (false, _) if !open.is_empty() && !self.warned => self.warned = true,
            (false, code) => self.left = Some(code.unwrap_or(0)),
            (true, Some(code)) => self.left = Some(code),
            (true, None) => self.last_tasks = Some(open),
        }
    }
}
