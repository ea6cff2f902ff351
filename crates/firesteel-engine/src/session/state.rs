//! The state of a session, and the handling of events that no command waits for.

use std::collections::BTreeSet;

use firesteel_protocol::ids::TaskId;
use firesteel_protocol::machine::{Effects, NoteLevel};
use firesteel_protocol::messages::ExecutorState;
use firesteel_protocol::process::end_request::EndRequest;
use firesteel_protocol::time::Timestamp;

use super::{
    AddedProfile, Commands, Config, Defaults, Effect, Ending, Event, Position, Remark, RunMode, Tasks,
};
use crate::driver::{ExecutorLoss, Note, TaskOutcome};

/// The state of a session.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) config: Config,
    /// The time of the current event.
    pub(super) now: Timestamp,
    /// The current event, until the course has taken it.
    pub(super) event: Option<Event>,
    pub(super) wait: Wait,
    pub(super) deadline: Option<(Timestamp, Reason)>,
    /// How the session ends, while its course has not handled the end yet.
    pub(super) ending: Option<Ending>,
    /// The position of the current command.
    pub(super) position: Position,
    /// The number of lines that were read.
    pub(super) lines: u64,
    /// How many files are being read, one nested in the other.
    pub(super) depth: usize,
    pub(super) tasks: Tasks,
    /// The number of the next task.
    pub(super) next: TaskId,
    pub(super) defaults: Defaults,
    pub(super) profiles: Vec<AddedProfile>,
    /// When missing executors are reported, soon after the first prompt. `None` if this is no longer necessary.
    pub(super) missing: Option<Timestamp>,
    pub(super) refusal: Refusal,
    /// Whether a map run is active and reports the driver's notes itself.
    pub(super) is_mapping: bool,
    /// The messages about unreachable Masters that were already shown. Each message is shown only once.
    unreachable: BTreeSet<String>,
    /// How the last executor ended that had not failed a task. The same kind of end is reported only once.
    last_loss: Option<ExecutorLoss>,
    /// The exit code of the last command that failed.
    pub(super) last_failure: u8,
    /// Whether the user was warned, when leaving, that tasks still run.
    pub(super) was_warned: bool,
    /// Whether a ctrl-c came while a command ran.
    pub(super) was_interrupted: bool,
    pub(super) effects: Effects<Effect>,
}

/// The event or time that a session waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    Registration,
    /// The first executors are ready, before the first prompt.
    FirstExecutors,
    Line,
    /// Everything is printed.
    Printing,
    Tables,
    Again,
    Master,
    /// This foreground task has ended.
    Task(TaskId),
    /// This task has ended, for the command `wait`.
    BackgroundTask(TaskId),
    /// A piece of this task's recorded output is printed.
    Piece(TaskId),
    /// More of this task's output is recorded.
    More(TaskId),
    Items,
    /// The map run has ended. Its first task has this number.
    Map(TaskId),
    File,
    /// The driver has ended the application.
    Leaving,
    /// The last messages are printed.
    Closing,
    /// The session waits for nothing: the effect `Finish` was returned.
    Nothing,
}

/// Why the session set its next deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The first executors were not ready in time.
    FirstPrompt,
    /// Missing executors must be reported.
    Missing,
    /// A waiting command looks again whether its condition holds.
    Look,
    /// The Master has not answered in time.
    MasterSilent,
    /// The driver has not ended in time.
    DriverPatience,
    /// Outputs were not printed in time.
    ReaderPatience,
}

/// Whether the driver or the Master refused the request of the current command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The command has no request that can be refused.
    Unexpected,
    /// The request can be refused, and has not been refused yet.
    Possible,
    Came(Note),
}

/// Where the output of a task goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// To the terminal.
    Console,
    /// Into the record of the background task.
    Record,
    /// The output goes to the map run, like all other reports about the task.
    Map,
    /// The output is discarded, because the session is ending.
    Nowhere,
}

impl State {
    pub(super) fn new(config: Config) -> Self {
        Self {
            defaults: config.defaults.clone(),
            config,
            now: Timestamp::default(),
            event: None,
            wait: Wait::Registration,
            deadline: None,
            ending: None,
            position: Position::Typed,
            lines: 0,
            depth: 0,
            tasks: Tasks::default(),
            next: TaskId::FIRST,
            profiles: Vec::new(),
            missing: None,
            refusal: Refusal::Unexpected,
            is_mapping: false,
            unreachable: BTreeSet::new(),
            last_loss: None,
            last_failure: 0,
            was_warned: false,
            was_interrupted: false,
            effects: Effects::default(),
        }
    }

    pub(super) fn is_script(&self) -> bool {
        self.config.commands == Commands::Script
    }

    /// Whether the session has ended or is ending. Then it ignores tasks and executors.
    fn is_leaving(&self) -> bool {
        matches!(self.wait, Wait::Leaving | Wait::Closing | Wait::Nothing)
    }

    /// Whether a command runs, or the session prepares to read the next line.
    fn is_busy(&self) -> bool {
        !matches!(self.wait, Wait::Registration | Wait::FirstExecutors | Wait::Line) && !self.is_leaving()
    }

    fn place(&self, task: TaskId) -> Option<RunMode> {
        self.tasks.get(task).map(|row| row.place)
    }

