//! `firesteel cluster`: starts, stops and shows the daemons on the machines of `conf/workers`.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};
use firesteel_apps::hosts::spark_env;
use firesteel_apps::hosts::workers_file::{self, WorkersFileError};
use firesteel_apps::hosts::{Action, Entry, Machines, Outcome, RemoteShell};
use firesteel_apps::table::table;
use firesteel_host::{plain, start};
use firesteel_settings::sources;
use firesteel_settings::variables::Environment;
use serde::Serialize;

use crate::cli::client::document;
use crate::cli::exit::{Exit, Failure, written};
use crate::cli::help;
use crate::cli::own_program;

const SCHEMA: u32 = 1;

const EXAMPLES: &str =
    "  firesteel cluster start     a Master here, and a Worker on each host of conf/workers
  firesteel cluster status    which of them run
  firesteel cluster stop      ends the Workers, then the Master
  firesteel cluster start --conf-dir /etc/firesteel";

const NOTES: &str = "\
The file workers in the directory of settings names the hosts of Workers, one on each line; # begins a comment. Without the \
file there is one Worker, on this machine. Other hosts are reached by ssh, many at a time, so ssh must not need a password; \
localhost needs no ssh. The program has to be there under the same path, or in PATH. As Spark's start scripts do, each machine \
reads spark-env.sh of the directory of settings.

A daemon that runs is not started again. Its log and the file with its process id are firesteel-USER-DAEMON in SPARK_LOG_DIR and \
SPARK_PID_DIR; by default both are $SPARK_HOME/logs, or else ~/.local/state/firesteel. Five older logs are kept. A Worker \
listens under the name that the file has for it, unless SPARK_WORKER_HOST on its machine says another.

Nothing restarts a daemon that ends later: on machines with systemd, prefer the services of the package (OPERATIONS.md).";

const VARIABLES: &str = "\
Variables: SPARK_CONF_DIR, SPARK_HOME, SPARK_LOG_DIR, SPARK_PID_DIR, SPARK_IDENT_STRING, SPARK_NICENESS; SPARK_SSH_OPTS are \
options of ssh, and SPARK_SSH_FOREGROUND=yes takes one host after the other, so that ssh can ask for a password.";

const CODES: &str = "\
Exit codes: 0 all daemons are as asked: started, stopped, or running; 1 some are not; 2 wrong usage; 71 a machine has too few processes or open files; 78 the file workers or spark-env.sh is wrong.";

/// The options of `firesteel cluster`: start, stop or show the daemons.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = help::short("cluster", EXAMPLES),
    after_long_help = format!("{EXAMPLES}\n\n{NOTES}\n\n{VARIABLES}\n\n{CODES}")
)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Start a Master here and a Worker on each host, where none runs
    #[command(after_help = help::short("cluster start", EXAMPLES), after_long_help = format!("{EXAMPLES}\n\n{CODES}"))]
    Start(Settings),
    /// Stop the Worker on each host, then the Master here
    #[command(after_help = help::short("cluster stop", EXAMPLES), after_long_help = format!("{EXAMPLES}\n\n{CODES}"))]
    Stop(Settings),
    /// Show which of these daemons run
    #[command(after_help = help::short("cluster status", EXAMPLES), after_long_help = format!("{EXAMPLES}\n\n{CODES}"))]
    Status(Settings),
}

#[derive(Debug, ClapArgs)]
struct Settings {
    /// Directory of workers, spark-env.sh and spark-defaults.conf, on every machine [default: $SPARK_CONF_DIR, or
    /// $SPARK_HOME/conf, or /etc/firesteel]
    #[arg(long, value_name = "DIR")]
    conf_dir: Option<PathBuf>,
    /// Seconds to wait until a daemon is ready, or has ended [default: 60]
    #[arg(long, value_name = "SECONDS", default_value_t = 60, hide_default_value = true, value_parser = clap::value_parser!(u32).range(1..=3600))]
    patience: u32,
    /// Print one JSON value
    #[arg(long)]
    json: bool,
}

/// Performs the action, and prints the result for each daemon.
pub(in crate::cli) fn run(args: &Args) -> Result<Exit, Failure> {
    let (action, settings) = match &args.verb {
        Verb::Start(settings) => (Action::Start, settings),
        Verb::Stop(settings) => (Action::Stop, settings),
        Verb::Status(settings) => (Action::Status, settings),
    };
    let machines = machines(settings, &Environment::of_this_process())?;
    let entries = machines.all(action);
    let rows = entries.iter().enumerate().map(|(at, entry)| row(entry, &entries[..at])).collect();
    if settings.json {
        let daemons: Vec<Daemon<'_>> = entries.iter().map(Daemon::of).collect();
        written(document::print(SCHEMA, BTreeMap::from([("daemons", daemons)])))?;
    } else {
        let lines = table(&["HOST", "DAEMON", "STATE", "DETAILS"], rows);
        written(writeln!(plain::stdout(), "{lines}"))?;
    }
    let left = 1 + machines.workers.len() - entries.len();
    let unlike = entries.iter().filter(|entry| !is_as_asked(action, &entry.outcome)).count() + left;
    let short = entries.iter().find_map(|entry| match &entry.outcome {
        Outcome::Failed { why, is_shortage: true } => Some(why),
        _ => None,
    });
    let failure = |words: String| match short {
        Some(why) => Failure::of(Exit::Shortage, format!("{words}: {why}")),
        None => Failure::of(Exit::Failure, words),
    };
    match (unlike, left) {
        (0, _) => Ok(Exit::Done),
        (_, 0) => Err(failure(format!("{unlike} of {} daemons {}", entries.len(), is_not(action)))),
        (..) => Err(failure(
            "no Worker was started, since the Master does not run: see its log, and start the cluster again"
                .to_owned(),
        )),
    }
}

