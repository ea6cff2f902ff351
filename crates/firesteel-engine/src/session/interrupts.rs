//! Requests to end, and what ctrl-c means for the command at hand.

use firesteel_protocol::process::end_request::EndRequest;

use super::wait::{Interest, Interrupts, Wait, Watch};
use super::{Commands, Effect, Ending, Phase, Session};

impl Session {
    pub(super) fn on_end_requested(&mut self, request: EndRequest) {
        match (&self.phase, request) {
            // No command is served that it could mean.
            (Phase::Gathering { .. }, EndRequest::Interrupt) => {}
            (Phase::Busy(_), EndRequest::Interrupt) => {
                self.was_interrupted = true;
                self.interrupt();
            }
            (Phase::Connecting | Phase::Gathering { .. } | Phase::Prompting | Phase::Busy(_), _) => {
                self.end(Ending::Asked(request));
            }
            (Phase::Leaving { .. }, _) => self.conclude(Ending::Abandoned(request)),
            (Phase::Closing { .. }, _) => self.conclude(Ending::Asked(request)),
            (Phase::Ended, _) => {}
        }
    }

    /// The user pressed ctrl-c while a command is served.
    fn interrupt(&mut self) {
        let Some(wait) = self.take_wait() else { return };
        match wait {
            // The driver answers at once. The next ctrl-c is for what follows.
            Wait::Nothing | Wait::Tables(_) => self.wait(wait),
            Wait::Printing { .. } => self.drop_outputs(wait),
            Wait::Again { .. } | Wait::Tasks(_) => self.interrupt_command(),
            Wait::Master { question, .. } => self.interrupt_question(question),
            Wait::Task(task) => {
                self.effects.extend([Effect::ShowInterrupt, Effect::CancelTasks { tasks: vec![task] }]);
                self.wait(Wait::Task(task));
            }
            Wait::Piece(watch) => {
                self.drop_outputs(Wait::Piece(Watch { interest: Interest::GivenUp, ..watch }));
            }
            Wait::More { watch, .. } => self.give_up_watching(watch),
            Wait::Items(_) | Wait::File(_) => {
                self.effects.push(Effect::Forget);
                self.interrupt_command();
            }
            Wait::Map { first, interrupts: Interrupts::None } => {
                self.effects.push(Effect::InterruptMap);
                self.wait(Wait::Map { first, interrupts: Interrupts::Some });
            }
            // After an interrupt, the outputs of ended items are not printed.
            Wait::Map { interrupts: Interrupts::Some, .. } => self.drop_outputs(wait),
        }
    }

    /// Nobody wants to see the rest. A script ends.
    fn drop_outputs(&mut self, wait: Wait) {
        match self.config.commands {
            Commands::Typed => {
                self.effects.push(Effect::Mute);
                self.wait(wait);
            }
            Commands::Script => self.end(Ending::Asked(EndRequest::Interrupt)),
        }
    }

    /// The command at hand ends with a ctrl-c.
    pub(super) fn interrupt_command(&mut self) {
        self.effects.extend([Effect::ShowInterrupt, Effect::EndLine]);
        self.finish_unless_interrupted(130);
    }

    /// The same for a command that has failed already, with this exit code.
    pub(super) fn interrupt_failed_command(&mut self, code: u8) {
        match self.config.commands {
            Commands::Typed => {
                self.effects.extend([Effect::ShowInterrupt, Effect::EndLine]);
                self.finish(code);
            }
            Commands::Script => self.interrupt_command(),
        }
    }
}
