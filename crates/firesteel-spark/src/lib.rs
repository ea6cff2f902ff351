//! What Spark's drivers, Workers and Masters say to each other, from bytes to values and back.
//!
//! ```text
//!  bytes of a connection -> frame -> envelope and object -> java::Graph -> messages
//!                                                              scala: the collections and options in it
//!  messages -> dialect: classes and serial version ids of the peer's release -> java::Graph -> bytes
//! ```
//!
//! - [`frame`]: what a connection carries: requests, answers and messages without an answer
//! - [`envelope`]: who sends a message to whom
//! - [`java`]: the objects in messages, as Java serializes them
//! - [`scala`]: the values of Scala's library among them
//! - [`messages`]: messages as values
//! - [`session`]: who is on a connection, and what they are owed
//! - [`dialect`]: how one peer wants to be spoken to
//! - [`translate`]: between these messages and those of the state machines
//! - `order_form.rs`: orders to launch executors, written once for each application
//! - [`installation`], [`launch`], [`shuffle_service`]: how a Worker starts executors of Spark's, and its external shuffle
//!   service
//!
//! There is no I/O here, and nothing that decides: a connection's task feeds bytes in and sends what comes out.
//!
//! Source: Spark 3.3 to 4.3, streams recorded from its Master, Worker and driver.

pub mod dialect;
pub mod envelope;
pub mod frame;
pub mod installation;
pub mod java;
pub mod launch;
pub mod messages;
mod order_form;
pub mod scala;
pub mod session;
pub mod shuffle_service;
pub mod translate;

pub use order_form::{Order, OrderForms};
