//! Between Spark's messages and those of the state machines.
//!
//! Ids, amounts and states have the same meaning on both sides. Where they do not fit, a request is refused with a
//! sentence, and nothing is cut to fit.
//!
//! - `drivers.rs`: applications, the executors that they want, and what their drivers are told
//! - `workers.rs`: Workers of Spark's, and what they are told
//! - [`clients`]: cluster drivers, and what those are told who submit them

pub mod clients;
mod drivers;
mod workers;

pub use drivers::{
    POLICY, PRIORITY, QUEUE, Told, Unfit, application, executors, profile, targets, to_driver,
};
pub use workers::{UnfitWorker, Unordered, latest_state, order, report, to_worker, worker};
