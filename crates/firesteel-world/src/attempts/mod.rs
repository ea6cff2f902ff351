//! An application on somebody else's cluster: its ApplicationMasters, one attempt after the other, in a small world of
//! their own.
//!
//! Around them are a fake manager that begins attempts, forgets them, gives them up and hears how they end
//! ([`Manager`](crate::containers::Manager) has its containers); a driver that comes, goes and returns, and changes its
//! mind; in cluster mode a program that has the driver in it; executors that fail, start late or never; status clients,
//! and strangers who ask for what is not theirs.
//!
//! [`Plan`] says what a world is made of, [`run`] lets it happen. While faults strike, the machine's own invariants are
//! checked after each event, and what it does is held against a second set of books (`books`). Then all faults stop: the
//! driver must have the executors that it wants and know of them, and then the application ends, in one of the ways in
//! which applications end, and the manager must have heard of it once, rightly, by an attempt that may say so.
//!
//! ```text
//!   driver, or program with a driver        attempts            manager
//!   dial, hang up, wishes, done   ------>  [ApplicationMaster] ------> Register, Allocate, Unregister
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
