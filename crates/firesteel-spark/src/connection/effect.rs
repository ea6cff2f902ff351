//! The effects of a connection.

use firesteel_master::Inbound;
use firesteel_protocol::ids::WorkerId;
use firesteel_protocol::messages::{ApplicationDescription, WorkerToMaster};
use firesteel_protocol::secret::Secret;
use firesteel_protocol::wire::Role;

use super::{Channel, Note, OrderRequest, PeerNumber};
use crate::frame::Frame;

/// An action that the connection's shell performs.
#[derive(Clone, Debug, PartialEq, firesteel_protocol::Kind)]
#[kind("spark connection effect")]
pub enum Effect {
    /// Send a frame to the other side.
    Send(Frame),
    /// Tell the Master of a new peer. If the Master accepts no more, [`MasterGone`](super::Event::MasterGone) follows.
    Open {
        /// The peer's channel. No channel is opened twice.
        channel: Channel,
        /// The peer's role at the Master.
        role: Role,
        /// The peer's name, for logs.
        name: String,
    },
    /// Pass on a message of a peer to the Master.
    Say {
        /// The channel of the message's sender.
        channel: Channel,
        /// The size of the message on the wire, in bytes.
        bytes: usize,
        /// The message, translated for the Master.
        message: Inbound,
    },
    /// Pass on a driver's registration to the Master, with a token that the shell draws now.
    Register {
        /// The channel of the driver that registers.
        channel: Channel,
        /// The size of the registration on the wire, in bytes.
        bytes: usize,
        /// The application, without a token: only a Master that calls the driver can bring it back.
        description: Box<ApplicationDescription>,
    },
    /// Pass on a message of a Worker that the Master knows by another connection. The Worker's id and token are the key
    /// in the [directory](super::Directory). If there is none, [`FoundNobody`](super::Event::FoundNobody) follows.
    SayElsewhere {
        /// The number of the sender on this connection.
        peer: PeerNumber,
        /// The id under which the directory has the Worker.
        worker: WorkerId,
        /// The token with which it registered.
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
        /// The token with which it registered.
        token: Secret,
        /// The channel at which the Master knows it.
        channel: Channel,
    },
    /// Remove a Worker from the directory, if its entry has this channel. The channel is left next.
    Withdraw {
        /// The Worker's id, the key of the entry.
        worker: WorkerId,
        /// The channel that the entry must have.
        channel: Channel,
    },
    /// Tell the Master that a peer has left.
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
    /// Close the connection. The last effect.
    Close(Closing),
}

/// When a connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("spark connection closing")]
pub enum Closing {
    /// Once all frames are written, within a bounded time.
    Flushed,
    /// At once.
    AtOnce,
}
