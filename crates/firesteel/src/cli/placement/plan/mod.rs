//! `firesteel plan`: shows what a Master would decide, without starting anything.

mod bars;
mod compare;
mod document;
mod lines;
mod picture;
mod source;
mod text;
mod why;

use firesteel_host::plain;
use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueHint};
use firesteel_master::{Config, SnapshotError};
use firesteel_placement::Rule;
use firesteel_protocol::ids::AppId;
use firesteel_protocol::scheduling::SchedulingSettings;
use firesteel_sim::draft::{Draft, Metrics, Outcome};
use firesteel_sim::setup::Setup;

use super::picture_file::PictureFile;
use super::setups::{SetupParser, Setups, SetupsParser};
use crate::cli::exit::{self, Exit, Failure};
use crate::cli::help;
use crate::cli::submission::submit::Submit;

const EXAMPLES: &str = "  firesteel plan cluster.toml
  firesteel plan cluster.toml --compare spark,spark-consolidate --svg plan.svg
  firesteel plan cluster.toml --compare 'best-fit,expr:max(left.cores, left.memory / 4096)'
  firesteel plan --master spark://node-1:7077 --total-executor-cores 64 --executor-cores 8
  firesteel plan --master 'local-cluster[4,16,65536]' --executor-cores 6";

const HELP: &str = "\
Shows how a Master would place executors, and why an application would not get more. Starts nothing. CLUSTER is a TOML file with [[workers]] and [[applications]]; \
fixtures/plan/README.md in Firesteel's repository lists every field. Options such as --executor-cores add one more application, which is served last. \
Without CLUSTER, the plan starts from what a running Master (--master) has now, and uses its settings, such as \
firesteel.master.order: it shows what an application with these options would get if it were submitted now. Workers that do not \
serve all applications, such as one that is being decommissioned, then have their state beside them. local-cluster[..] is an empty cluster of that size.

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

Each character of a Worker's bar is one core (on large Workers, several). An upper-case letter: this application gets the \
core in the plan. A lower-case letter: it has the core already. An equals sign: a cluster driver has it. A dot: it is free. After Z come Greek and Cyrillic letters; all applications \
after the 48th share #. In JSON, schema is incremented on incompatible changes.

An application has less than requested if its own maximum of cores and its limit of executors allow more executors. It \
waits for them. Stranded capacity is free, and a waiting application requests it, but its Worker has no room for an \
executor of any such application.

With --jsonl each line of FILE is a question in JSON: either one placement call (one application over Workers in a given \
order) or one scheduling pass (applications over Workers, first in, first out). Each answer is a line: \
{\"i\":..,\"assigned_cores\":[..]} or {\"i\":..,\"launches\":[..],\"apps_after\":[..]}. fixtures/conformance/README.md describes \
the formats. If a line cannot be used, the answers before it have been printed.

  zcat fixtures/conformance/passes.jsonl.gz | firesteel plan --jsonl -

Exit codes: 0 done; 1 failed; 2 wrong usage, or a file or line that cannot be used; 69 no Master could be reached; \
75 a Master did not answer in time or in full; 76 what listens there is no Master of this version; \
78 a settings file or variable is wrong.";

/// The options of `firesteel plan`: what is planned, and how the plan is shown.
#[derive(Debug, ClapArgs)]
#[command(after_help = help::short("plan", EXAMPLES), after_long_help = HELP)]
pub(in crate::cli) struct Args {
    /// TOML file with a cluster and its applications; - is standard input [default: ask the Master]
    #[arg(value_name = "CLUSTER", value_hint = ValueHint::FilePath)]
    cluster: Option<PathBuf>,
    /// Policy of the Master, or expr:EXPRESSION [default: spark, or that of the Master that is asked]
    #[arg(long, value_name = "NAME", value_parser = SetupParser)]
    policy: Option<Setup>,
    /// Compare these policies in a table of numbers
    #[arg(
        long,
        value_name = "NAME,NAME",
        value_parser = SetupsParser,
        conflicts_with = "policy"
    )]
    compare: Vec<Setups>,
    /// Print one JSON value instead of tables
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pictures: PictureFile,
    /// Answer the questions in FILE, one JSON value per line; - is standard input
    #[arg(
        long,
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        hide_short_help = true,
        conflicts_with_all = ["cluster", "policy", "compare", "json", "svg"]
    )]
    jsonl: Option<PathBuf>,
    #[command(flatten)]
    submit: Submit,
}

