//! Simulated worlds for tests: whole clusters in one thread, from a seed, with virtual time and faults.
//!
//! Nothing here is shipped. Each world has a second set of books that it holds the state machines against, and
//! deliberate bugs that show that the books would notice.

pub mod attempts;
pub mod cluster;
pub mod containers;
