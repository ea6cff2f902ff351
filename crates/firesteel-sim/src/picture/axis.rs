//! Axes of charts: the positions of values, and the ticks whose labels fit.

use super::ticks::Tick;
use super::words::width;
use super::{SMALL, Weight};

/// The smallest space between the labels of two ticks, in pixels.
const GAP: f64 = 10.0;

/// One of the two axes of a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The quantity on the axis, with its unit.
    pub title: String,
    /// How values map to positions.
    pub scale: Scale,
    pub from: f64,
    /// The value at the end of the axis. It is greater than the value at the beginning, unless there is only one value.
    pub to: f64,
    /// Labelled values, the most useful first. A label that does not fit beside earlier labels is left out.
    pub ticks: Vec<Tick>,
}

/// How values map to positions on an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Linear: equal differences have equal lengths.
    Even,
    /// Logarithmic: equal ratios have equal lengths. Values below the beginning are drawn at the beginning.
    Log,
}

/// A tick and its position, in pixels from the beginning of the axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mark<'a> {
    pub(super) at: f64,
    pub(super) middle: f64,
    pub(super) name: &'a str,
}

impl Axis {
    /// The position of a value, from 0 to 1 along the axis. Values beyond an end are at this end. On an axis whose ends
    /// are equal, all values are in the middle. NaN is at the beginning.
    pub(super) fn part(&self, value: f64) -> f64 {
        if self.to <= self.from {
            return 0.5;
        }
        let part = match self.scale {
            Scale::Even => (value - self.from) / (self.to - self.from),
            Scale::Log => (value.max(self.from) / self.from).ln() / (self.to / self.from).ln(),
        };
        if part.is_nan() { 0.0 } else { part.clamp(0.0, 1.0) }
    }

    /// The ticks of a horizontal axis of this length, without the ticks whose labels do not fit. Labels extend at most
    /// `margin` beyond the axis.
    pub(super) fn marks(&self, length: f64, margin: f64) -> Vec<Mark<'_>> {
        let mut marks: Vec<Mark<'_>> = Vec::new();
        let half = |name: &str| width(name, SMALL, Weight::Plain) / 2.0;
        for (value, name) in &self.ticks {
            let at = self.part(*value) * length;
            let (least, most) = (half(name) - margin, length + margin - half(name));
            let middle = at.max(least).min(most.max(least));
            let is_clear =
                |mark: &Mark<'_>| (middle - mark.middle).abs() >= half(name) + half(mark.name) + GAP;
            if marks.iter().all(is_clear) {
                marks.push(Mark { at, middle, name });
            }
        }
        marks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::ticks::{log_times, times};

    #[test]
    fn values_beyond_an_axis_are_at_its_end() {
        let axis = |scale| Axis { title: String::new(), scale, from: 1.0, to: 100.0, ticks: Vec::new() };
        assert_eq!(axis(Scale::Log).part(0.0), 0.0);
        assert_eq!(axis(Scale::Log).part(10.0), 0.5);
        assert_eq!(axis(Scale::Even).part(1000.0), 1.0);
    }

    #[test]
    fn every_value_has_a_place() {
        for scale in [Scale::Even, Scale::Log] {
            for (from, to) in [(5.0, 5.0), (0.0, 0.0), (0.0, 1.0), (1e-300, 1e300), (1.0, f64::MAX)] {
                let axis = Axis { title: String::new(), scale, from, to, ticks: Vec::new() };
                for value in [0.0, -0.0, -1.0, 5.0, 1e300, f64::NAN, f64::INFINITY] {
                    assert!(
                        (0.0..=1.0).contains(&axis.part(value)),
                        "{value} on {axis:?}: {}",
                        axis.part(value)
                    );
                }
            }
        }
    }

    #[test]
    fn names_of_ticks_neither_overlap_nor_leave_the_picture() {
        const MARGIN: f64 = 20.0;
        for length in [100.0, 300.0, 800.0] {
            for to in [2.0, 30.0, 5_000.0, 3e7] {
                for (scale, ticks) in [(Scale::Even, times(to)), (Scale::Log, log_times(1.0, to))] {
                    let axis = Axis { title: String::new(), scale, from: 1.0, to, ticks };
                    let marks = axis.marks(length, MARGIN);
                    assert!(!marks.is_empty());
                    let ends = |mark: &Mark<'_>| {
                        let half = width(mark.name, SMALL, Weight::Plain) / 2.0;
                        (mark.middle - half, mark.middle + half)
                    };
                    let mut spans: Vec<_> = marks.iter().map(ends).collect();
                    spans.sort_by(|one, other| one.0.total_cmp(&other.0));
                    assert!(spans.windows(2).all(|pair| pair[0].1 < pair[1].0), "{marks:?}");
                    assert!(
                        spans.iter().all(|span| span.0 >= -MARGIN && span.1 <= length + MARGIN),
                        "{marks:?}"
                    );
                }
            }
        }
    }
}
