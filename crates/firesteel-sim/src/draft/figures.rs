//! Outcomes side by side: a row for each figure, a column for each outcome.

use std::collections::BTreeSet;

use firesteel_placement::Cores;
use firesteel_placement::advanced::resources::ResourceQuantities;
use firesteel_placement::advanced::words::none_or;

use super::{ApplicationOutcome, Metrics};

/// The figures, one row each: the figure's name, then its value in each outcome.
#[must_use]
pub fn figures(all: &[&Metrics]) -> Vec<Vec<String>> {
    let row = |words: &str, of: &dyn Fn(&Metrics) -> String| {
        std::iter::once(words.to_owned()).chain(all.iter().map(|metrics| of(metrics))).collect::<Vec<_>>()
    };
    let mut rows = vec![
        row("executors given", &|it| it.given.to_string()),
        row("applications without executors", &|it| it.waiting.to_string()),
        row("applications with less than requested", &|it| it.short.to_string()),
        row("cores used", &|it| used(it.cores_used, it.cores)),
        row("memory used", &|it| format!("{} of {}", it.memory_used, it.memory)),
    ];
    let names: BTreeSet<&String> = all.iter().flat_map(|metrics| metrics.resources.keys()).collect();
    let count = |amounts: &ResourceQuantities, name: &String| amounts.get(name).copied().unwrap_or_default();
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

/// The executors of an application, as text: `3 executors, 12 cores, 2 new`.
#[must_use]
pub fn has(app: &ApplicationOutcome) -> String {
    let ApplicationOutcome { kept, given, taken, cores, detail: _ } = app;
    let mut parts = match kept + given {
        0 => vec!["no executor".to_owned()],
        all => vec![none_or(all, "executor"), none_or(cores.0, "core")],
    };
    if *kept > 0 && *given > 0 {
        parts.push(format!("{given} new"));
    }
    if *taken > 0 {
        parts.push(format!("{taken} taken away"));
    }
    parts.join(", ")
}

/// The used cores and all cores, as text: `12 of 16`.
#[must_use]
pub fn used(used: Cores, all: Cores) -> String {
    format!("{} of {}", used.0, all.0)
}
