//! A session: an application that stays alive while a person or a script runs commands on it.
//!
//! The session decides what each command does, what it waits for and when it is over, what ctrl-c means at that moment,
//! and how all of it ends. It stands above the driver and above a map run: it is told what they do, and its effects are
//! events of theirs. Its shell reads and parses lines, words what is said, and prints.
//!
//! - `agenda`: the commands that are still to be served; `commands` begins each of them. Each kind of command that waits has a
//!   file there: `runs`, `watch`, `executors`, `questions`, `maps`.
//! - `wait`: what the command at hand waits for.
//! - `reports`, `interrupts`, `ends`: what happens meanwhile.
//!
//! Outputs do not pass through the session. Its shell asks [`Session::route`] where they go.

mod agenda;
mod check;
mod commands;
mod config;
mod effect;
mod ending;
mod ends;
mod event;
mod interrupts;
mod replay;
mod reports;
mod request;
mod route;
mod saying;
mod start;
mod tasks;
mod wait;

use std::collections::BTreeSet;
use std::time::Duration;

use firesteel_protocol::ids::TaskId;
use firesteel_protocol::machine::{Effects, Machine, Violation};
use firesteel_protocol::time::Timestamp;

use self::agenda::Agenda;
use self::wait::{Then, Wait};
use crate::driver::{self, ExecutorLoss, View};

pub use config::{AddedProfile, Commands, Config, Defaults, OnFailure};
pub use effect::{Effect, MapEnd, MapStart, Reader, Shortfalls};
pub use ending::Ending;
pub use event::Event;
pub use replay::{Extent, Piece};
pub use request::{
    Assignment, Entry, Items, Map, ParsedLine, Place, Request, Run, Surplus, Target, TaskShare, Which,
};
pub use route::Route;
pub use saying::{Answer, Complaint, Message, Position, Remark, Standing};
pub use tasks::{Task, Tasks, exit_code};

/// How often a command that waits looks at the driver's tables, and at the record of a watched task.
const TICK: Duration = Duration::from_millis(50);

/// A session.
#[derive(Clone, Debug)]
pub struct Session {
    config: Config,
    /// The time of the event at hand.
    now: Timestamp,
    phase: Phase,
    agenda: Agenda,
    tasks: Tasks,
    /// The number of the next task.
    next: TaskId,
    defaults: Defaults,
    profiles: Vec<AddedProfile>,
    missing: Missing,
    /// What was said of Masters that are not reached: once for each Master and error is enough.
    unreachable: BTreeSet<String>,
    /// How the last executor ended that had not failed a task. The same failure is remarked once.
    last_loss: Option<ExecutorLoss>,
    /// The exit code of the last command that failed.
    last_failure: u8,
    /// Whether the user was told, when leaving, that tasks run.
    was_warned: bool,
    /// Whether ctrl-c came while a command was served.
    was_interrupted: bool,
    effects: Effects<Effect>,
}

/// ```text
///  CONNECTING --registered--> GATHERING --executors ready, or time over--> BUSY <---line--- PROMPTING
///      |                                  (scripts do not gather)            |  `---no command---^
///      |                                                                     |
///      `---- asked to end, left, reader gone, driver lost, application over -'
///                |                                      |
///                v                                      v
///             LEAVING --driver gone, or time over--> CLOSING --printed, or time over--> ENDED
///                `------------------asked again---------------------------------------------^
/// ```
#[derive(Clone, Debug)]
enum Phase {
    /// No Master has accepted the application yet.
    Connecting,
    /// The first prompt waits shortly for the first executors.
    Gathering { until: Timestamp, tables: Sight },
    /// A line was asked for.
    Prompting,
    /// A command is served, or the next line is made ready for.
    Busy(Wait),
    /// The driver ends the application.
    Leaving { ending: Ending, over: Option<driver::Ending>, until: Timestamp },
    /// The application is over, and the last words are printed.
    Closing { ending: Ending, until: Option<Timestamp> },
    /// `Finish` was given.
    Ended,
}

/// Whether the driver's tables were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sight {
    Asked,
    Known,
}

/// Whether missing executors are still to be explained, soon after the first prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Missing {
    /// They are not, or were.
    Settled,
    /// The Master is asked then, if a line is being typed.
    From(Timestamp),
    /// The Master was asked. If a line comes before its answer, it is asked again.
    Asked(Timestamp),
}

/// Why a session wants to be woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The first executors were not ready in time.
    FirstPrompt,
    /// Missing executors are explained.
    Missing,
    /// A command looks again at what it waits for.
    Look,
    /// The Master has not answered in time.
    MasterSilent,
    /// The driver has not ended in time.
    DriverPatience,
    /// Outputs were not printed in time.
    ReaderPatience,
}

impl Session {
    /// A session whose application has just started.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            defaults: config.defaults.clone(),
            config,
            now: Timestamp::default(),
            phase: Phase::Connecting,
            agenda: Agenda::default(),
            tasks: Tasks::default(),
            next: TaskId::FIRST,
            profiles: Vec::new(),
            missing: Missing::Settled,
            unreachable: BTreeSet::new(),
            last_loss: None,
            last_failure: 0,
            was_warned: false,
            was_interrupted: false,
            effects: Effects::default(),
        }
    }

    /// The tasks that the session remembers.
    #[must_use]
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// The defaults that tasks run with.
    #[must_use]
    pub fn defaults(&self) -> &Defaults {
        &self.defaults
    }

    /// The profiles that the session added.
    #[must_use]
    pub fn profiles(&self) -> &[AddedProfile] {
        &self.profiles
    }
}

