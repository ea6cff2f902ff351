//! The executor: runs its driver's tasks.

mod config;
mod effect;
mod event;
mod note;

pub use config::Config;
pub use effect::{Effect, Exit};
pub use event::Event;
pub use note::Note;
