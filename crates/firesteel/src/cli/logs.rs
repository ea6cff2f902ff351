//! `firesteel logs`.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::time::Duration;

use clap::Args as ClapArgs;
use firesteel::net::{CallError, Inquiry};
use firesteel_core::address::Address;
use firesteel_core::ids::{ExecutorId, ExecutorKey};
use firesteel_core::messages::{
    ApplicationView, ClientToWorker, ExecutorView, LogPiece, LogRequest, LogStart, Stream, WorkerToClient,
};
use firesteel_core::wire::Role;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::ask::{self, App, Masters};
use super::block_on;
use super::exit::{self, Exit, Failure};
use super::table::table;

/// How often a log that is followed is asked for more.
const PACE: Duration = Duration::from_millis(100);

const HELP: &str = "\
The log is read by the Worker that runs or ran the executor, for as long as it keeps the executor's directory, also
after the end of executor and application. Rolled files, compressed or not, are shown as one log.

  firesteel logs app-20261121003159-0000 3            what executor 3 wrote to standard output
  firesteel logs app-20261121003159-0000/3 --stderr   its standard error
  firesteel logs app-20261121003159-0000 3 -f         from the beginning, and on until the executor ends
  firesteel logs app-20261121003159-0000 3 -f -n 20   the last 20 lines, and on
  firesteel logs app-20261121003159-0000 --list       which executors there are, and how long their logs

Exit codes: 0 done, also when nobody reads any more; 1 no such log, or its Worker cannot be asked; 2 wrong usage;
69 no Master could be reached; 130 ended by ctrl-c.";

/// Which log, and which part of it.
#[derive(Debug, ClapArgs)]
#[command(after_help = HELP)]
pub(super) struct Args {
    #[command(flatten)]
    app: App,
    /// The executor's number; may be left out if the application has had only one
    #[arg(value_name = "EXECUTOR")]
    executor: Option<u32>,
    /// Show standard error instead of standard output
    #[arg(long)]
    stderr: bool,
    /// Go on as the log grows, until the executor has ended
    #[arg(short, long)]
    follow: bool,
    /// Show only the last N lines
    #[arg(short = 'n', long, value_name = "N", conflicts_with = "bytes")]
    tail: Option<u64>,
    /// Show only the last N bytes
    #[arg(short = 'c', long, value_name = "N")]
    bytes: Option<u64>,
    /// List the application's executors and the lengths of their logs instead
    #[arg(long, conflicts_with_all = ["executor", "stderr", "follow", "tail", "bytes"])]
    list: bool,
    #[command(flatten)]
    masters: Masters,
}

/// Prints a log, or the list of them.
pub(super) fn run(args: &Args) -> Result<Exit, Failure> {
    let (app, number) = names(args)?;
    let detail = ask::detail(&args.masters.cluster("logs")?, app)?;
    let application = &detail.application;
    if args.list {
        return list(application);
    }
    let executor = executor(application, number)?;
    let request = LogRequest {
        executor: ExecutorKey { app: application.id.clone(), executor: executor.id },
        stream: if args.stderr { Stream::Stderr } else { Stream::Stdout },
        from: match (args.tail, args.bytes) {
            (Some(lines), _) => LogStart::LastLines(lines),
            (None, Some(bytes)) => LogStart::LastBytes(bytes),
            (None, None) => LogStart::Offset(0),
        },
    };
    let until = if args.follow { Until::ExecutorEnds } else { Until::EndOfLog };
    match block_on(print(executor, request, until))? {
        Ok(()) => Ok(Exit::Done),
        Err(PrintError::Stdout(error)) => exit::written(Err(error)),
        Err(PrintError::Worker(failure)) => Err(failure),
    }
}

/// `APP EXECUTOR`, or `APP/EXECUTOR` in one word, as status shows it.
fn names(args: &Args) -> Result<(&str, Option<ExecutorId>), Failure> {
    let app = args.app.app.as_str();
    let both = app.rsplit_once('/').and_then(|(app, number)| Some((app, number.parse().ok()?)));
    match both {
        None => Ok((app, args.executor.map(ExecutorId))),
        Some(_) if args.executor.is_some() || args.list => {
            let words = format!("{app:?} names an executor: write only the application there");
            Err(Failure::of(Exit::Usage, words))
        }
        Some((app, number)) => Ok((app, Some(ExecutorId(number)))),
    }
}

fn executor(application: &ApplicationView, number: Option<ExecutorId>) -> Result<&ExecutorView, Failure> {
    let fail = |words: String| Err(Failure::of(Exit::Failure, words));
    let (app, executors) = (&application.id, &application.executors);
    let Some(number) = number else {
        return match executors.as_slice() {
            [] => fail(format!(
                "application {app} has had no executor yet: firesteel status says whether it waits"
            )),
            [executor] => Ok(executor),
            _ => {
                let words = format!(
                    "application {app} has {} executors: name one of {}, or use --list",
                    executors.len(),
                    some_of(executors)
                );
                fail(words)
            }
        };
    };
    match executors.iter().find(|executor| executor.id == number) {
        Some(executor) => Ok(executor),
        None if executors.is_empty() => fail(format!("application {app} has had no executor yet")),
        None => fail(format!(
            "application {app} has no executor {number}, or it ended so long ago that it is forgotten; it has {}",
            some_of(executors)
        )),
    }
}

