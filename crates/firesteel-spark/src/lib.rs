//! What Spark's drivers, Workers and Masters say to each other, from bytes to values and back.
//!
//! - [`frame`]: what a connection carries: requests, answers and messages without an answer
//! - [`envelope`]: who sends a message to whom
//! - [`java`]: the objects in messages, as Java serializes them
//! - [`scala`]: the values of Scala's library among them
//!
//! There is no I/O here, and nothing that decides: a connection's task feeds bytes in and sends what comes out.
//!
//! Source: Spark 3.3 to 4.3, streams recorded from its Master, Worker and driver.

pub mod envelope;
pub mod frame;
pub mod java;
pub mod scala;
