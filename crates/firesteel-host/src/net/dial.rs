//! Opening a connection.

use std::io;
use std::net::SocketAddr;

use firesteel_core::address::Address;
use firesteel_core::wire::{Hello, Role};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

use super::CONNECT_TIMEOUT;
use super::handshake::{HandshakeError, Introduced, shake_hands};

/// Why a connection could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum DialError {
    /// The host has no address.
    #[error("unknown host {host:?}: {error}")]
    UnknownHost {
        /// The host.
        host: String,
        /// The resolver's words.
        error: io::Error,
    },
    /// Nobody answered in time.
    #[error("no answer from {address} within {} s", CONNECT_TIMEOUT.as_secs())]
    TimedOut {
        /// Whom.
        address: Address,
    },
    /// The operating system's error.
    #[error("cannot connect to {address}: {error}")]
    Connect {
        /// Whom.
        address: Address,
        /// Why.
        error: io::Error,
    },
    /// Somebody answered, but not the one that was looked for.
    #[error("{address} is not a {wanted} of this version of Firesteel: {error}")]
    Handshake {
        /// Whom.
        address: Address,
        /// What it should be.
        wanted: Role,
        /// Why.
        error: HandshakeError,
    },
}

/// Connects, and makes sure that the other side is what it should be.
///
/// # Errors
/// The host is unknown, nobody answers, or it is another kind of peer.
pub(super) async fn open(
    address: &Address,
    ours: &Hello,
    wanted: Role,
) -> Result<(Introduced, SocketAddr), DialError> {
    let connect = |error| DialError::Connect { address: address.clone(), error };
    let stream = timeout(CONNECT_TIMEOUT, connected(address))
        .await
        .map_err(|_| DialError::TimedOut { address: address.clone() })??;
    let remote = stream.peer_addr().map_err(connect)?;
    let introduced = shake_hands(stream, ours, &[wanted]).await.map_err(|error| DialError::Handshake {
        address: address.clone(),
        wanted,
        error,
    })?;
    Ok((introduced, remote))
}

/// A socket to the first of the host's addresses that answers.
async fn connected(address: &Address) -> Result<TcpStream, DialError> {
    let known = lookup_host((address.host.as_str(), address.port)).await;
    let candidates = known.map_err(|error| DialError::UnknownHost { host: address.host.clone(), error })?;
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for candidate in candidates {
        match TcpStream::connect(candidate).await {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(DialError::Connect { address: address.clone(), error: last })
}
