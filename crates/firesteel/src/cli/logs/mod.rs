//! `firesteel logs`: prints the logs of executors and cluster drivers. `print` copies them to standard output, and
//! `source` has them from a Master.

mod print;
mod source;

use firesteel_host::plain;
use std::collections::BTreeMap;
use std::io::Write;

use clap::Args as ClapArgs;
use firesteel_daemons::log_client;
use firesteel_host::progress::Show;
use firesteel_protocol::ids::{ExecutorId, ExecutorKey};
use firesteel_protocol::messages::{
    ApplicationView, DriverView, ExecutorState, ExecutorView, LogAddress, LogAuthor, LogStart, Stream,
};
use serde::Serialize;

use super::block_on;
use super::client::ask::{self, Cluster, Masters};
use super::client::document;
use super::exit::{self, Exit, Failure};
use super::help;
use super::table::table;
use firesteel_daemons::wording::application::shown_state_and_end;
use print::{Part, PrintError, Until};
use source::ClusterLogs;

pub(super) use self::print::{Author, json_line};

const SCHEMA: u32 = 1;

/// Maximum number of executors whose logs are followed at once.
const MOST_FOLLOWED: usize = 256;

const EXAMPLES: &str =
    "  firesteel logs app-20261121003159-0000              what all executors wrote to standard output
  firesteel logs app-20261121003159-0000 3            what executor 3 wrote
  firesteel logs app-20261121003159-0000/3 --stderr   its standard error
  firesteel logs app-20261121003159-0000 3 -f         from the beginning, then follow until the executor ends
  firesteel logs app-20261121003159-0000 3 -f -n 20   the last 20 lines, then follow
  firesteel logs app-20261121003159-0000 --list       the executors and the lengths of their logs
  firesteel logs driver-20261121003159-0000 -f        what a cluster driver wrote, then follow until it ends";

const NOTES: &str = "\
The Master has the log read by the Worker that runs or ran the executor or cluster driver. That goes until the Worker removes \
the directory, also after the executor and the application, or the cluster driver, have ended. Rolled files, compressed or not, \
are shown as one log. The header of the file of standard error, with the command, is left out; a cluster driver that was started again \
has one for each further start.

Without EXECUTOR, the logs of all executors are shown; if there are several, each line begins with the executor's \
number. --follow then follows the executors that exist at the start. The output of items and tasks is not in these logs: \
firesteel map and firesteel shell print it.

With --json each line of a log is one JSON value, with the executor (app, executor) or the driver that wrote it, and a line of more \
than 64 KiB is several. With --list there is one value; a length is null if the Worker cannot be asked.";

const CODES: &str = "\
Exit codes: 0 done, also if the reader of the output is gone; 1 no such log, or its Worker does not answer; 2 wrong \
usage; 69 no Master could be reached; 75 a Master did not answer in time or in full; 76 what listens there is no Master \
of this version; 78 a settings file or variable is wrong; 130 ended by ctrl-c.";

/// The options of `firesteel logs`: which log is printed, and which part of it.
#[derive(Debug, ClapArgs)]
#[command(after_help = help::short("logs", EXAMPLES), after_long_help = format!("{NOTES}\n\n{EXAMPLES}\n\n{CODES}"))]
pub(super) struct Args {
    /// Application, by id or name, or cluster driver, by id
    #[arg(value_name = "APP")]
    named: String,
    /// Number of the executor [default: all executors]
    #[arg(value_name = "EXECUTOR")]
    executor: Option<u32>,
    /// Show standard error instead of standard output
    #[arg(long)]
    stderr: bool,
    /// Keep printing as the log grows, until the executor or cluster driver ends
    #[arg(short, long)]
    follow: bool,
    /// Show only the last N lines of each log
    #[arg(short = 'n', long, value_name = "N", conflicts_with = "bytes")]
    tail: Option<u64>,
    /// Show only the last N bytes of each log
    #[arg(short = 'c', long, value_name = "N")]
    bytes: Option<u64>,
    /// List the executors, or the cluster driver, and the lengths of their logs
    #[arg(long, conflicts_with_all = ["executor", "stderr", "follow", "tail", "bytes"])]
    list: bool,
    /// Print one JSON value on each line: a line of a log; with --list, one value
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    masters: Masters,
}

