//! Converts between Spark's messages and the messages of the state machines.
//!
//! Ids, amounts and states have the same meaning on both sides. If a value is out of range, the request is refused with
//! an explanation; no value is clipped.
//!
//! - `drivers.rs`: applications, the executors that they want, and messages to their drivers
//! - `workers.rs`: Workers of Spark, and messages to them
//! - [`clients`]: cluster drivers, and answers to the clients that submit them

pub mod clients;
mod drivers;
mod workers;

pub use drivers::{
    OutgoingMessage, POLICY, PRIORITY, QUEUE, Unfit, application, executors, profile, targets, to_driver,
};
pub use workers::{UnfitWorker, Unordered, latest_state, order, report, to_worker, worker};
