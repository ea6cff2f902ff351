//! The Worker: registers with a Master and runs executors.

mod config;
mod effect;
mod event;
mod note;

pub use config::Config;
pub use effect::{Effect, ExecutorPlan, Exit, Outbound};
pub use event::{Event, Inbound};
pub use note::Note;
