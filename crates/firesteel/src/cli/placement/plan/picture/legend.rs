//! The part below the bars of a picture: the applications, and the meaning of the shapes.

use std::collections::BTreeSet;

use firesteel_placement::Cores;
use firesteel_placement::advanced::words::{list, none_or};
use firesteel_sim::draft::has;
use firesteel_sim::picture::{Area, MARGIN, Paint, Point, SMALL, TEXT, Weight, words};

use super::super::bars::SHARED;
use super::super::text::{STRANDED, stranded};
use super::super::{bars, why};
use super::{Drawing, MOST_APPLICATIONS, NAME};

/// Width and height of the square with an application's letter, in pixels.
const SWATCH: f64 = 20.0;
/// Height of a line of small text, in pixels.
const LINE: f64 = SMALL + 2.0;

impl Drawing<'_> {
    /// Draws a line for each application: what the application asks for, and what it has in each column.
    pub(super) fn applications(&mut self) {
        self.y += 6.0;
        let line = [Point { x: MARGIN, y: self.y }, Point { x: self.width - MARGIN, y: self.y }];
        self.svg.line(&line, 1.0, Paint::Grid);
        self.y += 14.0;
        let all = &self.source.draft.applications;
        let names: Vec<&str> = all.iter().take(MOST_APPLICATIONS).map(|app| app.name()).collect();
        let names = words::fit_all(&names, TEXT, Weight::Bold, NAME - SWATCH - 8.0);
        for (index, name) in names.iter().enumerate() {
            self.application(index, name);
        }
        if all.len() > names.len() {
            let words = format!("and {}", none_or((all.len() - names.len()) as u64, "other application"));
            self.write(MARGIN, self.y + 11.0, SMALL, Paint::Muted, &words);
            self.y += 2.0 * TEXT;
        }
    }

    fn application(&mut self, index: usize, name: &str) {
        let app = &self.source.draft.applications[index];
        let area = Area { at: Point { x: MARGIN, y: self.y }, width: SWATCH, height: SWATCH };
        self.svg.rect(area, Paint::Series(index));
        bars::letter(&mut self.svg, area, index);
        let x = MARGIN + SWATCH + 8.0;
        self.bold(x, self.y + 9.0, TEXT, name);
        let mut bottom = self.y + 24.0;
        for line in words::lines(&why::asks(app), SMALL, NAME - SWATCH - 8.0) {
            self.write(x, bottom, SMALL, Paint::Muted, &line);
            bottom += LINE;
        }
        for column in 0..self.columns.len() {
            let (has, is_short) = self.has(column, index);
            let (x, mut y) = (self.x(column), self.y + 9.0);
            for line in words::lines(&has, TEXT, self.column) {
                self.write(x, y, TEXT, Paint::Ink, &line);
                y += LINE + 2.0;
            }
            if is_short {
                self.write(x, y, SMALL, Paint::Warning, "less than it asks for");
                y += LINE;
            }
            bottom = bottom.max(y);
        }
        self.y = bottom + 1.0;
    }

    /// The resources of an application in a column, as text. Also returns whether they are less than the application
    /// asks for.
    fn has(&self, column: usize, index: usize) -> (String, bool) {
        match self.columns[column].decided {
            Some(decided) => {
                let now = &decided.outcome.applications[index];
                (has(now), now.is_short())
            }
            None => match self.source.draft.applications[index].running.len() {
                0 => ("–".to_owned(), false),
                running => (none_or(running as u64, "executor"), false),
            },
        }
    }

    /// Draws the meaning of the shapes.
    pub(super) fn key(&mut self) {
        let mut words = "Bars: cores. Thin bars: memory.".to_owned();
        let workers = self.columns.iter().flat_map(|column| column.workers);
        let names: BTreeSet<&String> = workers.flat_map(|worker| worker.resources.keys()).collect();
        if !names.is_empty() {
            words += &format!(" Squares: {}.", list(&names.into_iter().cloned().collect::<Vec<_>>()));
        }
        if self.cell == SHARED {
            words += " Parts of a square: shares of an address.";
        }
        words += " Letters and colours: the application that uses them.";
        if !self.source.draft.drivers.is_empty() {
            words += " Grey: cluster drivers.";
        }
        let metrics =
            || self.columns.iter().filter_map(|column| column.decided).map(|decided| &decided.metrics);
        if metrics().any(|metrics| metrics.cores_stranded > Cores::ZERO) {
            words += " Red outlines: stranded cores.";
        }
        if metrics().any(|metrics| stranded(metrics).is_some()) {
            words += &format!(" {STRANDED}");
        }
        self.y += 4.0;
        for line in words::lines(&words, SMALL, self.width - 2.0 * MARGIN) {
            self.write(MARGIN, self.y + 11.0, SMALL, Paint::Muted, &line);
            self.y += 15.0;
        }
    }
}
