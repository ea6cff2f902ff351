//! The driver: owns an application and its tasks.

mod config;
mod effect;
mod event;
mod note;

pub use config::Config;
pub use effect::{Effect, FailureCause, Outbound, Outcome, TaskOutcome};
pub use event::{Event, Inbound};
pub use note::Note;
