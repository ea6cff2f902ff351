//! The forms of values: sizes and durations as text.

pub mod duration;

pub use firesteel_protocol::size;