pub(super) fn run(args: &Args, show: Show) -> Result<Exit, Failure> {
    let (named, number) = names(args)?;
    let cluster = args.masters.cluster("logs")?;
    if let Some(driver) = ask::driver_named(&cluster, named)? {
        return of_driver(args, &driver, &cluster, show);
    }
    let detail = ask::detail(&cluster, named)?;
    let application = &detail.application;
    if args.list {
        return list(args, &rows_of(application), &cluster);
    }
    let chosen = executors(application, number)?;
    if args.follow && chosen.len() > MOST_FOLLOWED {
        let words = format!(
            "application {} has {} executors, and --follow takes at most {MOST_FOLLOWED}: choose one of {}",
            application.id,
            chosen.len(),
            some_of(chosen)
        );
        return Err(Failure::of(Exit::Usage, words));
    }
    let author = |executor: &ExecutorView| {
        LogAuthor::Executor(ExecutorKey { app: application.id.clone(), executor: executor.id })
    };
    let ended = chosen.last().filter(|last| matches!(last.state, ExecutorState::Failed(_)));
    let ended = ended.map(|last| format!("; it ended with {}", shown_state_and_end(application, last)));
    print(args, &chosen.iter().map(author).collect::<Vec<_>>(), &ended.unwrap_or_default(), &cluster, show)
}

/// Prints the log of a cluster driver, or the lengths of its logs.
fn of_driver(args: &Args, driver: &DriverView, cluster: &Cluster, show: Show) -> Result<Exit, Failure> {
    let id = &driver.id;
    if args.executor.is_some() {
        let words = format!("{id} is a cluster driver, which has no executors: leave the number out");
        return Err(Failure::of(Exit::Usage, words));
    }
    let Some(place) = &driver.worker else {
        let words = format!("driver {id} is {}: it has not been on a Worker, and has no log", driver.state);
        return Err(Failure::of(Exit::Failure, words));
    };
    let place = LogAddress::of_driver(id, place);
    match args.list {
        true => list(args, &[Row { id: id.to_string(), state: driver.state.to_string(), place }], cluster),
        false => print(args, &[LogAuthor::Driver(id.clone())], "", cluster, show),
    }
}

/// Prints these logs. `ended` is a text about how the log's author ended, which may explain an empty log.
fn print(
    args: &Args,
    authors: &[LogAuthor],
    ended: &str,
    cluster: &Cluster,
    show: Show,
) -> Result<Exit, Failure> {
    let part = Part {
        stream: if args.stderr { Stream::Stderr } else { Stream::Stdout },
        from: match (args.tail, args.bytes) {
            (Some(lines), _) => LogStart::LastLines(lines),
            (None, Some(bytes)) => LogStart::LastBytes(bytes),
            (None, None) => LogStart::Offset(0),
        },
        until: if args.follow { Until::AuthorEnds } else { Until::EndOfLog },
        is_json: args.json,
    };
    let mut source = ClusterLogs::of(cluster, part.until);
    let printed = match authors {
        [author] if !args.json => block_on(print::one(author, part, &mut source))?,
        several => block_on(print::several(several, part, &mut source))?,
    };
    match printed {
        Ok(0) if show == Show::Auto && !args.json => Ok(say_empty(part, authors, ended)),
        Ok(_) => Ok(Exit::Done),
        Err(PrintError::Stdout(error)) => exit::written(Err(error)),
        Err(PrintError::Log(error)) => Err(Failure::with(error.exit(), &*error)),
        Err(PrintError::Some { of: 1, first, .. }) if args.json => Err(Failure::with(first.exit(), &*first)),
        Err(PrintError::Some { failed, of, first }) => {
            let first = if args.json { format!(": {first}") } else { String::new() };
            Err(Failure::of(Exit::Failure, format!("cannot show {failed} of {of} logs{first}")))
        }
    }
}

/// Explains why a log is empty, because users often expect the output of items in it.
fn say_empty(part: Part, authors: &[LogAuthor], ended: &str) -> Exit {
    if part.is_all() {
        let is_driver = matches!(authors, [LogAuthor::Driver(_)]);
        let (author, tasks) = match is_driver {
            true => ("driver", ""),
            false => (
                "executor",
                " (firesteel map and firesteel shell print the output of their items and tasks themselves)",
            ),
        };
        let (written, other) = match part.stream {
            Stream::Stdout => ("standard output", "; --stderr shows standard error"),
            Stream::Stderr => ("standard error", ""),
        };
        // The reader may have closed standard error.
        let _ = writeln!(
            plain::stderr(),
            "firesteel: the {author} wrote nothing to {written}{tasks}{other}{ended}"
        );
    }
    Exit::Done
}

/// The application or cluster driver, and the executor, from `APP EXECUTOR`, or from `APP/EXECUTOR`, the form in which
/// `status` prints them.
fn names(args: &Args) -> Result<(&str, Option<ExecutorId>), Failure> {
    let word = args.named.as_str();
    match ask::parts(word) {
        (_, None) => Ok((word, args.executor.map(ExecutorId))),
        (_, Some(_)) if args.executor.is_some() || args.list => {
            let words = format!("{word:?} already names an executor: write the application alone");
            Err(Failure::of(Exit::Usage, words))
        }
        (app, number) => Ok((app, number)),
    }
}

