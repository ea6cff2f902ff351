//! `firesteel logs`: prints the logs of executors. `print` copies them to standard output.

mod print;

use firesteel_host::plain;
use std::io::Write;

use clap::Args as ClapArgs;
use firesteel_core::ids::ExecutorId;
use firesteel_core::messages::{ApplicationView, ExecutorView, LogStart, Stream};
use firesteel_daemons::executor_log::{ExecutorLog, LogError};
use firesteel_host::progress::Show;

use super::ask::{self, App, Masters};
use super::block_on;
use super::exit::{self, Exit, Failure};
use super::help;
use super::table::table;
use firesteel_daemons::wording::application::shown_state_and_end;
use print::{Part, PrintError, Until};

/// Maximum number of executors whose logs are followed at once.
const MOST_FOLLOWED: usize = 256;

const EXAMPLES: &str =
    "  firesteel logs app-20261121003159-0000              what all executors wrote to standard output
  firesteel logs app-20261121003159-0000 3            what executor 3 wrote
  firesteel logs app-20261121003159-0000/3 --stderr   its standard error
  firesteel logs app-20261121003159-0000 3 -f         from the beginning, then follow until the executor ends
  firesteel logs app-20261121003159-0000 3 -f -n 20   the last 20 lines, then follow
  firesteel logs app-20261121003159-0000 --list       the executors and the lengths of their logs";

const NOTES: &str = "\
The Worker that runs or ran the executor reads the log. It can do so until it removes the executor's directory, also \
after the executor and the application have ended. Rolled files, compressed or not, are shown as one log. The header \
of the file of standard error, with the executor's command, is left out.

Without EXECUTOR, the logs of all executors are shown; if there are several, each line begins with the executor's \
number. --follow then follows the executors that exist at the start. The output of items and tasks is not in these logs: \
firesteel map and firesteel shell print it.";

const CODES: &str = "\
Exit codes: 0 done, also if the reader of the output is gone; 1 no such log, or its Worker does not answer; 2 wrong \
usage; 69 no Master could be reached; 75 a Master did not answer in time or in full; 76 what listens there is no Master \
of this version; 78 a settings file or variable is wrong; 130 ended by ctrl-c.";

/// Which log, and which part of it.
#[derive(Debug, ClapArgs)]
#[command(after_help = help::short("logs", EXAMPLES), after_long_help = format!("{NOTES}\n\n{EXAMPLES}\n\n{CODES}"))]
pub(super) struct Args {
    #[command(flatten)]
    app: App,
    /// Number of the executor [default: all executors]
    #[arg(value_name = "EXECUTOR")]
    executor: Option<u32>,
    /// Show standard error instead of standard output
    #[arg(long)]
    stderr: bool,
    /// Keep printing as the log grows, until the executor ends
    #[arg(short, long)]
    follow: bool,
    /// Show only the last N lines of each log
    #[arg(short = 'n', long, value_name = "N", conflicts_with = "bytes")]
    tail: Option<u64>,
    /// Show only the last N bytes of each log
    #[arg(short = 'c', long, value_name = "N")]
    bytes: Option<u64>,
    /// List the application's executors and the lengths of their logs
    #[arg(long, conflicts_with_all = ["executor", "stderr", "follow", "tail", "bytes"])]
    list: bool,
    #[command(flatten)]
    masters: Masters,
}

/// Prints logs, or a list of them.
pub(super) fn run(args: &Args, show: Show) -> Result<Exit, Failure> {
    let (app, number) = names(args)?;
    let detail = ask::detail(&args.masters.cluster("logs")?, app)?;
    let application = &detail.application;
    if args.list {
        return list(application);
    }
    let part = Part {
        stream: if args.stderr { Stream::Stderr } else { Stream::Stdout },
        from: match (args.tail, args.bytes) {
            (Some(lines), _) => LogStart::LastLines(lines),
            (None, Some(bytes)) => LogStart::LastBytes(bytes),
            (None, None) => LogStart::Offset(0),
        },
        until: if args.follow { Until::ExecutorEnds } else { Until::EndOfLog },
    };
    let printed = match &executors(application, number)? {
        [executor] => block_on(print::one(&application.id, executor, part))?,
        several if args.follow && several.len() > MOST_FOLLOWED => {
            let words = format!(
                "application {} has {} executors, and --follow takes at most {MOST_FOLLOWED}: choose one of {}",
                application.id,
                several.len(),
                some_of(several)
            );
            return Err(Failure::of(Exit::Usage, words));
        }
        several => block_on(print::several(&application.id, several, part))?,
    };
    match printed {
        Ok(0) if show == Show::Auto => Ok(say_empty(part)),
        Ok(_) => Ok(Exit::Done),
        Err(PrintError::Stdout(error)) => exit::written(Err(error)),
        Err(PrintError::Log(error)) => Err(Failure::with(Exit::Failure, &*error)),
        Err(PrintError::Some { failed, of }) => {
            Err(Failure::of(Exit::Failure, format!("cannot show {failed} of {of} logs")))
        }
    }
}

/// Explains an empty log, which surprises a user who expects the output of items.
fn say_empty(part: Part) -> Exit {
    if part.is_all() {
        let (written, other) = match part.stream {
            Stream::Stdout => ("standard output", "; --stderr shows standard error"),
            Stream::Stderr => ("standard error", ""),
        };
        // The reader may be gone.
        let _ = writeln!(
            plain::stderr(),
            "firesteel: the executor wrote nothing to {written} (firesteel map and firesteel shell print the output of \
             their items and tasks themselves){other}"
        );
    }
    Exit::Done
}

/// The application and the executor, from `APP EXECUTOR`, or `APP/EXECUTOR` as status shows it.
fn names(args: &Args) -> Result<(&str, Option<ExecutorId>), Failure> {
    let word = args.app.app.as_str();
    match ask::parts(word) {
        (_, None) => Ok((word, args.executor.map(ExecutorId))),
        (_, Some(_)) if args.executor.is_some() || args.list => {
            let words = format!("{word:?} already names an executor: write the application alone");
            Err(Failure::of(Exit::Usage, words))
        }
        (app, number) => Ok((app, number)),
    }
}

/// The executor with this number, or all executors; at least one.
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

fn client_name() -> String {
    format!("firesteel logs {}", std::process::id())
}

/// Lists the executors and the lengths of their logs.
fn list(application: &ApplicationView) -> Result<Exit, Failure> {
    let rows = block_on(async {
        let mut rows = Vec::new();
        for executor in &application.executors {
            rows.push(row(application, executor).await);
        }
        rows
    })?;
    let header = ["EXECUTOR", "STATE", "STDOUT", "STDERR", "WHERE"];
    exit::written(writeln!(plain::stdout(), "{}", table(&header, rows)))
}

/// The row of an executor. Its lengths are unknown if the Worker cannot be asked.
async fn row(application: &ApplicationView, executor: &ExecutorView) -> Vec<String> {
    let known = |length: Result<u64, LogError>| length.map_or("?".to_owned(), |length| length.to_string());
    let (stdout, stderr) = match ExecutorLog::open(&application.id, executor, &client_name()).await {
        Ok(mut log) => (known(log.length(Stream::Stdout).await), known(log.length(Stream::Stderr).await)),
        Err(_) => ("?".to_owned(), "?".to_owned()),
    };
    let place = match executor.directory.as_str() {
        "" => format!("{}, on a Worker of Spark's own", executor.host),
        directory => format!("{}:{directory}", executor.host),
    };
    let id = format!("{}/{}", application.id, executor.id);
    vec![id, shown_state_and_end(application, executor), stdout, stderr, place]
}
