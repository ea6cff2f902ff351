//! Every set-up from every seed, on as many threads as there are cores.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use firesteel_core::Machine as _;
use firesteel_core::Timestamp;
use firesteel_core::master::{Config, Event, Master};
use firesteel_sim::replay::{Compaction, Fill, LeftOut, Outcome, Replay, Workload, compact, fill, replay};
use firesteel_sim::setup::Setup;
use firesteel_sim::trace::Trace;

use super::super::exit::{Exit, Failure};
use super::Args;

/// Everything that is shown.
pub(super) struct Report {
    /// What was replayed.
    pub(super) name: String,
    /// Its applications from each seed.
    pub(super) applications: usize,
    /// Those that could never run.
    pub(super) left_out: u64,
    /// Its Workers.
    pub(super) workers: usize,
    /// Whether any of them has a GPU.
    pub(super) has_gpus: bool,
    /// Load, as far as it is known.
    pub(super) load: f64,
    /// How many seeds.
    pub(super) seeds: u64,
    /// What came of it.
    pub(super) results: Results,
}

/// For each set-up one run for each seed.
pub(super) enum Results {
    /// Applications came and went.
    Replays(Vec<(Setup, Vec<Run<Outcome>>)>),
    /// They only came.
    Fills(Vec<(Setup, Vec<Run<Fill>>)>),
    /// The fewest Workers were looked for.
    Compactions(Vec<(Setup, Vec<Run<Compaction>>)>),
}

/// One of them.
pub(super) struct Run<T> {
    /// What came of it.
    pub(super) outcome: T,
    /// How long the Master took over all its events.
    pub(super) master: Duration,
}

/// Runs everything.
pub(super) fn run(args: &Args, trace: &Trace, setups: &[Setup]) -> Result<Report, Failure> {
    let workloads: Vec<(Workload, LeftOut)> =
        (1..=args.seeds).map(|seed| workload(args, trace, seed)).collect();
    let (first, left_out) = &workloads[0];
    if first.applications.is_empty() {
        let words = "no application of the trace can have all its executors on these Workers";
        return Err(Failure::of(Exit::Usage, words));
    }
    let config = |setup: Setup| setup.config(Config::default());
    let results = if args.static_fill {
        let one =
            |setup, work: &Workload| timed(|apply| fill(&config(setup), work, &mut |m, n, e| apply(m, n, e)));
        Results::Fills(all(setups, &workloads, one))
    } else if args.fewest_workers {
        let one = |setup, work: &Workload| {
            timed(|apply| compact(&config(setup), work, &mut |m, n, e| apply(m, n, e)))
        };
        Results::Compactions(all(setups, &workloads, one))
    } else {
        let gangs = args.gangs.gangs();
        let one = |setup, work: &Workload| {
            let how = Replay { config: config(setup), gangs };
            timed(|apply| replay(&how, work, &mut |m, n, e| apply(m, n, e)))
        };
        Results::Replays(all(setups, &workloads, one))
    };
    let name = args
        .trace
        .file_name()
        .map_or_else(|| args.trace.display().to_string(), |name| name.to_string_lossy().into_owned());
    Ok(Report {
        name,
        applications: first.applications.len(),
        left_out: left_out.0,
        workers: first.workers.len(),
        has_gpus: first.capacity()[2] > 0.0,
        load: asked(args).unwrap_or_else(|| first.load()),
        seeds: args.seeds,
        results,
    })
}

/// The part of the cluster that is asked for, where that is a matter of words.
fn asked(args: &Args) -> Option<f64> {
    match (args.load, args.static_fill, args.fewest_workers) {
        (Some(load), _, _) => Some(load),
        (None, true, _) => Some(1.0),
        (None, false, true) => Some(0.5),
        (None, false, false) => None,
    }
}

/// What that seed makes of the trace.
fn workload(args: &Args, trace: &Trace, seed: u64) -> (Workload, LeftOut) {
    let mut work = Workload::new(trace, seed);
    if let Some(workers) = args.workers {
        work.workers = vec![workers.size; workers.count];
    }
    if let Some(longest) = args.longest {
        work = work.no_longer_than(longest);
    }
    let (work, left_out) = work.that_fit();
    let count = args.applications.unwrap_or(work.applications.len());
    let work = match asked(args) {
        None => work,
        Some(load) if args.static_fill || args.fewest_workers => work.drawn(seed, count).asking_for(load),
        Some(load) => work.drawn(seed, count).at_load(seed, load),
    };
    (work, left_out)
}

/// Runs it with a closure that applies events and counts the time.
fn timed<T>(
    run: impl FnOnce(&mut dyn FnMut(&mut Master, Timestamp, Event) -> Vec<firesteel_core::master::Effect>) -> T,
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

fn all<T: Send>(
    setups: &[Setup],
    workloads: &[(Workload, LeftOut)],
    one: impl Fn(Setup, &Workload) -> Run<T> + Sync,
) -> Vec<(Setup, Vec<Run<T>>)> {
    let cases: Vec<_> =
        setups.iter().flat_map(|setup| workloads.iter().map(move |(work, _)| (*setup, work))).collect();
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<Option<Run<T>>>> = Mutex::new(cases.iter().map(|_| None).collect());
    let threads = thread::available_parallelism().map_or(1, usize::from).min(cases.len());
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(&(setup, work)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let run = one(setup, work);
                    let at = cases.iter().position(|case| case.0 == setup && std::ptr::eq(case.1, work));
                    done.lock().expect("no run panics while it holds this")[at.expect("it is one of them")] =
                        Some(run);
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no run panics while it holds this").into_iter();
    let each = |setup: &Setup| {
        let runs = done.by_ref().take(workloads.len());
        (*setup, runs.map(|run| run.expect("every case was run")).collect())
    };
    setups.iter().map(each).collect()
}
