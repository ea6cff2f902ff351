//! A plan as tables: a row with a bar for each Worker, and a row for each application.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use firesteel_apps::table::{clean, table};
use firesteel_placement::advanced::words::{list, none_or, of_resource};
use firesteel_placement::{MiB, Quantity};
use firesteel_protocol::ids::WorkerId;
use firesteel_protocol::scheduling::ServingOrder;
use firesteel_sim::draft::{
    ApplicationOutcome, DraftApplication, Metrics, Outcome, Since, WorkerOutcome, has, used,
};

use super::source::Source;
use super::{Decided, why};
use crate::cli::client::status;

/// Length of the longest bar, in characters.
const BAR: i64 = 40;
/// The number of Workers above which equal Workers share a line.
const EACH: usize = 24;

/// The sign of cluster drivers in a bar.
const DRIVER: char = '=';

/// The explanation of the word `stranded`, for tables and pictures.
pub(super) const STRANDED: &str =
    "Stranded capacity is free on Workers that have no room for an executor of any waiting application.";

/// A note for a Master with this order of applications.
const SHORTEST: &str = "This plan orders applications by the executors that they want now, the Master by those that they wanted first: \
                        with dynamic allocation these may differ.";

/// The stranded resources, such as `76 cores and 6 gpus`. `None` if nothing is stranded.
pub(super) fn stranded(metrics: &Metrics) -> Option<String> {
    let cores = Some(metrics.cores_stranded.0).filter(|cores| *cores > 0).map(|cores| none_or(cores, "core"));
    let resources = metrics.resources_stranded.iter().filter(|(_, quantity)| **quantity > Quantity::ZERO);
    let resources = resources.map(|(name, quantity)| of_resource(*quantity, name));
    let words: Vec<String> = cores.into_iter().chain(resources).collect();
    (!words.is_empty()).then(|| list(&words))
}

/// The tables, and why applications have less than they ask for.
pub(super) fn text(source: &Source, decided: &Decided) -> String {
    let Decided { name, meaning, outcome, metrics } = decided;
    let mut text = format!("{}, under the policy {name}: {meaning}\n", clean(&source.name));
    let settings = source.asked.as_ref().and_then(|asked| status::settings(&asked.settings));
    if let Some(settings) = settings {
        writeln!(text, "\n{settings}").expect("a text takes it");
    }
    if source.asked.is_some() && source.draft.scheduling.order == ServingOrder::Shortest {
        writeln!(text, "{SHORTEST}").expect("a text takes it");
    }
    write!(text, "\nWorkers\n{}\n", workers(source, outcome)).expect("a text takes it");
    if !source.draft.drivers.is_empty() {
        writeln!(text, "{DRIVER} stands for cores of cluster drivers.").expect("a text takes it");
    }
    if let Some(shared) = why::shared_mark(outcome.applications.len()) {
        writeln!(text, "{shared}").expect("a text takes it");
    }
    write!(text, "\nApplications\n{}\n", applications(source, outcome)).expect("a text takes it");
    let reasons = reasons(source, outcome);
    if !reasons.is_empty() {
        write!(text, "\nWhy not more\n{reasons}").expect("a text takes it");
    }
    writeln!(text, "\n{}", summary(metrics)).expect("a text takes it");
    text
}

fn workers(source: &Source, outcome: &Outcome) -> String {
    let states = source.states();
    let widest = outcome.workers.iter().map(|worker| worker.cores.0).max().unwrap_or(1);
    let has_resources = outcome.workers.iter().any(|worker| !worker.resources.is_empty());
    let rows = grouped(&outcome.workers, &states).into_iter().map(|(worker, names)| {
        let mut row = vec![
            names,
            bar(worker, widest),
            used(worker.cores - worker.cores_free, worker.cores),
            format!("{} of {}", (worker.memory - worker.memory_free).max(MiB::ZERO), worker.memory),
        ];
        if has_resources {
            row.push(resources(worker));
        }
        if !states.is_empty() {
            row.push(states.get(&worker.id).cloned().unwrap_or_default());
        }
        row
    });
    let mut header = vec!["WORKER", "BAR", "CORES", "MEMORY"];
    if has_resources {
        header.push("RESOURCES");
    }
    if !states.is_empty() {
        header.push("STATE");
    }
    table(&header, rows.collect())
}

