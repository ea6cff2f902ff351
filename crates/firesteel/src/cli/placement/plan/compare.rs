//! Compares set-ups in a table, with one row per figure and one column per set-up.

use std::fmt::Write as _;

use firesteel_apps::table::{clean, table};
use firesteel_sim::draft::{figures, has};

use super::source::Source;
use super::text::{STRANDED, stranded};
use super::{Decided, why};

/// The table of figures, and then the executors of each application.
pub(super) fn text(source: &Source, decided: &[Decided]) -> String {
    let mut text = format!("{}\n\n", clean(&source.name));
    let names = decided.iter().map(|one| one.name.as_str());
    let header: Vec<&str> = std::iter::once("").chain(names).collect();
    let numbers = figures(&decided.iter().map(|one| &one.metrics).collect::<Vec<_>>());
    writeln!(text, "{}", table(&header, numbers)).expect("a text takes it");
    if decided.iter().any(|one| stranded(&one.metrics).is_some()) {
        writeln!(text, "{STRANDED}").expect("a text takes it");
    }
    text.push('\n');
    let applications = source.draft.applications.iter().enumerate().map(|(index, app)| {
        let name = format!("{} {}", why::mark(index), app.name());
        let each = decided.iter().map(|one| has(&one.outcome.applications[index]));
        std::iter::once(name).chain(each).collect()
    });
    writeln!(text, "{}", table(&header, applications.collect())).expect("a text takes it");
    text
}
