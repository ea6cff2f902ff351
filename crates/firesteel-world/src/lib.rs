//! Simulated worlds for tests: whole clusters in one thread, from a seed, with virtual time and faults.
//!
//! Nothing here is shipped. Each world keeps an independent record and compares the state machines' effects with it.
//! Each world also has deliberate bugs, which prove that the books notice errors.
//!
//! - [`cluster`]: a Standalone cluster of Masters, Workers, drivers, launchers and executors.
//! - [`containers`]: a YARN allocator and a fake manager of containers.
//! - [`map_runs`]: one run of `map`, with a fake driver, input and output.
//! - [`older_states`]: Masters that are restarted with an older state, or with another cluster's.
//! - [`sessions`]: one session of `shell`, with a fake user, driver and terminal.
//! - [`spark_peers`]: Spark's drivers, Workers and clients at a Master, and hostile peers.
//! - [`attempts`]: the ApplicationMasters of a YARN application. This world uses the manager of `containers`.

pub mod attempts;
pub mod cluster;
pub mod containers;
mod coverage;
pub mod map_runs;
pub mod older_states;
mod queue;
pub mod sessions;
pub mod spark_peers;

pub use coverage::{Coverage, Outcome};
