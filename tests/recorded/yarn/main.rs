//! What YARN speaks, without a cluster: bytes captured from Hadoop's own peers, and peers that follow a script.

mod connection;
mod garbage;
mod heartbeats;
mod peer;
mod server;
mod service;
mod vectors;
