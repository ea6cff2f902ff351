//! Bars: how many Workers each set-up needs for the same load.

use firesteel_sim::picture::words::fit_all;
use firesteel_sim::picture::{Area, MARGIN, Paint, Point, SMALL, TEXT, Weight};
use firesteel_sim::replay::Compaction;

use super::super::runs::Runs;
use super::super::text::{difference, fewest, fewest_words};
use super::page::{NAME, Page, ROW, WIDTH, widest};

/// Width of the column of numbers, in pixels.
const NUMBERS: f64 = 170.0;

impl Page {
    /// Draws a bar for each set-up. A set-up that needs more Workers than were tried has no bar.
    pub(super) fn compactions(&mut self, all: &[Runs<Compaction>]) {
        let names: Vec<String> = all.iter().map(|(setup, _)| setup.to_string()).collect();
        let names = fit_all(&names.iter().map(String::as_str).collect::<Vec<_>>(), TEXT, Weight::Plain, NAME);
        let column = widest(names.iter().map(String::as_str), Weight::Plain) + 18.0;
        let most = all.iter().filter_map(|(_, runs)| fewest(runs)).fold(1.0, f64::max);
        let first = all.first().and_then(|(_, runs)| fewest(runs));
        self.y += ROW;
        for ((name, (_, runs)), number) in names.iter().zip(all).zip(0..) {
            self.write(MARGIN, TEXT, Weight::Plain, Paint::Ink, name);
            let length = fewest(runs).unwrap_or(0.0) / most * (WIDTH - 2.0 * MARGIN - column - NUMBERS);
            let at = Point { x: MARGIN + column, y: self.y - 15.0 };
            self.svg.rect(Area { at, width: length, height: ROW - 2.0 }, Paint::Series(number));
            let against = difference(first, fewest(runs)).filter(|_| number > 0);
            let words =
                fewest_words(runs) + &against.map_or(String::new(), |against| format!(" ({against})"));
            let after = if length > 0.0 { length + 8.0 } else { 0.0 };
            self.write(at.x + after, SMALL + 1.0, Weight::Plain, Paint::Muted, &words);
            self.y += ROW + 8.0;
        }
    }
}
