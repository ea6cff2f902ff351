//! YARN's protocols without a cluster: bytes captured from Hadoop's own peers, and scripted peers.

mod connection;
mod garbage;
mod heartbeats;
mod peer;
mod server;
mod service;
mod vectors;
