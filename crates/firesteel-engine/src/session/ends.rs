//! How a session comes to its end.

use std::time::Duration;

use firesteel_protocol::process::end_request::EndRequest;

use super::commands::FAREWELL;
use super::wait::Wait;
use super::{Effect, Ending, Message, Phase, Session};
use crate::driver;

/// Timeout for the driver's end.
const GOODBYE: Duration = Duration::from_secs(5);

impl Session {
    /// Whether to look for a closed standard output even if nothing is printed: the command at hand may wait long.
    #[must_use]
    pub fn waits_long(&self) -> bool {
        match &self.phase {
            Phase::Busy(wait) => match wait {
                Wait::Again { .. } | Wait::Task(_) | Wait::More { .. } | Wait::Tasks(_) => true,
                Wait::Printing { until, .. } => until.is_some(),
                // The map run looks for itself.
                Wait::Map { .. } => false,
                Wait::Nothing
                | Wait::Tables(_)
                | Wait::Master { .. }
                | Wait::Piece(_)
                | Wait::Items(_)
                | Wait::File(_) => false,
            },
            Phase::Connecting
            | Phase::Gathering { .. }
            | Phase::Prompting
            | Phase::Leaving { .. }
            | Phase::Closing { .. }
            | Phase::Ended => false,
        }
    }

    /// Ends the application in order, and says why the session ends if the user does not know.
    pub(super) fn end(&mut self, ending: Ending) {
        if let Phase::Prompting = self.phase {
            self.effects.push(Effect::LeavePrompt);
        }
        match &ending {
            Ending::Over(over) => {
                self.effects.push(Effect::Say(Message::Over(over.clone())));
                return self.close(ending);
            }
            Ending::DriverLost => return self.close(ending),
            Ending::Asked(_) => self.effects.push(Effect::Mute),
            Ending::Left(_) | Ending::Abandoned(_) | Ending::ReaderGone => {}
        }
        self.effects.push(Effect::EndApplication);
        self.phase = Phase::Leaving { ending, over: None, until: self.now + GOODBYE };
    }

    /// The driver has ended, or is not waited for any longer.
    pub(super) fn take_leave_of_driver(&mut self) {
        let Phase::Leaving { ending, over, .. } = &self.phase else { return };
        let ending = match (ending.clone(), over.clone()) {
            // The application ended during the last command, before the session heard of it.
            (
                Ending::Left(_),
                Some(over @ (driver::Ending::Removed(_) | driver::Ending::NoMaster { .. })),
            ) => {
                self.effects.push(Effect::Say(Message::Over(over.clone())));
                Ending::Over(over)
            }
            (ending, _) => ending,
        };
        self.close(ending);
    }

    /// Waits until everything is printed: without a limit if the user left or the application is over.
    fn close(&mut self, ending: Ending) {
        let until = match ending {
            Ending::Left(_) | Ending::Over(_) | Ending::DriverLost => None,
            Ending::Asked(_) | Ending::Abandoned(_) | Ending::ReaderGone => Some(self.now + FAREWELL),
        };
        self.effects.push(Effect::Settle);
        self.phase = Phase::Closing { ending, until };
    }

    /// Everything is printed.
    pub(super) fn on_last_words(&mut self) {
        if let Phase::Closing { ending, .. } = &self.phase {
            self.conclude(ending.clone());
        }
    }

    /// Outputs were not printed in time: nobody reads them.
    pub(super) fn on_reader_patience(&mut self) {
        match &self.phase {
            Phase::Busy(_) => self.end(Ending::Asked(EndRequest::Interrupt)),
            Phase::Closing { ending, .. } => self.conclude(ending.clone()),
            Phase::Connecting
            | Phase::Gathering { .. }
            | Phase::Prompting
            | Phase::Leaving { .. }
            | Phase::Ended => {}
        }
    }

    /// A closed output is noticed when the next command writes to it.
    pub(super) fn on_reader_closed(&mut self) {
        match &self.phase {
            Phase::Busy(_) => self.end(Ending::ReaderGone),
            Phase::Connecting
            | Phase::Gathering { .. }
            | Phase::Prompting
            | Phase::Leaving { .. }
            | Phase::Closing { .. }
            | Phase::Ended => {}
        }
    }

    pub(super) fn conclude(&mut self, ending: Ending) {
        self.phase = Phase::Ended;
        self.effects.push(Effect::Finish(ending));
    }
}