/// The executor with this number, or all executors; The result has at least one executor.
fn executors(application: &ApplicationView, number: Option<ExecutorId>) -> Result<&[ExecutorView], Failure> {
    let fail = |words: String| Err(Failure::of(Exit::Failure, words));
    let (app, executors) = (&application.id, application.executors.as_slice());
    if executors.is_empty() {
        return fail(format!(
            "application {app} has not had an executor yet: firesteel explain {app} says why"
        ));
    }
    let Some(number) = number else { return Ok(executors) };
    match executors.iter().position(|executor| executor.id == number) {
        Some(at) => Ok(&executors[at..=at]),
        None => fail(format!(
            "application {app} has no executor {number}, or the Master no longer lists it; it has {}",
            some_of(executors)
        )),
    }
}

/// A short list of executors: `0, 1, 2`, or `0, 1, 2, .. 17`.
fn some_of(executors: &[ExecutorView]) -> String {
    let numbers = |few: &[ExecutorView]| few.iter().map(|e| e.id.to_string()).collect::<Vec<_>>().join(", ");
    match executors {
        [few @ .., last] if few.len() > 7 => format!("{}, .. {}", numbers(&few[..6]), last.id),
        few => numbers(few),
    }
}

struct Row {
    /// The id of a cluster driver, or `APP/EXECUTOR`.
    id: String,
    state: String,
    place: LogAddress,
}

fn rows_of(application: &ApplicationView) -> Vec<Row> {
    let row = |executor: &ExecutorView| {
        let ExecutorView { id, .. } = executor;
        let (id, state) = (format!("{}/{id}", application.id), shown_state_and_end(application, executor));
        Row { id, state, place: LogAddress::of_executor(&application.id, executor) }
    };
    application.executors.iter().map(row).collect()
}

fn list(args: &Args, rows: &[Row], cluster: &Cluster) -> Result<Exit, Failure> {
    let mut source = ClusterLogs::of(cluster, Until::EndOfLog);
    let lengths = block_on(async {
        let mut lengths = Vec::new();
        for row in rows {
            lengths.push(row.lengths(&mut source).await);
        }
        lengths
    })?;
    if args.json {
        let logs: Vec<Log<'_>> =
            rows.iter().zip(lengths).map(|(row, lengths)| Log::of(row, lengths)).collect();
        return exit::written(document::print(SCHEMA, BTreeMap::from([("logs", logs)])));
    }
    let first = match rows {
        [Row { place: LogAddress { author: LogAuthor::Driver(_), .. }, .. }] => "DRIVER",
        _ => "EXECUTOR",
    };
    let rows = rows.iter().zip(lengths).map(|(row, lengths)| row.cells(lengths)).collect();
    let header = [first, "STATE", "STDOUT", "STDERR", "WHERE"];
    exit::written(writeln!(plain::stdout(), "{}", table(&header, rows)))
}

/// The lengths of standard output and standard error. `None` if the Worker cannot be asked.
type Lengths = [Option<u64>; 2];

/// The logs of an executor or a cluster driver in the JSON value.
#[derive(Serialize)]
struct Log<'a> {
    #[serde(flatten)]
    author: Author<'a>,
    state: &'a str,
    stdout_bytes: Option<u64>,
    stderr_bytes: Option<u64>,
    host: &'a str,
    directory: &'a str,
}

impl<'a> Log<'a> {
    fn of(row: &'a Row, [stdout_bytes, stderr_bytes]: Lengths) -> Self {
        let Row { id: _, state, place } = row;
        let (host, directory) = (&place.host, &place.directory);
        Self { author: Author::of(&place.author), state, stdout_bytes, stderr_bytes, host, directory }
    }
}

impl Row {
    async fn lengths(&self, source: &mut ClusterLogs<'_>) -> Lengths {
        let mut log = log_client::Log::of(self.place.author.clone());
        let stdout = log.length(source, Stream::Stdout).await.ok();
        [stdout, log.length(source, Stream::Stderr).await.ok()]
    }

    fn cells(&self, lengths: Lengths) -> Vec<String> {
        let Self { id, state, place } = self;
        let [stdout, stderr] =
            lengths.map(|length| length.map_or("?".to_owned(), |length| length.to_string()));
        let at = match place.directory.as_str() {
            "" => format!("{}, on a Worker of Spark's own", place.host),
            directory => format!("{}:{directory}", place.host),
        };
        vec![id.clone(), state.clone(), stdout, stderr, at]
    }
}
