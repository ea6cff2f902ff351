//! What kind of event it is, in a word or two for the log.

use std::fmt::{self, Write};

/// Shows an event's kind: the name of its variant, or, where it carries a message, the message's kind:
/// `Deadline`, `Worker/Heartbeat`, `LaunchTask`. Read off the beginning of its `Debug` form, so that no machine
/// needs a table of names; the rest of that form is never made.
pub(crate) struct Kind<'a, E>(pub(crate) &'a E);

impl<E: fmt::Debug> fmt::Display for Kind<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut head = Head::default();
        // An error only means that enough has been seen.
        let _ = write!(head, "{:?}", self.0);
        f.write_str(&head.kind())
    }
}

/// The first bytes of what is written to it.
#[derive(Default)]
struct Head(String);

const ENOUGH: usize = 160;

impl Write for Head {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.push_str(text);
        if self.0.len() < ENOUGH { Ok(()) } else { Err(fmt::Error) }
    }
}

impl Head {
    fn kind(&self) -> String {
        let name = |text: &str| -> String { text.chars().take_while(char::is_ascii_alphanumeric).collect() };
        let Some((_, message)) = self.0.split_once("message: ") else { return name(&self.0) };
        let outer = name(message);
        match message[outer.len()..].strip_prefix('(') {
            Some(rest) => format!("{outer}/{}", name(rest)),
            None => outer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firesteel_core::ids::{AppId, PeerId, WorkerId};
    use firesteel_core::messages::{DriverToExecutor, DriverToMaster, WorkerToMaster};
    use firesteel_core::{executor, master};

    fn check(event: impl fmt::Debug, kind: &str) {
        assert_eq!(Kind(&event).to_string(), kind);
    }

    #[test]
    fn an_event_is_called_by_its_message() {
        use master::{Event, Inbound};
        let peer = PeerId(7);
        check(Event::Deadline, "Deadline");
        check(Event::Disconnected { peer }, "Disconnected");
        let heartbeat = WorkerToMaster::Heartbeat { worker: WorkerId::new("w".repeat(200)) };
        check(Event::Received { peer, message: Inbound::Worker(heartbeat) }, "Worker/Heartbeat");
        let end = DriverToMaster::UnregisterApplication { app: AppId::new("app-1") };
        check(Event::Received { peer, message: Inbound::Driver(end) }, "Driver/UnregisterApplication");
        let stop = DriverToExecutor::StopExecutor;
        check(executor::Event::Received { message: stop }, "StopExecutor");
    }
}
