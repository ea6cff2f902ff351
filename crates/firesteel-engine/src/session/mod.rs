//! A session: an application that stays alive while a person or a script runs commands on it.
//!
//! The session decides what each command does, which events a command waits for, and when the command ends. It also
//! decides the meaning of ctrl-c and the end of the session. The session controls the driver and a map run: it receives
//! their effects, and its own effects are their events. The program around the session reads lines and prints.
//!
//! - `words`, `grammar`, `request`, `command`: the language of the commands, with its help.
//! - `course`: the course of a session from its beginning to its end, written as asynchronous functions, one for each
//!   command (`commands`). Only [`Session::apply`] runs them: after each event, the course continues until it waits for
//!   another event. There is no asynchronous runtime, and the same events always have the same effects.
//! - `state`: the state of a session, and the handling of events that no command waits for.
//! - `check`: the invariants after every event.
//!
//! Outputs do not pass through the session. The program around it calls [`Session::route`] to learn where an output
//! goes.

mod check;
mod command;
mod commands;
mod config;
mod course;
mod effect;
mod event;
mod grammar;
mod request;
mod saying;
mod state;
mod tasks;
mod words;

use std::cell::RefCell;
use std::fmt;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Waker};

use firesteel_protocol::ids::TaskId;
use firesteel_protocol::machine::{Machine, Violation};
use firesteel_protocol::time::Timestamp;

use self::course::Course;
use self::state::State;

pub use command::{Command, overview};
pub use config::{AddedProfile, Commands, Config, Defaults, OnFailure};
pub use effect::{Effect, Ending, MapEnd, MapStart, Reader, Shortfalls};
pub use event::{Event, Loss, Piece};
pub use grammar::parse;
pub use request::{Assignment, Entry, Items, Map, Request, Run, RunMode, Surplus, Target, TaskShare, Which};
pub use saying::{Answer, AnswerState, Complaint, Message, Position, Remark};
pub use state::{Reason, Route};
pub use tasks::{Task, Tasks, exit_code};
pub use words::quote;

/// A session.
pub struct Session {
    state: Rc<RefCell<State>>,
    /// The remaining course of the session. This future never completes.
    course: Pin<Box<dyn Future<Output = ()>>>,
}

impl Session {
    /// A session whose application has just started.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let state = Rc::new(RefCell::new(State::new(config)));
        let mut session = Self { course: Box::pin(Course(Rc::clone(&state)).begin()), state };
        session.go_on();
        session
    }

    /// Where the output of this task goes at present.
    #[must_use]
    pub fn route(&self, task: TaskId) -> Route {
        self.state.borrow().route(task)
    }

    /// Whether to check for a closed standard output even if nothing is printed, because the current command may wait
    /// long.
    #[must_use]
    pub fn waits_long(&self) -> bool {
        self.state.borrow().waits_long()
    }

    /// Continues the course until it waits. If the session ends, the end replaces all remaining steps.
    fn go_on(&mut self) {
        loop {
            let polled = self.course.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            debug_assert!(polled.is_pending(), "the course of a session never completes");
            let mut state = self.state.borrow_mut();
            let Some(ending) = state.ending.take() else { return };
            state.event = None;
            self.course = Box::pin(Course(Rc::clone(&self.state)).farewell(ending));
        }
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.state.borrow().fmt(f)
    }
}

impl Machine for Session {
    type Event = Event;
    type Effect = Effect;
    type Reason = Reason;

    fn apply(&mut self, now: Timestamp, event: Event) -> Vec<Effect> {
        self.state.borrow_mut().hear(now, event);
        self.go_on();
        self.state.borrow_mut().effects.take()
    }

    fn next_deadline(&self) -> Option<(Timestamp, Reason)> {
        self.state.borrow().deadline
    }

    fn check(&self) -> Result<(), Violation> {
        check::check(&self.state.borrow())
    }
}
