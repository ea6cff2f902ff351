//! The events of a connection.

use std::net::IpAddr;

use firesteel_master::Outbound;
use firesteel_protocol::ids::ExecutorKey;

use super::{Channel, PeerNumber};
use crate::frame::Frame;

/// What a connection is told by its shell.
#[derive(Clone, Debug, PartialEq, firesteel_protocol::Kind)]
#[kind("spark connection event")]
pub enum Event {
    /// The connection is open. The first event.
    Opened {
        /// The IP address of the other side.
        remote: IpAddr,
    },
    /// A frame arrived from the other side.
    Received(Frame),
    /// The Master sends a message to a peer. Messages to a channel that was left may still come, and are dropped.
    Outgoing {
        /// The channel of the message's receiver.
        channel: Channel,
        /// The message, for the peer's role.
        message: Outbound,
    },
    /// The Master ends a peer, as if it closed the peer's own connection. It sends nothing more to the channel.
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
    /// The Master ends. It still sends its last messages, and dismisses its peers.
    MasterEnds,
    /// The Master receives nothing more.
    MasterGone,
    /// The connection has ended, in order or not.
    Closed {
        /// What broke it; `None` if the other side closed it in order.
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
    /// At once, for example because the peer reads too slowly.
    AtOnce,
}
