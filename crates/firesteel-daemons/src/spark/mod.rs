//! Peers that speak Spark's RPC, at the ports of Master and Worker.
//!
//! - [`frames`]: the frames of one connection, in both directions
//! - [`master`]: drivers at a Master
//! - [`worker`]: executors at their Worker
//!
//! The state machines know nothing of it. The task of a connection speaks for its peers, each with an
//! [`Envoy`](firesteel_host::net::Envoy) of its own, and translates.

pub mod frames;
pub mod master;
pub mod worker;
