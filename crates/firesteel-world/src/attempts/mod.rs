//! A simulated world of one YARN application: its ApplicationMasters, one attempt after the other.
//!
//! Around the attempts are:
//!
//! - a fake manager that begins attempts, forgets them, gives them up and receives their ends
//!   ([`Manager`](crate::containers::Manager) contains its containers);
//! - a driver that connects, disconnects, returns, and changes its targets; in cluster mode a program that contains the
//!   driver;
//! - executors that fail, start late or never start;
//! - status clients, and hostile peers that send requests about another application.
//!
//! [`Plan`] describes a world, and [`run`] simulates it. While faults strike, the machine's own invariants are checked
//! after each event, and its effects are compared with an independent record. Then all faults stop. The driver must get
//! the executors that it wants, and know them. Then the application ends in one of the possible ways. The manager must
//! be told of the end once, correctly, by an attempt that may report it.
//!
//! - `plan`, `world`: the description of a world, and its run.
//! - `perform`, `whims`: the effects of attempts, and the actions of drivers and hostile peers.
//! - `driver`, `supervisor`: the state of a driver, and the manager's state of the application.
//! - `books`, `judge`: the independent record, and the laws.
//! - `sabotage`, `coverage`: the deliberate bugs, and the counts of what happened.
//!
//! ```text
//!   driver, or program with a driver        attempts            manager
//!   dial, hang up, preferences, done   ------>  [ApplicationMaster] ------> Register, Allocate, Unregister
//!   RegisteredApplication, ...    <------  [ApplicationMaster]         begins the next when one is gone
//!                                               | Launch
//!                                           containers, which end when their attempt does
//! ```

mod books;
mod coverage;
mod driver;
mod judge;
mod perform;
mod plan;
mod sabotage;
mod supervisor;
mod whims;
mod world;

pub use coverage::AttemptCoverage;
pub use plan::{Ending, Plan};
pub use sabotage::AttemptSabotage;
pub use world::{Outcome, run, run_sabotaged};
