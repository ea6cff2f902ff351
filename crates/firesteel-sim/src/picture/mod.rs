//! Pictures as SVG: one look for all of them.
//!
//! [`Svg`] writes the elements and escapes what peers and files call themselves; [`Paint`] is what they are
//! painted with, in a light and in a dark version which the viewer chooses; [`words`] knows about how wide text
//! is. A picture has its own background, so that it can be read on any page.

pub mod chart;
mod palette;
mod svg;
pub mod words;

pub use palette::{Paint, SERIES};
pub use svg::{Anchor, Area, Point, Svg, Weight};

/// Space around everything, in pixels.
pub const MARGIN: f64 = 24.0;
/// Size of headings, in pixels.
pub const HEADING: f64 = 18.0;
/// Size of text that is read, in pixels.
pub const TEXT: f64 = 13.0;
/// Size of marks on axes and in bars, in pixels.
pub const SMALL: f64 = 11.0;
