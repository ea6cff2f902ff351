//! Texts for the reports of Masters and Workers. They are the same on terminals and on pages.
//!
//! - [`application`]: states and ends of applications and executors
//! - [`driver`]: the state of a cluster driver, its restarts, and why it waits
//! - [`explanation`]: why an application has no more executors
//! - [`usage`]: the usage of machines and processes
//! - [`worker`]: the state of a Worker, and exclusions

pub mod application;
pub mod driver;
pub mod explanation;
pub mod usage;
pub mod worker;

/// What it means that a Master is exposed.
pub const EXPOSED: &str = "other machines can connect without a secret, and run programs";

/// What it means that a Worker is exposed.
pub(crate) const EXPOSED_WORKER: &str =
    "other machines can connect without a secret, and read what executors write";