    pub(super) fn route(&self, task: TaskId) -> Route {
        match (self.wait, self.place(task)) {
            (Wait::Leaving | Wait::Closing | Wait::Nothing, _) => Route::Nowhere,
            (Wait::Map(first), _) if task >= first => Route::Map,
            (_, Some(RunMode::Background)) => Route::Record,
            (_, Some(RunMode::Foreground) | None) => Route::Console,
        }
    }

    pub(super) fn waits_long(&self) -> bool {
        match self.wait {
            Wait::Again | Wait::Task(_) | Wait::BackgroundTask(_) | Wait::More(_) => true,
            Wait::Printing => self.deadline.is_some(),
            // The map run looks for itself.
            _ => false,
        }
    }

    /// Discards the remaining output, because standard output was closed at the other end. A script ends.
    pub(super) fn drop_outputs(&mut self) {
        match self.config.commands {
            Commands::Typed => self.effects.push(Effect::Mute),
            Commands::Script => self.ending = Some(Ending::Asked(EndRequest::Interrupt)),
        }
    }

    /// Takes an event and updates the state. The course continues afterwards.
    pub(super) fn hear(&mut self, now: Timestamp, event: Event) {
        self.now = now;
        match &event {
            Event::Deadline if self.deadline.is_none_or(|(at, _)| now < at) => return,
            _ if self.wait == Wait::Nothing => return,
            _ if self.is_leaving() => {}
            Event::NoteReceived(note) => self.on_note(note),
            Event::OutputDiscarded(task) => self.on_output_discarded(*task),
            Event::TaskEnded(task, outcome) => self.on_task_ended(*task, outcome),
            Event::ApplicationEnded(over) => self.ending = Some(Ending::Over(over.clone())),
            Event::DriverEnded => self.ending = Some(Ending::DriverLost),
            // A closed output is noticed when the next command writes to it.
            Event::ReaderClosed if self.is_busy() => self.ending = Some(Ending::ReaderGone),
            Event::EndRequested(request) => self.on_end_requested(*request),
            _ => {}
        }
        if self.ending.is_some() && self.wait == Wait::Line {
            self.effects.push(Effect::LeavePrompt);
        }
        self.event = Some(event);
    }

    fn on_end_requested(&mut self, request: EndRequest) {
        match (self.wait, request) {
            // No command is served that it could mean.
            (Wait::FirstExecutors, EndRequest::Interrupt) => {}
            (_, EndRequest::Interrupt) if self.is_busy() => self.was_interrupted = true,
            (_, _) => self.ending = Some(Ending::Asked(request)),
        }
    }

    /// Whether the current command shows this task's output.
    fn is_shown(&self, task: TaskId) -> bool {
        matches!(self.wait, Wait::Task(shown) | Wait::Piece(shown) | Wait::More(shown) if shown == task)
    }

    fn on_output_discarded(&mut self, task: TaskId) {
        match self.place(task) {
            Some(RunMode::Background) => self.effects.push(Effect::RestartRecord(task)),
            Some(RunMode::Foreground) if self.is_shown(task) => {
                self.effects.push(Effect::Remark(Remark::OutputStartsOver(task)));
            }
            Some(RunMode::Foreground) | None => {}
        }
    }

    fn on_task_ended(&mut self, task: TaskId, outcome: &TaskOutcome) {
        if !self.is_script() && !self.is_shown(task) {
            self.effects.push(Effect::Remark(Remark::TaskEnded(task, outcome.clone())));
        }
        if self.place(task) == Some(RunMode::Background) {
            self.effects.push(Effect::CloseRecord(task));
        }
        if let Some((task, forgotten)) = self.tasks.end(self.now, task, outcome.clone())
            && forgotten.place == RunMode::Background
        {
            self.effects.push(Effect::DropRecord(task));
        }
    }

    fn on_note(&mut self, note: &Note) {
        if self.is_worth_a_remark(note) {
            self.effects.push(Effect::Remark(Remark::Driver(note.clone())));
        }
    }

    fn is_worth_a_remark(&mut self, note: &Note) -> bool {
        if self.is_mapping {
            // The map run remarks it.
            return false;
        }
        match note {
            Note::Registered { .. } => self.wait != Wait::Registration,
            Note::ExecutorRegistered { .. } => self.missing.is_some(),
            Note::RequestRefused { .. } | Note::TargetIsDynamic { .. } | Note::ProfileRefused { .. } => {
                let is_expected = self.refusal == Refusal::Possible;
                if is_expected {
                    self.refusal = Refusal::Came(note.clone());
                }
                !is_expected
            }
            Note::MasterUnreachable { .. } => self.unreachable.insert(note.to_string()),
            // The last failure of a task is reported when the task ends.
            Note::TaskFailed { failures, limit, .. } => failures < limit,
            // The user ended this executor and knows about it.
            Note::ExecutorLost { loss: loss @ ExecutorLoss::Ended(state), tasks: 0, .. } => match state {
                ExecutorState::Killed(_) => !self.is_script(),
                ExecutorState::Failed(_) => self.last_loss.replace(loss.clone()).as_ref() != Some(loss),
                ExecutorState::Launching
                | ExecutorState::Running
                | ExecutorState::Lost(_)
                | ExecutorState::Exited(_) => true,
            },
            Note::TargetSet { .. } | Note::ExecutorsKilled { .. } | Note::ExecutorAdded { .. } => false,
            _ => note.level() == NoteLevel::Warn,
        }
    }
}
