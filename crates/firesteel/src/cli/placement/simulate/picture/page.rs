//! A page that grows downwards: a title, a legend, and charts.

use firesteel_sim::picture::chart::{self, ABOVE, BELOW, Chart, LEFT, RIGHT};
use firesteel_sim::picture::curve::SeriesStyle;
use firesteel_sim::picture::words::{self, fit_all, width};
use firesteel_sim::picture::{Anchor, Area, HEADING, MARGIN, Paint, Point, SMALL, Svg, TEXT, Weight};

/// Width of the page, in pixels.
pub(super) const WIDTH: f64 = 900.0;
/// Height of the curves of a chart, in pixels.
const CHART: f64 = 180.0;
/// The width of the longest name of a policy, in pixels. Longer names are cut.
pub(super) const NAME: f64 = 400.0;
/// Height of a line of the legend, and of a bar, in pixels.
pub(super) const ROW: f64 = 22.0;
/// Width of a sample of a curve in the legend, in pixels.
const SAMPLE: f64 = 36.0;

/// The page, and the position at which its next part begins.
pub(in super::super) struct Page {
    pub(super) svg: Svg,
    pub(super) y: f64,
}

impl Page {
    /// A page with its title, and a line about what was simulated.
    pub(in super::super) fn new(title: &str, heading: &str) -> Self {
        let mut page = Self { svg: Svg::new(title, heading), y: MARGIN + 14.0 };
        page.write(MARGIN, HEADING, Weight::Bold, Paint::Ink, title);
        page.y += 22.0;
        for line in words::lines(heading, TEXT, WIDTH - 2.0 * MARGIN) {
            page.write(MARGIN, TEXT, Weight::Plain, Paint::Muted, &line);
            page.y += TEXT + 4.0;
        }
        page
    }

    /// Draws one line for each curve: a sample of the curve, its name, and its result.
    pub(in super::super) fn legend(&mut self, curves: &[(String, String)]) {
        let names = MARGIN + SAMPLE + 12.0;
        let shown = fit_all(
            &curves.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
            TEXT,
            Weight::Bold,
            NAME,
        );
        let results = names + widest(shown.iter().map(String::as_str), Weight::Bold) + 18.0;
        self.y += ROW / 2.0;
        for ((name, (_, result)), number) in shown.iter().zip(curves).zip(0..) {
            let at = Point { x: MARGIN, y: self.y - 4.5 };
            SeriesStyle { number, of: curves.len() }.sample(&mut self.svg, at, SAMPLE);
            self.write(names, TEXT, Weight::Bold, Paint::Ink, name);
            self.write(results, TEXT, Weight::Plain, Paint::Muted, result);
            self.y += ROW;
        }
        self.y += 6.0;
    }

    /// Draws a chart over the whole width.
    pub(in super::super) fn chart(&mut self, chart: &Chart) {
        let at = Point { x: MARGIN + LEFT, y: self.y + ABOVE };
        let area = Area { at, width: WIDTH - 2.0 * MARGIN - LEFT - RIGHT, height: CHART };
        chart.draw(&mut self.svg, area);
        self.y += ABOVE + CHART + BELOW + 14.0;
    }

    /// Writes a sentence in place of a chart, or in place of some of its curves.
    pub(super) fn note(&mut self, title: Option<&str>, sentence: &str) {
        if let Some(title) = title {
            chart::title(&mut self.svg, Point { x: MARGIN, y: self.y + ABOVE - 28.0 }, title);
            self.y += ABOVE - 8.0;
        }
        for line in words::lines(sentence, SMALL + 1.0, WIDTH - 2.0 * MARGIN) {
            self.write(MARGIN, SMALL + 1.0, Weight::Plain, Paint::Muted, &line);
            self.y += TEXT + 4.0;
        }
        self.y += 14.0;
    }

    /// Writes one line of text at the present height of the page.
    pub(super) fn write(&mut self, x: f64, size: f64, weight: Weight, paint: Paint, text: &str) {
        self.svg.text(Point { x, y: self.y }, size, weight, Anchor::Start, paint, text);
    }

    pub(in super::super) fn document(self) -> String {
        self.svg.document(WIDTH, self.y + MARGIN - 10.0)
    }
}

/// The width of the widest of these names, in pixels.
pub(super) fn widest<'a>(names: impl Iterator<Item = &'a str>, weight: Weight) -> f64 {
    names.map(|name| width(name, TEXT, weight)).fold(0.0, f64::max)
}
