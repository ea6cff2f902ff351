//! The effects of a connection, which its shell performs.

use firesteel_master::Inbound;
use firesteel_protocol::ids::WorkerId;
use firesteel_protocol::messages::{ApplicationDescription, WorkerToMaster};
use firesteel_protocol::secret::Secret;
use firesteel_protocol::wire::Role;

use super::{Note, OrderRequest, PeerNumber, Seat};
use crate::frame::Frame;

/// An effect of a connection, which its shell performs.
#[derive(Clone, Debug, PartialEq, firesteel_protocol::Kind)]
#[kind("spark connection effect")]
pub enum Effect {
    /// Send a frame to the other side.
    Send(Frame),
    /// Tell the Master of a new peer. If it takes none any more, that is [`MasterGone`](super::Event::MasterGone).
    Open {
        /// The peer's seat. No seat is opened twice.
        seat: Seat,
        /// What the peer is to the Master.
        role: Role,
        /// The peer's name, for people.
        name: String,
    },
    /// Give the Master a message of a peer.
    Say {
        /// The peer's seat.
        seat: Seat,
        /// The number of bytes that the message had.
        bytes: usize,
        /// The message itself.
        message: Inbound,
    },
    /// Give the Master the registration of a driver, with a token that is drawn now.
    Register {
        /// The driver's seat.
        seat: Seat,
        /// The number of bytes that the registration had.
        bytes: usize,
        /// The application, without a token: nobody but the Master that calls the driver can bring it back.
        description: Box<ApplicationDescription>,
    },
    /// Give the Master a message of a Worker that it knows by another connection: the one of which the
    /// [directory](super::Directory) has this id and this token. If there is none, that is
    /// [`FoundNobody`](super::Event::FoundNobody).
    SayElsewhere {
        /// The Worker's number on this connection.
        peer: PeerNumber,
        /// The Worker's id.
        worker: WorkerId,
        /// The token with which it registered.
        token: Secret,
        /// The number of bytes that the message had.
        bytes: usize,
        /// The message itself.
        message: WorkerToMaster,
    },
    /// Enter a Worker in the directory: the Master knows it by this seat.
    Enter {
        /// The Worker's id.
        worker: WorkerId,
        /// The token with which it registered.
        token: Secret,
        /// The Worker's seat.
        seat: Seat,
    },
    /// Remove a Worker from the directory, if it is there with this seat. The seat is left next.
    Withdraw {
        /// The Worker's id.
        worker: WorkerId,
        /// The Worker's seat.
        seat: Seat,
    },
    /// Tell the Master that a peer is gone.
    Leave {
        /// The peer's seat.
        seat: Seat,
    },
    /// [Write](OrderRequest::write) an order to launch an executor, which is [`OrderWritten`](super::Event::OrderWritten).
    WriteOrder(Box<OrderRequest>),
    /// Forget the forms of an application's orders.
    ForgetOrders {
        /// The application's id.
        app: String,
    },
    /// Write a line to the log.
    Note(Note),
    /// End the connection. It is the last effect.
    Close(Closing),
}

/// How a connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("spark connection closing")]
pub enum Closing {
    /// When all frames are written, in a bounded time.
    Flushed,
    /// At once.
    AtOnce,
}
