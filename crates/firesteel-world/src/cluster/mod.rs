//! Whole clusters in one thread: the real state machines in a world of virtual time, chance from a seed,
//! connections that break and processes that misbehave.
//!
//! [`Scenario`] says what a cluster is made of, [`run()`] lets it happen. While faults strike nothing that is
//! unsafe may happen: after each event the machine's own invariants are checked, what it did is held against
//! what is really so (`truth`), and the Master against a second set of books (`ledger`). Then all
//! faults stop and the cluster must come right by itself (`healing`).

mod cleaning;
pub(crate) mod coverage;
mod faults;
mod fetches;
mod happening;
mod headcount;
mod healing;
mod launches;
mod ledger;
mod links;
mod lives;
mod logs;
mod message;
mod needs;
mod network;
mod node;
mod perform;
mod processes;
mod run;
mod sabotage;
mod scenario;
mod strangers;
mod strikes;
mod task_lives;
mod truth;
mod users;
mod wishes;
mod world;

pub use coverage::{Coverage, Row, Tally};

pub use faults::{Fault, FaultPlan};
pub use run::{Failure, Outcome, Telling, run, run_sabotaged};
pub use sabotage::Sabotage;
pub use scenario::{AppKind, AppPlan, Scenario, TaskFate, TaskPlan, WorkerPlan};
pub use wishes::LocalityPlan;
