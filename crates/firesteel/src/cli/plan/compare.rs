//! Compares set-ups in a table: a line for each figure, a column for each set-up.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use firesteel_apps::table::{clean, table};
use firesteel_placement::ResourceAmounts;
use firesteel_sim::draft::Metrics;

use super::source::Source;
use super::text::{STRANDED, stranded};
use super::{Decided, why};

/// The figures, then what each application has.
pub(super) fn text(source: &Source, decided: &[Decided]) -> String {
    let mut text = format!("{}\n\n", clean(&source.name));
    let names = decided.iter().map(|one| one.name.as_str());
    let header: Vec<&str> = std::iter::once("").chain(names).collect();
    let numbers = rows(&decided.iter().map(|one| &one.metrics).collect::<Vec<_>>());
    writeln!(text, "{}", table(&header, numbers)).expect("a text takes it");
    if decided.iter().any(|one| stranded(&one.metrics).is_some()) {
        writeln!(text, "{STRANDED}").expect("a text takes it");
    }
    text.push('\n');
    let applications = source.draft.applications.iter().enumerate().map(|(index, app)| {
        let name = format!("{} {}", why::mark(index), app.name());
        let each = decided.iter().map(|one| why::has(&one.outcome.applications[index]));
        std::iter::once(name).chain(each).collect()
    });
    writeln!(text, "{}", table(&header, applications.collect())).expect("a text takes it");
    text
}

/// The lines of the table of figures.
fn rows(all: &[&Metrics]) -> Vec<Vec<String>> {
    let row = |words: &str, of: &dyn Fn(&Metrics) -> String| {
        std::iter::once(words.to_owned()).chain(all.iter().map(|metrics| of(metrics))).collect::<Vec<_>>()
    };
    let mut rows = vec![
        row("executors given", &|it| it.given.to_string()),
        row("applications without executors", &|it| it.waiting.to_string()),
        row("applications with less than requested", &|it| it.short.to_string()),
        row("cores used", &|it| why::used(it.cores_used, it.cores)),
        row("memory used", &|it| format!("{} of {}", it.memory_used, it.memory)),
    ];
    let names: BTreeSet<&String> = all.iter().flat_map(|metrics| metrics.resources.keys()).collect();
    let count = |amounts: &ResourceAmounts, name: &String| amounts.get(name).copied().unwrap_or(0);
    for name in &names {
        rows.push(row(&format!("{name} used"), &|it| {
            format!("{} of {}", count(&it.resources_used, name), count(&it.resources, name))
        }));
    }
    rows.push(row("cores stranded", &|it| it.cores_stranded.to_string()));
    for name in &names {
        rows.push(row(&format!("{name} stranded"), &|it| count(&it.resources_stranded, name).to_string()));
    }
    rows.push(row("Workers used", &|it| format!("{} of {}", it.workers_used, it.workers)));
    rows.push(row("most executors of one application on one host", &|it| it.most_on_one_host.to_string()));
    if all.iter().any(|metrics| metrics.taken > 0) {
        rows.push(row("executors taken away", &|it| it.taken.to_string()));
    }
    rows
}
