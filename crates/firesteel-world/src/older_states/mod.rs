//! A simulated world of Masters that are restarted with the wrong state: an older copy, a journal that was cut between
//! two batches, or the journal of another cluster.
//!
//! The Master is the real state machine. Its Workers and drivers are models that keep the protocol: they remember the
//! marks of the state, they start executors and end them, and they return after each restart in any order. Messages
//! to Workers that were on their way when the Master is killed are delivered or lost. The laws: no executor is started
//! twice; a state that is older than what a Worker has seen is noticed when that Worker returns, and the latest state
//! is never said to be older; a Master with another cluster's state ends no executor of this cluster; and when the
//! restarts stop, each application has all its executors, and its driver believes in no others.
//!
//! - `peers`: the Workers and the drivers.
//! - `run`: one run, and the laws.
//! - `states`: the states with which Masters are started.
//! - `sabotage`: the deliberate bugs.

mod peers;
mod run;
mod sabotage;
mod states;

pub use run::{run, run_sabotaged};
pub use sabotage::StateSabotage;
pub use states::StateFault;
