//! The effects of a connection.

use firesteel_master::Inbound;
use firesteel_protocol::ids::WorkerId;
use firesteel_protocol::messages::{ApplicationDescription, WorkerToMaster};
use firesteel_protocol::secret::Secret;
use firesteel_protocol::wire::Role;

use super::{Channel, Note, OrderRequest, PeerNumber};
use crate::frame::Frame;

/// An action that the daemon performs for the connection.
#[derive(Clone, Debug, PartialEq, firesteel_protocol::Kind)]
#[kind("spark connection effect")]
pub enum Effect {
    /// Send a frame to the other side.
    Send(Frame),
    /// Report a new peer to the Master. If the Master accepts no more peers, [`MasterGone`](super::Event::MasterGone)
    /// follows.
    Open {
        /// The peer's channel. No channel is opened twice.
        channel: Channel,
        /// The peer's role at the Master.
        role: Role,
        /// The peer's name, for logs.
        name: String,
    },
    /// Pass a message of a peer on to the Master.
    Say {
        /// The channel of the message's sender.
        channel: Channel,
        /// The size of the message on the wire, in bytes.
        bytes: usize,
        /// The message, translated for the Master.
        message: Inbound,
    },
    /// Pass a driver's registration on to the Master, with a new token that the daemon draws.
    Register {
        /// The channel of the driver that registers.
        channel: Channel,
        /// The size of the registration on the wire, in bytes.
        bytes: usize,
        /// The application, to which the daemon adds the token. A Spark driver never sends a token: it returns only
        /// when the Master calls it.
        description: Box<ApplicationDescription>,
    },
    /// Pass on a message of a Worker that is registered with the Master over another connection. The Worker's id and
    /// token are the key in the [directory](super::Directory). If the directory has no such entry,
    /// [`FoundNobody`](super::Event::FoundNobody) follows.
    SayElsewhere {
        /// The number of the sender on this connection.
        peer: PeerNumber,
        /// The Worker's id in the directory.
        worker: WorkerId,
        /// The token with which the Worker registered.
        token: Secret,
        /// The size of the message on the wire, in bytes.
        bytes: usize,
        /// The message, translated for the Master.
        message: WorkerToMaster,
    },
    /// Enter a Worker in the directory, with this channel as its peer.
    Enter {
        /// The Worker's id, the key of the entry.
        worker: WorkerId,
        /// The token with which the Worker registered.
        token: Secret,
        /// The channel that represents the Worker at the Master.
        channel: Channel,
    },
    /// Remove a Worker from the directory, if its entry has this channel. The next effect reports that the channel's
    /// peer has left.
    Withdraw {
        /// The Worker's id, the key of the entry.
        worker: WorkerId,
        /// The channel that the entry must have.
        channel: Channel,
    },
    /// Report to the Master that a peer has left.
    Leave {
        /// The channel that becomes free. It is not used again.
        channel: Channel,
    },
    /// [Write](OrderRequest::write) an order to launch an executor. [`OrderWritten`](super::Event::OrderWritten)
    /// follows.
    WriteOrder(Box<OrderRequest>),
    /// Remove the cached forms of an application's orders.
    ForgetOrders {
        /// The application, which has ended.
        app: String,
    },
    /// Log this event.
    Note(Note),
    /// Close the connection. This is the last effect.
    Close(Closing),
}

/// The moment at which a connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("spark connection closing")]
pub enum Closing {
    /// The connection is closed when all frames are written, or after a limited time.
    Flushed,
    /// The connection is closed at once.
    AtOnce,
}