#[derive(Default, Serialize)]
struct Daemon<'a> {
    /// The name of the machine in the file `workers`.
    host: &'a str,
    /// The kind of the daemon: `master` or `worker`.
    kind: &'a str,
    state: &'a str,
    pid: Option<u32>,
    /// The URL on which the daemon listens, if it is known.
    url: Option<&'a str>,
    error: Option<&'a str>,
}

impl<'a> Daemon<'a> {
    fn of(entry: &'a Entry) -> Self {
        let Entry { host, daemon: kind, outcome } = entry;
        let known = |url: &'a String| Some(url.as_str()).filter(|url| !url.is_empty());
        let one = |state| Self { host, kind, state, ..Self::default() };
        match outcome {
            Outcome::Started { pid, url } | Outcome::Running { pid, url } => {
                Self { pid: Some(*pid), url: known(url), ..one("RUNNING") }
            }
            Outcome::Ended { pid } => Self { pid: Some(*pid), ..one("STOPPED") },
            Outcome::Stopped => one("STOPPED"),
            Outcome::Failed { why, .. } => Self { error: Some(why), ..one("FAILED") },
        }
    }
}

fn machines(settings: &Settings, environment: &Environment) -> Result<Machines, Failure> {
    let own = |name: &str| environment.get(name).map(str::to_owned);
    let absolute = |path: &PathBuf| {
        std::path::absolute(path)
            .map_err(|error| Failure::of(Exit::Usage, format!("--conf-dir {}: {error}", path.display())))
    };
    let conf_dir = match &settings.conf_dir {
        Some(path) if !path.is_dir() => {
            let words = format!("--conf-dir {}: there is no such directory", path.display());
            return Err(Failure::of(Exit::Usage, words));
        }
        Some(path) => Some(absolute(path)?),
        None => sources::conf_directory(environment),
    };
    let workers = match &conf_dir {
        Some(directory) => workers_file::read(&directory.join("workers")),
        None => Ok(vec!["localhost".to_owned()]),
    };
    let workers = workers.map_err(|error: WorkersFileError| Failure::with(Exit::Configuration, &error))?;
    let program = own_program()?;
    let host = nix::unistd::gethostname().map(|host| host.to_string_lossy().into_owned());
    let name =
        host.map_err(|error| Failure::of(Exit::Failure, format!("this machine has no name: {error}")))?;
    // Spark's start scripts read spark-env.sh before they use ssh.
    let sourced = conf_dir.as_deref().map_or(Ok(None), spark_env::sourced);
    let sourced = sourced.map_err(|error| match start::is_of_shortage(&error) {
        true => Failure::with(Exit::Shortage, &error),
        false => Failure::with(Exit::Configuration, &error),
    })?;
    let environment = sourced.as_ref().map_or(environment, |(_, sourced)| sourced);
    let shell = RemoteShell::new(environment.get("SPARK_SSH_OPTS"), environment.get("SPARK_SSH_FOREGROUND"));
    let directories = (own("SPARK_PID_DIR"), own("SPARK_LOG_DIR"));
    Ok(Machines { workers, shell, program, conf_dir, directories, name, patience: settings.patience })
}

/// The row of a daemon. `before` are the earlier entries. One of them may be the same daemon, if its machine is listed
/// under two names.
fn row(entry: &Entry, before: &[Entry]) -> Vec<String> {
    let (state, mut details) = match &entry.outcome {
        Outcome::Started { pid, url } => ("started", format!("process {pid}, {url}")),
        Outcome::Running { pid, url } if url.is_empty() => ("running", format!("process {pid}")),
        Outcome::Running { pid, url } => ("running", format!("process {pid}, {url}")),
        Outcome::Ended { pid } => ("stopped", format!("process {pid} has ended")),
        Outcome::Stopped => ("stopped", "it did not run".to_owned()),
        Outcome::Failed { why, .. } => ("failed", why.clone()),
    };
    let same =
        before.iter().find(|other| other.daemon == entry.daemon && is_same(&other.outcome, &entry.outcome));
    if let Some(same) = same {
        details = format!("{details}: the same as on {}", same.host);
    }
    vec![entry.host.clone(), entry.daemon.to_owned(), state.to_owned(), details]
}

/// Whether two outcomes belong to the same process, which has one URL.
fn is_same(one: &Outcome, other: &Outcome) -> bool {
    let process = |outcome: &Outcome| match outcome {
        Outcome::Started { pid, url } | Outcome::Running { pid, url } => Some((*pid, url.clone())),
        Outcome::Ended { .. } | Outcome::Stopped | Outcome::Failed { .. } => None,
    };
    process(one).is_some_and(|found| !found.1.is_empty() && process(other) == Some(found))
}

fn is_as_asked(action: Action, outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Started { .. } | Outcome::Running { .. } => action != Action::Stop,
        Outcome::Ended { .. } | Outcome::Stopped => action == Action::Stop,
        Outcome::Failed { .. } => false,
    }
}

fn is_not(action: Action) -> &'static str {
    match action {
        Action::Start => "could not be started",
        Action::Stop => "could not be stopped",
        Action::Status => "do not run",
    }
}
