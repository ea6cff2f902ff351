//! What holds of a session after every event.

use firesteel_protocol::machine::{Violation, ensure};

use super::agenda::DEPTH;
use super::wait::Wait;
use super::{Commands, Missing, Phase, Place, Session, TaskId};

pub(super) fn check(session: &Session) -> Result<(), Violation> {
    if let Some(sentence) = session.tasks.contradiction() {
        return Err(Violation { machine: "session", sentence });
    }
    if let Some((last, _)) = session.tasks.iter().next_back() {
        ensure!("session", last < session.next, "task {last} exists, and {} is the next", session.next);
    }
    let depth = session.agenda.depth();
    ensure!("session", depth <= DEPTH, "{depth} files are read one inside the other");
    match session.config.commands {
        Commands::Typed => {}
        Commands::Script => {
            ensure!("session", session.missing == Missing::Settled, "a script is told what is missing");
            ensure!("session", !session.was_warned, "a script is warned of its tasks");
        }
    }
    match &session.phase {
        Phase::Prompting => {
            ensure!("session", session.agenda.is_empty(), "a line is wanted before all commands are served");
        }
        Phase::Busy(wait) => check_wait(session, wait)?,
        Phase::Connecting
        | Phase::Gathering { .. }
        | Phase::Leaving { .. }
        | Phase::Closing { .. }
        | Phase::Ended => {}
    }
    session.effects.check("session")
}

fn check_wait(session: &Session, wait: &Wait) -> Result<(), Violation> {
    let is_open = |task: TaskId| session.tasks.get(task).is_some_and(|row| row.end.is_none());
    match wait {
        Wait::Nothing => {
            ensure!("session", false, "the next command was not begun");
        }
        Wait::Task(task) => ensure!("session", is_open(*task), "task {task} is waited for, and has ended"),
        Wait::Tasks(wait) => {
            let task = wait.left.front().copied();
            ensure!("session", task.is_some_and(is_open), "task {task:?} is waited for, and has ended");
        }
        Wait::Piece(watch) | Wait::More { watch, .. } => {
            let place = session.tasks.get(watch.task).map(|row| row.place);
            ensure!(
                "session",
                place != Some(Place::Foreground),
                "task {} is watched, and has no record",
                watch.task
            );
        }
        Wait::Map { first, .. } => {
            ensure!(
                "session",
                *first == session.next,
                "a map run begins at task {first}, not {}",
                session.next
            );
        }
        Wait::Printing { .. }
        | Wait::Tables(_)
        | Wait::Again { .. }
        | Wait::Master { .. }
        | Wait::Items(_)
        | Wait::File(_) => {}
    }
    Ok(())
}
