//! `firesteel simulate`: replays a trace of applications through Masters of several set-ups.

mod csv;
mod document;
mod figures;
mod from;
mod picture;
mod runs;
mod source;
mod text;
mod threads;

use firesteel_host::plain;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, ValueEnum, ValueHint};
use firesteel_protocol::scheduling::queues::Queues;
use firesteel_protocol::scheduling::{Preemption, ServingOrder};
use firesteel_sim::replay::{Estimates, Gangs, Size};
use firesteel_sim::setup::Setup;

use super::picture_file::PictureFile;
use super::setups::{Setups, SetupsParser};
use crate::cli::exit::{self, Exit, Failure};
use crate::cli::help;

const EXAMPLES: &str =
    "  firesteel simulate fixtures/traces/synthetic --policy 'spark,expr:left.cores + 8 * left.gpu'
  firesteel simulate fixtures/traces/synthetic --workers 200x64x256g --load 0.95 --svg waits.svg
  firesteel simulate fixtures/traces/synthetic --static-fill --seeds 5
  firesteel simulate fixtures/traces/synthetic --fewest-workers --load 0.5
  firesteel simulate --from recovery-7077 --policy spark,best-fit --order shortest";

const NOTES: &str = "\
Starts no process: the real Master decides in virtual time, its Workers answer at once, and executors run as long as \
their application does. TRACE is a directory with workers.csv and applications.csv (see fixtures/traces/README.md in \
Firesteel's repository), or with nodes.csv and pods.csv in the format of Alibaba's GPU trace of 2023. The same \
arguments give the same results on every machine, except for the scheduler's timing.";

const DETAILS: &str = "\
Applications that can never have all their executors are left out. The load is the sum of the applications' \
dominant shares: for each application, the largest share that it requests of any one resource. At load 1 they request the \
whole cluster. If no Worker has \
a GPU, requests for GPUs are dropped.

