//! Ports for servers that other programs start, and that must be told their port.

use std::net::TcpListener;
use std::process;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The ports are below those that the system gives to connections and to servers without a port of their own (from 32768).
/// So nobody takes one between the look at it and the start of its server.
const FIRST: u16 = 20_000;
const COUNT: usize = 12_000;

/// How many ports were looked at.
static LOOKED_AT: AtomicUsize = AtomicUsize::new(0);

/// A port on which nothing listens. No other call gives it.
///
/// # Panics
/// None is free.
pub fn free_port() -> u16 {
    // Processes begin at different ports.
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
