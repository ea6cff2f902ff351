//! The options that every socket gets.

use std::io;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;

/// Sets the socket's options. Small messages are sent at once. If a peer's machine vanishes silently, this is noticed
/// within a minute and a half, even on an idle connection.
pub(super) fn configure(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let keepalive = TcpKeepalive::new()
        .with_time(Duration::from_secs(45))
        .with_interval(Duration::from_secs(15))
        .with_retries(3);
    SockRef::from(stream).set_tcp_keepalive(&keepalive)
}
