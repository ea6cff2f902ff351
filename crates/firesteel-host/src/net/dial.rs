//! Opening a connection to an address, with its handshake.

use std::io;
use std::net::SocketAddr;

use firesteel_protocol::address::Address;
use firesteel_protocol::master_search::connect_error::{ConnectError, Evidence};
use firesteel_protocol::wire::Role;
use tokio::net::{TcpStream, ToSocketAddrs, lookup_host};
use tokio::time::timeout;

use super::handshake::{HandshakeError, Introduced, Side, shake_hands};
use super::{CONNECT_TIMEOUT, Introduction};

#[derive(Debug, thiserror::Error)]
pub enum DialError {
    #[error("unknown host {host:?}: {error}")]
    UnknownHost {
        host: String,
        #[source]
        error: io::Error,
    },
    #[error("no answer from {address} within {} s", CONNECT_TIMEOUT.as_secs())]
    TimedOut { address: Address },
    #[error("cannot connect to {address}: {error}")]
    Connect {
        address: Address,
        #[source]
        error: io::Error,
    },
    /// The peer at this address did not complete the handshake, or does not have the wanted role.
    #[error("{}", sentence(.address, *.wanted, .error))]
    Handshake { address: Address, wanted: Role, error: HandshakeError },
}

impl DialError {
    #[must_use]
    pub fn evidence(&self) -> Evidence {
        match self {
            Self::UnknownHost { .. } | Self::TimedOut { .. } | Self::Connect { .. } => Evidence::Unreachable,
            Self::Handshake { error, .. } => match error {
                HandshakeError::Mute | HandshakeError::TimedOut | HandshakeError::CrowdedOut => {
                    Evidence::NoAnswer
                }
                HandshakeError::Silent | HandshakeError::Closed | HandshakeError::Io(_) => {
                    Evidence::Unreachable
                }
                HandshakeError::Preamble(_)
                | HandshakeError::Frame(_)
                | HandshakeError::Hello(_)
                | HandshakeError::NotAdmitted(_)
                | HandshakeError::WrongRole { .. } => Evidence::Stranger,
            },
        }
    }
}

impl From<DialError> for ConnectError {
    fn from(error: DialError) -> Self {
        Self { evidence: error.evidence(), words: error.to_string() }
    }
}

/// A sentence about the failed handshake with the peer, without the bytes that the peer sent.
fn sentence(address: &Address, wanted: Role, error: &HandshakeError) -> String {
    match error {
        HandshakeError::Mute | HandshakeError::TimedOut | HandshakeError::CrowdedOut => format!(
            "{address} accepted the connection, but {error}: a {wanted} that hangs or is overloaded, or another program"
        ),
        HandshakeError::Silent | HandshakeError::Closed | HandshakeError::Io(_) => {
            format!("{address} accepted the connection, but {error}")
        }
        HandshakeError::NotAdmitted(_) => format!("{address} cannot be used: {error}"),
        HandshakeError::Preamble(_)
        | HandshakeError::Frame(_)
        | HandshakeError::Hello(_)
        | HandshakeError::WrongRole { .. } => {
            format!("{address} is not a {wanted} of this version of Firesteel: {error}")
        }
    }
}

/// Connects and checks that the peer has the wanted role. A standby Master counts as a Master.
///
/// # Errors
/// The host is unknown, the address does not answer, or the peer has another role.
pub(super) async fn open(
    address: &Address,
    ours: &Introduction,
    wanted: Role,
) -> Result<(Introduced, SocketAddr), DialError> {
    let roles: &[Role] = if wanted == Role::Master { &[Role::Master, Role::Standby] } else { &[wanted] };
    let stream = timeout(CONNECT_TIMEOUT, connected(address))
        .await
        .map_err(|_| DialError::TimedOut { address: address.clone() })??;
    let remote =
        stream.peer_addr().map_err(|error| DialError::Connect { address: address.clone(), error })?;
    let mut introduced = shake_hands(stream, Side::Dialled, ours, roles)
        .await
        .map_err(|error| DialError::Handshake { address: address.clone(), wanted, error })?;
    if introduced.hello.epoch != 0 {
        introduced.reader.expect_life();
    }
    Ok((introduced, remote))
}

/// Connects to one of these addresses.
///
/// If nothing listens at a port of this machine, the kernel may choose the same port for the dialling side, and
/// connects the socket with itself. That is a refusal, too: otherwise the caller would keep the port from its daemon.
///
/// # Errors
/// No address answers.
pub async fn connect(to: impl ToSocketAddrs) -> io::Result<TcpStream> {
    checked(TcpStream::connect(to).await?)
}

fn checked(stream: TcpStream) -> io::Result<TcpStream> {
    match stream.local_addr()? == stream.peer_addr()? {
        true => Err(io::ErrorKind::ConnectionRefused.into()),
        false => Ok(stream),
    }
}

/// Connects to the first of the host's addresses that answers.
async fn connected(address: &Address) -> Result<TcpStream, DialError> {
    let known = lookup_host((address.host.as_str(), address.port)).await;
    let candidates = known.map_err(|error| DialError::UnknownHost { host: address.host.clone(), error })?;
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for candidate in candidates {
        match connect(candidate).await {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(DialError::Connect { address: address.clone(), error: last })
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpSocket;

    use super::*;

    #[tokio::test]
    async fn a_socket_that_is_connected_with_itself_counts_as_refused() {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind(([127, 0, 0, 1], 0).into()).expect("a free port");
        let own = socket.local_addr().expect("it is bound");
        let stream = socket.connect(own).await.expect("the kernel connects it with itself");
        let error = checked(stream).expect_err("nobody listens");
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    }
}