/// `0, 1, 2`, or `0, 1, 2, .. 17`.
fn some_of(executors: &[ExecutorView]) -> String {
    let numbers = |few: &[ExecutorView]| few.iter().map(|e| e.id.to_string()).collect::<Vec<_>>().join(", ");
    match executors {
        [few @ .., last] if few.len() > 7 => format!("{}, .. {}", numbers(&few[..6]), last.id),
        few => numbers(few),
    }
}

/// How far a log is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Until {
    /// To where it ends now.
    EndOfLog,
    /// To the last that its executor wrote.
    ExecutorEnds,
}

/// Why a log is not printed to its end.
#[derive(Debug)]
enum PrintError {
    Stdout(io::Error),
    Worker(Failure),
}

async fn print(executor: &ExecutorView, mut request: LogRequest, until: Until) -> Result<(), PrintError> {
    let mut worker = LogSource::open(executor).await.map_err(PrintError::Worker)?;
    let mut stdout = io::stdout().lock();
    loop {
        let piece = worker.piece(&request).await.map_err(PrintError::Worker)?;
        stdout.write_all(&piece.bytes).map_err(PrintError::Stdout)?;
        let position = piece.start.saturating_add(piece.bytes.len() as u64);
        request.from = LogStart::Offset(position);
        if position < piece.length && !piece.bytes.is_empty() {
            continue;
        }
        stdout.flush().map_err(PrintError::Stdout)?;
        if piece.is_over || until == Until::EndOfLog || stdout_is_closed() {
            return Ok(());
        }
        tokio::time::sleep(PACE).await;
    }
}

/// The Worker that keeps an executor's logs.
struct LogSource<'a> {
    executor: &'a ExecutorView,
    worker: Inquiry,
}

impl<'a> LogSource<'a> {
    async fn open(executor: &'a ExecutorView) -> Result<Self, Failure> {
        let address = Address::new(executor.host.clone(), executor.port);
        match Inquiry::open(&address, Role::Worker, &client_name()).await {
            Ok(worker) => Ok(Self { executor, worker }),
            Err(error) => Err(out_of_reach(executor, &error)),
        }
    }

    async fn piece(&mut self, request: &LogRequest) -> Result<LogPiece, Failure> {
        let executor = self.executor;
        let question = ClientToWorker::RequestLog(request.clone());
        match self.worker.ask(&question).await {
            Ok(WorkerToClient::LogResponse(piece)) => Ok(piece),
            Ok(WorkerToClient::RequestLogFailed(refusal)) => {
                let words = format!(
                    "the Worker {} has no such log of executor {}: {refusal}",
                    executor.worker, request.executor
                );
                Err(Failure::of(Exit::Failure, words))
            }
            Ok(WorkerToClient::WorkerStateResponse(_)) => Err(Failure::of(
                Exit::Failure,
                format!("the Worker {} answers something else", executor.worker),
            )),
            Err(error) => Err(out_of_reach(executor, &error)),
        }
    }
}

fn out_of_reach(executor: &ExecutorView, error: &CallError) -> Failure {
    let ExecutorView { worker, host, directory, .. } = executor;
    let words =
        format!("the Worker {worker} cannot be asked: {error}; the logs are on {host} in {directory}");
    Failure::of(Exit::Failure, words)
}

fn client_name() -> String {
    format!("firesteel logs {}", std::process::id())
}

/// Which executors there are, and how long their logs.
fn list(application: &ApplicationView) -> Result<Exit, Failure> {
    let rows = block_on(async {
        let mut rows = Vec::new();
        for executor in &application.executors {
            rows.push(row(application, executor).await);
        }
        rows
    })?;
    let header = ["EXECUTOR", "STATE", "STDOUT", "STDERR", "WHERE"];
    exit::written(writeln!(io::stdout(), "{}", table(&header, rows)))
}

/// Where a Worker cannot be asked, the lengths are not known.
async fn row(application: &ApplicationView, executor: &ExecutorView) -> Vec<String> {
    let mut lengths = [Stream::Stdout, Stream::Stderr].map(|stream| (stream, "?".to_owned()));
    if let Ok(mut worker) = LogSource::open(executor).await {
        for (stream, length) in &mut lengths {
            let key = ExecutorKey { app: application.id.clone(), executor: executor.id };
            let request = LogRequest { executor: key, stream: *stream, from: LogStart::LastBytes(0) };
            if let Ok(piece) = worker.piece(&request).await {
                *length = piece.length.to_string();
            }
        }
    }
    let [(_, stdout), (_, stderr)] = lengths;
    let place = format!("{}:{}", executor.host, executor.directory);
    vec![format!("{}/{}", application.id, executor.id), executor.state.to_string(), stdout, stderr, place]
}

/// Whether whoever read our standard output has gone. It shows without a write, which may be far off.
fn stdout_is_closed() -> bool {
    let stdout = io::stdout();
    let mut fds = [PollFd::new(stdout.as_fd(), PollFlags::empty())];
    let gone = PollFlags::POLLERR | PollFlags::POLLHUP;
    poll(&mut fds, PollTimeout::ZERO).is_ok()
        && fds[0].revents().is_some_and(|events| events.intersects(gone))
}
