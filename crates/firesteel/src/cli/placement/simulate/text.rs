//! The outcome as tables.

use std::time::Duration;

use firesteel_placement::advanced::words::counted;
use firesteel_sim::replay::{Compaction, Fill, Outcome, SizeClass, Waits};

use super::figures::{idle, mean, merged, missing_at, of_class, rate, shares, spread};
use super::runs::{Report, Results, Run, Runs};
use crate::cli::table::{duration, table};

/// The tables, with a heading and an explanation of the columns.
pub(super) fn tables(report: &Report) -> String {
    match &report.results {
        Results::Replays(all) => replays(report, all),
        Results::Fills(all) => fills(report, all),
        Results::Compactions(all) => compactions(report, all),
    }
}

/// The explanation of the columns of a replay.
pub(super) const REPLAY_COLUMNS: &str = "\
WAIT: time from an application's arrival until it can run, with one executor or with its whole gang. The columns
<16 CORES, 16-127 and 128+ are means by the cores that applications ask for. GANGS: the mean of applications that need
several executors at once. OF SEEDS: the smallest, median and greatest mean of a seed. ALL EXECUTORS: mean time until an application has all its executors.
USED: mean share of the cluster in use while applications arrive. STRANDED: mean share that is free on Workers without
room for the next executor. IDLE: mean share of the Workers without executors. FAIR: Jain's fairness index of the applications' run times, each divided by run time plus
waiting time (1: equal for all). STUCK: number of applications that never start. DECISIONS: executors placed per second
of scheduling.";
/// The explanation of the columns of a fill.
pub(super) const FILL_COLUMNS: &str = "\
GIVEN AT N%: share of the cluster that is allocated when applications have requested N% of it. UNALLOCATED: share that is
requested, but not allocated in the end; FROM .. TO is its range over the seeds. STRANDED: share that is free in the end
on Workers without room for the next executor. DECISIONS: executors placed per second of scheduling.";
/// The explanation of the columns of a compaction.
pub(super) const COMPACTION_COLUMNS: &str = "\
WORKERS: mean number of Workers that hold the load. AGAINST: compared with the first policy.";

pub(super) fn heading(report: &Report) -> String {
    let Report { name, applications, left_out, workers, load, seeds, .. } = report;
    let left_out = match left_out {
        0 => String::new(),
        _ => format!(" (left out: {left_out} that can never run)"),
    };
    // Without arrivals over time there is no load.
    let load = if *load > 0.0 { format!(", load {load:.2}") } else { String::new() };
    let seeds = if *seeds == 1 { String::new() } else { format!(", {seeds} seeds") };
    let (applications, workers) = (counted(*applications, "application"), counted(*workers, "Worker"));
    format!("{name}: {applications}{left_out} on {workers}{load}{seeds}")
}

fn replays(report: &Report, all: &[Runs<Outcome>]) -> String {
    format!("{}\n\n{}\n\n{}\n\n{REPLAY_COLUMNS}\n", heading(report), waits(all), usage(report, all))
}

fn waits(all: &[Runs<Outcome>]) -> String {
    let several = all.iter().any(|(_, runs)| runs.len() > 1);
    let row = |(setup, runs): &Runs<Outcome>| {
        let whole = merged(runs, |outcome| &outcome.began);
        let gangs = merged(runs, |outcome| &outcome.gangs);
        let mut row = vec![setup.to_string(), seconds(whole.mean())];
        row.extend(several.then(|| of_seeds(spread(runs, |outcome| outcome.began.mean()))));
        row.extend([seconds(whole.quantile(0.5)), seconds(whole.quantile(0.99))]);
        row.extend(SizeClass::ALL.map(|class| mean_of(&of_class(runs, class))));
        row.push(mean_of(&gangs));
        row.extend(several.then(|| of_seeds(spread(runs, |outcome| outcome.gangs.mean()))));
        row.push(or_dash(&gangs, gangs.quantile(0.99)));
        row.push(seconds(merged(runs, |outcome| &outcome.all).mean()));
        row
    };
    let mut header = vec!["WAIT", "MEAN"];
    header.extend(several.then_some("OF SEEDS"));
    header.extend(["P50", "P99", "<16 CORES", "16-127", "128+", "GANGS"]);
    header.extend(several.then_some("OF SEEDS"));
    header.extend(["GANGS P99", "ALL EXECUTORS"]);
    table(&header, all.iter().map(row).collect())
}

