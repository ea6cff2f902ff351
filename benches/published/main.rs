//! The placement experiment that FGD was published with: which share of the GPUs of a real cluster does a policy manage
//! to hand out?
//!
//! Requests for GPUs and for shares of one arrive one at a time at a cluster, until they have asked for 130 % of its
//! GPUs; none ever leaves, and a request that fits nowhere is dropped. [`arrivals`] makes the sequence of requests from
//! a seed, [`chooser::run`] places them, and a [`curve`] says how much is allocated for how much has arrived.
//!
//! A [`chooser::Chooser`] is a policy. Three are the yardsticks, as their authors define them: [`random`], [`best_fit`]
//! and [`fgd`], whose published results are in the same directory ([`figures`]). [`master`] is a Master of Firesteel's,
//! with any policy.
//!
//! With `--test` it runs the [`laws`] in place of the experiment.
//!
//! Source: Weng et al., "Beware of Fragmentation", ATC 2023.

#![allow(clippy::disallowed_types, clippy::disallowed_methods, clippy::disallowed_macros, reason = "a bench")]

mod arguments;
mod arrivals;
mod best_fit;
mod chooser;
mod cluster;
mod curve;
mod fgd;
mod figures;
mod files;
mod laws;
mod master;
mod random;
mod report;
mod request;
mod rule;
mod scored;
mod text;

use std::process::ExitCode;
use std::thread;

use self::arguments::{Arguments, Asked};
use self::arrivals::Arrivals;
use self::curve::Curve;
use self::files::Directory;
use self::report::{Report, WorkloadReport};
use self::rule::Rule;

fn main() -> ExitCode {
    match Arguments::read(std::env::args().skip(1)) {
        Ok(Asked::Laws) => laws::run(),
        Ok(Asked::Help) => {
            println!("{}", arguments::USAGE);
            ExitCode::SUCCESS
        }
        Ok(Asked::Experiment(arguments)) => match experiment(&arguments) {
            Ok(report) => {
                print!("{}", text::tables(&report));
                ExitCode::SUCCESS
            }
            Err(error) => failed(&error),
        },
        Err(error) => failed(&format!("{error}\n{}", arguments::USAGE)),
    }
}

fn failed(error: &str) -> ExitCode {
    eprintln!("published: {error}");
    ExitCode::from(2)
}

/// Runs every policy on every workload with every seed.
fn experiment(arguments: &Arguments) -> Result<Report, String> {
    let Directory { cluster, workloads, figures } = files::read(&arguments.directory, &arguments.workloads)?;
    let rules = Rule::all(&arguments.policies);
    let one = |of: &WorkloadOf<'_>, seed: u64| {
        let arrivals = Arrivals::new(of.workload, &cluster, seed);
        let mut policy = of.rule.chooser(&cluster, of.workload, &arrivals, seed);
        chooser::run(cluster.clone(), &arrivals, &mut *policy)
    };
    let of = |workload| rules.iter().map(move |rule| WorkloadOf { workload, rule });
    let cases: Vec<_> = workloads.iter().flat_map(|(_, workload)| of(workload)).collect();
    let mut curves = on_all_cores(&cases, arguments.seeds, one).into_iter();
    let workloads = workloads
        .into_iter()
        .map(|(name, _)| WorkloadReport { name, runs: rules.iter().cloned().zip(curves.by_ref()).collect() });
    Ok(Report { seeds: arguments.seeds, workloads: workloads.collect(), figures })
}

/// A workload, and the policy that it is placed with.
struct WorkloadOf<'a> {
    workload: &'a request::Workload,
    rule: &'a Rule,
}

/// The curves of the seeds from 1, for each case. A thread for each core takes every n-th seed.
fn on_all_cores<C: Sync>(cases: &[C], seeds: u64, one: impl Fn(&C, u64) -> Curve + Sync) -> Vec<Vec<Curve>> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let all: Vec<_> = cases.iter().flat_map(|case| (1..=seeds).map(move |seed| (case, seed))).collect();
    let (all, one) = (&all, &one);
    let curves = thread::scope(|scope| {
        let part = |first| {
            move || {
                all.iter()
                    .skip(first)
                    .step_by(threads)
                    .map(|(case, seed)| one(case, *seed))
                    .collect::<Vec<_>>()
            }
        };
        let running: Vec<_> = (0..threads).map(|first| scope.spawn(part(first))).collect();
        let mut parts: Vec<_> =
            running.into_iter().map(|part| part.join().expect("no run fails").into_iter()).collect();
        (0..all.len()).map(|at| parts[at % threads].next().expect("each has its part")).collect::<Vec<_>>()
    });
    let mut curves = curves.into_iter();
    cases.iter().map(|_| curves.by_ref().take(usize::try_from(seeds).expect("few seeds")).collect()).collect()
}
