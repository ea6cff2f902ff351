//! Ending processes and removing directories that executors, applications and other Workers left.
//!
//! - [`processes`]: finds and ends processes by the marker that executors carry.

pub mod application_directories;
pub mod dead_workers;
pub mod executor_directories;
pub mod executor_processes;
pub mod processes;
pub mod scratch_directories;
pub mod worker_processes;
