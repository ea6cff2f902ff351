//! The socket that a daemon listens on.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use firesteel_core::address::Address;
use firesteel_core::wire::Role;
use tokio::net::{TcpListener, TcpSocket, TcpStream, lookup_host};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::sleep;

use super::conversation::Conversation;

/// Connections that may wait to be accepted.
const BACKLOG: u32 = 1024;

/// Connections that may be in their handshake at one time. More wait in the backlog.
const HALF_OPEN: usize = 512;

/// Connections that may be open at one time. More wait in the backlog until one ends.
const OPEN: usize = 1 << 16;

/// A connection's places among those that are counted: it gives up the first when its handshake is over, the second
/// when it ends.
#[derive(Debug)]
pub(super) struct Places {
    pub(super) half_open: OwnedSemaphorePermit,
    pub(super) open: OwnedSemaphorePermit,
}

/// A socket that listens.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    local: SocketAddr,
    beside: Option<Beside>,
}

/// Whom an owner's port is open to beside the owner's peers, and who talks to them.
#[derive(Clone, Debug)]
pub(super) struct Beside {
    pub(super) role: Role,
    pub(super) conversations: mpsc::Sender<Conversation>,
}

/// An address that cannot be listened on.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The host has no address.
    #[error("cannot listen on {address}: unknown host: {error}")]
    UnknownHost {
        /// Where.
        address: Address,
        /// Why.
        error: io::Error,
    },
    /// Somebody else listens there.
    #[error(
        "cannot listen on {address}: the port is in use: end the program that has it, or choose another port with --port (0: any free one)"
    )]
    InUse {
        /// Where.
        address: Address,
    },
    /// The operating system's error.
    #[error("cannot listen on {address}: {error}")]
    Io {
        /// Where.
        address: Address,
        /// Why.
        error: io::Error,
    },
}

impl Listener {
    /// Listens. Port 0 is any free port.
    ///
    /// # Errors
    /// The host is not known or not this machine, the port is taken or not allowed.
    pub async fn bind(address: &Address) -> Result<Self, ListenError> {
        let at = || address.clone();
        let known = lookup_host((address.host.as_str(), address.port)).await;
        let candidates = known.map_err(|error| ListenError::UnknownHost { address: at(), error })?;
        let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
        for candidate in candidates {
            match listen(candidate) {
                Ok(listener) => return Ok(listener),
                Err(error) => last = error,
            }
        }
        Err(match last.kind() {
            io::ErrorKind::AddrInUse => ListenError::InUse { address: at() },
            _ => ListenError::Io { address: at(), error: last },
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// Lets connections of one more role in. The owner hears nothing of them: they go to whoever holds the other end
    /// of the channel, and wait while it is full.
    #[must_use]
    pub fn beside(mut self, role: Role, conversations: mpsc::Sender<Conversation>) -> Self {
        self.beside = Some(Beside { role, conversations });
        self
    }

    /// What [`beside`](Self::beside) said.
    pub(super) fn who_is_beside(&self) -> Option<Beside> {
        self.beside.clone()
    }

    /// Accepts for ever.
    pub(super) async fn accept_each(self, mut accepted: impl FnMut(TcpStream, SocketAddr, Places)) {
        let half_open = Arc::new(Semaphore::new(HALF_OPEN));
        let open = Arc::new(Semaphore::new(OPEN));
        loop {
            let places = Places { half_open: place(&half_open).await, open: place(&open).await };
            match self.socket.accept().await {
                Ok((stream, remote)) => accepted(stream, remote, places),
                Err(error) if is_the_connections(&error) => {
                    tracing::debug!("a connection ended before it was accepted: {error}");
                }
                Err(error) => {
                    let pause = Duration::from_millis(500);
                    tracing::warn!("cannot accept connections on {}: {error}; retrying", self.local);
                    sleep(pause).await;
                }
            }
        }
    }
}

async fn place(of: &Arc<Semaphore>) -> OwnedSemaphorePermit {
    Arc::clone(of).acquire_owned().await.expect("it is never closed")
}

fn listen(address: SocketAddr) -> io::Result<Listener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // A port whose old connections are still being forgotten is free.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    let socket = socket.listen(BACKLOG)?;
    let local = socket.local_addr()?;
    Ok(Listener { socket, local, beside: None })
}

/// Whether the error belongs to the connection that was to be accepted, and the next one may be fine.
fn is_the_connections(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::Interrupted
    )
}
