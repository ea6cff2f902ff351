//! Connections: bytes on sockets on one side, events in an owner's [`Inbox`](crate::inbox::Inbox) on the other.
//!
//! A connection opens with a preamble and a hello from both sides, and then carries frames of messages. A peer's role
//! decides which messages it may send. So a daemon names, for each role that it accepts or dials, the function that
//! turns a frame's body into an event ([`Decode`]).
//!
//! One task serves one connection. It reads and writes independently:
//!
//! - Incoming messages wait for room in the inbox, which is limited for each peer and in total. Meanwhile TCP slows the
//!   peer down, so no peer can fill the memory.
//! - Outgoing messages are gathered by peer while the owner handles a batch of events, and handed over together
//!   ([`Peers::hand_over`]). They wait in a queue that is limited in bytes, for each peer and in total. If it is full,
//!   the peer is too slow and the connection is closed; the owner never waits for a peer that does not read. A write
//!   that makes no progress for [`WRITE_TIMEOUT`] also closes the connection if much is queued.
//! - An error of a peer ends only its own connection, with one line in the log that names the peer.
//!
//! The files, from the owner's view to the socket:
//!
//! - [`peers`]: the table of an owner's connections: `send`, `close`, `dial`, `serve`.
//! - [`listener`], [`dial`]: accepting and opening connections.
//! - [`handshake`], [`frame`]: the start of a connection, and the format of its messages; `older_peer`: messages that a
//!   peer is too old for.
//! - [`connection`], [`outbound`]: the task of one connection, and the queue that it writes from; `rope`: frames that
//!   share equal parts; `writer`: the half that sends; [`pace`]: how often some
//!   peers are heard.
//! - [`call()`], in [`call`](mod@call): one request and its response, for commands that are not daemons.
//! - [`conversation`]: a connection without an owner, for bulk data. [`Listener::also_serve`] accepts such connections
//!   at an owner's own port.
//! - [`other_protocol`], [`virtual_peer`]: connections that speak another protocol, and the virtual peers on them.
//!   [`Listener::also_receive`] accepts such connections.
//! - [`encryption`]: connections on which both sides know a secret, and nobody else can read.
//! - [`route`], `socket`: the local address that reaches a peer, and the options of every socket.

pub mod call;
pub mod connection;
pub mod conversation;
pub mod dial;
pub mod encryption;
pub mod frame;
pub mod handshake;
pub mod listener;
mod older_peer;
pub mod other_protocol;
pub mod outbound;
pub mod pace;
pub mod peers;
mod rope;
pub mod route;
mod socket;
#[cfg(test)]
mod tests;
pub mod virtual_peer;
mod writer;

use std::net::SocketAddr;
use std::time::Duration;

use firesteel_protocol::Timestamp;
use firesteel_protocol::ids::PeerId;
use firesteel_protocol::messages::Rights;
use firesteel_protocol::version::Version;
use firesteel_protocol::wire::{DecodeError, Role};

pub use call::{CallError, Inquiry, call};
pub use connection::Disconnect;
pub use conversation::{Conversation, ConversationError};
pub use dial::DialError;
pub use encryption::keyring::{Granted, Keyring, Keys, Purpose, Replacer, Transition, UserName, fingerprint};
pub use firesteel_protocol::master_search::connect_error::Evidence;
pub use handshake::HandshakeError;
pub use handshake::introduction::Introduction;
pub use listener::limits::{ConnectionPermit, PartialBytes, TooMuchArrives};
pub use listener::{ListenError, Listener};
pub use older_peer::OlderPeer;
pub use other_protocol::OtherProtocolConnection;
pub use outbound::QueueLimits;
pub use pace::Pace;
pub use peers::Peers;
pub use virtual_peer::{BoxedMessage, OutgoingItem, OutgoingStream, VirtualPeer, VirtualPeers};
pub use writer::Writer;

pub const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a peer may take after its handshake to send its first message. A peer that opens a connection always has a
/// message to send at once.
pub const FIRST_MESSAGE_TIMEOUT: Duration = Duration::from_secs(30);

pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

pub const FRAME_TIMEOUT: Duration = Duration::from_secs(60);

/// How often an elected Master sends a sign of life on an idle connection.
pub const SIGN_OF_LIFE: Duration = Duration::from_secs(4);

/// How long an elected Master may be silent before its peers close the connection and look for another Master.
pub const LONGEST_SILENCE: Duration = Duration::from_secs(10);

/// How long a write may make no progress before the connection is closed. Applies if more than [`PAUSED_BYTES`] are
/// queued.
pub const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// How many bytes may stay queued for a peer that reads nothing. A peer that pauses for minutes stays connected while
/// no more bytes than this are queued. If the peer's machine is gone, the operating system notices.
pub const PAUSED_BYTES: usize = 1 << 20;

/// The timeout for sending the queued messages of a closed connection.
pub const FLUSH_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival<'a> {
    pub peer: PeerId,
    /// The user to whom the peer's secret was granted. `None`: it was granted to nobody in particular.
    pub user: Option<&'a str>,
    /// What the peer may change.
    pub rights: Rights,
    /// When the frame of the message was complete.
    pub at: Timestamp,
}

impl Arrival<'_> {
    /// A message from a peer that has proven nothing.
    #[must_use]
    pub fn unproven(peer: PeerId, at: Timestamp) -> Self {
        Self { peer, user: None, rights: Rights::None, at }
    }
}

/// Turns the body of a frame into the owner's event, with [`firesteel_protocol::wire::decode`].
pub type Decode<E> = fn(Arrival<'_>, &[u8]) -> Result<E, DecodeError>;

#[derive(Debug)]
pub struct AcceptedRole<E> {
    pub role: Role,
    pub decode: Decode<E>,
}

/// The description of a connection's peer, for the log.
#[derive(Clone, Debug)]
pub struct PeerInfo {
    /// The peer's number. Numbers start at 1 and are never reused.
    pub id: PeerId,
    pub role: Role,
    /// The peer's name, as the peer gave it. The name is untrusted: it is only logged, with escapes.
    pub name: String,
    pub remote: SocketAddr,
    /// The version of the protocol that both sides speak on this connection.
    pub version: Version,
    /// Whether the peer's secret proves who its user is.
    pub has_proven_user: bool,
}
