//! `watch`: the output of a background task, as it comes.

use firesteel_protocol::ids::TaskId;

use crate::session::wait::{Interest, Wait, Watch};
use crate::session::{Complaint, Effect, Extent, Piece, Place, Session, TICK, Task, exit_code};

impl Session {
    pub(in crate::session) fn watch(&mut self, task: Option<TaskId>) {
        let Some(task) = task.or_else(|| self.tasks.last_in_background()) else {
            return self.fail(1, Complaint::NoBackgroundTask);
        };
        match self.tasks.get(task).map(|row| row.place) {
            None => self.fail_with_unknown(task),
            Some(Place::Foreground) => self.fail(1, Complaint::NotKept(task)),
            Some(Place::Background) => {
                self.effects.push(Effect::Rewind { task });
                let interest = Interest::Wanted;
                self.replay(Watch { task, extent: Extent::SoFar, loss: None, interest });
            }
        }
    }

    /// Prints the next piece of the record.
    pub(in crate::session) fn replay(&mut self, watch: Watch) {
        let task = watch.task;
        let extent = match self.tasks.get(task) {
            Some(Task { end: None, .. }) => Extent::SoFar,
            Some(Task { end: Some(_), .. }) | None => Extent::All,
        };
        self.effects.push(Effect::Replay { task, extent });
        self.wait(Wait::Piece(Watch { extent, ..watch }));
    }

    pub(in crate::session) fn on_replayed(&mut self, piece: Piece, loss: Option<String>) {
        let watch = match self.take_wait() {
            Some(Wait::Piece(watch)) => Watch { loss, ..watch },
            other => return self.put_back(other),
        };
        match (piece, watch.interest, watch.extent) {
            (Piece::Failed { error }, ..) => {
                self.effects.push(Effect::Unmute);
                self.fail(1, Complaint::OutputUnreadable { error });
            }
            (Piece::Printed | Piece::Nothing, Interest::GivenUp, _) => self.give_up_watching(watch),
            (Piece::Printed, Interest::Wanted, _) => self.replay(watch),
            (Piece::Nothing, Interest::Wanted, Extent::All) => self.end_watching(watch),
            (Piece::Nothing, Interest::Wanted, Extent::SoFar) => match self.tasks.code_of(watch.task) {
                None => self.wait(Wait::More { at: self.now + TICK, watch }),
                Some(_) => self.replay(watch),
            },
        }
    }

    /// The whole record is printed, and its task has ended.
    fn end_watching(&mut self, Watch { task, loss, .. }: Watch) {
        self.effects.push(Effect::Unmute);
        if let Some(loss) = loss {
            return self.fail(1, Complaint::OutputLost { task, loss });
        }
        let outcome =
            self.tasks.get(task).and_then(|row| row.end.as_ref()).map(|(outcome, _)| outcome.clone());
        let code = outcome.as_ref().map_or(0, exit_code);
        match outcome.filter(|_| code != 0) {
            Some(outcome) => self.fail(code, Complaint::TaskFailed { task, outcome }),
            None => self.finish(0),
        }
    }

    /// The user has seen enough.
    pub(in crate::session) fn give_up_watching(&mut self, Watch { task, loss, .. }: Watch) {
        self.effects.push(Effect::Unmute);
        match loss {
            Some(loss) => self.fail(1, Complaint::OutputLost { task, loss }),
            None => self.interrupt_command(),
        }
    }
}
