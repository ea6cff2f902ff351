//! Runs each set-up with each seed.

use std::path::Path;
use std::time::{Duration, Instant};

use firesteel_master::{Config, Event, Master};
use firesteel_protocol::Machine as _;
use firesteel_protocol::Timestamp;
use firesteel_protocol::scheduling::GangPreemption;
use firesteel_sim::replay::{
    Compaction, Failures, Fill, LeftOut, Outcome, Replay, Workload, compact, fill, replay,
};
use firesteel_sim::setup::Setup;
use firesteel_sim::trace::Trace;

use super::{Args, threads};
use crate::cli::exit::{Exit, Failure};

/// The outcome of all runs, with the parameters of the simulation.
pub(super) struct Report {
    pub(super) name: String,
    pub(super) applications: usize,
    /// Number of applications of the trace that could never run.
    pub(super) left_out: u64,
    pub(super) workers: usize,
    pub(super) has_gpus: bool,
    /// The load, where 1 means the whole cluster; 0 if all applications arrive at the same time.
    pub(super) load: f64,
    pub(super) seeds: u64,
    pub(super) workloads: Vec<Workload>,
    pub(super) results: Results,
}

pub(super) enum Results {
    /// Replays of a workload: applications arrive and end.
    Replays(Vec<Runs<Outcome>>),
    /// Fills of the cluster: applications arrive and stay until the cluster is full.
    Fills(Vec<Runs<Fill>>),
    /// Searches for the smallest number of Workers on which the load fits.
    Compactions(Vec<Runs<Compaction>>),
}

/// The runs of one set-up, one for each seed.
pub(super) type Runs<T> = (Setup, Vec<Run<T>>);

/// One run: one set-up with one seed.
pub(super) struct Run<T> {
    pub(super) outcome: T,
    /// The time that the Master needed for all of its events.
    pub(super) master: Duration,
}

/// Runs each set-up with each seed.
pub(super) fn run(args: &Args, path: &Path, trace: &Trace) -> Result<Report, Failure> {
    let setups = args.policies();
    let workloads: Vec<(Workload, LeftOut)> =
        (1..=args.seeds).map(|seed| workload(args, trace, seed)).collect();
    let (first, left_out) = &workloads[0];
    if first.applications.is_empty() {
        let words = match left_out.0 == trace.applications.len() as u64 {
            true => {
                "no application of the trace can have all its executors on these Workers: give larger or more --workers"
            }
            false => "the load is too small for a single executor: give a larger --load",
        };
        return Err(Failure::of(Exit::Usage, words));
    }
    let name = path
        .file_name()
        .map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
    let results = results(args, &setups, &workloads);
    Ok(Report {
        name,
        applications: first.applications.len(),
        left_out: left_out.0,
        workers: first.workers.len(),
        has_gpus: first.capacity()[2] > 0.0,
        load: asked(args).unwrap_or_else(|| first.load()),
        seeds: args.seeds,
        results,
        workloads: workloads.into_iter().map(|(work, _)| work).collect(),
    })
}

fn results(args: &Args, setups: &[Setup], workloads: &[(Workload, LeftOut)]) -> Results {
    let base = Config {
        order: args.order.order(),
        reservations: args.reservations as usize,
        queues: args.queues.clone().unwrap_or_default(),
        preemption: args.preemption(),
        gang_preemption: args
            .gang_patience
            .map(|patience| GangPreemption { patience, reach: args.gang_reach }),
        ..Config::default()
    };
    let config = |setup: &Setup| setup.config(base.clone());
    if args.static_fill {
        let one = |setup: &Setup, work: &Workload, _| {
            timed(|apply| fill(&config(setup), work, &mut |m, n, e| apply(m, n, e)))
        };
        Results::Fills(all(setups, workloads, one))
    } else if args.fewest_workers {
        let one = |setup: &Setup, work: &Workload, _| {
            timed(|apply| compact(&config(setup), work, &mut |m, n, e| apply(m, n, e)))
        };
        Results::Compactions(all(setups, workloads, one))
    } else {
        let gangs = args.gangs.gangs();
        let one = |setup: &Setup, work: &Workload, seed| {
            let failures = Failures { every: args.worker_failures.unwrap_or_default(), seed };
            let how = Replay { config: config(setup), gangs, failures };
            timed(|apply| replay(&how, work, &mut |m, n, e| apply(m, n, e)))
        };
        Results::Replays(all(setups, workloads, one))
    }
}

/// The load that the options set. `None`: the load of the trace itself.
fn asked(args: &Args) -> Option<f64> {
    match (args.load, args.static_fill, args.fewest_workers) {
        (Some(load), _, _) => Some(load),
        (None, true, _) => Some(1.0),
        (None, false, true) => Some(0.5),
        (None, false, false) => None,
    }
}

fn workload(args: &Args, trace: &Trace, seed: u64) -> (Workload, LeftOut) {
    let mut work = Workload::new(trace, seed);
    if let Some(workers) = args.workers {
        work.workers = vec![workers.size; workers.count];
    }
    if let Some(longest) = args.longest {
        work = work.with_longest(longest);
    }
    let (work, left_out) = work.without_oversized();
    let count = args.applications.unwrap_or(work.applications.len());
    let work = match asked(args) {
        None => work,
        Some(load) if args.static_fill || args.fewest_workers => work.drawn(seed, count).with_demand(load),
        Some(load) => work.drawn(seed, count).at_load(seed, load),
    };
    let mut work = work.with_estimates(seed, args.estimates.estimates());
    let queues = args.queues.as_ref().map_or(1, |queues| queues.iter().count() as u64);
    for application in &mut work.applications {
        application.queue %= queues.max(1);
    }
    (work, left_out)
}

/// Calls `run` with a closure that applies events to the Master. Measures the time that the Master needs.
fn timed<T>(
    run: impl FnOnce(&mut dyn FnMut(&mut Master, Timestamp, Event) -> Vec<firesteel_master::Effect>) -> T,
) -> Run<T> {
    let mut master = Duration::ZERO;
    let outcome = run(&mut |machine: &mut Master, now, event| {
        let begin = Instant::now();
        let effects = machine.apply(now, event);
        master += begin.elapsed();
        effects
    });
    Run { outcome, master }
}

/// Runs all cases. The results are in the order of the set-ups, and then of the workloads.
fn all<T: Send>(
    setups: &[Setup],
    workloads: &[(Workload, LeftOut)],
    one: impl Fn(&Setup, &Workload, u64) -> Run<T> + Sync,
) -> Vec<Runs<T>> {
    let of_setup = |setup: &Setup| {
        let setup = setup.clone();
        workloads.iter().zip(1..).map(move |((work, _), seed)| (setup.clone(), work, seed))
    };
    let cases: Vec<_> = setups.iter().flat_map(of_setup).collect();
    let mut done = threads::each(&cases, |(setup, work, seed)| one(setup, work, *seed)).into_iter();
    let each = |setup: &Setup| {
        let runs = done.by_ref().take(workloads.len());
        (setup.clone(), runs.collect())
    };
    setups.iter().map(each).collect()
}