/// The decisions of a Master with one set-up about the draft.
struct Decided {
    name: String,
    /// A phrase that says how the set-up decides.
    meaning: String,
    outcome: Outcome,
    metrics: Metrics,
}

pub(in crate::cli) fn run(args: &Args) -> Result<Exit, Failure> {
    if let Some(questions) = &args.jsonl {
        if args.submit != Submit::default() {
            let words = "--jsonl reads applications from its lines: leave out the options of an application";
            return Err(Failure::of(Exit::Usage, words));
        }
        return lines::run(questions);
    }
    let source = source::read(args.cluster.as_deref(), &args.submit)?;
    let compared: Vec<&Setup> = args.compare.iter().flat_map(|Setups(setups)| setups).collect();
    let decided = match (&compared[..], &args.policy) {
        ([], Some(setup)) => vec![decide(&source.draft, setup)?],
        ([], None) => vec![match &source.asked {
            Some(asked) => as_the_master(&source, &asked.rule)?,
            None => decide(&source.draft, &Setup::default())?,
        }],
        (setups, _) => setups.iter().map(|setup| decide(&source.draft, setup)).collect::<Result<_, _>>()?,
    };
    show(&source, &decided, args.json, &args.pictures)
}

/// Decides the placement of a draft with each of these set-ups, and shows the plans.
pub(super) fn compare(
    name: String,
    draft: Draft,
    setups: &[Setup],
    json: bool,
    pictures: &PictureFile,
) -> Result<Exit, Failure> {
    let decided: Vec<Decided> = setups.iter().map(|setup| decide(&draft, setup)).collect::<Result<_, _>>()?;
    show(&source::Source { name, draft, asked: None }, &decided, json, pictures)
}

fn show(
    source: &source::Source,
    decided: &[Decided],
    json: bool,
    pictures: &PictureFile,
) -> Result<Exit, Failure> {
    pictures.save(|| picture::draw(source, decided))?;
    exit::written(print(json, source, decided))
}

fn print(json: bool, source: &source::Source, decided: &[Decided]) -> io::Result<()> {
    if json {
        let mut stdout = plain::json();
        serde_json::to_writer_pretty(&mut stdout, &document::Plans::of(&source.draft, decided))?;
        return writeln!(stdout);
    }
    let mut stdout = plain::stdout();
    match decided {
        [one] => write!(stdout, "{}", text::text(source, one))?,
        several => write!(stdout, "{}", compare::text(source, several))?,
    }
    stdout.flush()
}

fn decide(draft: &Draft, setup: &Setup) -> Result<Decided, Failure> {
    let outcome = outcome(draft, setup.config(Config::default()))?;
    let metrics = Metrics::of(&outcome);
    Ok(Decided { name: setup.name().into_owned(), meaning: setup.meaning().to_owned(), outcome, metrics })
}

/// Decides the placement with the settings of the running Master.
fn as_the_master(source: &source::Source, rule: &Rule) -> Result<Decided, Failure> {
    if let Rule::Expression(expression) = rule {
        return decide(&source.draft, &Setup::Expression(expression.clone()));
    }
    let SchedulingSettings { strategy, worker_order, .. } = source.draft.scheduling;
    let config = Config { rule: rule.clone(), strategy, worker_order, ..Config::default() };
    let same = |setup: &Setup| setup.config(Config::default()) == config;
    let (name, meaning) = match Setup::ALL.into_iter().find(same) {
        Some(setup) => (setup.name().into_owned(), setup.meaning().to_owned()),
        None => ("of the Master".to_owned(), format!("{rule}, {strategy:?}, {worker_order}")),
    };
    let outcome = outcome(&source.draft, config)?;
    let metrics = Metrics::of(&outcome);
    Ok(Decided { name, meaning, outcome, metrics })
}

fn outcome(draft: &Draft, config: Config) -> Result<Outcome, Failure> {
    let named = |app: &AppId| Some(draft.applications.get(app.as_str().parse::<usize>().ok()?)?.name());
    draft.decide(config).map_err(|error| {
        // Ids of a draft are only indices.
        let why = match &error {
            SnapshotError::Queue { app, error } => {
                format!("application {}: {error}", named(app).unwrap_or(app.as_str()))
            }
            SnapshotError::WorkerTwice { .. }
            | SnapshotError::ApplicationTwice { .. }
            | SnapshotError::Driver { .. }
            | SnapshotError::Executor { .. } => error.to_string(),
        };
        Failure::of(Exit::Failure, format!("cannot plan: {why}"))
    })
}
