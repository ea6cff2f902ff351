//! The listening socket of a daemon, and its limits on connections.
//!
//! - `reception`: who may connect, and in which role; `acceptor`: a separate thread for accepting.
//! - `limits`: the permits that limit the number of connections.

pub(super) mod acceptor;
pub(super) mod limits;
mod reception;

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use firesteel_protocol::address::Address;
use firesteel_protocol::wire::Role;
use nix::errno::Errno;
use socket2::SockRef;
use tokio::net::{TcpListener, TcpSocket, TcpStream, lookup_host};
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::conversation::Conversation;
use super::other_protocol::{OtherProtocolConnection, OtherProtocolRoute};
use crate::places::{Occupant, machine_of};
use crate::rate_limiter::RateLimiter;
use limits::{ConnectionLimits, HOW_TO_RAISE};

/// The maximum number of connections that wait to be accepted. Most systems allow this number. When a Master comes
/// back, thousands of Workers dial at the same moment.
const BACKLOG: u32 = 4096;

#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    local: SocketAddr,
    conversations: Option<ConversationServer>,
    other_protocols: Vec<OtherProtocolRoute>,
}

/// A role whose connections the owner does not see, and the channel to the task that serves them.
#[derive(Clone, Debug)]
pub(super) struct ConversationServer {
    pub(super) role: Role,
    pub(super) conversations: mpsc::Sender<Conversation>,
}

#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    #[error("cannot listen on {address}: unknown host: {error}")]
    UnknownHost {
        address: Address,
        #[source]
        error: io::Error,
    },
    /// Another program listens on this port.
    #[error(
        "cannot listen on {address}: the port is in use: end the program that has it, or choose another port with --port (0: any free one)"
    )]
    InUse { address: Address },
    #[error("cannot listen on {address}: {error}")]
    Io {
        address: Address,
        #[source]
        error: io::Error,
    },
}

impl Listener {
    /// Listens on an address. Port 0 means any free port.
    ///
    /// # Errors
    /// The host is unknown, or it is another machine. Or the port is in use, or not allowed.
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

    /// A second listener on the same socket, for a task that accepts after this one. Connections that arrive in between
    /// wait.
    pub fn another(&self) -> io::Result<Self> {
        let socket = SockRef::from(&self.socket).try_clone()?;
        let socket = TcpListener::from_std(socket.into())?;
        Ok(Self { socket, local: self.local, conversations: None, other_protocols: Vec::new() })
    }

    #[must_use]
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// Also accepts connections of this role. The owner does not see them. These connections go to the receiver of the
    /// channel, and wait while the channel is full.
    #[must_use]
    pub fn also_serve(mut self, role: Role, conversations: mpsc::Sender<Conversation>) -> Self {
        self.conversations = Some(ConversationServer { role, conversations });
        self
    }

    /// The role and channel that [`also_serve`](Self::also_serve) set.
    pub(super) fn conversation_server(&self) -> Option<ConversationServer> {
        self.conversations.clone()
    }

    /// Also accepts connections of another protocol, which begin with one of these bytes. The owner does not see them.
    /// These connections go to the receiver of the channel, and wait while the channel is full.
    #[must_use]
    pub fn also_receive(
        mut self,
        firsts: &'static [u8],
        connections: mpsc::Sender<OtherProtocolConnection>,
    ) -> Self {
        self.other_protocols.push(OtherProtocolRoute { firsts, connections });
        self
    }

    /// The bytes and channels that [`also_receive`](Self::also_receive) set.
    pub(super) fn other_protocols(&self) -> Vec<OtherProtocolRoute> {
        self.other_protocols.clone()
    }

    /// Moves the socket to the runtime that runs the caller.
    ///
    /// # Errors
    /// The operating system does not let the runtime wait for the socket.
    pub(super) fn moved_here(self) -> io::Result<Self> {
        Ok(Self { socket: TcpListener::from_std(self.socket.into_std()?)?, ..self })
    }

    /// Accepts connections forever. Each connection comes with its place for the handshake.
    pub(super) async fn accept_each(
        self,
        connection_limits: &ConnectionLimits,
        mut accepted: impl FnMut(TcpStream, SocketAddr, Occupant),
    ) {
        let errors = RateLimiter::per_minute(1);
        loop {
            let place = connection_limits.entrance.place().await;
            match self.socket.accept().await {
                Ok((stream, remote)) => {
                    let occupant =
                        connection_limits.entrance.enter(place, machine_of(stream.local_addr(), remote));
                    accepted(stream, remote, occupant);
                }
                Err(error) if is_the_connections(&error) => {
                    tracing::debug!("a connection ended before it was accepted: {error}");
                }
                Err(error) => {
                    if let Some(left_out) = errors.next() {
                        let advice = advice(&error);
                        tracing::warn!(
                            "cannot accept connections on {}: {error}{advice}; retrying{left_out}",
                            self.local
                        );
                    }
                    sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }
}

/// Advice about what an operator can do about an error. Empty if there is none.
fn advice(error: &io::Error) -> String {
    match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::EMFILE) => {
            format!(": raise the limit of open files of this process {HOW_TO_RAISE}")
        }
        Some(Errno::ENFILE) => {
            ": raise the limit of open files of this machine (sysctl fs.file-max)".to_owned()
        }
        Some(_) | None => String::new(),
    }
}

fn listen(address: SocketAddr) -> io::Result<Listener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // The port can be reused while the system still remembers its old connections.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    let socket = socket.listen(BACKLOG)?;
    let local = socket.local_addr()?;
    Ok(Listener { socket, local, conversations: None, other_protocols: Vec::new() })
}

/// Whether the error concerns only the connection that is being accepted, so that further connections can be accepted.
fn is_the_connections(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::Interrupted
    )
}
