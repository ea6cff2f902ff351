//! Figures and their table.

use std::collections::BTreeMap;

use crate::server::{Kind, Server, SystemCalls};

/// The figures of one run.
#[derive(Default)]
pub(crate) struct Sheet {
    figures: Vec<(&'static str, f64)>,
    frames: BTreeMap<&'static str, u64>,
    counts_system_calls: bool,
}

impl Sheet {
    pub(crate) fn new(counts_system_calls: bool) -> Self {
        Self { counts_system_calls, ..Self::default() }
    }

    pub(crate) fn put(&mut self, name: &'static str, figure: f64) {
        self.figures.push((name, figure));
    }

    pub(crate) fn frames(&mut self, frames: &BTreeMap<&'static str, u64>) {
        self.frames = frames.clone();
    }

    /// Counts a server's system calls from now on, if requested and possible.
    pub(crate) fn count_system_calls(&self, server: &Server) -> Option<SystemCalls> {
        self.counts_system_calls.then(|| server.count_system_calls()).flatten()
    }

    /// Ends a count, if there is one, and records the number of calls for each of `each` events.
    pub(crate) fn put_system_calls(&mut self, name: &'static str, calls: Option<SystemCalls>, each: u64) {
        if let Some(calls) = calls.and_then(SystemCalls::total) {
            self.put(name, calls as f64 / each as f64);
        }
    }
}

/// All runs of one scenario.
#[derive(Default)]
pub(crate) struct Table {
    /// The names of figures in their original order.
    names: Vec<&'static str>,
    rounds: BTreeMap<(&'static str, Kind), Vec<f64>>,
    frames: BTreeMap<Kind, BTreeMap<&'static str, u64>>,
}

impl Table {
    pub(crate) fn add(&mut self, kind: Kind, sheet: Sheet) {
        for (name, figure) in sheet.figures {
            if !self.names.contains(&name) {
                self.names.push(name);
            }
            self.rounds.entry((name, kind)).or_default().push(figure);
        }
        self.frames.insert(kind, sheet.frames);
    }

    /// Prints medians, ranges, and ratios to the null master of the same round. A Master with a journal or
    /// credentials is also compared to one without.
    pub(crate) fn print(&self) {
        for name in &self.names {
            for kind in [Kind::Null, Kind::Quiet, Kind::Logging, Kind::Durable, Kind::Secured] {
                let Some(rounds) = self.rounds.get(&(name, kind)) else { continue };
                let (median, least, most) = spread(rounds);
                let baselines = match kind {
                    Kind::Null => &[][..],
                    Kind::Quiet | Kind::Logging => &[Kind::Null],
                    Kind::Durable | Kind::Secured => &[Kind::Null, Kind::Quiet],
                };
                let ratios: String =
                    baselines.iter().filter_map(|baseline| self.ratio(name, rounds, *baseline)).collect();
                println!(
                    "{name:<50} {:<12} {:>12} ({} to {}){ratios}",
                    kind.word(),
                    short(median),
                    short(least),
                    short(most),
                );
            }
        }
    }

    /// The ratio to another server's figure of the same round: median and range.
    fn ratio(&self, name: &'static str, rounds: &[f64], baseline: Kind) -> Option<String> {
        let others = self.rounds.get(&(name, baseline))?;
        let ratios: Vec<f64> = rounds.iter().zip(others).map(|(figure, other)| figure / other).collect();
        let (median, least, most) = spread(&ratios);
        let word = baseline.word();
        median.is_finite().then(|| format!("  of {word} {median:.2} ({least:.2} to {most:.2})"))
    }

    /// Describes where the null master did not write the frames of the Master.
    pub(crate) fn differences(&self) -> Vec<String> {
        let Some(null) = self.frames.get(&Kind::Null) else { return Vec::new() };
        let Some(master) = self.frames.get(&Kind::Quiet) else { return Vec::new() };
        let kinds = null.keys().chain(master.keys());
        let kinds: std::collections::BTreeSet<_> = kinds.collect();
        let differ = |kind: &&&str| null.get(**kind) != master.get(**kind);
        let line = |kind: &&str| {
            let of = |frames: &BTreeMap<&str, u64>| frames.get(*kind).copied().unwrap_or(0);
            format!("{kind}: {} from the null master, {} from the Master", of(null), of(master))
        };
        kinds.into_iter().filter(differ).map(line).collect()
    }
}

/// Median, least and greatest.
fn spread(figures: &[f64]) -> (f64, f64, f64) {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    let median = sorted[sorted.len() / 2];
    (median, sorted[0], sorted[sorted.len() - 1])
}

fn short(figure: f64) -> String {
    match figure {
        ..100.0 => format!("{figure:.2}"),
        _ => format!("{figure:.0}"),
    }
}
