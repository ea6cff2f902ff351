//! Ends processes and removes directories that executors, applications and other Workers left. Each file says what it
//! removes.
//!
//! - [`processes`]: finds and ends processes by the marker that executors carry, if nothing better is known of them.
//! - [`dead_workers`]: ends the processes of Workers that were killed together with their reapers.
//! - [`application_directories`], [`executor_directories`]: remove what ended applications and executors leave in the
//!   work directory.
//! - [`scratch_directories`]: the scratch directories of applications, which are removed with their application.

pub mod application_directories;
pub mod dead_workers;
pub mod executor_directories;
pub mod processes;
pub mod scratch_directories;
