//! What Spark says, byte for byte: recorded streams, and streams that are broken.

mod authentication;
mod bench;
mod clients;
mod connections;
mod drivers;
mod garbage;
mod graphs;
mod recorded;
mod rest;
mod shapes;
mod worker_connections;
mod workers;
