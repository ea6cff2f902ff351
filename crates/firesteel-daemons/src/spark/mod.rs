//! Peers that speak Spark's RPC, at the ports of Master and Worker.
//!
//! - [`frames`]: the frames of one connection, in both directions
//! - [`master`]: drivers at a Master
//! - [`verifier`]: answers whether an endpoint is there, and nothing else
//!
//! The state machines do not know this protocol. The task of a connection translates, and represents each of its peers
//! by a [virtual peer](firesteel_host::net::VirtualPeer).

use firesteel_host::net::{Listener, OtherProtocolConnection};
use firesteel_spark::frame::FIRST_BYTE;
use tokio::sync::mpsc;

pub mod frames;
pub mod master;
pub mod verifier;

/// The maximum number of accepted connections of Spark's that wait to be served.
const MAX_WAITING_CONNECTIONS: usize = 64;

/// Makes a listener also accept connections that speak Spark's RPC, which come from the channel. Not in a local
/// cluster, since such peers cannot prove that they belong to it.
#[must_use]
pub fn at(listener: Listener, is_local_cluster: bool) -> (Listener, mpsc::Receiver<OtherProtocolConnection>) {
    let (connections, arriving) = mpsc::channel(MAX_WAITING_CONNECTIONS);
    let listener = if is_local_cluster { listener } else { listener.also_receive(FIRST_BYTE, connections) };
    (listener, arriving)
}
