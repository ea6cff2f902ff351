//! The durable changes of the tables. One function for each kind of change updates the tables and adds the journal
//! record.
//!
//! A handler decides, calls the function for the change, and then sends messages about it. Recovery calls the same
//! function for each record. So the function sends no messages and makes no decisions.

mod applications;
mod cluster_drivers;
pub(crate) mod executors;
mod numbers;
mod workers;
