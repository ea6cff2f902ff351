//! Traces are replayed through a Master in virtual time.
//!
//! The Master is the real one; what is made up around it is little: Workers that answer at once, executors that run for
//! as long as their application does, and drivers that register, wait and unregister ([`stage`](self)). So
//! every policy that a Master has can be held against every other one, on the same applications:
//!
//! - [`replay()`] lets applications come and go: how long do they wait, how much of the cluster is used?
//! - [`fill()`] lets them only come: how much cannot be given out when as much is asked for as there is?
//! - [`compact()`] takes Workers away: with how few does the same load still fit?
//!
//! Nothing here reads a clock: whoever wants to know how long the Master takes passes a closure that applies its events.

mod books;
mod compact;
mod fill;
mod outcome;
mod run;
mod stage;
mod waits;
mod workload;

pub use compact::{Compaction, compact};
pub use fill::{Fill, Filled, fill};
pub use outcome::{Life, Outcome, Shares};
pub use run::{Gangs, Replay, replay};
pub use stage::{Apply, directly};
pub use waits::{SizeClass, Waits};
pub use workload::{LeftOut, Size, Workload};
