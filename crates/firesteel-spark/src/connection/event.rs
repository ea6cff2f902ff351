//! The events that a connection is told.

use std::net::IpAddr;

use firesteel_master::Outbound;
use firesteel_protocol::ids::ExecutorKey;

use super::{PeerNumber, Seat};
use crate::frame::Frame;

/// An event for a connection.
#[derive(Clone, Debug, PartialEq, firesteel_protocol::Kind)]
#[kind("spark connection event")]
pub enum Event {
    /// The connection is open. It is the first event.
    Opened {
        /// Where the other side is.
        remote: IpAddr,
    },
    /// A frame came.
    Received(Frame),
    /// The Master sends this to a peer. What it sends to a seat that was left may still come, and is dropped.
    Told {
        /// The peer's seat.
        seat: Seat,
        /// The message, for the role that the peer has.
        message: Outbound,
    },
    /// The Master ends a peer, as if it closed the peer's own connection. It sends nothing more to the seat.
    Dismissed {
        /// The peer's seat.
        seat: Seat,
        /// How the Master ends it.
        dismissal: Dismissal,
    },
    /// No Worker is in the directory for what [`SayElsewhere`](super::Effect::SayElsewhere) had to say.
    FoundNobody {
        /// The Worker's number on this connection.
        peer: PeerNumber,
    },
    /// An [order](super::Effect::WriteOrder) is written, or cannot be.
    OrderWritten {
        /// The number of the Worker on this connection.
        peer: PeerNumber,
        /// The executor to launch.
        executor: ExecutorKey,
        /// The Java object, or why there is none.
        object: Result<Vec<u8>, String>,
    },
    /// The Master ends. It still sends what it has for its peers, and dismisses them.
    MasterEnds,
    /// The Master hears nothing any more.
    MasterGone,
    /// The connection has ended.
    Closed {
        /// What broke it. `None` if the other side ended it in order.
        error: Option<String>,
    },
    /// The time of the deadline has come.
    Deadline,
}

/// How the Master ends a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("spark connection dismissal")]
pub enum Dismissal {
    /// In order: the peer got all that was sent to it.
    InOrder,
    /// At once, since the peer reads too slowly, for instance.
    AtOnce,
}