/// The table that shows how much of the cluster was used.
fn usage(report: &Report, all: &[Runs<Outcome>]) -> String {
    let row = |(setup, runs): &Runs<Outcome>| {
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
            percent(idle(runs)),
            format!("{:.3}", mean(runs, |o| o.fairness)),
            runs.iter().map(|run| run.outcome.stuck).sum::<u64>().to_string(),
            thousands(rate(runs, |o| o.executors)),
        ]
    };
    let of = if report.has_gpus { "cores, memory, GPUs" } else { "cores, memory" };
    let (used, stranded) = (format!("USED ({of})"), format!("STRANDED ({of})"));
    let header = ["CLUSTER", &used, &stranded, "IDLE", "FAIR", "STUCK", "DECISIONS"];
    table(&header, all.iter().map(row).collect())
}

fn fills(report: &Report, all: &[Runs<Fill>]) -> String {
    let row = |(setup, runs): &Runs<Fill>| {
        let given =
            |asked: f64| asked * report.load - mean(runs, |fill| missing_at(fill, asked * report.load));
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
    let rows = all.iter().map(row).collect();
    format!("{}\n\n{}\n\n{FILL_COLUMNS}\n", heading(report), table(&header, rows))
}

fn compactions(report: &Report, all: &[Runs<Compaction>]) -> String {
    let first = all.first().map(|(_, runs)| fewest(runs));
    let row = |(setup, runs): &Runs<Compaction>| {
        let against = difference(first.flatten(), fewest(runs)).unwrap_or_else(|| "-".to_owned());
        let each: Vec<_> =
            runs.iter().map(|run| run.outcome.workers.map_or("-".to_owned(), |n| n.to_string())).collect();
        vec![setup.to_string(), fewest_words(runs), against, each.join(" ")]
    };
    let against = all.first().map_or(String::new(), |(setup, _)| format!("AGAINST {setup}"));
    let header = ["FEWEST", "WORKERS", &against, "OF EACH SEED"];
    let rows = all.iter().map(row).collect();
    format!("{}\n\n{}\n\n{COMPACTION_COLUMNS}\n", heading(report), table(&header, rows))
}

/// The mean number of Workers. `None` if enough Workers were not found for every seed.
pub(super) fn fewest(runs: &[Run<Compaction>]) -> Option<f64> {
    let all: Option<u64> = runs.iter().map(|run| run.outcome.workers).sum();
    all.map(|all| all as f64 / runs.len() as f64)
}

/// The mean number of Workers, or the reason why there is none.
pub(super) fn fewest_words(runs: &[Run<Compaction>]) -> String {
    fewest(runs).map_or_else(|| "more than 4 times as many".to_owned(), |workers| format!("{workers:.0}"))
}

/// How many more Workers a set-up needs than the first set-up: `+2.5%`. `None` if one of the numbers is unknown.
pub(super) fn difference(first: Option<f64>, workers: Option<f64>) -> Option<String> {
    Some(format!("{:+.1}%", (workers? / first? - 1.0) * 100.0))
}

/// The smallest, the median and the largest mean of the seeds.
fn of_seeds(spread: [f64; 3]) -> String {
    spread.map(seconds).join(" / ")
}

/// The mean, or a dash if there are no waits.
fn mean_of(waits: &Waits) -> String {
    or_dash(waits, waits.mean())
}

/// A figure about these waits, or a dash if there are no waits.
fn or_dash(waits: &Waits, figure: f64) -> String {
    if waits.all().is_empty() { "-".to_owned() } else { seconds(figure) }
}

/// A duration as text.
pub(super) fn seconds(seconds: f64) -> String {
    if seconds == 0.0 { "0 s".to_owned() } else { duration(Duration::from_secs_f64(seconds)) }
}

/// A share as a percentage: `95.3%`.
pub(super) fn percent(part: f64) -> String {
    let shown = format!("{:.1}%", part * 100.0);
    if shown == "-0.0%" { "0.0%".to_owned() } else { shown }
}

fn thousands(rate: f64) -> String {
    format!("{:.0} k/s", rate / 1000.0)
}

/// The mean and the 99th percentile of waits.
pub(super) fn line(waits: &Waits) -> String {
    format!("mean {}, p99 {}", seconds(waits.mean()), seconds(waits.quantile(0.99)))
}
