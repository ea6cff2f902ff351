//! The arguments of the experiment.

use std::path::PathBuf;

use firesteel_sim::setup::Setup;

/// The arguments in words.
pub(crate) const USAGE: &str = "\
arguments, after --: [DIRECTORY] [--workload NAME,NAME] [--seeds N] [--policy NAME].. | --test
DIRECTORY has nodes.csv, and pods_NAME.csv or pods_NAME.csv.gz for each workload; published.csv has results to compare with.
Defaults: fixtures/traces/fgd-2023, all workloads, one seed, and the policies that look at GPUs. --policy, which may be
repeated, takes a policy's name or expr:EXPRESSION.";

/// What is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Arguments {
    pub(crate) directory: PathBuf,
    /// Names of workloads; none stands for all.
    pub(crate) workloads: Vec<String>,
    /// Number of runs, with the seeds 1, 2 and so on.
    pub(crate) seeds: u64,
    /// Policies of Firesteel's; none stands for those that look at GPUs.
    pub(crate) policies: Vec<Setup>,
}

/// What the command line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    Experiment(Arguments),
    Laws,
    Help,
}

/// The directory that is used by default.
pub(crate) fn committed() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/traces/fgd-2023"))
}

impl Arguments {
    /// Reads the words of a command line.
    ///
    /// # Errors
    /// A sentence about the first word that cannot be used.
    pub(crate) fn read(mut words: impl Iterator<Item = String>) -> Result<Asked, String> {
        let mut read = Self { directory: committed(), workloads: Vec::new(), seeds: 1, policies: Vec::new() };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
            match word.as_str() {
                // Cargo adds it.
                "--bench" => {}
                "--test" => return Ok(Asked::Laws),
                "--help" | "-h" => return Ok(Asked::Help),
                "--workload" => read.workloads.extend(value()?.split(',').map(str::to_owned)),
                "--seeds" => {
                    let seeds = value()?.parse().ok().filter(|seeds| (1..=1000).contains(seeds));
                    read.seeds = seeds.ok_or("--seeds is not followed by a number from 1 to 1000")?;
                }
                "--policy" => {
                    let name = value()?;
                    read.policies.push(name.parse().map_err(|error| format!("--policy {name}: {error}"))?);
                }
                option if option.starts_with('-') => return Err(format!("unknown argument {option}")),
                // Cargo runs a bench in its crate's folder.
                path => read.directory = from_where_cargo_was_run(path),
            }
        }
        Ok(Asked::Experiment(read))
    }
}

fn from_where_cargo_was_run(path: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(path)
}
