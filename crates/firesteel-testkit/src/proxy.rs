//! A proxy between the two ends of a connection, which can change or delay bytes.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the connecting to the listening side.
    There,
    /// From the listening to the connecting side.
    Back,
}

/// Listens on a free port of this address, and forwards each connection to the address that `target` returns. `target`
/// gets the proxy's own address. For each direction of a connection, `meddler` makes a function that gets all bytes
/// before they are forwarded. This function may change and delay the bytes. If it returns `false`, the connection ends.
/// Returns the proxy's address.
pub fn start<M: FnMut(&mut [u8]) -> bool + Send + 'static>(
    host: &str,
    target: impl Fn(SocketAddr) -> SocketAddr + Send + 'static,
    meddler: impl Fn(Direction) -> M + Send + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind((host, 0)).expect("a free port");
    let address = listener.local_addr().expect("it listens");
    thread::spawn(move || {
        for near in listener.incoming() {
            let near = Arc::new(near.expect("a connection"));
            // Nobody may listen there.
            let Ok(far) = TcpStream::connect(target(address)) else { continue };
            let far = Arc::new(far);
            for (from, to, direction) in [(&near, &far, Direction::There), (&far, &near, Direction::Back)] {
                let (from, to, meddle) = (Arc::clone(from), Arc::clone(to), meddler(direction));
                thread::spawn(move || pass_on(&from, &to, meddle));
            }
        }
    });
    address
}

/// Forwards one direction of a connection until it ends.
fn pass_on(mut from: &TcpStream, mut to: &TcpStream, mut meddle: impl FnMut(&mut [u8]) -> bool) {
    let mut bytes = [0; 4096];
    while let Ok(length @ 1..) = from.read(&mut bytes) {
        if !meddle(&mut bytes[..length]) {
            // Either end may be closed already.
            let _ = to.shutdown(Shutdown::Both);
            let _ = from.shutdown(Shutdown::Both);
            return;
        }
        if to.write_all(&bytes[..length]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
    let _ = from.shutdown(Shutdown::Read);
}
