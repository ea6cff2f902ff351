//! Peers that speak Spark's RPC, at the ports of Master and Worker.
//!
//! - [`authentication`]: what a peer has to prove at the beginning of a connection
//! - [`frames`]: the frames of one connection, in both directions
//! - [`master`]: drivers at a Master
//! - [`verifier`]: answers only whether an endpoint exists
//!
//! The state machines do not use this protocol. The task of a connection translates, and represents each of its peers
//! by a [virtual peer](firesteel_host::net::VirtualPeer).

use firesteel_host::net::{Keyring, Listener, OtherProtocolConnection};
use firesteel_spark::frame::FIRST_BYTE;
use tokio::sync::mpsc;

use crate::tls;

pub mod authentication;
pub mod frames;
pub mod master;
pub mod verifier;

/// The maximum number of connections of Spark peers that are accepted and wait to be served.
const MAX_WAITING_CONNECTIONS: usize = 64;

/// Makes a listener also accept connections that speak Spark's RPC, in the clear or also by TLS, and returns the
/// channel that receives them. In a local cluster none are accepted, since Spark peers cannot prove that they belong to
/// the cluster.
#[must_use]
pub fn at(
    listener: Listener,
    keyring: Option<&Keyring>,
    has_tls: bool,
) -> (Listener, mpsc::Receiver<OtherProtocolConnection>) {
    let (connections, arriving) = mpsc::channel(MAX_WAITING_CONNECTIONS);
    let is_local_cluster = keyring.is_some_and(Keyring::is_local_cluster);
    let firsts: &[u8] = if has_tls { &[FIRST_BYTE, tls::HANDSHAKE] } else { &[FIRST_BYTE] };
    let listener = if is_local_cluster { listener } else { listener.also_receive(firsts, connections) };
    (listener, arriving)
}
