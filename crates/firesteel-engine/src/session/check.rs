//! The invariants of a session after every event.

use firesteel_protocol::machine::{Violation, ensure};

use super::commands::DEPTH;
use super::state::{State, Wait};
use super::{RunMode, TaskId};

pub(super) fn check(state: &State) -> Result<(), Violation> {
    if let Some(sentence) = state.tasks.contradiction() {
        return Err(Violation { machine: "session", sentence });
    }
    if let Some((last, _)) = state.tasks.iter().next_back() {
        ensure!("session", last < state.next, "task {last} exists, and {} is the next", state.next);
    }
    let depth = state.depth;
    ensure!("session", depth <= DEPTH, "{depth} files are read one inside the other");
    if state.is_script() {
        ensure!(
            "session",
            state.missing.is_none(),
            "a script session has a deadline for reporting missing executors"
        );
        ensure!("session", !state.was_warned, "a script session has warned about running tasks");
    }
    let is_open = |task| state.tasks.get(task).is_some_and(|row| row.end.is_none());
    match state.wait {
        Wait::Line => ensure!("session", depth == 0, "a line is wanted before all commands are served"),
        Wait::Task(task) | Wait::BackgroundTask(task) => {
            ensure!("session", is_open(task), "the session waits for task {task}, which has ended");
        }
        Wait::Piece(task) | Wait::More(task) => {
            let place = state.tasks.get(task).map(|row| row.place);
            let has_record = place != Some(RunMode::Foreground);
            ensure!("session", has_record, "task {task} is watched, but its output is not recorded");
        }
        Wait::Map(first) => {
            let next: TaskId = state.next;
            ensure!("session", first == next, "a map run begins at task {first}, not {next}");
        }
        _ => {}
    }
    ensure!("session", state.event.is_none(), "an event was not taken: {:?}", state.event);
    ensure!("session", state.ending.is_none(), "an end was not begun: {:?}", state.ending);
    state.effects.check("session")
}
