//! The events of a connection.

use std::net::IpAddr;

use firesteel_master::Outbound;
use firesteel_protocol::ids::ExecutorKey;

use super::{Channel, PeerNumber};
use crate::frame::Frame;

/// An event that the daemon passes to the connection.
#[derive(Clone, Debug, PartialEq, firesteel_protocol::Kind)]
#[kind("spark connection event")]
pub enum Event {
    /// The connection is open. This is the first event.
    Opened {
        /// The IP address of the other side.
        remote: IpAddr,
    },
    /// A frame arrived from the other side.
    Received(Frame),
    /// The Master sends a message to a peer. Messages to a channel whose peer has left may still come, and are dropped.
    Outgoing {
        /// The channel of the message's receiver.
        channel: Channel,
        /// The message, for the peer's role.
        message: Outbound,
    },
    /// The Master ends a peer, as if it closed the peer's own connection. The Master sends nothing more to the channel.
    Dismissed {
        /// The channel of the peer that is ended.
        channel: Channel,
        /// Whether the peer got everything that was sent to it.
        dismissal: PeerEnd,
    },
    /// The directory has no Worker for [`SayElsewhere`](super::Effect::SayElsewhere).
    FoundNobody {
        /// The number of the sender on this connection.
        peer: PeerNumber,
    },
    /// The result of [`WriteOrder`](super::Effect::WriteOrder).
    OrderWritten {
        /// The number of the Worker on this connection.
        peer: PeerNumber,
        /// The executor that the order launches.
        executor: ExecutorKey,
        /// The order as a Java object, or why it could not be written.
        object: Result<Vec<u8>, String>,
    },
    /// The Master is ending. It still sends its last messages, and ends its peers.
    MasterEnds,
    /// The Master no longer receives messages.
    MasterGone,
    /// The connection has ended, orderly or not.
    Closed {
        /// The error that broke the connection; `None` if the other side closed it in order.
        error: Option<String>,
    },
    /// The time of the connection's deadline has come.
    Deadline,
}

/// How the Master ends a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("spark connection dismissal")]
pub enum PeerEnd {
    /// In order: the peer got everything that was sent to it.
    InOrder,
    /// At once, because the peer reads too slowly, for example.
    AtOnce,
}
