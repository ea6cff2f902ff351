//! `firesteel explain`: explains why an application has no more executors.

use firesteel_host::plain;
use std::io::{self, Write as _};

use clap::Args as ClapArgs;
use firesteel_daemons::wording::application::state;
use firesteel_daemons::wording::explanation::{expected_start, late_workers, sentences};
use firesteel_placement::advanced::words::counted;
use firesteel_protocol::Timestamp;
use firesteel_protocol::messages::{ApplicationDetail, DriverRestarts, DriverView, Outcome};
use serde::Serialize;

use super::ask::{self, App, Masters};
use super::document;
use crate::cli::exit::{self, Exit, Failure};
use crate::cli::help;
use crate::cli::table::clean;

const SCHEMA: u32 = 4;

const EXAMPLES: &str = "  firesteel explain app-20261120212235-0000
  firesteel explain nightly-sums --json
  firesteel explain driver-20261120212235-0000";

const NOTES: &str = "\
Explains what the application asked for and what it has; why it does not have more: its own maximum, its driver's \
target, Workers that are too small or excluded, other applications that hold the cores, a pause after failures; how many Workers \
were rejected for which reason; what exactly the next executor needs; whether it can ever fit; what to ask for to \
get more at once; and when it is expected to start, if room is reserved for it and what runs says how long it runs. For an application that is over, it says how it ended.

The JSON value has the sentences, and in scheduling the numbers behind them; expected_start_ms is null if no start is known. schema is incremented on incompatible \
changes. docs/JSON.md says what each name means.";

const CODES: &str = "\
Exit codes: 0 done; 1 failed, or the application is not known; 2 wrong usage; 69 no Master could be reached; \
75 a Master did not answer in time or in full; 76 what listens there is no Master of this version; \
78 a settings file or variable is wrong.";

/// The options of `firesteel explain`: which application is explained.
#[derive(Debug, ClapArgs)]
#[command(after_help = help::short("explain", EXAMPLES), after_long_help = format!("{NOTES}\n\n{EXAMPLES}\n\n{CODES}"))]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    app: App,
    #[command(flatten)]
    masters: Masters,
    /// Print one JSON value
    #[arg(long)]
    json: bool,
}

/// The JSON value. `schema` is incremented on incompatible changes.
#[derive(Serialize)]
struct Explanation<'a> {
    schema: u32,
    master: &'a str,
    id: &'a str,
    name: &'a str,
    state: &'a str,
    outcome: Option<&'static str>,
    outcome_words: Option<&'a str>,
    sentences: &'a [String],
    /// When the application is expected to start. Present if resources are reserved for it and the time is known.
    expected_start_ms: Option<u64>,
    scheduling: Option<document::Scheduling<'a>>,
}

/// Asks for the application and explains its state.
pub(in crate::cli) fn run(args: &Args) -> Result<Exit, Failure> {
    let cluster = args.masters.cluster("explain")?;
    if let Some(view) = ask::driver_named(&cluster, &args.app.app)? {
        return exit::written(explain_driver(&view, args.json));
    }
    let detail = ask::detail(&cluster, &args.app.app)?;
    let mut sentences = sentences(&detail);
    sentences.extend(expected_start(&detail));
    sentences.extend(late_workers(&detail));
    exit::written(if args.json { print_json(&detail, &sentences) } else { print(&sentences) })
}

#[derive(Serialize)]
struct DriverExplanation<'a> {
    schema: u32,
    id: &'a str,
    state: &'a str,
    sentences: &'a [String],
}

/// Prints why a cluster driver waits, or how often it was restarted.
fn explain_driver(view: &DriverView, json: bool) -> io::Result<()> {
    let mut sentences = vec![format!("{} is {}, submitted at {}.", view.id, view.state, view.submitted)];
    sentences.extend(view.wait.as_ref().map(|wait| format!("It waits: {wait}.")));
    if let Some(DriverRestarts { restarts, last, until }) = view.restarts {
        let next = until.map(|until| format!("; the next start is at {until}")).unwrap_or_default();
        let times = counted(restarts, "time");
        sentences.push(format!("It was started again {times}; its process ended last with {last}{next}."));
    }
    if !json {
        return print(&sentences);
    }
    let (id, state) = (view.id.as_str(), view.state.name());
    let mut stdout = plain::json();
    let explanation = DriverExplanation { schema: SCHEMA, id, state, sentences: &sentences };
    serde_json::to_writer_pretty(&mut stdout, &explanation)?;
    writeln!(stdout)
}

fn print(sentences: &[String]) -> io::Result<()> {
    let mut stdout = plain::stdout();
    sentences.iter().try_for_each(|sentence| writeln!(stdout, "{}", clean(sentence)))?;
    stdout.flush()
}

fn print_json(detail: &ApplicationDetail, sentences: &[String]) -> io::Result<()> {
    let mut stdout = plain::json();
    let expected = detail.scheduling.as_ref().and_then(|scheduling| scheduling.expected_start);
    let explanation = Explanation {
        schema: SCHEMA,
        master: &detail.master,
        id: detail.application.id.as_str(),
        name: &detail.application.name,
        state: state(detail.application.state),
        outcome: detail.application.outcome.as_ref().map(Outcome::word),
        outcome_words: detail.application.outcome.as_ref().and_then(Outcome::words),
        sentences,
        expected_start_ms: expected.map(Timestamp::millis),
        scheduling: detail.scheduling.as_ref().map(document::Scheduling::of),
    };
    serde_json::to_writer_pretty(&mut stdout, &explanation)?;
    writeln!(stdout)
}
