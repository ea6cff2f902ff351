//! The names of the variants of an enum, for the log and for tests that count them.

use std::fmt;

/// An enum whose variants have names. [`kinds!`](crate::kinds) implements it.
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

    /// What the log calls it: the variant's name, or, for an event that brings a message, what that is called.
    fn label(&self) -> Label {
        Label::of(self)
    }
}

/// What the log calls an event: `Deadline`, `Worker/Heartbeat`, `LaunchTask`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    sender: Option<&'static str>,
    kind: &'static str,
}

impl Label {
    /// The variant's own name, whatever it carries.
    #[must_use]
    pub fn of(named: &(impl Kind + ?Sized)) -> Self {
        Self { sender: None, kind: named.kind() }
    }

    /// The same with the sender's role before it, for machines that several roles talk to.
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

/// Implements [`Kind`] for an enum. A variant that is not listed does not compile.
///
/// `kinds!("master event", Event: Received Disconnected Deadline; Received => message)` says besides that a `Received`
/// is called by the label of its field `message`.
#[macro_export]
macro_rules! kinds {
    ($name:literal, $type:ty: $($variant:ident)+ $(; $carrier:ident => $message:ident)?) => {
        impl $crate::kind::Kind for $type {
            const ENUM: &'static str = $name;
            const NAMES: &'static [&'static str] = &[$(stringify!($variant)),+];

            fn index(&self) -> usize {
                #[allow(clippy::enum_variant_names, reason = "the names are those of the enum that is named")]
                enum Index { $($variant),+ }
                match self { $(Self::$variant { .. } => Index::$variant as usize),+ }
            }

            $(fn label(&self) -> $crate::kind::Label {
                if let Self::$carrier { $message, .. } = self {
                    return $message.label();
                }
                $crate::kind::Label::of(self)
            })?
        }
    };
}

#[cfg(test)]
mod tests {
    use super::Kind;
    use crate::ids::{AppId, PeerId, WorkerId};
    use crate::messages::{DriverToExecutor, DriverToMaster, WorkerToMaster};
    use crate::{executor, master};

    fn check(event: &impl Kind, label: &str) {
        assert_eq!(event.label().to_string(), label);
    }

    #[test]
    fn an_event_is_called_by_its_message() {
        use master::{Event, Inbound};
        let peer = PeerId(7);
        let arrived = crate::time::Timestamp::default();
        check(&Event::Deadline { heard_until: arrived }, "Deadline");
        check(&Event::Disconnected { peer }, "Disconnected");
        let heartbeat = WorkerToMaster::Heartbeat { worker: WorkerId::new("w"), last_order: None };
        check(&Event::Received { peer, arrived, message: Inbound::Worker(heartbeat) }, "Worker/Heartbeat");
        let end = DriverToMaster::UnregisterApplication { app: AppId::new("app-1"), outcome: None };
        check(
            &Event::Received { peer, arrived, message: Inbound::Driver(end) },
            "Driver/UnregisterApplication",
        );
        let stop = DriverToExecutor::StopExecutor;
        check(&executor::Event::Received { message: stop }, "StopExecutor");
    }
}
