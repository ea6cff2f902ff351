//! The Master: knows the Workers and applications, and decides which Worker runs which executor.

mod effect;
mod event;
mod note;

pub use effect::{Effect, Outbound};
pub use event::{Event, Inbound};
pub use note::Note;
