//! `firesteel attach`: shows the output of an application that was started with `--detach`, or lists these
//! applications.

use std::io::{self, Write as _};
use std::time::Duration;

use clap::Args as ClapArgs;
use firesteel_apps::detached::follow::follow;
use firesteel_apps::detached::{DetachedRun, RunState};
use firesteel_host::plain;
use firesteel_host::progress::{Progress, Show};
use firesteel_host::signals::EndRequests;
use firesteel_host::standard;
use firesteel_protocol::Timestamp;
use firesteel_protocol::ids::AppId;
use serde::Serialize;

use super::client::ask;
use super::client::document;
use super::exit::{self, Exit, Failure};
use super::table::table;
use super::{block_on, detach, help};

const EXAMPLES: &str = "  firesteel attach                             list detached applications
  firesteel attach app-20261126090000-0000     show the output, until the application ends
  firesteel attach nightly-sums                the same, by its name";

const NOTES: &str = "\
firesteel map --detach and firesteel launch --detach print the application's id and return; their driver goes on without a \
terminal. Without APP, attach lists the applications that this user detached on this machine. With APP, it shows what the \
driver has written to standard output and standard error from the beginning, and goes on until the driver ends. Ctrl-c \
leaves the application running; firesteel kill APP ends it. Several commands may show the same application.

Their output is in firesteel/detached in $XDG_STATE_HOME, or in ~/.local/state. That of the last 100 applications is kept for \
seven days after their start.";

const CODES: &str = "\
Exit codes: with APP, that of the application's own command; 130 left with ctrl-c; 1 no application, or several, with this id or name \
was detached here, its driver was killed, or something else failed; 2 wrong usage.";

/// The options of `firesteel attach`: which application is shown.
#[derive(Debug, ClapArgs)]
#[command(after_help = help::short("attach", EXAMPLES), after_long_help = format!("{NOTES}\n\n{EXAMPLES}\n\n{CODES}"))]
pub(super) struct Args {
    /// Application, by id or name [default: list them]
    #[arg(value_name = "APP")]
    app: Option<String>,
    /// Print the list as JSON
    #[arg(long, conflicts_with = "app")]
    json: bool,
}

/// Shows an application, or lists the detached applications.
pub(super) fn run(args: &Args, show: Show) -> Result<u8, Failure> {
    let runs = detach::runs()?;
    let failed = |error| Failure::with(Exit::Failure, &error);
    match &args.app {
        None => list(&runs.all().map_err(failed)?, args.json).map(Exit::code),
        Some(app) => match &runs.find(app).map_err(failed)?[..] {
            [run] => block_on(attach(app, run.clone(), show))?,
            several @ [_, _, ..] => {
                let ids =
                    several.iter().filter_map(|run| run.apps().pop()).map(AppId::new).collect::<Vec<_>>();
                Err(Failure::of(Exit::Failure, ask::ambiguous(app, &ids)))
            }
            [] => Err(Failure::of(
                Exit::Failure,
                format!(
                    "{app} was not detached by this user on this machine; firesteel attach lists those that were"
                ),
            )),
        },
    }
}

/// Shows the output until the run ends or the user leaves.
async fn attach(app: &str, run: DetachedRun, show: Show) -> Result<u8, Failure> {
    let failed =
        |error: io::Error| Failure::of(Exit::Failure, format!("cannot show the output of {app}: {error}"));
    let mut requests = EndRequests::install().map_err(failed)?;
    let following = tokio::task::spawn_blocking(move || follow(&run, standard::stdout(), standard::stderr()));
    tokio::select! {
        state = following => match state.expect("copying does not panic") {
            Ok(RunState::Ended(code)) => Ok(code),
            Ok(RunState::Killed | RunState::Running) => Err(Failure::of(
                Exit::Failure,
                format!("the driver of {app} was killed, so it left no exit code; the Master ends its executors"),
            )),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Exit::Done.code()),
            Err(error) => Err(failed(error)),
        },
        request = requests.next() => {
            Progress::new(show).remark(format_args!("left {app}, which runs on"));
            Ok(request.exit_code())
        }
    }
}

/// One detached run in the list.
#[derive(Serialize)]
struct Row {
    id: Option<String>,
    name: Option<String>,
    state: &'static str,
    exit_code: Option<u8>,
    started_ms: u64,
    command: String,
}

#[derive(Serialize)]
struct List {
    detached: Vec<Row>,
}

impl Row {
    fn of(run: &DetachedRun) -> Self {
        let (state, exit_code) = match run.state() {
            RunState::Running => ("RUNNING", None),
            RunState::Ended(code) => ("ENDED", Some(code)),
            RunState::Killed => ("KILLED", None),
        };
        let started = run.started().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Self {
            id: run.apps().pop(),
            name: Some(run.name()).filter(|name| !name.is_empty()),
            state,
            exit_code,
            started_ms: u64::try_from(started.as_millis()).unwrap_or(u64::MAX),
            command: run.command(),
        }
    }

    fn cells(self) -> Vec<String> {
        let state = match self.exit_code {
            Some(code) => format!("{}, {code}", self.state),
            None => self.state.to_owned(),
        };
        let started = Timestamp::default() + Duration::from_millis(self.started_ms);
        vec![
            self.id.unwrap_or_default(),
            self.name.unwrap_or_default(),
            state,
            started.to_string(),
            self.command,
        ]
    }
}

fn list(runs: &[DetachedRun], json: bool) -> Result<Exit, Failure> {
    let rows: Vec<Row> = runs.iter().map(Row::of).collect();
    if json {
        let list = List { detached: rows };
        return exit::written(document::print(2, list));
    }
    let rows = rows.into_iter().map(Row::cells).collect();
    exit::written(writeln!(
        plain::stdout(),
        "{}",
        table(&["APP", "NAME", "STATE", "STARTED", "COMMAND"], rows)
    ))
}
