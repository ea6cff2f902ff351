//! The names of the variants of an enum, for the log and for tests that count them.

use std::fmt;

/// An enum whose variants have names. Implement it with `#[derive(firesteel_protocol::Kind)]`.
pub trait Kind {
    /// The enum's name, such as `master event`.
    const ENUM: &'static str;
    /// The names of all variants.
    const NAMES: &'static [&'static str];

    /// The variant's index in [`NAMES`](Self::NAMES).
    fn index(&self) -> usize;

    /// The variant's name.
    fn kind(&self) -> &'static str {
        Self::NAMES[self.index()]
    }

    /// The variant's name in the log. For an event that contains a message, the label is the message's.
    fn label(&self) -> Label {
        Label::of(self)
    }
}

/// The name of an event in the log: `Deadline`, `Worker/Heartbeat`, `LaunchTask`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    sender: Option<&'static str>,
    kind: &'static str,
}

impl Label {
    /// The label of the variant itself, without that of a message in the variant.
    #[must_use]
    pub fn of(named: &(impl Kind + ?Sized)) -> Self {
        Self { sender: None, kind: named.kind() }
    }

    /// Puts the sender's role before the label, for machines that receive messages from several roles.
    #[must_use]
    pub fn from(self, sender: &'static str) -> Self {
        Self { sender: Some(sender), ..self }
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.sender {
            Some(sender) => write!(f, "{sender}/{}", self.kind),
            None => f.write_str(self.kind),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, Label};

    #[derive(crate::Kind)]
    #[kind("message")]
    enum Message {
        Heartbeat,
    }

    /// A message from a peer of one of several roles.
    struct Inbound(Message);

    impl Inbound {
        fn label(&self) -> Label {
            self.0.label().from("Worker")
        }
    }

    #[derive(crate::Kind)]
    enum Event {
        Received {
            #[kind(label)]
            message: Inbound,
        },
        Deadline,
    }

    #[test]
    fn an_event_is_called_by_its_message() {
        let label = |event: Event| event.label().to_string();
        assert_eq!(label(Event::Deadline), "Deadline");
        assert_eq!(label(Event::Received { message: Inbound(Message::Heartbeat) }), "Worker/Heartbeat");
        assert_eq!(Message::Heartbeat.label().to_string(), "Heartbeat");
        assert_eq!(
            (Message::ENUM, Event::ENUM, Event::NAMES),
            ("message", "Event", &["Received", "Deadline"][..])
        );
        assert_eq!((Event::Deadline.index(), Event::Deadline.kind()), (1, "Deadline"));
    }
}
