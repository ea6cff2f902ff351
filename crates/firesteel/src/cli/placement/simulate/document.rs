//! The outcome as JSON.

use firesteel_sim::replay::{Outcome, Shares, Waits};
use serde_json::{Map, Value, json};

use super::figures::{mean_idle, spread};
use super::runs::{Report, Results, Run, Runs};
use crate::cli::client::document::Document;

/// The outcome as one JSON value, with the results of each seed.
pub(super) fn json(report: &Report) -> String {
    let (kind, policies) = match &report.results {
        Results::Replays(all) => ("replay", each(all, replay, spreads)),
        Results::Fills(all) => (
            "static-fill",
            each(
                all,
                |run| {
                    let fill = &run.outcome;
                    let steps: Vec<_> =
                        fill.steps.iter().map(|step| json!([step.asked, step.given])).collect();
                    json!({
                        "unallocated": fill.unallocated(), "executors": fill.executors,
                        "stranded": shares(&fill.stranded), "given_by_asked": steps,
                    })
                },
                |_, _| {},
            ),
        ),
        Results::Compactions(all) => (
            "fewest-workers",
            each(all, |run| json!({ "workers": run.outcome.workers, "of": run.outcome.of }), |_, _| {}),
        ),
    };
    let value = json!({
        "kind": kind, "trace": report.name, "applications": report.applications,
        "left_out": report.left_out, "workers": report.workers, "load": report.load, "policies": policies,
    });
    let line = serde_json::to_string(&Document { schema: 2, value });
    line.expect("numbers and words can be written as JSON") + "\n"
}

/// The results of each set-up, for each of its seeds. Seeds are numbered from 1.
fn each<T>(
    all: &[Runs<T>],
    one: impl Fn(&Run<T>) -> Value,
    whole: impl Fn(&[Run<T>], &mut Value),
) -> Vec<Value> {
    let seed = |(run, seed): (&Run<T>, u64)| {
        let mut value = one(run);
        value["seed"] = json!(seed);
        value["master_ms"] = json!(in_ms(run.master.as_secs_f64()));
        value
    };
    let setup = |(setup, runs): &Runs<T>| {
        let seeds: Vec<_> = runs.iter().zip(1..).map(seed).collect();
        let mut value = json!({ "policy": setup.name(), "seeds": seeds });
        whole(runs, &mut value);
        value
    };
    all.iter().map(setup).collect()
}

/// Adds the spread of the means over the seeds to `value`.
fn spreads(runs: &[Run<Outcome>], value: &mut Value) {
    let of = |which: fn(&Outcome) -> f64, unit: &str| {
        let figures = ["min", "median", "max"].into_iter().zip(spread(runs, which));
        figures.map(|(name, figure)| (format!("{name}_{unit}"), figure.into())).collect::<Map<_, Value>>()
    };
    value["spread"] = json!({
        "wait": of(|outcome| in_ms(outcome.began.mean()), "ms"),
        "wait_gangs": of(|outcome| in_ms(outcome.gangs.mean()), "ms"),
        "idle": of(mean_idle, "share"),
    });
}

fn replay(run: &Run<Outcome>) -> Value {
    let Outcome { first, began, gangs, by_size, all, .. } = &run.outcome;
    let outcome = &run.outcome;
    let by_size: Vec<_> = by_size
        .iter()
        .map(|(class, found)| {
            let mut value = waits(found);
            value["class"] = json!(class.words());
            value
        })
        .collect();
    json!({
        "wait": waits(began), "wait_first_executor": waits(first), "wait_all_executors": waits(all),
        "wait_gangs": waits(gangs), "wait_by_size": by_size, "stuck": outcome.stuck,
        "used": shares(&Shares::mean(&outcome.used)), "stranded": shares(&Shares::mean(&outcome.stranded)),
        "idle_share": mean_idle(outcome), "executors_lost": outcome.times.iter().map(|times| times.lost).sum::<u64>(),
        "redone_ms": outcome.times.iter().map(|times| in_ms(times.redone.as_secs_f64())).sum::<f64>(),
        "fairness": outcome.fairness, "executors": outcome.executors, "ended_after_ms": in_ms(outcome.end.as_secs_f64()),
        "span_ms": in_ms(outcome.span.as_secs_f64()),
        "used_over_time": outcome.used.iter().map(shares).collect::<Vec<_>>(),
        "waiting_over_time": outcome.waiting,
    })
}

fn waits(waits: &Waits) -> Value {
    json!({
        "applications": waits.all().len(), "mean_ms": in_ms(waits.mean()), "p50_ms": in_ms(waits.quantile(0.5)),
        "p99_ms": in_ms(waits.quantile(0.99)),
    })
}

fn shares(shares: &Shares) -> Value {
    json!({ "cores_share": shares.cores, "memory_share": shares.memory, "gpus_share": shares.gpus })
}

/// Converts seconds to milliseconds. Virtual time has fractions of milliseconds.
fn in_ms(seconds: f64) -> f64 {
    seconds * 1000.0
}
