//! Curves of charts, each with its own style, so that two coinciding curves are both visible.
//!
//! Curves differ in colour, dashes, the shape of markers, and width. Later curves are narrower and are drawn over
//! earlier curves. The markers of all curves are at different positions.

use super::{Paint, Point, Svg};

/// The smallest distance between two markers of one curve, in pixels.
const APART: f64 = 130.0;
/// Half the size of a marker, in pixels.
const MARKER: f64 = 4.0;

/// The style of one curve among several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeriesStyle {
    /// The number of the curve, counted from 0.
    pub number: usize,
    pub of: usize,
}

impl SeriesStyle {
    fn paint(self) -> Paint {
        Paint::Series(self.number)
    }

    /// The width of the curve, in pixels. The first curve is the widest.
    fn width(self) -> f64 {
        let last = self.of.saturating_sub(1).max(1) as f64;
        if self.of < 2 { 2.0 } else { 3.4 - 1.8 * self.number as f64 / last }
    }

    /// The lengths of dashes and gaps. Empty for a solid line.
    fn dashes(self) -> &'static str {
        ["", "9 4", "", "4 3", "", "12 3 3 3", ""][self.number % 7]
    }

    /// Draws a line in this style through these points.
    pub(super) fn line(self, svg: &mut Svg, points: &[Point]) {
        svg.dashed(points, self.width(), self.paint(), self.dashes());
    }

    /// Draws a marker. Shapes repeat only after seven curves.
    fn marker(self, svg: &mut Svg, Point { x, y }: Point) {
        const M: f64 = MARKER;
        let corners: &[(f64, f64)] = match self.number % 7 {
            0 => return svg.circle(Point { x, y }, M, self.paint()),
            1 => &[(-M, -M), (M, -M), (M, M), (-M, M)],
            2 => &[(0.0, -1.2 * M), (1.2 * M, M), (-1.2 * M, M)],
            3 => &[(0.0, -1.4 * M), (1.4 * M, 0.0), (0.0, 1.4 * M), (-1.4 * M, 0.0)],
            4 => &[(0.0, 1.2 * M), (1.2 * M, -M), (-1.2 * M, -M)],
            5 => &[(-M, -0.5 * M), (0.0, -1.4 * M), (M, -0.5 * M), (M, M), (-M, M)],
            _ => {
                &[(-1.2 * M, -M), (0.0, -0.3 * M), (1.2 * M, -M), (1.2 * M, M), (0.0, 0.3 * M), (-1.2 * M, M)]
            }
        };
        let corners: Vec<_> =
            corners.iter().map(|(right, down)| Point { x: x + right, y: y + down }).collect();
        svg.polygon(&corners, self.paint());
    }

    /// Draws a short piece of the curve with a marker in its middle, for a legend.
    pub fn sample(self, svg: &mut Svg, at: Point, width: f64) {
        self.line(svg, &[at, Point { x: at.x + width, y: at.y }]);
        self.marker(svg, Point { x: at.x + width / 2.0, y: at.y });
    }

    /// Draws the markers of a step curve through these corners, between `left` and `right`.
    pub(super) fn markers(self, svg: &mut Svg, corners: &[Point], left: f64, right: f64) {
        for x in self.places(left, right) {
            let level = corners
                .windows(2)
                .find(|pair| pair[0].y == pair[1].y && (pair[0].x..=pair[1].x).contains(&x));
            if let Some(level) = level {
                self.marker(svg, Point { x, y: level[0].y });
            }
        }
    }

    /// The positions of markers between `left` and `right`, which are different for each curve.
    fn places(self, left: f64, right: f64) -> impl Iterator<Item = f64> {
        let apart = APART.max(self.of as f64 * 3.0 * MARKER);
        let count = ((right - left) / apart).floor().max(1.0);
        let apart = (right - left) / count;
        let first = left + apart * (self.number as f64 + 0.5) / self.of.max(1) as f64;
        (0..count as u32).map(move |n| first + f64::from(n) * apart)
    }
}

/// The corners of a step curve. The height of a point is valid until the next point. Points less than half a pixel
/// apart are merged.
pub(super) fn corners(points: impl Iterator<Item = Point>) -> Vec<Point> {
    let mut kept: Vec<Point> = Vec::new();
    for point in points {
        match kept.last_mut() {
            Some(last) if point.x - last.x < 0.5 => last.y = point.y,
            Some(_) | None => kept.push(point),
        }
    }
    let mut corners: Vec<Point> = Vec::new();
    for point in kept {
        match corners.last().map(|last| last.y) {
            Some(y) if y != point.y => corners.extend([Point { x: point.x, y }, point]),
            Some(_) | None => corners.push(point),
        }
    }
    corners
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_curve_has_a_look_of_its_own() {
        let looks = (0..7).map(|number| {
            let mut svg = Svg::new("", "");
            SeriesStyle { number, of: 7 }.sample(&mut svg, Point { x: 0.0, y: 0.0 }, 30.0);
            svg.document(1.0, 1.0)
        });
        let looks: Vec<String> = looks.collect();
        for (number, look) in looks.iter().enumerate() {
            assert!(look.contains(&format!("class=\"s{number}\"")), "it has a marker of its colour: {look}");
            // Styles that differ only in colour are not enough.
            let plain = |look: &str, number| look.replace(&format!("s{number}\""), "s\"");
            let shape =
                |look: &str| look.lines().filter(|line| !line.contains("<polyline")).collect::<String>();
            let shapes = |at: usize| shape(&plain(&looks[at], at));
            assert!((0..number).all(|other| shapes(other) != shapes(number)), "{look}");
        }
    }

    #[test]
    fn markers_of_curves_that_coincide_are_at_different_places() {
        for of in 1..=7 {
            for width in [200.0, 800.0] {
                let mut places: Vec<f64> = (0..of)
                    .flat_map(|number| SeriesStyle { number, of }.places(50.0, 50.0 + width))
                    .collect();
                places.sort_by(f64::total_cmp);
                assert!(
                    places.len() >= of && places.windows(2).all(|pair| pair[1] - pair[0] > 2.0 * MARKER),
                    "{places:?}"
                );
                assert!(places.iter().all(|place| (50.0..=50.0 + width).contains(place)), "{places:?}");
            }
        }
    }

    #[test]
    fn a_step_curve_holds_its_height_until_the_next_point() {
        let point = |(x, y)| Point { x, y };
        let of = |points: &[(f64, f64)]| {
            corners(points.iter().copied().map(point)).iter().map(|at| (at.x, at.y)).collect::<Vec<_>>()
        };
        assert_eq!(
            of(&[(0.0, 3.0), (4.0, 2.0), (6.0, 2.0)]),
            [(0.0, 3.0), (4.0, 3.0), (4.0, 2.0), (6.0, 2.0)]
        );
        assert_eq!(of(&[(0.0, 3.0), (0.2, 1.0), (0.4, 2.0), (5.0, 2.0)]), [(0.0, 2.0), (5.0, 2.0)]);
        assert_eq!(of(&[]), []);
    }
}
