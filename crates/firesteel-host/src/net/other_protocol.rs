//! Connections at an owner's port that use another protocol.

use std::net::SocketAddr;

use tokio::net::TcpStream;
use tokio::sync::mpsc;

use super::listener::limits::ConnectionPermit;

/// A connection that begins with the first byte of another protocol. No byte has been read from the connection or
/// written to it.
#[derive(Debug)]
pub struct OtherProtocolConnection {
    pub stream: TcpStream,
    pub remote: SocketAddr,
    /// The connection's permit, to be kept until the connection ends.
    pub permit: ConnectionPermit,
}

/// The bytes with which another protocol begins, and the channel to the task that serves its connections.
#[derive(Clone, Debug)]
pub(super) struct OtherProtocolRoute {
    pub(super) firsts: &'static [u8],
    pub(super) connections: mpsc::Sender<OtherProtocolConnection>,
}
