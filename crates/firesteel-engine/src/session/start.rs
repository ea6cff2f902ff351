//! The beginning of a session, and its prompt.

use std::time::Duration;

use super::wait::{Inquiry, Then, Wait};
use super::{
    Commands, Effect, Message, Missing, ParsedLine, Phase, Position, Remark, Session, Shortfalls, Sight,
};
use crate::driver::{ExecutorView, ExecutorViewState, View};

/// How long the first prompt waits for the first executors.
const FIRST_EXECUTORS: Duration = Duration::from_millis(1500);
/// How long after the first prompt missing executors are explained.
const MISSING: Duration = Duration::from_secs(3);

/// The executors that take tasks.
pub(super) fn ready(view: &View) -> impl Iterator<Item = &ExecutorView> {
    view.executors.iter().filter(|executor| executor.state == ExecutorViewState::Offering)
}

impl Session {
    /// A Master has accepted the application, perhaps anew.
    pub(super) fn on_registered(&mut self) {
        match (&self.phase, self.config.commands) {
            (Phase::Connecting, Commands::Typed) => {
                let until = self.now + FIRST_EXECUTORS;
                self.phase = Phase::Gathering { until, tables: Sight::Asked };
                self.effects.push(Effect::Look);
            }
            (Phase::Connecting, Commands::Script) => self.want_line(),
            (_, _) => {}
        }
    }

    /// The driver has reported something, and the first executors are waited for.
    pub(super) fn look_for_first_executors(&mut self) {
        if let Phase::Gathering { tables: tables @ Sight::Known, .. } = &mut self.phase {
            *tables = Sight::Asked;
            self.effects.push(Effect::Look);
        }
    }

    pub(super) fn on_first_tables(&mut self, view: View) {
        let Phase::Gathering { until, tables } = &mut self.phase else { return };
        if ready(&view).next().is_none() && self.now < *until {
            *tables = Sight::Known;
            return;
        }
        self.missing = Missing::From(self.now + MISSING);
        self.effects.push(Effect::Say(Message::Banner(view)));
        self.want_line();
    }

    /// Wants the next line, when everything is printed.
    pub(super) fn want_line(&mut self) {
        self.effects.push(Effect::EndLine);
        self.print_everything(Then::Line);
    }

    pub(super) fn make_ready_for_a_line(&mut self) {
        match self.config.commands {
            Commands::Typed => self.look(Inquiry::Names),
            Commands::Script => self.prompt(),
        }
    }

    pub(super) fn offer_names(&mut self, view: &View) {
        let executors = view.executors.iter().map(|executor| executor.id).collect();
        let tasks = self.tasks.iter().map(|(id, _)| id).collect();
        self.effects.push(Effect::OfferNames { executors, tasks });
        self.prompt();
    }

    fn prompt(&mut self) {
        self.effects.push(Effect::WantLine);
        self.phase = Phase::Prompting;
    }

    /// Stops waiting for a line. Whether one was waited for.
    fn leave_prompt(&mut self) -> bool {
        if !matches!(self.phase, Phase::Prompting) {
            return false;
        }
        if let Missing::Asked(at) = self.missing {
            self.effects.push(Effect::Forget);
            self.missing = Missing::From(at);
        }
        self.phase = Phase::Busy(Wait::Nothing);
        true
    }

    pub(super) fn on_line(&mut self, line: ParsedLine) {
        if self.leave_prompt() {
            let position = match self.config.commands {
                Commands::Typed => Position::Typed,
                Commands::Script => Position::Line(line.number),
            };
            self.agenda.begin(position, line);
        }
    }

    pub(super) fn on_line_discarded(&mut self) {
        // Without a command, the next line is wanted.
        self.leave_prompt();
    }

    pub(super) fn on_lines_ended(&mut self) {
        if self.leave_prompt() {
            self.leave(None);
        }
    }

    pub(super) fn on_lines_failed(&mut self, error: String) {
        if self.leave_prompt() {
            self.effects.push(Effect::Say(Message::LinesFailed { error }));
            self.end(super::Ending::Left(1));
        }
    }

    /// The prompt stays usable meanwhile, since a Master may hang.
    pub(super) fn ask_what_is_missing(&mut self) {
        if let Missing::From(at) = self.missing {
            self.missing = Missing::Asked(at);
            self.effects.push(Effect::AskMaster);
        }
    }

    /// The Master says what is missing while a line is typed.
    pub(super) fn explain_missing(&mut self, answer: Option<Shortfalls>) {
        if let (Phase::Prompting, Missing::Asked(_)) = (&self.phase, self.missing) {
            self.missing = Missing::Settled;
            let shortfalls = answer.unwrap_or_default().into_iter();
            self.effects.extend(shortfalls.map(|(_, shortfall)| Effect::Remark(Remark::Missing(shortfall))));
        }
    }
}