With --from, the cluster is that of a Master: its Workers, the executors that they run, and its applications, as of the last \
write to the journal in DIR (spark.deploy.recoveryDirectory, or zookeeper://HOST:PORT/spark). Each policy makes one scheduling \
pass over it, and the outcome is shown as by firesteel plan; with --anew the pass places what runs, too. The journal is only read: its Master may run. It does not have \
the Master's settings, so give those that differ from the defaults: --order, --queues, --reservations, --preemption. In JSON, schema is incremented on incompatible changes.";

const CODES: &str =
    "Exit codes: 0 done; 1 failed; 2 wrong usage, or a line of the trace that cannot be used.";

/// The options that have a meaning only for traces.
const OF_TRACES: [&str; 13] = [
    "trace",
    "seeds",
    "load",
    "applications",
    "workers",
    "longest",
    "gangs",
    "estimates",
    "gang_patience",
    "worker_failures",
    "csv",
    "static_fill",
    "fewest_workers",
];

/// The options of `firesteel simulate`: what is replayed, and how the outcome is shown.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = help::short("simulate", EXAMPLES),
    after_long_help = long_help()
)]
pub(in crate::cli) struct Args {
    /// Directory with the trace
    #[arg(value_name = "TRACE", value_hint = ValueHint::DirPath, required_unless_present = "from")]
    trace: Option<PathBuf>,
    /// Start from a Master's recovery directory instead: where would its waiting applications get executors?
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with_all = OF_TRACES)]
    from: Option<PathBuf>,
    /// With --from, place all executors anew, as if none ran yet
    #[arg(long, requires = "from", hide_short_help = true)]
    anew: bool,
    /// Policies to compare; expr:EXPRESSION is one, too [default: all]
    #[arg(long, visible_alias = "placement-policy", value_name = "NAME,NAME", value_parser = SetupsParser)]
    policy: Vec<Setups>,
    /// Number of runs, with the seeds 1, 2 and so on, each with another order of Workers and other samples
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    /// Sample the trace to this load, such as 0.95 or 95%; at 1, applications request the whole cluster
    #[arg(long, value_name = "PART", value_parser = load)]
    load: Option<f64>,
    /// Number of applications to sample [default: as many as the trace has]
    #[arg(long, hide_short_help = true, value_name = "N", requires = "load", conflicts_with_all = ["static_fill", "fewest_workers"])]
    applications: Option<usize>,
    /// Use these Workers instead of the trace's: 200x64x256g is 200 with 64 cores and 256 GiB, 4x96x1tx8 has 8 GPUs
    /// each
    #[arg(long, value_name = "COUNTxCORESxMEMORY[xGPUS]", value_parser = source::workers)]
    workers: Option<Workers>,
    /// Limit the run time of each application, such as 1h
    #[arg(long, hide_short_help = true, value_name = "DURATION", value_parser = duration)]
    longest: Option<Duration>,
    /// How applications that need several executors at once get them
    #[arg(long, value_enum, default_value_t = GangsArg::Retry)]
    gangs: GangsArg,
    /// Maximum number of waiting gangs with reserved room (firesteel.master.reservations)
    #[arg(long, hide_short_help = true, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    reservations: u32,
    /// What applications say about how long they run (FIRESTEEL_RUN_TIME)
    #[arg(long, hide_short_help = true, value_enum, default_value_t = EstimatesArg::Trace)]
    estimates: EstimatesArg,
    /// Order of applications with the same queue and priority (firesteel.master.order)
    #[arg(long, hide_short_help = true, value_enum, default_value_t = OrderArg::Registration)]
    order: OrderArg,
    /// Weights of the queues 0, 1 and so on that the trace's column queue names; with --from prod=3,dev=1 [default: one
    /// queue]
    #[arg(long, hide_short_help = true, value_name = "WEIGHT,WEIGHT", value_parser = queues)]
    queues: Option<Queues>,
    /// Maximum number of lower-priority executors to end for one application per minute (firesteel.master.preemption)
    #[arg(long, hide_short_help = true, value_name = "N", default_value_t = 0)]
    preemption: u32,
    /// How long a gang waits before --preemption may also end executors that were launched after the gang arrived
    /// (firesteel.master.preemption.gangPatience)
    #[arg(long, hide_short_help = true, value_name = "DURATION", value_parser = duration, requires = "preemption")]
    gang_patience: Option<Duration>,
    /// Also end executors that were launched at most this long before the gang came
    /// (firesteel.master.preemption.gangReach)
    #[arg(long, hide_short_help = true, value_name = "DURATION", default_value = "0s", value_parser = duration, requires = "gang_patience")]
    gang_reach: Duration,
    /// Let each Worker fail at random after this time on average, such as 30d, for ten minutes [default: none fails]
    #[arg(long, hide_short_help = true, value_name = "DURATION", value_parser = duration, conflicts_with_all = ["static_fill", "fewest_workers"])]
    worker_failures: Option<Duration>,
    /// Write a line for each application, policy and seed into FILE, as comma-separated values
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["static_fill", "fewest_workers"])]
    csv: Option<PathBuf>,
    /// Fill the cluster with applications that never end, until together they request --load of its resources [default
    /// load: 1]
    #[arg(long, conflicts_with_all = ["gangs", "longest"])]
    static_fill: bool,
    /// Find the smallest number of Workers on which applications that request --load of the cluster fit [default load:
    /// 0.5]
    #[arg(long, conflicts_with_all = ["gangs", "longest", "static_fill"])]
    fewest_workers: bool,
    /// Print one JSON value instead of tables
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pictures: PictureFile,
}

impl Args {
    fn policies(&self) -> Vec<Setup> {
        let named: Vec<Setup> = self.policy.iter().flat_map(|Setups(setups)| setups).cloned().collect();
        if named.is_empty() { Setup::ALL.to_vec() } else { named }
    }

    fn preemption(&self) -> Preemption {
        match self.preemption {
            0 => Preemption::Off,
            executors => Preemption::AtMost { executors, every: Duration::from_secs(60) },
        }
    }
}

/// The help below the options, with the meaning of every column.
fn long_help() -> String {
    let columns = [
        format!("Columns of a replay:\n{}", text::REPLAY_COLUMNS),
        format!("Columns with --static-fill:\n{}", text::FILL_COLUMNS),
        format!("Columns with --fewest-workers:\n{}", text::COMPACTION_COLUMNS),
    ];
    format!("{NOTES}\n\n{EXAMPLES}\n\n{}\n\n{DETAILS}\n\n{CODES}", columns.join("\n\n"))
}

/// A number of equal Workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Workers {
    count: usize,
    size: Size,
}

/// How gangs get their executors, as an option. See [`Gangs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum GangsArg {
    /// Release a partial gang and try again when an application ends
    Retry,
    /// Keep a partial gang and wait for the rest, as in Spark
    Keep,
    /// Reserve room for the first waiting gang, as the Master does
    Reserve,
}

impl GangsArg {
    fn gangs(self) -> Gangs {
        match self {
            Self::Retry => Gangs::Retry,
            Self::Keep => Gangs::Keep,
            Self::Reserve => Gangs::Reserve,
        }
    }
}

