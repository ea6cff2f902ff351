//! `firesteel plan`: what a Master would decide, without starting anything.

mod bars;
mod compare;
mod document;
mod lines;
mod picture;
mod source;
mod text;
mod why;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args as ClapArgs, ValueHint};
use firesteel_core::master::Config;
use firesteel_core::messages::Deciding;
use firesteel_sim::draft::{Draft, Metrics, Outcome};
use firesteel_sim::setup::Setup;

use super::exit::{self, Exit, Failure};
use super::submit::Submit;

/// Where the questions are, and how answers are shown.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Nothing is started: a Master is given the cluster and its applications, and what it decides is shown: who would get how \
many executors, where, and what is in the way of more. CLUSTER is a file in TOML with [[workers]] and [[applications]]; \
fixtures/plan/README.md in Firesteel's repository has every field. The options of an application add one, the last. \
Without CLUSTER a running Master (--master) is asked what it has and who waits for what, and the question is what an \
application of these options would be given if it were submitted now. local-cluster[..] is a cluster \
of that size with nothing on it.

  [[workers]]
  count = 4
  cores = 16
  memory = \"64g\"
  [[applications]]
  name = \"sums\"
  max-cores = 24
  executor-cores = 6

  firesteel plan cluster.toml
  firesteel plan cluster.toml --compare spark,spark-consolidate --svg plan.svg
  firesteel plan --master spark://node-1:7077 --total-executor-cores 64 --executor-cores 8
  firesteel plan --master 'local-cluster[4,16,65536]' --executor-cores 6

In a Worker's bar each sign is a core (of large Workers, several): the letter of the application that has it, in lower \
case if it had it before, or a dot. JSON has a field schema, which rises when a field goes or changes its meaning.

With --jsonl each line of FILE is a question in JSON, either one placement call (one application over workers in a given \
order) or one scheduling pass (applications over workers, first in, first out); each answer is a line, \
{\"i\":..,\"assigned_cores\":[..]} or {\"i\":..,\"launches\":[..],\"apps_after\":[..]}. fixtures/placement/README.md describes the \
formats. The answers before a line that cannot be used stand.

  zcat fixtures/placement/schedule-a.jsonl.gz | firesteel plan --jsonl -

Exit codes: 0 done; 1 failed; 2 wrong usage, or a file or line that cannot be used; 69 no Master could be reached; \
78 a file or variable with settings is wrong.")]
pub(super) struct Args {
    /// A cluster and its applications, in TOML; - is standard input. Without it the Master is asked
    #[arg(value_name = "CLUSTER", value_hint = ValueHint::FilePath)]
    cluster: Option<PathBuf>,
    /// Decide as a Master of this set-up would; otherwise as Spark's default, or as the Master that is asked
    #[arg(long, value_name = "NAME", value_parser = setups())]
    policy: Option<Setup>,
    /// Hold these set-ups against each other, in numbers
    #[arg(
        long,
        value_name = "NAME,NAME",
        value_delimiter = ',',
        value_parser = setups(),
        conflicts_with = "policy"
    )]
    compare: Vec<Setup>,
    /// Print one JSON value instead of tables
    #[arg(long)]
    json: bool,
    /// Draw a picture into this file: Workers as bars, before and after
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    svg: Option<PathBuf>,
    /// Answer questions as lines of JSON instead; - is standard input
    #[arg(
        long,
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        conflicts_with_all = ["cluster", "policy", "compare", "json", "svg"]
    )]
    jsonl: Option<PathBuf>,
    #[command(flatten)]
    submit: Submit,
}

/// The names of set-ups, each with its meaning.
fn setups() -> impl TypedValueParser<Value = Setup> {
    let values = Setup::ALL.map(|setup| PossibleValue::new(setup.name()).help(setup.meaning()));
    PossibleValuesParser::new(values)
        .map(|name| name.parse().expect("the parser takes names of set-ups only"))
}

/// What one set-up of a Master makes of the draft.
struct Decided {
    /// Its name.
    name: String,
    /// What it does, in half a sentence.
    meaning: String,
    outcome: Outcome,
    metrics: Metrics,
}

/// Decides and shows it.
pub(super) fn run(args: &Args) -> Result<Exit, Failure> {
    if let Some(questions) = &args.jsonl {
        if args.submit != Submit::default() {
            let words = "--jsonl has its applications in the lines: leave the options of an application out";
            return Err(Failure::of(Exit::Usage, words));
        }
        return lines::run(questions);
    }
    let source = source::read(args.cluster.as_deref(), &args.submit)?;
    let decided = match (&args.compare[..], args.policy) {
        ([], Some(setup)) => vec![decide(&source.draft, setup)?],
        ([], None) => vec![match &source.deciding {
            Some(deciding) => as_the_master(&source, deciding)?,
            None => decide(&source.draft, Setup::default())?,
        }],
        (setups, _) => setups.iter().map(|setup| decide(&source.draft, *setup)).collect::<Result<_, _>>()?,
    };
    if let Some(path) = &args.svg {
        save(path, &picture::draw(&source, &decided))?;
    }
    exit::written(print(args, &source, &decided))
}

fn print(args: &Args, source: &source::Source, decided: &[Decided]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match (decided, args.json) {
        (_, true) => {
            serde_json::to_writer_pretty(&mut stdout, &document::Plans::of(&source.draft, decided))?;
            writeln!(stdout)?;
        }
        ([one], false) => write!(stdout, "{}", text::text(source, one))?,
        (several, false) => write!(stdout, "{}", compare::text(source, several))?,
    }
    stdout.flush()
}

fn decide(draft: &Draft, setup: Setup) -> Result<Decided, Failure> {
    let outcome = outcome(draft, setup.config(Config::default()))?;
    let metrics = Metrics::of(draft, &outcome);
    Ok(Decided { name: setup.name().to_owned(), meaning: setup.meaning().to_owned(), outcome, metrics })
}

/// As the Master that was asked decides.
fn as_the_master(source: &source::Source, deciding: &Deciding) -> Result<Decided, Failure> {
    let Deciding { policy, strategy, worker_order, .. } = *deciding;
    let config = Config { policy, strategy, worker_order, ..Config::default() };
    let same = |setup: &Setup| setup.config(Config::default()) == config;
    let meaning = match Setup::ALL.into_iter().find(same) {
        Some(setup) => format!("{setup}: {}", setup.meaning()),
        None => format!("{policy}, {strategy:?}, {worker_order}"),
    };
    let outcome = outcome(&source.draft, config)?;
    let metrics = Metrics::of(&source.draft, &outcome);
    Ok(Decided { name: "the Master's own".to_owned(), meaning, outcome, metrics })
}

fn outcome(draft: &Draft, config: Config) -> Result<Outcome, Failure> {
    draft.decide(config).map_err(|error| Failure::of(Exit::Failure, format!("cannot plan: {error}")))
}

fn save(path: &Path, picture: &str) -> Result<(), Failure> {
    std::fs::write(path, picture)
        .map_err(|error| Failure::of(Exit::Failure, format!("cannot write {}: {error}", path.display())))
}
