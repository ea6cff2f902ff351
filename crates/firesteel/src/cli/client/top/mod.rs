//! `firesteel top`: a live view of a cluster.
//!
//! Every event (a key, an answer, a signal, a timer) is an [`Input`] in one queue. One loop takes
//! the inputs, changes the [`Model`] and draws it. The model decides, and does no I/O: `draw` and
//! `screen` handle the terminal, and `rows` builds the tables.

mod draw;
mod model;
mod rows;
mod screen;

use firesteel_host::plain;
use std::io::{self, IsTerminal, Write as _};
use std::time::Duration;

use clap::Args as ClapArgs;
use firesteel_host::signals::{EndRequest, EndRequests};
use firesteel_protocol::messages::{ApplicationAnswer, MasterView};
use firesteel_protocol::state_reader::Extent;
use firesteel_settings::duration as setting;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval};

use super::ask::{self, Cluster, Masters};
use super::{kill, status};
use crate::cli::block_on;
use crate::cli::exit::{self, Exit, Failure};
use crate::cli::help;
use firesteel_daemons::wording::explanation;
use model::{Action, Model};
use screen::Screen;

/// Maximum number of queued inputs. This is enough for fast typing on a slow terminal.
const WAITING: usize = 64;

/// Number of executors that the live view asks for, and lists. A Master may have many more executors, and the view asks
/// once per second.
const MOST_EXECUTORS: u64 = 2_000;

const EXAMPLES: &str = "  firesteel top --master spark://10.0.0.1:7077
  firesteel top --interval 5s
  firesteel top --once | head -20";

const NOTES: &str = "\
Keys: tab and the arrows move between tables and rows, s sorts, e explains an application, k kills one after a \
question, ? shows the keys, q quits.

The live view lists the first 2,000 executors and says how many more there are.

If standard output is not a terminal, it prints one snapshot and ends, as with --once.";

const CODES: &str = "\
Exit codes: 0 done; 1 failed; 2 wrong usage; 69 no Master could be reached; 75 a Master did not answer in time or in \
full; 76 what listens there is no Master of this version (69, 75 and 76 with --once only: the live view keeps trying); \
78 a settings file or variable is wrong; 129, 130 and 143 ended by SIGHUP, ctrl-c and SIGTERM.";

/// The options of `firesteel top`: which Masters are asked, and how often the view is updated.
#[derive(Debug, ClapArgs)]
#[command(after_help = help::short("top", EXAMPLES), after_long_help = format!("{NOTES}\n\n{EXAMPLES}\n\n{CODES}"))]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    masters: Masters,
    /// Time between updates, at least 100ms
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = pace)]
    interval: Duration,
    /// Print one snapshot and end
    #[arg(long)]
    once: bool,
}

fn pace(text: &str) -> Result<Duration, String> {
    match setting::parse(text, setting::Unit::Seconds) {
        Some(pace) if (Duration::from_millis(100)..=Duration::from_secs(3600)).contains(&pace) => Ok(pace),
        Some(_) => Err("write a time from 100ms to 1h".to_owned()),
        None => Err(format!("write {}", setting::EXPECTED)),
    }
}

/// An event of the loop.
#[derive(Debug)]
enum Input {
    /// A key press or a new size of the terminal.
    Terminal(Event),
    /// The terminal cannot be read any more.
    TerminalLost(io::Error),
    /// The Master's tables, or the error of the request.
    State(Result<MasterView, String>),
    Explained(Vec<String>),
    /// The result of a request to end an application.
    Killed(String),
    End(EndRequest),
}

/// Shows the cluster until the user leaves. Returns the exit code.
pub(in crate::cli) fn run(args: &Args) -> Result<u8, Failure> {
    let cluster = args.masters.cluster("top")?;
    if args.once || !io::stdout().is_terminal() {
        let view = ask::now(cluster.state(Extent::Whole))?;
        let mut stdout = plain::stdout();
        exit::written(
            writeln!(stdout, "{}", status::tables(&view, status::Length::Short))
                .and_then(|()| stdout.flush()),
        )?;
        return Ok(0);
    }
    block_on(live(cluster, args.interval))?
}

