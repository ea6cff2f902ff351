//! Charts: two axes with a grid, and a step curve for each series.

use super::axis::Axis;
use super::curve::{SeriesStyle, corners};
use super::{Anchor, Area, Paint, Point, SMALL, Svg, TEXT, Weight};

/// The space below a chart's area, for ticks and the title of the axis, in pixels.
pub const BELOW: f64 = 40.0;
/// The space left of a chart's area, for the labels of ticks, in pixels.
pub const LEFT: f64 = 52.0;
/// The space right of a chart's area, for half of the last tick's label, in pixels.
pub const RIGHT: f64 = 20.0;
/// The space above a chart's area, for its title and the title of the vertical axis, in pixels.
pub const ABOVE: f64 = 44.0;

#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// The heading above the chart.
    pub title: String,
    pub x: Axis,
    pub y: Axis,
    /// The curves. The first curve is drawn below all others.
    pub series: Vec<Series>,
}

/// One curve. Its points are in the units of the axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The curve's points from left to right. The value of a point is valid until the next point. The last point ends
    /// the curve.
    pub points: Vec<(f64, f64)>,
    /// Text that viewers show when the pointer is on the curve.
    pub words: String,
}

impl Chart {
    /// Draws the chart. `area` is the space for the curves. Titles and ticks are drawn around it.
    pub fn draw(&self, svg: &mut Svg, area: Area) {
        title(svg, Point { x: area.at.x - LEFT, y: area.at.y - 28.0 }, &self.title);
        self.axes(svg, area);
        for number in 0..self.series.len() {
            self.curve(svg, area, number);
        }
    }

    fn axes(&self, svg: &mut Svg, area: Area) {
        let (left, right) = (area.at.x, area.at.x + area.width);
        let bottom = area.at.y + area.height;
        let small = |svg: &mut Svg, x, y, anchor, text: &str| {
            svg.text(Point { x, y }, SMALL, Weight::Plain, anchor, Paint::Muted, text);
        };
        small(svg, left - LEFT, area.at.y - 11.0, Anchor::Start, &self.y.title);
        for (value, name) in &self.y.ticks {
            let y = bottom - self.y.part(*value) * area.height;
            svg.line(&[Point { x: left, y }, Point { x: right, y }], 1.0, Paint::Grid);
            small(svg, left - 8.0, y + 4.0, Anchor::End, name);
        }
        for mark in self.x.marks(area.width, RIGHT) {
            let x = left + mark.at;
            svg.line(&[Point { x, y: bottom }, Point { x, y: bottom + 5.0 }], 1.0, Paint::Grid);
            small(svg, left + mark.middle, bottom + 17.0, Anchor::Middle, mark.name);
        }
        small(svg, left + area.width / 2.0, bottom + 34.0, Anchor::Middle, &self.x.title);
    }

    fn curve(&self, svg: &mut Svg, area: Area, number: usize) {
        let (series, style) = (&self.series[number], SeriesStyle { number, of: self.series.len() });
        let (left, right) = (area.at.x, area.at.x + area.width);
        let place = |&(x, y): &(f64, f64)| Point {
            x: left + self.x.part(x) * area.width,
            y: area.at.y + (1.0 - self.y.part(y)) * area.height,
        };
        let corners = corners(series.points.iter().map(place));
        svg.group(&series.words, |svg| {
            style.line(svg, &corners);
            style.markers(svg, &corners, left, right);
            if let Some(end) = corners.last().filter(|end| end.x < right - 1.0) {
                svg.circle(*end, 3.0, Paint::Series(number));
            }
        });
    }
}

/// Writes the title of a chart, or the title of a note that replaces a chart.
pub fn title(svg: &mut Svg, at: Point, title: &str) {
    svg.text(at, TEXT, Weight::Bold, Anchor::Start, Paint::Ink, title);
}
