//! The results of `simulate` as tables.

use std::time::Duration;

use firesteel_sim::replay::{Compaction, Fill, Outcome, SizeClass, Waits};
use firesteel_sim::setup::Setup;

use super::super::table::{duration, table};
use super::figures::{mean, of_class, rate, shares, together};
use super::runs::{Report, Results, Run};

/// Everything, for people.
pub(super) fn tables(report: &Report) -> String {
    match &report.results {
        Results::Replays(all) => replays(report, all),
        Results::Fills(all) => fills(report, all),
        Results::Compactions(all) => compactions(report, all),
    }
}

/// What was replayed, in one line.
pub(super) fn heading(report: &Report) -> String {
    let Report { name, applications, left_out, workers, load, seeds, .. } = report;
    let (left_out, seeds) = (
        if *left_out == 0 { String::new() } else { format!(" (without {left_out} that can never run)") },
        if *seeds == 1 { String::new() } else { format!(", {seeds} seeds") },
    );
    let (applications, workers) = (plural(*applications, "application"), plural(*workers, "Worker"));
    format!("{name}: {applications}{left_out} on {workers}, load {load:.2}{seeds}")
}

fn plural(count: usize, one: &str) -> String {
    format!("{count} {one}{}", if count == 1 { "" } else { "s" })
}

fn replays(report: &Report, all: &[(Setup, Vec<Run<Outcome>>)]) -> String {
    let waits = |(setup, runs): &(Setup, Vec<Run<Outcome>>)| {
        let whole = together(runs, |outcome| &outcome.began);
        let gangs = together(runs, |outcome| &outcome.gangs);
        let mut row = vec![
            setup.to_string(),
            seconds(whole.mean()),
            seconds(whole.quantile(0.5)),
            seconds(whole.quantile(0.99)),
        ];
        row.extend(SizeClass::ALL.map(|class| mean_of(&of_class(runs, class))));
        row.extend([mean_of(&gangs), seconds(gangs.quantile(0.99))]);
        row.push(seconds(together(runs, |outcome| &outcome.all).mean()));
        row
    };
    let header =
        ["WAIT", "MEAN", "P50", "P99", "<16 CORES", "16-127", "128+", "GANGS", "GANGS P99", "ALL EXECUTORS"];
    let use_of = |(setup, runs): &(Setup, Vec<Run<Outcome>>)| {
        let (used, stranded) = (shares(runs, |o| &o.used), shares(runs, |o| &o.stranded));
        let amounts = |shares: firesteel_sim::replay::Shares| {
            let mut shown = vec![percent(shares.cores), percent(shares.memory)];
            shown.extend(report.has_gpus.then(|| percent(shares.gpus)));
            shown.join(" ")
        };
        vec![
            setup.to_string(),
            amounts(used),
            amounts(stranded),
            format!("{:.3}", mean(runs, |o| o.fairness)),
            runs.iter().map(|run| run.outcome.stuck).sum::<u64>().to_string(),
            thousands(rate(runs, |o| o.executors)),
        ]
    };
    let of = if report.has_gpus { "cores, memory, GPUs" } else { "cores, memory" };
    let (used, stranded) = (format!("USED ({of})"), format!("STRANDED ({of})"));
    format!(
        "{}\n\n{}\n\n{}\n",
        heading(report),
        table(&header, all.iter().map(waits).collect()),
        table(&["CLUSTER", &used, &stranded, "FAIR", "STUCK", "DECISIONS"], all.iter().map(use_of).collect())
    )
}

fn fills(report: &Report, all: &[(Setup, Vec<Run<Fill>>)]) -> String {
    let row = |(setup, runs): &(Setup, Vec<Run<Fill>>)| {
        let given = |asked: f64| mean(runs, |fill| given_at(fill, asked * report.load));
        let of_seeds = |best: fn(f64, f64) -> f64| {
            runs.iter().map(|run| run.outcome.unallocated()).reduce(best).unwrap_or(0.0)
        };
        let stranded = |part: fn(&Fill) -> f64| percent(mean(runs, part));
        let mut row = vec![
            setup.to_string(),
            percent(given(0.9)),
            percent(given(1.0)),
            percent(mean(runs, Fill::unallocated)),
            format!("{} .. {}", percent(of_seeds(f64::min)), percent(of_seeds(f64::max))),
            stranded(|fill| fill.stranded.cores),
            stranded(|fill| fill.stranded.memory),
        ];
        row.extend(report.has_gpus.then(|| stranded(|fill| fill.stranded.gpus)));
        row.push(thousands(rate(runs, |fill| fill.executors)));
        row
    };
    let (early, full) =
        (format!("GIVEN AT {}", percent(0.9 * report.load)), format!("AT {}", percent(report.load)));
    let mut header = vec!["FILL", &early, &full, "UNALLOCATED", "FROM .. TO", "STRANDED CORES", "MEMORY"];
    header.extend(report.has_gpus.then_some("GPUS"));
    header.push("DECISIONS");
    format!("{}\n\n{}\n", heading(report), table(&header, all.iter().map(row).collect()))
}

/// What was given out when that much was asked for.
pub(super) fn given_at(fill: &Fill, asked: f64) -> f64 {
    let step = fill.steps.iter().rev().find(|step| step.asked <= asked + 1e-9);
    asked - step.map_or(0.0, |step| step.asked - step.given)
}

fn compactions(report: &Report, all: &[(Setup, Vec<Run<Compaction>>)]) -> String {
    let first = all.first().map(|(_, runs)| fewest(runs));
    let row = |(setup, runs): &(Setup, Vec<Run<Compaction>>)| {
        let workers = fewest(runs);
        let against = match (first.flatten(), workers) {
            (Some(first), Some(workers)) => format!("{:+.1} %", (workers / first - 1.0) * 100.0),
            (None, _) | (_, None) => "-".to_owned(),
        };
        let shown = workers.map_or("more than 4 times as many".to_owned(), |workers| format!("{workers:.0}"));
        let each: Vec<_> =
            runs.iter().map(|run| run.outcome.workers.map_or("-".to_owned(), |n| n.to_string())).collect();
        vec![setup.to_string(), shown, against, each.join(" ")]
    };
    let against = all.first().map_or(String::new(), |(setup, _)| format!("AGAINST {setup}"));
    let header = ["FEWEST", "WORKERS", &against, "OF EACH SEED"];
    format!("{}\n\n{}\n", heading(report), table(&header, all.iter().map(row).collect()))
}

/// The mean, if enough were found from every seed.
pub(super) fn fewest(runs: &[Run<Compaction>]) -> Option<f64> {
    let all: Option<u64> = runs.iter().map(|run| run.outcome.workers).sum();
    all.map(|all| all as f64 / runs.len() as f64)
}

/// The mean, or a dash if there are none.
fn mean_of(waits: &Waits) -> String {
    if waits.all().is_empty() { "-".to_owned() } else { seconds(waits.mean()) }
}

/// A wait in words.
pub(super) fn seconds(seconds: f64) -> String {
    if seconds == 0.0 { "0 s".to_owned() } else { duration(Duration::from_secs_f64(seconds)) }
}

/// `95.3%`.
pub(super) fn percent(part: f64) -> String {
    let shown = format!("{:.1}%", part * 100.0);
    if shown == "-0.0%" { "0.0%".to_owned() } else { shown }
}

fn thousands(rate: f64) -> String {
    format!("{:.0} k/s", rate / 1000.0)
}

/// Numbers of waits that are worth a line.
pub(super) fn line(waits: &Waits) -> String {
    format!("mean {}, p99 {}", seconds(waits.mean()), seconds(waits.quantile(0.99)))
}