/// The lines of the table of Workers, each with the name to print: one Worker per line. If there are many Workers,
/// equal Workers share a line.
fn grouped<'a>(
    workers: &'a [WorkerOutcome],
    states: &BTreeMap<&WorkerId, String>,
) -> Vec<(&'a WorkerOutcome, String)> {
    if workers.len() <= EACH {
        return workers.iter().map(|worker| (worker, worker.id.to_string())).collect();
    }
    let mut kinds: BTreeMap<_, Vec<&WorkerOutcome>> = BTreeMap::new();
    for worker in workers {
        kinds.entry((worker.group_key(), states.get(&worker.id))).or_default().push(worker);
    }
    let mut kinds: Vec<_> = kinds.into_values().collect();
    kinds.sort_by_key(|kind| kind[0].id.clone());
    let named = |kind: Vec<&WorkerOutcome>| match &kind[..] {
        [one] => one.id.to_string(),
        [first, rest @ ..] => format!("{} and {} more", first.id, rest.len()),
        [] => String::new(),
    };
    kinds.into_iter().map(|kind| (kind[0], named(kind))).collect()
}

/// The bar of a Worker: one character per core. For large Workers, one character stands for several cores.
fn bar(worker: &WorkerOutcome, widest: i64) -> String {
    let cores = worker.cores.0.max(0);
    let signs = if widest <= BAR { cores } else { (cores * BAR + widest - 1) / widest };
    let executors = worker.executors.iter().map(|executor| match executor.since {
        Since::Before => (executor.cores.0, why::small_mark(executor.app)),
        Since::Now => (executor.cores.0, why::mark(executor.app)),
    });
    let mut parts = executors.chain([(worker.cores_of_drivers().0, DRIVER)]);
    let (mut end, mut sign) = (0, '.');
    let mut bar = String::new();
    for at in 0..signs {
        // The middle one of the cores that the character stands for.
        let core = (2 * at + 1) * cores / (2 * signs);
        while core >= end {
            let Some((cores, of)) = parts.next() else {
                (end, sign) = (i64::MAX, '.');
                break;
            };
            end += cores;
            sign = of;
        }
        bar.push(sign);
    }
    bar
}

/// The used and the total number of addresses: `gpu 1/2`, `gpu 0.75/2`.
fn resources(worker: &WorkerOutcome) -> String {
    let each = worker.resources.iter().map(|(name, all)| {
        let free = worker.resources_free.get(name).copied().unwrap_or_default();
        format!("{name} {}/{all}", all.less(free))
    });
    each.collect::<Vec<_>>().join(", ")
}

fn applications(source: &Source, outcome: &Outcome) -> String {
    let rows = source.draft.applications.iter().zip(&outcome.applications).enumerate();
    let row = |(index, (app, now)): (usize, (&DraftApplication, &ApplicationOutcome))| {
        vec![
            format!("{} {}", why::mark(index), app.name()),
            why::asks(app),
            has(now),
            why::places(outcome, index),
        ]
    };
    table(&["APPLICATION", "ASKS FOR", "HAS", "ON"], rows.map(row).collect())
}

fn reasons(source: &Source, outcome: &Outcome) -> String {
    let mut text = String::new();
    for (index, (app, now)) in source.draft.applications.iter().zip(&outcome.applications).enumerate() {
        let reasons = why::why(now);
        if let Some((first, rest)) = reasons.split_first() {
            writeln!(text, "  {} {}: {}", why::mark(index), clean(app.name()), clean(first))
                .expect("a text takes it");
            for reason in rest {
                writeln!(text, "    {}", clean(reason)).expect("a text takes it");
            }
        }
    }
    text
}

/// A few sentences with the most important figures.
fn summary(metrics: &Metrics) -> String {
    let Metrics { given, workers_used, workers, cores_used, cores, memory_used, memory, .. } = metrics;
    let mut parts = vec![
        match given {
            0 => "No new executor".to_owned(),
            _ => none_or(*given, "new executor"),
        },
        format!("{workers_used} of {} used", none_or(*workers, "Worker")),
        format!("{cores_used} of {} used", none_or(cores.0, "core")),
        format!("{memory_used} of {memory} of memory"),
    ];
    for (name, all) in &metrics.resources {
        let used = metrics.resources_used.get(name).copied().unwrap_or_default();
        parts.push(format!("{used} of {}", of_resource(*all, name)));
    }
    let mut text = format!("{}.", list(&parts));
    if let Some(stranded) = stranded(metrics) {
        write!(text, " Stranded: {stranded}.\n{STRANDED}").expect("a text takes it");
    }
    text
}
