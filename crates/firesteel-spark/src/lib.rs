//! The messages between Spark's drivers, Workers and Masters, from bytes to values and back.
//!
//! ```text
//!  bytes of a connection -> frame -> envelope and object -> java::Graph -> messages
//!                                                              scala: the collections and options in it
//!  messages -> dialect: classes and serial version ids of the peer's release -> java::Graph -> bytes
//! ```
//!
//! - [`frame`]: the frames of a connection: requests, answers, and messages without an answer
//! - [`authentication`]: how two sides prove at the beginning that they know the same secret
//! - [`envelope`]: the sender and the receiver of a message
//! - [`java`]: the objects in messages, as Java serializes them
//! - [`scala`]: the values of Scala's library in these objects
//! - [`messages`]: messages as values
//! - [`connection`]: one connection as a state machine: its peers, and their messages from and to the Master
//! - [`dialect`]: the classes and references that one peer understands
//! - [`translate`]: converts between these messages and those of the state machines
//! - `order_form.rs`: orders to launch executors, written once for each application
//! - [`launch`]: how a Worker starts executors and cluster drivers of Spark's, and its external shuffle service
//! - [`shares`]: resources that an application requests from the Master without its driver knowing
//! - [`cluster_driver`], [`jar`]: Spark's cluster drivers and their jars
//! - [`rest`]: submissions by HTTP
//! - `memory.rs`, `words.rs`: amounts of memory and options of a JVM in Spark's properties
//!
//! There is no I/O here: the daemon feeds events into a [`connection`] and performs the connection's effects.
//!
//! Source: Spark 3.3 to 4.3, streams recorded from its Master, Worker and driver.

#![warn(missing_docs)]

pub mod authentication;
pub mod cluster_driver;
pub mod connection;
pub mod dialect;
pub mod envelope;
pub mod frame;
pub mod jar;
pub mod java;
pub mod launch;
mod memory;
pub mod messages;
mod order_form;
pub mod rest;
pub mod scala;
pub mod shares;
pub mod translate;
mod words;

pub use order_form::{Order, OrderForms};

/// Compiles the code examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
