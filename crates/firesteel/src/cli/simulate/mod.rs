//! `firesteel simulate`: a trace is replayed through Masters of several set-ups.

mod document;
mod figures;
mod picture;
mod runs;
mod source;
mod text;

use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args as ClapArgs, ValueEnum, ValueHint};
use firesteel_sim::replay::{Gangs, Size};
use firesteel_sim::setup::Setup;

use super::exit::{self, Exit, Failure};

/// What is replayed, and how it is shown.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Nothing is started: the trace's applications come to a Master, its Workers answer at once, executors run for as long as \
their application does, and time is a number. TRACE is a directory with workers.csv and applications.csv \
(fixtures/traces/README.md in Firesteel's repository describes them), or with nodes.csv and pods.csv, as Alibaba \
published its GPU trace of 2023. The same words give the same numbers on every machine, but for the Master's time.

  firesteel simulate fixtures/traces/synthetic --policy spark,cores-ascending
  firesteel simulate fixtures/traces/synthetic --workers 200x64x256g --load 0.95 --seeds 5 --longest 1h --svg waits.svg
  firesteel simulate fixtures/traces/synthetic --static-fill --seeds 5
  firesteel simulate fixtures/traces/synthetic --fewest-workers --load 0.5

WAIT is the time from an application's arrival until it can run: with one executor, or with its whole gang. USED is the part \
of the cluster that executors held while applications came, STRANDED what was free and of no use to the next executor, \
FAIR Jain's index of the parts of their time that applications ran. Applications that could never have all their \
executors are left out. Load 1 asks for the whole cluster, each application counted by its dominant share. Where no Worker \
has a GPU, nobody asks for one. JSON has a field schema, which rises when a field goes or changes its meaning.

Exit codes: 0 done; 1 failed; 2 wrong usage, or a line that cannot be used.")]
pub(super) struct Args {
    /// A directory with a trace
    #[arg(value_name = "TRACE", value_hint = ValueHint::DirPath)]
    trace: PathBuf,
    /// Set-ups of a Master to hold against each other; all of them if it is left out
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',', value_parser = setups())]
    policy: Vec<Setup>,
    /// From so many seeds, 1, 2, ...: each is another order of Workers, and of what is drawn by lot
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    /// Draw applications and arrivals by lot, so that so much is asked for; 1 is the whole cluster
    #[arg(long, value_name = "PART", value_parser = load)]
    load: Option<f64>,
    /// Draw so many applications instead of as many as the trace has
    #[arg(long, value_name = "N", requires = "load", conflicts_with_all = ["static_fill", "fewest_workers"])]
    applications: Option<usize>,
    /// Other Workers than the trace's: 200x64x256g is 200 of 64 cores and 256 GiB, 4x96x1tx8 has 8 GPUs each
    #[arg(long, value_name = "COUNTxCORESxMEMORY[xGPUS]", value_parser = source::workers)]
    workers: Option<Workers>,
    /// Let no application run for longer than this
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    longest: Option<Duration>,
    /// How applications that need several executors at once come by them
    #[arg(long, value_enum, default_value_t = GangsArg::Retry)]
    gangs: GangsArg,
    /// Fill the cluster: applications come and none goes, until --load is asked for (all of it, if it is left out)
    #[arg(long, conflicts_with_all = ["gangs", "longest"])]
    static_fill: bool,
    /// Find the fewest Workers that hold requests for --load of the cluster (half of it, if it is left out)
    #[arg(long, conflicts_with_all = ["gangs", "longest", "static_fill"])]
    fewest_workers: bool,
    /// Print one JSON value instead of tables
    #[arg(long)]
    json: bool,
    /// Draw the outcome into this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    svg: Option<PathBuf>,
}

/// Workers that are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Workers {
    count: usize,
    size: Size,
}

/// See [`Gangs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum GangsArg {
    /// Give back what is not all, and try again whenever an application has ended
    Retry,
    /// Keep what there is and wait for the rest, as with Spark
    Keep,
    /// Have the Master keep room for the first that waits, as Masters do for gangs
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

/// The names of set-ups, each with its meaning.
fn setups() -> impl TypedValueParser<Value = Setup> {
    let values = Setup::ALL.map(|setup| PossibleValue::new(setup.name()).help(setup.meaning()));
    PossibleValuesParser::new(values)
        .map(|name| name.parse().expect("the parser takes names of set-ups only"))
}

fn load(text: &str) -> Result<f64, String> {
    let load = text.parse().ok().filter(|load: &f64| (0.01..=100.0).contains(load));
    load.ok_or_else(|| "it is a number from 0.01 to 100; 1 is the whole cluster".to_owned())
}

fn duration(text: &str) -> Result<Duration, String> {
    use firesteel_settings::duration::{EXPECTED, Unit, parse};
    parse(text, Unit::Seconds).ok_or_else(|| format!("it is {EXPECTED}"))
}

/// Replays the trace and shows what came of it.
pub(super) fn run(args: &Args) -> Result<Exit, Failure> {
    let source = source::read(&args.trace)?;
    let setups = if args.policy.is_empty() { Setup::ALL.to_vec() } else { args.policy.clone() };
    let report = runs::run(args, &source, &setups)?;
    if let Some(path) = &args.svg {
        let unwritten =
            |error| Failure::of(Exit::Failure, format!("cannot write {}: {error}", path.display()));
        fs::write(path, picture::draw(&report)).map_err(unwritten)?;
    }
    let shown = if args.json { document::json(&report) } else { text::tables(&report) };
    exit::written(io::stdout().lock().write_all(shown.as_bytes()))
}
