//! Whole clusters in one thread: placement from files, virtual time, simulated faults.

pub mod attempts;
pub mod cluster;
pub mod containers;
pub mod draft;
pub mod plan;
pub mod replay;
pub mod setup;
pub mod trace;
