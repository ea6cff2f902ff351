//! The facts of a world with one session, with which the session's effects are compared.

use std::collections::{BTreeSet, VecDeque};

use firesteel_engine::driver;
use firesteel_engine::session::{Commands, Config, Entry, Event, OnFailure, ParsedLine, Reader, Request};
use firesteel_protocol::EndRequest;
use firesteel_protocol::ids::{ProfileId, TaskId};

use super::command::{Command, Facts, open};

/// The law that was broken: what should hold, and what was found.
pub(super) type Verdict = Result<(), String>;

/// The facts of a world.
#[derive(Debug)]
pub(super) struct Truth {
    commands: Commands,
    on_failure: OnFailure,
    /// The line at hand, and the files that are being read, one inside the other.
    frames: Vec<Frame>,
    /// The command at hand.
    pub(super) current: Option<Command>,
    pub(super) tasks: Facts,
    /// Profiles that were said to be added.
    pub(super) profiles: BTreeSet<ProfileId>,
    /// The number of the next task.
    pub(super) next: TaskId,
    pub(super) last_failure: u8,
    pub(super) warned: bool,
    /// Whether a line is wanted, an answer is awaited, outputs are dropped, and a map run is under way.
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
    /// When the end was asked for first, not by ctrl-c, and before the session came to it by itself.
    pub(super) asked: Option<u64>,
    /// Whether the session must come to its end at once.
    pub(super) must_leave: bool,
    /// Whether missing executors were explained.
    pub(super) explained: bool,
    pub(super) over: Option<driver::Ending>,
    pub(super) driver_is_gone: bool,
    pub(super) reader_is_gone: bool,
    pub(super) is_leaving: bool,
    pub(super) finished: bool,
    /// The first law that an event has shown to be broken.
    pub(super) broken: Option<String>,
}

/// A line, or a file, whose commands are served.
#[derive(Debug)]
struct Frame {
    entries: VecDeque<Entry>,
    lines: VecDeque<ParsedLine>,
    failure: u8,
    /// The command that reads it, if it is a file.
    source: Option<Command>,
}

