//! The syntax of values: durations as text.

pub mod duration;

pub use firesteel_protocol::size;
