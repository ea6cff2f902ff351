//! Pictures as SVG, in one style.
//!
//! [`Svg`] writes the elements and escapes all text. [`Paint`] is a colour in a light and in a dark version, from which
//! the viewer chooses. [`words`] estimates the width of text and shortens it. [`chart`] draws curves over two axes, and
//! [`mosaic`] draws a small bar for each of many Workers. A picture has its own background, so that it can be read on
//! any page.

pub mod axis;
pub mod chart;
pub mod curve;
pub mod mosaic;
mod palette;
mod svg;
pub mod ticks;
pub mod words;

pub use palette::{Paint, SERIES, colours};
pub use svg::{Anchor, Area, Point, Svg, Weight};

/// The space around the whole picture, in pixels.
pub const MARGIN: f64 = 24.0;
/// Size of headings, in pixels.
pub const HEADING: f64 = 18.0;
/// Size of names and values, in pixels.
pub const TEXT: f64 = 13.0;
/// Size of ticks, letters in bars and notes, in pixels.
pub const SMALL: f64 = 11.0;
