//! The durable changes. Each has one implementation, which changes the tables and adds the record.
//!
//! A handler decides, calls a change, and then informs others. Recovery calls the same change for each record. So a
//! change sends no messages and makes no decisions.

mod applications;
mod cluster_drivers;
pub(crate) mod executors;
mod workers;
