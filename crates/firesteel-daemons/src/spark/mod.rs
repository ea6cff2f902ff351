//! Peers that speak Spark's RPC, at the ports of Master and Worker.
//!
//! - [`frames`]: the frames of one connection, in both directions
//! - [`master`]: drivers at a Master
//! - [`verifier`]: answers whether an endpoint is there, and nothing else
//!
//! The state machines know nothing of it. The task of a connection speaks for its peers, each with an
//! [`Envoy`](firesteel_host::net::Envoy) of its own, and translates.

use firesteel_host::net::{Guest, Listener};
use firesteel_spark::frame::FIRST_BYTE;
use tokio::sync::mpsc;

pub mod frames;
pub mod master;
pub mod verifier;

/// How many connections of Spark's may wait to be served.
const GUESTS: usize = 64;

/// Has a listener also accept connections that speak Spark's RPC, which come from the channel. In a local cluster it does not,
/// since they cannot prove that they belong to it.
#[must_use]
pub fn at(listener: Listener, is_local_cluster: bool) -> (Listener, mpsc::Receiver<Guest>) {
    let (guests, arriving) = mpsc::channel(GUESTS);
    let listener = if is_local_cluster { listener } else { listener.also_receive(FIRST_BYTE, guests) };
    (listener, arriving)
}