impl Truth {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            commands: config.commands,
            on_failure: config.on_failure,
            frames: Vec::new(),
            current: None,
            tasks: Facts::new(),
            profiles: BTreeSet::new(),
            next: TaskId::FIRST,
            last_failure: 0,
            warned: false,
            reads: false,
            asks: false,
            muted: false,
            maps: false,
            left: None,
            last_tasks: None,
            to_cancel: None,
            requests: Vec::new(),
            asked: None,
            must_leave: false,
            explained: false,
            over: None,
            driver_is_gone: false,
            reader_is_gone: false,
            is_leaving: false,
            finished: false,
            broken: None,
        }
    }

    /// Whether the session has given the effect `Finish`.
    pub(super) fn is_finished(&self) -> bool {
        self.finished
    }

    /// Whether a map run is under way.
    pub(super) fn is_mapping(&self) -> bool {
        self.maps
    }

    /// Something happens to the session.
    pub(super) fn told(&mut self, now: u64, event: &Event) {
        match event {
            Event::LineRead(line) => {
                self.reads = false;
                let entries = line.entries.clone().into();
                self.frames = vec![Frame { entries, lines: VecDeque::new(), failure: 0, source: None }];
                self.begin_next();
            }
            Event::LineDiscarded => self.reads = false,
            Event::LinesEnded => {
                self.reads = false;
                self.leave(None);
            }
            Event::LinesFailed { .. } => {
                self.reads = false;
                self.left = Some(1);
            }
            Event::TaskEnded { task, outcome } => {
                if let Some(fact) = self.tasks.get_mut(task).filter(|_| !self.is_leaving) {
                    fact.outcome = Some(outcome.clone());
                }
            }
            Event::ApplicationEnded(ending) => self.over = Some(ending.clone()),
            Event::DriverEnded => self.driver_is_gone = true,
            Event::TablesSeen(_)
            | Event::MasterAnswered(_)
            | Event::Replayed { .. }
            | Event::ItemsOpened
            | Event::ItemsFailed { .. }
            | Event::FileFailed { .. } => self.asks = false,
            Event::FileRead(lines) => self.open_file(lines.clone()),
            Event::MapFailed { .. } => self.maps = false,
            Event::MapEnded(end) => {
                self.maps = false;
                self.next.0 += end.items;
                self.reader_is_gone |= end.reader == Reader::Gone;
                self.current.iter_mut().for_each(|command| command.code = Some(end.code));
            }
            Event::OutputSettled => {
                self.asks = false;
                self.settled();
            }
            Event::ReaderClosed => {
                self.reader_is_gone = true;
                self.must_leave |= self.current.is_some();
            }
            Event::EndRequested(request) => self.on_request(now, *request),
            Event::NoteReceived(_) | Event::OutputDiscarded { .. } | Event::Deadline => {}
        }
    }

    fn on_request(&mut self, now: u64, request: EndRequest) {
        self.requests.push(request);
        match request {
            EndRequest::Interrupt => {
                let task = self.current.as_ref().filter(|_| !self.is_leaving).and_then(Command::foreground);
                self.to_cancel = task.filter(|task| self.tasks[task].outcome.is_none());
            }
            EndRequest::Terminate | EndRequest::HangUp | EndRequest::StdinClosed if self.is_leaving => {}
            EndRequest::Terminate | EndRequest::HangUp | EndRequest::StdinClosed => {
                self.asked.get_or_insert(now);
                self.must_leave = true;
            }
        }
    }

    fn open_file(&mut self, lines: Vec<ParsedLine>) {
        self.asks = false;
        if let Some(source) = self.current.take_if(|command| command.is_source()) {
            let (entries, lines) = (VecDeque::new(), lines.into());
            self.frames.push(Frame { entries, lines, failure: 0, source: Some(source) });
            self.begin_next();
        }
    }

    /// Everything is printed: the command at hand is over, unless it was the output of its task.
    fn settled(&mut self) {
        let Some(mut command) = self.current.take().filter(|_| !self.is_leaving) else { return };
        let has_ended = |task| self.tasks.get(&task).is_some_and(|fact| fact.outcome.is_some());
        if !command.is_printed && command.foreground().is_some_and(has_ended) {
            command.is_printed = true;
            self.current = Some(command);
            return;
        }
        if let Err(sentence) = command.end(&self.tasks, self.commands == Commands::Script) {
            self.broken.get_or_insert(sentence);
        }
        self.end_command(command.exit_code(&self.tasks));
    }

    fn end_command(&mut self, code: u8) {
        if code != 0 {
            self.last_failure = code;
            let stops = self.on_failure == OnFailure::Stops;
            match self.frames.last_mut() {
                Some(file) if file.source.is_some() => {
                    file.failure = code;
                    if stops {
                        file.entries.clear();
                        file.lines.clear();
                    }
                }
                _ if stops && self.commands == Commands::Script => {
                    self.left = Some(code);
                    return;
                }
                _ => {}
            }
        }
        self.begin_next();
    }

    fn begin_next(&mut self) {
        while let Some(frame) = self.frames.last_mut() {
            if let Some(entry) = frame.entries.pop_front() {
                return self.begin(entry);
            }
            if let Some(line) = frame.lines.pop_front() {
                frame.entries = line.entries.into();
                continue;
            }
            let (failure, source) = (frame.failure, frame.source.take());
            self.frames.pop();
            if let Some(mut source) = source {
                source.code = Some(failure);
                self.warned = false;
                self.current = Some(source);
                return;
            }
        }
    }

    fn begin(&mut self, entry: Entry) {
        let command = Command::begin(entry.request, &self.tasks);
        match command.request {
            Ok(Request::Quit(code)) => self.leave(code),
            Ok(_) => self.warned = false,
            Err(_) => {}
        }
        self.current = Some(command);
    }

    fn leave(&mut self, code: Option<u8>) {
        let open = open(&self.tasks);
        match (self.commands, code) {
            (Commands::Typed, _) if !open.is_empty() && !self.warned => self.warned = true,
            (Commands::Typed, code) => self.left = Some(code.unwrap_or(0)),
            (Commands::Script, Some(code)) => self.left = Some(code),
            (Commands::Script, None) => self.last_tasks = Some(open),
        }
    }
}
