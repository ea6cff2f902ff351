//! Common code of tests and benches. Crates of the program depend on this crate only for their tests and benches.
//!
//! - [`program`]: the program under test, as its users run it: commands and daemons; [`processes`] finds the processes
//!   that they start
//! - [`cluster`]: a Master with Workers
//! - [`wait`]: waits for actions of other processes; [`proxy`] changes or delays the bytes between them
//! - [`component`]: tests that need a component which a machine may lack; [`yarn`] and [`zookeeper`] start such
//!   components, with jars that Maven finds, on free [`ports`]; [`previous_release`] is another release of the program
//! - [`arguments`]: the arguments of benches
//! - [`placement_rule`]: a slow reference for placements
//! - `master_events` (feature `master`): events of a Master's state machine, for benches
//! - `peers` (feature `peers`): Workers and drivers that are only connections, not processes

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
    CREDENTIALS, Daemon, Finished, Guarded, binary, clean, firesteel, forgetful_master, http_get, http_post,
    is_ours, limited, run, run_with_input, scratch_of_applications, write_program,
};
pub use wait::{DEADLINE, wait_for};
