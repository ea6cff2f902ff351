//! Charts: axes, a grid, and a line for each series.

use super::words::width;
use super::{Anchor, Area, Paint, Point, SMALL, Svg, TEXT, Weight};

/// One of the two axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What is measured, with its unit.
    pub title: String,
    /// How values are laid out.
    pub scale: Scale,
    /// The value at its beginning.
    pub from: f64,
    /// The value at its end, greater than that at its beginning.
    pub to: f64,
    /// Values that are named, each with its name.
    pub ticks: Vec<(f64, String)>,
}

/// How values are laid out along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences are equally long.
    Even,
    /// Equal ratios are equally long. Values below the beginning stand at the beginning.
    Log,
}

impl Axis {
    /// From 0 to 1 along the axis; values beyond its ends stand at its ends.
    fn part(&self, value: f64) -> f64 {
        let part = match self.scale {
            Scale::Even => (value - self.from) / (self.to - self.from),
            Scale::Log => (value.max(self.from) / self.from).ln() / (self.to / self.from).ln(),
        };
        part.clamp(0.0, 1.0)
    }
}

/// One line, by its points in the axes' values.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its points from left to right.
    pub points: Vec<(f64, f64)>,
    /// What it is drawn with.
    pub paint: Paint,
    /// What whoever points at it is shown.
    pub words: String,
}

/// Room that ticks take below and left of the area of a chart, in pixels.
pub const BELOW: f64 = 38.0;
/// See [`BELOW`].
pub const LEFT: f64 = 46.0;
/// Room that the title takes above it.
pub const ABOVE: f64 = 30.0;

/// Draws a chart; `area` is what its lines have, without ticks and titles, which stand around it.
pub fn draw(svg: &mut Svg, area: Area, title: &str, x: &Axis, y: &Axis, series: &[Series]) {
    let (left, top) = (area.at.x, area.at.y);
    let (right, bottom) = (left + area.width, top + area.height);
    let across = |value| left + x.part(value) * area.width;
    let upwards = |value| bottom - y.part(value) * area.height;
    let words = |svg: &mut Svg, x, y, anchor, text: &str| {
        svg.text(Point { x, y }, SMALL, Weight::Plain, anchor, Paint::Muted, text);
    };

    svg.text(Point { x: left, y: top - 14.0 }, TEXT, Weight::Bold, Anchor::Start, Paint::Ink, title);
    let at = Point { x: left + width(title, TEXT) * 1.12 + 12.0, y: top - 14.0 };
    svg.text(at, SMALL, Weight::Plain, Anchor::Start, Paint::Muted, &y.title);
    for (value, name) in &y.ticks {
        let at = upwards(*value);
        svg.line(&[Point { x: left, y: at }, Point { x: right, y: at }], 1.0, Paint::Grid);
        words(svg, left - 8.0, at + 4.0, Anchor::End, name);
    }
    for (value, name) in &x.ticks {
        let at = across(*value);
        svg.line(&[Point { x: at, y: bottom }, Point { x: at, y: bottom + 5.0 }], 1.0, Paint::Grid);
        words(svg, at, bottom + 18.0, Anchor::Middle, name);
    }
    words(svg, right, bottom + 33.0, Anchor::End, &x.title);
    for one in series {
        let points: Vec<_> = one.points.iter().map(|&(x, y)| Point { x: across(x), y: upwards(y) }).collect();
        svg.group(&one.words, |svg| svg.line(&points, 2.0, one.paint));
    }
}

/// Ticks of an even axis from 0 or more to `to`, some four of them at round numbers.
#[must_use]
pub fn even_ticks(from: f64, to: f64, name: impl Fn(f64) -> String) -> Vec<(f64, String)> {
    let rough = (to - from) / 4.0;
    let magnitude = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0].map(|factor| factor * magnitude);
    let step = step.into_iter().find(|step| *step >= rough).unwrap_or(rough);
    let first = (from / step).ceil() as i64;
    let last = (to / step + 1e-9).floor() as i64;
    (first..=last).map(|n| n as f64 * step).map(|value| (value, name(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within_the_axis() {
        let ticks = |from, to| even_ticks(from, to, |value| format!("{value}"));
        let names =
            |from, to| ticks(from, to).into_iter().map(|(_, name)| name).collect::<Vec<_>>().join(" ");
        assert_eq!(names(0.0, 100.0), "0 25 50 75 100");
        assert_eq!(names(0.0, 7.0), "0 2 4 6");
        assert_eq!(names(80.0, 100.0), "80 85 90 95 100");
    }

    #[test]
    fn values_beyond_an_axis_stand_at_its_end() {
        let axis = |scale| Axis { title: String::new(), scale, from: 1.0, to: 100.0, ticks: Vec::new() };
        assert_eq!(axis(Scale::Log).part(0.0), 0.0);
        assert_eq!(axis(Scale::Log).part(10.0), 0.5);
        assert_eq!(axis(Scale::Even).part(1000.0), 1.0);
    }
}