/// The quality of estimates, as an option. See [`Estimates`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum EstimatesArg {
    /// The estimates in the trace's column run_time_s, if there are any
    Trace,
    /// No estimates
    None,
    /// Exact run times
    Exact,
    /// Twice the run time
    #[value(name = "2x")]
    Double,
    /// From a third to three times the run time, at random
    Noisy,
    /// For half of the applications, the run time of another one
    HalfWrong,
}

impl EstimatesArg {
    fn estimates(self) -> Estimates {
        match self {
            Self::Trace => Estimates::Trace,
            Self::None => Estimates::None,
            Self::Exact => Estimates::Exact,
            Self::Double => Estimates::Double,
            Self::Noisy => Estimates::Noisy,
            Self::HalfWrong => Estimates::HalfWrong,
        }
    }
}

/// The order of serving, as an option. See [`ServingOrder`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OrderArg {
    /// In the order of registration
    Registration,
    /// Less work first, gangs first
    Shortest,
}

impl OrderArg {
    fn order(self) -> ServingOrder {
        match self {
            Self::Registration => ServingOrder::Registration,
            Self::Shortest => ServingOrder::Shortest,
        }
    }
}

/// Parses the weights of queues. Weights alone belong to the queues q0, q1 and so on. Names are written as for a
/// Master: `prod=3,dev=1`.
fn queues(weights: &str) -> Result<Queues, String> {
    if weights.contains('=') {
        return weights
            .parse()
            .map_err(|error| format!("{error}: write names with weights such as prod=3,dev=1"));
    }
    let named: Vec<String> =
        weights.split(',').enumerate().map(|(number, weight)| format!("q{number}={weight}")).collect();
    named.join(",").parse().map_err(|error| format!("{error}: write weights such as 3,1"))
}

/// The maximum load that is accepted: ten times the cluster.
const MOST_LOAD: f64 = 10.0;

/// Parses a load, given as a factor or, with a percent sign, as a percentage.
fn load(text: &str) -> Result<f64, String> {
    let (number, unit) = match text.strip_suffix('%') {
        Some(percent) => (percent.trim_end(), 100.0),
        None => (text, 1.0),
    };
    let load = number.parse().map(|number: f64| number / unit);
    match load {
        Ok(load) if (0.01..=MOST_LOAD).contains(&load) => Ok(load),
        Ok(load) if unit == 1.0 && load > MOST_LOAD && load <= MOST_LOAD * 100.0 => Err(format!(
            "the load is a factor of at most {MOST_LOAD}: for {load} % write {} or {load}%",
            load / 100.0
        )),
        Ok(_) | Err(_) => Err(format!("the load is a factor from 0.01 to {MOST_LOAD}: 0.95 or 95% is 95 %")),
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    use firesteel_settings::duration::{EXPECTED, Unit, parse};
    parse(text, Unit::Seconds).ok_or_else(|| format!("write {EXPECTED}"))
}

/// Replays the trace and shows the outcome.
pub(in crate::cli) fn run(args: &Args) -> Result<Exit, Failure> {
    if let Some(directory) = &args.from {
        return from::run(args, directory);
    }
    let trace = args.trace.as_deref().expect("clap requires a trace without --from");
    let source = source::read(trace)?;
    let report = runs::run(args, trace, &source)?;
    args.pictures.save(|| picture::draw(&report))?;
    if let Some(path) = &args.csv {
        exit::saved(path, csv::rows(&report))?;
    }
    exit::written(if args.json {
        plain::json().write_all(document::json(&report).as_bytes())
    } else {
        plain::stdout().write_all(text::tables(&report).as_bytes())
    })
}

#[cfg(test)]
mod tests {
    use super::load;

    #[test]
    fn a_load_is_a_factor_or_has_a_percent_sign() {
        for (text, expected) in
            [("0.95", 0.95), ("1", 1.0), ("95%", 0.95), ("95 %", 0.95), ("10", 10.0), ("250%", 2.5)]
        {
            assert_eq!(load(text), Ok(expected), "{text}");
        }
        let percent = "the load is a factor of at most 10: for 95 % write 0.95 or 95%";
        assert_eq!(load("95"), Err(percent.to_owned()));
        for text in ["", "%", "0", "0%", "-1", "nan", "inf", "1e9", "2000%", "half"] {
            let error = load(text).expect_err(text);
            assert!(error.starts_with("the load is a factor from 0.01 to 10: "), "{error}");
        }
    }
}
