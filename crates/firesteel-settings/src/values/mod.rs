//! The forms of values: sizes and durations as text.

pub mod duration;
pub mod size;
