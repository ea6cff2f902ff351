//! What YARN speaks, without a cluster: bytes captured from Hadoop's own peers, and a peer that follows a script.

mod connection;
mod garbage;
mod peer;
mod request_table;
mod vectors;
