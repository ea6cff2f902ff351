//! The Worker: registers with a Master and runs executors.
//!
//! The Worker decides when to dial which Master, when to tell it what, and when an executor's process is
//! started, asked to end, or killed. Executors survive the loss of the Master: they are listed to the next one,
//! together with every end that no Master has confirmed.
//!
//! A Worker does not hold what it is told to launch against its own free cores and memory: the Master counts,
//! and two counts would disagree while messages are on their way. Source: Spark Worker, 4.0.1.

mod cleaning;
mod config;
mod effect;
mod event;
mod executors;
mod files;
mod logs;
mod machine;
mod note;
mod registration;
mod shutdown;
#[cfg(test)]
mod tests;

pub use config::{Cleanup, Config};
pub use effect::{Effect, ExecutorPlan, Exit, Outbound};
pub use event::{Event, Inbound, LogRead};
pub use machine::{Reason, Worker};
pub use note::Note;
