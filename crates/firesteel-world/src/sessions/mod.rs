//! A simulated world of one session of `firesteel shell`: a fake user or script, driver with executors and tasks,
//! terminal and map runs.
//!
//! [`Scenario`] describes a world, and [`run()`] simulates it, with virtual time and chance from a seed. Commands of
//! every kind come, one by one and from files inside files. Tasks fail and take long, requests are refused, the Master
//! hangs, terminals are slow, readers leave, and records are lost. Users interrupt at any time. The application is
//! killed, or the driver panics. After each event the session's own invariants are checked, and its effects are
//! compared with the facts. Every command is answered once before the next command begins, and no command begins after
//! the end. A session that is told to end does so, with the exit code of its commands.
//!
//! - `scenario`, `commands`, `run`: the description of a world, the typed commands, and one run.
//! - `perform`, `cluster`: how the session's effects are performed, and the fake driver with its executors and tasks.
//! - `truth`, `command`, `judge`: the facts, and the laws.
//! - `sabotage`: the deliberate bugs.

mod cluster;
mod command;
mod commands;
mod judge;
mod perform;
mod run;
mod sabotage;
mod scenario;
mod truth;

use firesteel_engine::session::{
    Answer, Complaint, Effect, Ending, Event, Message, Piece, Remark, Request, parse,
};

use crate::coverage::{Coverage, Kinds, kinds};

pub use run::{run, run_sabotaged};
pub use sabotage::SessionSabotage;
pub use scenario::{Fault, Scenario};

/// The enums of all events, effects and faults of a session.
fn all_kinds() -> [Kinds; 9] {
    [
        kinds::<Event>(),
        kinds::<Request>(),
        kinds::<Piece>(),
        kinds::<Effect>(),
        kinds::<Answer>(),
        kinds::<Message>(),
        kinds::<Complaint>(),
        kinds::<Remark>(),
        kinds::<Ending>(),
    ]
}

fn see_event(coverage: &mut Coverage, event: &Event) {
    coverage.count(event);
    match event {
        Event::Replayed(piece, _) => coverage.count(piece),
        Event::LineRead(text) | Event::FileRead(text) => {
            let requests = text.lines().flat_map(parse).filter_map(|entry| entry.request.ok());
            requests.for_each(|request| coverage.count(&request));
        }
        _ => {}
    }
}

fn see_effect(coverage: &mut Coverage, effect: &Effect) {
    coverage.count(effect);
    match effect {
        Effect::Print(answer) => coverage.count(answer),
        Effect::Say(message) => coverage.count(message),
        Effect::Complain(_, complaint) => coverage.count(complaint),
        Effect::Remark(remark) => coverage.count(remark),
        Effect::Finish(ending) => coverage.count(ending),
        _ => {}
    }
}
