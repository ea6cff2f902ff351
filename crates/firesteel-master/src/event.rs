//! The inputs of the Master: messages from peers, ended connections, answers of the daemon and deadlines.

use firesteel_protocol::ids::{PeerId, WorkerId};
use firesteel_protocol::machine::kind::{Kind, Label};
use firesteel_protocol::messages::{ClientToMaster, DriverToMaster, LogPiece, WorkerToMaster};
use firesteel_protocol::time::Timestamp;

/// An event for a Master. A new connection is not an event: the Master learns of a peer from its first message.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("master event")]
pub enum Event {
    Received {
        peer: PeerId,
        /// When the whole message had arrived. Since then it may have waited while the Master handled other messages.
        arrived: Timestamp,
        #[kind(label)]
        message: Inbound,
    },
    /// A connection ended, for whatever reason.
    Disconnected { peer: PeerId },
    /// Nothing listens any more at the address of a Worker that is away: its process has ended. The answer to
    /// [`Effect::Probe`](crate::Effect::Probe).
    WorkerGone { worker: WorkerId, since: Timestamp },
    /// A piece of a log, or why there is none. The answer to [`Effect::ReadLog`](crate::Effect::ReadLog).
    LogRead { peer: PeerId, outcome: Result<LogPiece, String> },
    /// The time of the next deadline has come.
    Deadline {
        /// All messages that arrived before this time have been handled. The time is in the past while messages wait
        /// for their turn.
        heard_until: Timestamp,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inbound {
    Worker(WorkerToMaster),
    Driver(DriverToMaster),
    Client(ClientToMaster),
}

impl Inbound {
    fn label(&self) -> Label {
        match self {
            Self::Worker(message) => message.label().from("Worker"),
            Self::Driver(message) => message.label().from("Driver"),
            Self::Client(message) => message.label().from("Client"),
        }
    }
}

#[cfg(test)]
mod tests {
    use firesteel_protocol::ids::AppId;

    use super::*;

    #[test]
    fn an_event_is_called_by_its_message() {
        let check = |event: Event, label: &str| assert_eq!(event.label().to_string(), label);
        let (peer, arrived) = (PeerId(7), Timestamp::default());
        check(Event::Deadline { heard_until: arrived }, "Deadline");
        check(Event::Disconnected { peer }, "Disconnected");
        let heartbeat = WorkerToMaster::Heartbeat { worker: WorkerId::new("w"), last_order: None };
        check(Event::Received { peer, arrived, message: Inbound::Worker(heartbeat) }, "Worker/Heartbeat");
        let end = DriverToMaster::UnregisterApplication { app: AppId::new("app-1"), outcome: None };
        check(
            Event::Received { peer, arrived, message: Inbound::Driver(end) },
            "Driver/UnregisterApplication",
        );
    }

    #[test]
    fn an_event_is_short() {
        let size = size_of::<Event>();
        assert!(size <= 104, "{size} bytes, for each of many that wait");
    }
}
