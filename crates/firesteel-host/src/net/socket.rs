//! What every socket is told.

use std::io;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;

/// Small messages leave at once; a peer whose machine vanished without a word is noticed within a minute and a
/// half, also where nothing is being sent.
pub(super) fn tune(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let keepalive = TcpKeepalive::new()
        .with_time(Duration::from_secs(45))
        .with_interval(Duration::from_secs(15))
        .with_retries(3);
    SockRef::from(stream).set_tcp_keepalive(&keepalive)
}