impl Machine for Session {
    type Event = Event;
    type Effect = Effect;
    type Reason = Reason;

    fn apply(&mut self, now: Timestamp, event: Event) -> Vec<Effect> {
        self.now = now;
        match event {
            Event::LineRead(line) => self.on_line(line),
            Event::LineDiscarded => self.on_line_discarded(),
            Event::LinesEnded => self.on_lines_ended(),
            Event::LinesFailed { error } => self.on_lines_failed(error),
            Event::NoteReceived(note) => self.on_note(note),
            Event::OutputDiscarded { attempt } => self.on_output_discarded(attempt.task),
            Event::TaskEnded { task, outcome } => self.on_task_ended(task, outcome),
            Event::ApplicationEnded(outcome) => self.on_application_ended(outcome),
            Event::DriverEnded => self.on_driver_ended(),
            Event::TablesSeen(view) => self.on_tables(view),
            Event::MasterAnswered(answer) => self.on_master_answered(answer),
            Event::Replayed { piece, loss } => self.on_replayed(piece, loss),
            Event::ItemsOpened => self.on_items_opened(),
            Event::ItemsFailed { error } => self.on_items_failed(error),
            Event::MapFailed { error } => self.on_map_failed(error),
            Event::MapEnded(end) => self.on_map_ended(end),
            Event::FileRead(lines) => self.on_file_read(lines),
            Event::FileFailed { error } => self.on_file_failed(error),
            Event::OutputSettled => self.on_settled(),
            Event::ReaderClosed => self.on_reader_closed(),
            Event::EndRequested(request) => self.on_end_requested(request),
            Event::Deadline => self.on_deadline(),
        }
        self.settle();
        self.effects.take()
    }

    fn next_deadline(&self) -> Option<(Timestamp, Reason)> {
        match &self.phase {
            Phase::Gathering { until, tables: Sight::Known } => Some((*until, Reason::FirstPrompt)),
            Phase::Prompting => match self.missing {
                Missing::From(at) => Some((at, Reason::Missing)),
                Missing::Settled | Missing::Asked(_) => None,
            },
            Phase::Busy(wait) => match wait {
                Wait::Printing { until, .. } => until.map(|until| (until, Reason::ReaderPatience)),
                Wait::Again { at, .. } | Wait::More { at, .. } => Some((*at, Reason::Look)),
                Wait::Master { until, .. } => Some((*until, Reason::MasterSilent)),
                Wait::Nothing
                | Wait::Tables(_)
                | Wait::Task(_)
                | Wait::Piece(_)
                | Wait::Tasks(_)
                | Wait::Items(_)
                | Wait::Map { .. }
                | Wait::File(_) => None,
            },
            Phase::Leaving { until, .. } => Some((*until, Reason::DriverPatience)),
            Phase::Closing { until, .. } => until.map(|until| (until, Reason::ReaderPatience)),
            Phase::Connecting | Phase::Gathering { tables: Sight::Asked, .. } | Phase::Ended => None,
        }
    }

    fn check(&self) -> Result<(), Violation> {
        check::check(self)
    }
}

impl Session {
    /// What follows from an event, once, at its end: the next command begins.
    fn settle(&mut self) {
        if let Phase::Busy(Wait::Nothing) = self.phase {
            self.begin_next();
        }
    }

    fn on_deadline(&mut self) {
        let due = self.next_deadline().filter(|(at, _)| *at <= self.now);
        let Some((_, reason)) = due else { return };
        match reason {
            Reason::FirstPrompt => self.look_for_first_executors(),
            Reason::Missing => self.ask_what_is_missing(),
            Reason::Look => self.look_again(),
            Reason::MasterSilent => self.on_master_silent(),
            Reason::DriverPatience => self.take_leave_of_driver(),
            Reason::ReaderPatience => self.on_reader_patience(),
        }
    }

    fn look_again(&mut self) {
        match self.take_wait() {
            Some(Wait::Again { inquiry, .. }) => self.look(inquiry),
            Some(Wait::More { watch, .. }) => self.replay(watch),
            other => self.put_back(other),
        }
    }

    fn on_tables(&mut self, view: View) {
        match self.take_wait() {
            Some(Wait::Tables(inquiry)) => self.answer(inquiry, view),
            None => self.on_first_tables(view),
            other => self.put_back(other),
        }
    }

    /// Everything is printed.
    fn on_settled(&mut self) {
        match self.take_wait() {
            Some(Wait::Printing { then, .. }) => {
                self.effects.push(Effect::Unmute);
                match then {
                    Then::Line => self.make_ready_for_a_line(),
                    Then::Over(code) => self.end_command(code),
                    Then::Task(task) => self.judge_command(task),
                }
            }
            None => self.on_last_words(),
            other => self.put_back(other),
        }
    }

    /// Takes out what the command at hand waits for, if a command is at hand. The caller decides what follows.
    fn take_wait(&mut self) -> Option<Wait> {
        match &mut self.phase {
            Phase::Busy(wait) => Some(std::mem::replace(wait, Wait::Nothing)),
            Phase::Connecting
            | Phase::Gathering { .. }
            | Phase::Prompting
            | Phase::Leaving { .. }
            | Phase::Closing { .. }
            | Phase::Ended => None,
        }
    }

    /// Waits on, for what was taken out: the event was not for it.
    fn put_back(&mut self, wait: Option<Wait>) {
        if let Some(wait) = wait {
            self.wait(wait);
        }
    }

    fn wait(&mut self, wait: Wait) {
        self.phase = Phase::Busy(wait);
    }
}
