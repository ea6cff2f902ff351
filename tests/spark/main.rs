//! Spark's messages byte for byte: recorded streams, and broken ones.

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
