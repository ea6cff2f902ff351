//! The changes of what is written down, each of which has one body: it changes the tables and adds its record.
//!
//! A handler decides, calls a change, and tells others. The recovery calls the same change for each record. So a change tells nobody
//! and decides nothing.

mod applications;
mod cluster_drivers;
pub(crate) mod executors;
mod workers;
