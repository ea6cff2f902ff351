//! Free ports for servers that need a port in their settings.

use std::net::TcpListener;
use std::process;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The first port. The system assigns ports from 32768 on to other programs. Lower ports are used here, so that no
/// other program gets the port between this check and the start of the server.
const FIRST: u16 = 20_000;
const COUNT: usize = 12_000;

/// How many ports were checked so far.
static LOOKED_AT: AtomicUsize = AtomicUsize::new(0);

/// A port on which nothing listens. No other call returns it.
///
/// # Panics
/// No port is free.
pub fn free_port() -> u16 {
    // Each process begins at a different port.
    let begin = process::id() as usize * 101;
    let next = || LOOKED_AT.fetch_add(1, Ordering::Relaxed);
    let mut ports = (0..COUNT).map(|_| FIRST + ((begin + next()) % COUNT) as u16);
    ports.find(|port| TcpListener::bind(("0.0.0.0", *port)).is_ok()).expect("a port is free")
}

/// Ports on which nothing listens, in ascending order.
pub fn free_ports<const N: usize>() -> [u16; N] {
    let mut ports = std::array::from_fn(|_| free_port());
    ports.sort_unstable();
    ports
}
