//! What Spark says, byte for byte: recorded streams, and streams that are broken.

mod clients;
mod drivers;
mod garbage;
mod graphs;
mod recorded;
mod rest;
mod sessions;
mod shapes;
mod workers;
