//! Where the connections of a server come from: a port of its own, or the port of the daemon's own protocol.

use std::io;
use std::net::{SocketAddr, TcpListener};

use firesteel_host::net::{ConnectionPermit, OtherProtocolConnection};
use firesteel_protocol::address::Address;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpStream, lookup_host};
use tokio::sync::mpsc;
use tokio_rustls::server::TlsStream;

use super::HttpError;
use crate::tls::{Tls, begins_tls};

/// Listens on the first of these ports that is free. After 65535 the ports continue from 1024, as in Spark.
pub(super) async fn bind(
    host: &str,
    first: u16,
    retries: u16,
    setting: &'static str,
) -> Result<(TcpListener, SocketAddr), HttpError> {
    let retries = if first == 0 { 0 } else { retries };
    for retry in 0..=retries {
        let port = nth_port(first, retry);
        let failed = |error| HttpError::Io { address: Address::new(host.to_owned(), port), error };
        let candidates: Vec<SocketAddr> = lookup_host((host, port)).await.map_err(failed)?.collect();
        match TcpListener::bind(&candidates[..]) {
            Ok(listener) => {
                listener.set_nonblocking(true).map_err(failed)?;
                let local = listener.local_addr().map_err(failed)?;
                return Ok((listener, local));
            }
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                tracing::debug!("port {port} for HTTP is in use");
            }
            Err(error) => return Err(failed(error)),
        }
    }
    Err(HttpError::InUse { host: host.to_owned(), first, retries, setting })
}

/// The port to try after this number of retries. Source: Spark Utils.userPort, 4.0.1.
pub(super) fn nth_port(first: u16, retry: u16) -> u16 {
    let port = u32::from(first) + u32::from(retry);
    let port = if port > u32::from(u16::MAX) { (port - 1024) % (65_536 - 1024) + 1024 } else { port };
    u16::try_from(port).expect("it is below 65536")
}

/// The maximum number of connections that have come to the port of the daemon's own protocol and are not served yet.
const MOST_ARRIVING: usize = 64;

/// Where connections come from.
pub(super) enum Arrivals {
    AtPort(tokio::net::TcpListener),
    AtRpcPort(mpsc::Receiver<OtherProtocolConnection>),
}

/// A connection, with its permit if it has come to the port of the daemon's own protocol.
pub(super) type Arrived = (TcpStream, SocketAddr, Option<ConnectionPermit>);

impl Arrivals {
    /// Connections that come through a channel.
    pub(super) fn at_rpc_port() -> (mpsc::Sender<OtherProtocolConnection>, Self) {
        let (sender, arriving) = mpsc::channel(MOST_ARRIVING);
        (sender, Self::AtRpcPort(arriving))
    }

    /// The next connection. `None`: no more will come.
    pub(super) async fn next(&mut self) -> Option<io::Result<Arrived>> {
        Some(match self {
            Self::AtPort(listener) => listener.accept().await.map(|(stream, remote)| (stream, remote, None)),
            Self::AtRpcPort(arriving) => {
                let OtherProtocolConnection { stream, remote, permit } = arriving.recv().await?;
                // The runtime of this thread is another one.
                let stream = stream.into_std().and_then(TcpStream::from_std);
                stream.map(|stream| (stream, remote, Some(permit)))
            }
        })
    }
}

/// The answer to a request in the clear at a port for HTTPS.
const IN_THE_CLEAR: &[u8] =
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n\
                              This port speaks HTTPS only: use https:// in place of http://.\n";

/// Performs the handshake with a client. A request in the clear is told to use HTTPS.
pub(super) async fn encrypted(tls: &Tls, mut stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
    if begins_tls(&stream).await? {
        return tls.accept(stream).await;
    }
    stream.write_all(IN_THE_CLEAR).await?;
    stream.shutdown().await?;
    Err(io::Error::new(io::ErrorKind::InvalidData, "a request in the clear"))
}
