//! Connections at an owner's port that speak another protocol.

use std::net::SocketAddr;

use tokio::net::TcpStream;
use tokio::sync::mpsc;

use super::listener::limits::ConnectionPermit;

/// A connection that begins with the first byte of another protocol. Nothing was read from it or written to it.
#[derive(Debug)]
pub struct OtherProtocolConnection {
    pub stream: TcpStream,
    pub remote: SocketAddr,
    /// Its permit, to be kept until its end.
    pub permit: ConnectionPermit,
}

/// The first byte of another protocol, and the channel to the task that serves it.
#[derive(Clone, Debug)]
pub(super) struct OtherProtocolRoute {
    pub(super) first: u8,
    pub(super) connections: mpsc::Sender<OtherProtocolConnection>,
}