async fn live(cluster: Cluster, pace: Duration) -> Result<u8, Failure> {
    let broken = |error: io::Error| Failure::of(Exit::Failure, format!("cannot use the terminal: {error}"));
    let mut requests = EndRequests::install().map_err(broken)?;
    let (sender, mut inputs) = mpsc::channel(WAITING);
    let mut screen = Screen::enter().map_err(broken)?;
    listen_to_keys(sender.clone());
    poll_state(cluster.clone(), pace, sender.clone());
    let ends = sender.clone();
    tokio::spawn(async move {
        let request = requests.next().await;
        let _ = ends.send(Input::End(request)).await;
    });

    let mut model = Model::new(cluster.names());
    loop {
        screen.draw(&mut model).map_err(broken)?;
        let Some(input) = inputs.recv().await else { return Ok(0) };
        match input {
            Input::Terminal(Event::Key(key)) if key.kind == KeyEventKind::Press => match model.on_key(key) {
                Action::Nothing => {}
                Action::Quit => return Ok(0),
                Action::Interrupt => return Ok(130),
                Action::Explain(app) => explain(cluster.clone(), app, sender.clone()),
                Action::Kill(app) => end_application(cluster.clone(), app, sender.clone()),
            },
            // Also at the same size as before: the terminal may have been smaller in between, and may have lost its
            // contents.
            Input::Terminal(Event::Resize(..)) => screen.resize().map_err(broken)?,
            Input::Terminal(_) => {}
            Input::TerminalLost(error) => return Err(broken(error)),
            Input::State(Ok(view)) => model.on_state(view),
            Input::State(Err(trouble)) => model.on_trouble(trouble),
            Input::Explained(sentences) => model.on_explained(sentences),
            Input::Killed(line) => model.on_message(line),
            Input::End(request) => return Ok(request.exit_code()),
        }
    }
}

/// Starts a thread that reads the terminal. The thread ends with the process.
fn listen_to_keys(inputs: mpsc::Sender<Input>) {
    spawn_blocking(move || {
        loop {
            let input = match event::read() {
                Ok(event) => Input::Terminal(event),
                Err(error) => Input::TerminalLost(error),
            };
            let is_last = matches!(input, Input::TerminalLost(_));
            if inputs.blocking_send(input).is_err() || is_last {
                return;
            }
        }
    });
}

fn poll_state(cluster: Cluster, pace: Duration, inputs: mpsc::Sender<Input>) {
    tokio::spawn(async move {
        let mut ticks = interval(pace);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let state =
                cluster.state(Extent::Executors(MOST_EXECUTORS)).await.map_err(|error| error.to_string());
            if inputs.send(Input::State(state)).await.is_err() {
                return;
            }
        }
    });
}

fn explain(cluster: Cluster, app: String, inputs: mpsc::Sender<Input>) {
    tokio::spawn(async move {
        let sentences = match cluster.application(&app).await {
            Ok(ApplicationAnswer::Known(detail)) => explanation::sentences(&detail),
            Ok(ApplicationAnswer::Unknown) => vec![ask::unknown(&app)],
            Ok(ApplicationAnswer::Ambiguous { apps }) => vec![ask::ambiguous(&app, &apps)],
            Err(error) => vec![error.to_string()],
        };
        let _ = inputs.send(Input::Explained(sentences)).await;
    });
}

fn end_application(cluster: Cluster, app: String, inputs: mpsc::Sender<Input>) {
    tokio::spawn(async move {
        let line = match cluster.kill(&app).await {
            Ok(Ok(answer)) => kill::outcome(&app, &answer).unwrap_or_else(|line| line),
            Ok(Err(why)) => why,
            Err(error) => error.to_string(),
        };
        let _ = inputs.send(Input::Killed(line)).await;
    });
}
