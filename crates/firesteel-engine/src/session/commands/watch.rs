//! `watch`: prints the output of a background task while the task produces it.

use firesteel_protocol::EndRequest;
use firesteel_protocol::ids::TaskId;

use crate::session::course::{Course, Failure, INTERRUPTED, Outcome, TICK, fail, fail_with};
use crate::session::state::{Reason, Wait};
use crate::session::{Complaint, Effect, Event, Loss, Piece, RunMode, exit_code};

impl Course {
    pub(super) async fn watch(&self, task: Option<TaskId>) -> Outcome {
        let last = self.state().tasks.last_in_background();
        let Some(task) = task.or(last) else { return fail(Complaint::NoBackgroundTask) };
        match self.task(task)?.place {
            RunMode::Foreground => return fail(Complaint::NotKept(task)),
            RunMode::Background => self.push(Effect::Rewind(task)),
        }
        let outcome = self.print_record(task).await;
        self.push(Effect::Unmute);
        outcome
    }

    /// Prints the task's recorded output piece by piece, until the task has ended or the user presses ctrl-c.
    async fn print_record(&self, task: TaskId) -> Outcome {
        loop {
            let end = self.state().tasks.get(task).and_then(|row| row.end.clone());
            self.push(Effect::Replay(task));
            let mut is_wanted = true;
            let replayed = self.until(Wait::Piece(task), None, |state, event| match event {
                Event::Replayed(piece, loss) => Some((piece, loss)),
                Event::EndRequested(EndRequest::Interrupt) => {
                    is_wanted = false;
                    state.drop_outputs();
                    None
                }
                _ => None,
            });
            let (piece, loss) = replayed.await;
            let is_open = self.state().tasks.get(task).is_some_and(|row| row.end.is_none());
            match (piece, end) {
                (Piece::Failed(error), _) => return fail(Complaint::OutputUnreadable(error)),
                _ if !is_wanted => return complete(task, loss, Err(Failure::Interrupted(INTERRUPTED))),
                (Piece::Nothing, Some((outcome, _))) => {
                    let ended = match exit_code(&outcome) {
                        0 => Ok(0),
                        code => fail_with(code, Complaint::TaskFailed(task, outcome)),
                    };
                    return complete(task, loss, ended);
                }
                (Piece::Nothing, None) if is_open => match self.more(task).await {
                    Ok(()) => {}
                    interrupted => return complete(task, loss, interrupted.map(|()| 0)),
                },
                (Piece::Printed | Piece::Nothing, _) => {}
            }
        }
    }

    /// Waits until the task has more recorded output.
    async fn more(&self, task: TaskId) -> Result<(), Failure> {
        let at = Some((self.now() + TICK, Reason::Look));
        let is_due = |event| match event {
            Event::TaskEnded(ended, _) => ended == task,
            event => event == Event::Deadline,
        };
        self.unless_interrupted(Wait::More(task), at, |event| is_due(event).then_some(())).await
    }
}

/// The outcome of the command, or an error if the recorded output is incomplete.
fn complete(task: TaskId, loss: Option<Loss>, outcome: Outcome) -> Outcome {
    loss.map_or(outcome, |loss| fail(Complaint::OutputLost(task, loss)))
}
