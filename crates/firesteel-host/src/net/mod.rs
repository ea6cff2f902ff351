//! Connections: bytes on sockets on one side, events in an owner's [`Inbox`](crate::inbox::Inbox) on the other.
//!
//! A connection opens with a preamble and a hello from both sides ([`handshake`]), and then carries frames
//! ([`frame`]) of messages. What a side may send follows from its role, so a daemon names, for each role that it
//! lets in or dials, the function that turns a frame's body into its event ([`Decode`]).
//!
//! One task serves one connection ([`connection`]); its two halves are read and written independently:
//!
//! - What comes in waits for room in the inbox, which is bounded in events and in bytes, and TCP slows the peer
//!   down. No peer fills the memory.
//! - What goes out waits in a queue ([`outbound`]) that is bounded in frames and bytes. Where it is full the
//!   peer is too slow and the connection is closed; the owner never waits for a peer. What has gathered is
//!   written at once. A write that makes no progress for [`WRITE_TIMEOUT`] closes too.
//! - Whatever a peer does wrong ends its own connection with one line in the log that names it, and disturbs
//!   nobody else.
//!
//! [`Peers`] is the table of an owner's connections: `send`, `close`, `dial`, `serve`. [`call()`] is one question
//! and its answer, for commands that are no daemons. A [`Conversation`] is a connection without an owner, for bulk
//! that would only stand in an owner's way: [`Listener::beside`] lets such connections in at an owner's own port.

pub mod call;
pub mod connection;
pub mod conversation;
pub mod dial;
pub mod frame;
pub mod handshake;
pub mod listener;
pub mod outbound;
pub mod peers;
pub mod route;
mod socket;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::time::Duration;

use firesteel_core::ids::PeerId;
use firesteel_core::wire::{DecodeError, Role};

pub use call::{CallError, Inquiry, call};
pub use connection::Disconnect;
pub use conversation::{Conversation, ConversationError};
pub use dial::DialError;
pub use handshake::HandshakeError;
pub use listener::{ListenError, Listener};
pub use outbound::Limits;
pub use peers::Peers;

/// A handshake must be over after this.
pub const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// A connection must be made after this.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A frame that began must be complete after this, or after twice this, depending on when one looks.
pub const FRAME_TIMEOUT: Duration = Duration::from_secs(60);

/// Some byte of what is being written must have gone after this.
pub const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// What was queued before a connection was closed must have gone after this.
pub const FLUSH_TIMEOUT: Duration = Duration::from_secs(10);

/// Turns the body of a frame into the owner's event. It ends in [`firesteel_core::wire::decode`].
pub type Decode<E> = fn(PeerId, &[u8]) -> Result<E, DecodeError>;

/// A role that a daemon lets in, and what it may say.
#[derive(Debug)]
pub struct Welcome<E> {
    /// The role.
    pub role: Role,
    /// What its messages become.
    pub decode: Decode<E>,
}

/// Whom a connection leads to, as far as the log is concerned.
#[derive(Clone, Debug)]
pub struct PeerInfo {
    /// Its number: counted from 1, never used again.
    pub id: PeerId,
    /// What it is.
    pub role: Role,
    /// Who it says it is. A stranger's text: only ever logged, and escaped.
    pub name: String,
    /// Where its socket is.
    pub remote: SocketAddr,
}
