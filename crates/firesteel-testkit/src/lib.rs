//! What tests and benches share. No crate of the program depends on this one, except for its own tests and benches.
//!
//! - [`program`]: the program under test, as its users run it: commands and daemons; [`processes`] has what they start
//! - [`cluster`]: a Master with Workers
//! - [`wait`]: waits for what other processes do; [`proxy`] meddles with what they say to each other
//! - [`component`]: tests of what a machine may lack; [`yarn`] and [`zookeeper`] start such programs, with jars that
//!   Maven finds, on [`ports`] that are free; [`previous_release`] is another release of the program
//! - [`arguments`]: the arguments of benches
//! - [`placement_rule`]: a slow reference for placements
//! - `master_events` (feature `master`): events of a Master's state machine, for benches
//! - `peers` (feature `peers`): Workers and drivers that are connections and no processes

pub mod arguments;
pub mod cluster;
pub mod component;
#[cfg(feature = "master")]
pub mod master_events;
mod maven;
#[cfg(feature = "peers")]
pub mod peers;
pub mod placement_rule;
pub mod ports;
pub mod previous_release;
pub mod processes;
pub mod program;
pub mod proxy;
mod signals;
pub mod wait;
pub mod yarn;
pub mod zookeeper;

pub use cluster::Cluster;
pub use program::{
    Daemon, Finished, Guarded, binary, clean, firesteel, forgetful_master, is_ours, run, run_with_input,
    scratch_of_applications,
};
pub use wait::{DEADLINE, wait_for};
