//! What a Master and a Worker report, in words for people: the same on terminals and on pages.
//!
//! - [`application`]: states and ends of applications and executors
//! - [`driver`]: the state of a cluster driver, its restarts, and why it waits
//! - [`explanation`]: why an application has no more executors
//! - [`usage`]: what is used of machines and by processes
//! - [`worker`]: the state of a Worker, and exclusions

pub mod application;
pub mod driver;
pub mod explanation;
pub mod usage;
pub mod worker;
