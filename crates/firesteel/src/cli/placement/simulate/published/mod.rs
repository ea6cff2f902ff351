//! `firesteel simulate --published`: the experiment that FGD was published with, and its results.

mod document;
mod files;
mod picture;
mod report;
mod rule;
mod text;

use firesteel_sim::published::{Arrivals, run as place};

use self::report::{Report, WorkloadReport};
use self::rule::Rule;
use super::{Args, show, threads};
use crate::cli::exit::{Exit, Failure};

pub(super) use text::COLUMNS;

/// Runs every policy on every workload with every seed, and shows the outcome.
pub(super) fn run(args: &Args) -> Result<Exit, Failure> {
    let directory = files::read(&args.trace, &args.workload)?;
    let rules = Rule::all(&args.policies());
    let mut cases = Vec::new();
    for workload in &directory.workloads {
        cases.extend((1..=args.seeds).flat_map(|seed| rules.iter().map(move |rule| (workload, seed, rule))));
    }
    let curves = threads::each(&cases, |((_, workload), seed, rule)| {
        let arrivals = Arrivals::new(workload, &directory.cluster, *seed);
        let mut policy = rule.chooser(&directory.cluster, workload, &arrivals, *seed);
        place(directory.cluster.clone(), &arrivals, &mut *policy)
    });
    let mut curves = curves.into_iter();
    let workloads = directory.workloads.iter().map(|(name, _)| {
        let mut runs: Vec<_> = rules.iter().map(|rule| (rule.clone(), Vec::new())).collect();
        for _ in 0..args.seeds {
            runs.iter_mut().zip(&mut curves).for_each(|((_, curves), curve)| curves.push(curve));
        }
        WorkloadReport { name: name.clone(), runs }
    });
    let report = Report { seeds: args.seeds, workloads: workloads.collect(), figures: directory.figures };
    args.pictures.save(|| picture::draw(&report))?;
    show(args, || document::json(&report), || text::tables(&report))
}
