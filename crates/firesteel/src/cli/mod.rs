//! The command line: parses arguments into settings, prints results, and returns exit codes. Each command has a module
//! of its own.
//!
//! - `daemon`: the commands that start daemons.
//! - `client`: the commands that ask a running cluster.
//! - `submission`: the commands that start an application or submit a driver; `detach`, `attach`: applications that
//!   continue without their command.
//! - `placement`: placements without a running cluster.
//! - `logs`, `yarn`, `config`, `journal`, `secret`, `completions`, `help::man`: one command per module.
//! - `options`: options that several commands have; `exit`, `help`, `log`, `color`, `table`: the output of commands.

mod attach;
mod client;
mod color;
mod completions;
mod config;
mod daemon;
mod detach;
mod exit;
mod help;
mod journal;
mod log;
mod logs;
mod options;
mod placement;
mod secret;
mod submission;
mod table;
mod yarn;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use client::{approve, decommission, explain, history, kill, status, top};
use color::Colors;
use daemon::{application_master, cluster, executor, master, reaper, sbin, worker};
use exit::{ErrorFormat, Exit, Failure};
use firesteel_host::runtime;
use help::man;
use placement::{plan, simulate};
use submission::{launch, map, shell, submit_driver};

/// A cluster manager with Apache Spark's Standalone model.
#[derive(Debug, Parser)]
#[command(name = "firesteel", version = crate::version::words(), propagate_version = false, max_term_width = 100)]
#[command(after_help = help::short("", exit::EXAMPLES), after_long_help = exit::HELP)]
struct Cli {
    #[command(flatten)]
    log_options: log::LogOptions,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start a Master, which decides which Workers run which executors
    Master(master::Args),
    /// Start a Worker, which registers with a Master and runs executors
    Worker(worker::Args),
    /// Show a cluster's Workers, applications and executors, or one application in detail
    Status(status::Args),
    /// Explain why an application waits or has fewer executors than it asked for
    Explain(explain::Args),
    /// Kill applications and cluster drivers
    Kill(kill::Args),
    /// Decommission Workers: they accept no new executors, and exit when their last executor ends
    Decommission(decommission::Args),
    /// Admit a machine that asks to become a Worker of a cluster with a secret
    Approve(approve::Args),
    /// Show ended applications and drivers, with their results and resource usage
    History(history::Args),
    /// Watch a cluster's Workers, applications and executors
    Top(top::Args),
    /// Run a command once for each item of an input
    Map(map::Args),
    /// Run commands on the executors of an application, interactively or from a script
    Shell(shell::Args),
    /// Run a command on every executor of an application
    Launch(launch::Args),
    /// Show the output of an application that runs detached, or list these applications
    Attach(attach::Args),
    /// Submit a program that runs as a driver on a Worker, show it, or kill it
    Submit(submit_driver::Args),
    /// Show what executors wrote to standard output and standard error
    Logs(logs::Args),
    /// Show where executors would be placed, without starting anything
    Plan(plan::Args),
    /// Replay a trace of applications under several placement policies, in virtual time
    Simulate(simulate::Args),
    /// List, show and kill applications on a YARN cluster, and show their logs
    Yarn(yarn::Args),
    /// Check and show settings from files, variables and flags
    Config(config::Args),
    /// Check and show what a Master has written down
    Journal(journal::Args),
    /// Make the files with which the parts of a cluster prove who they are
    Secret(secret::Args),
    /// Start, stop and show a Master and the Workers on the machines of conf/workers
    Cluster(cluster::Args),
    /// Write start scripts with the names, arguments and files of Spark's
    Sbin(sbin::Args),
    /// Print a script for a shell that completes commands, options and ids
    Completions(completions::Args),
    /// Write manual pages
    Man(man::Args),
    /// Run a driver's tasks
    #[command(hide = true)]
    Executor(executor::Args),
    /// Run an application's executors in YARN containers
    #[command(hide = true)]
    ApplicationMaster(application_master::Args),
}

/// Runs the command that the program was started with.
pub(crate) fn main() -> ExitCode {
    firesteel_host::own_program::restore_name();
    if reaper::is_asked() {
        return reaper::run();
    }
    completions::answer(Cli::command);
    let mut words: Vec<OsString> = std::env::args_os().collect();
    ask_for_help(&mut words);
    let known = Cli::command().color(Colors::asked(&words).for_help());
    let format = ErrorFormat::asked(&words, &known);
    let parsed = known.try_get_matches_from(words).and_then(|found| Cli::from_arg_matches(&found));
    let Cli { log_options, command } = match parsed {
        Ok(cli) => cli,
        Err(error) => return exit::usage(error, format),
    };
    let format = command.error_format(format);
    let level = command.default_level();
    let last_lines = log_options.start(command.name(), level);
    let done = match command {
        Command::Master(args) => master::run(args),
        Command::Worker(args) => worker::run(args),
        Command::Status(args) => status::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Kill(args) => kill::run(&args),
        Command::Decommission(args) => decommission::run(&args),
        Command::Approve(args) => approve::run(&args),
        Command::History(args) => history::run(&args),
        Command::Top(args) => match top::run(&args) {
            Ok(code) => return code.into(),
            Err(failure) => Err(failure),
        },
        Command::Logs(args) => logs::run(&args, log_options.show()),
        Command::Map(args) => match map::run(args, log_options.show()) {
            Ok(code) => return code.into(),
            Err(failure) => Err(failure),
        },
        Command::Shell(args) => match shell::run(args, log_options.show()) {
            Ok(code) => return code.into(),
            Err(failure) => Err(failure),
        },
        Command::Launch(args) => match launch::run(args, log_options.show()) {
            Ok(code) => return code.into(),
            Err(failure) => Err(failure),
        },
        Command::Attach(args) => match attach::run(&args, log_options.show()) {
            Ok(code) => return code.into(),
            Err(failure) => Err(failure),
        },
        Command::Submit(args) => match submit_driver::run(&args) {
            Ok(code) => return code,
            Err(failure) => Err(failure),
        },
        Command::Plan(args) => plan::run(&args),
        Command::Simulate(args) => simulate::run(&args),
        Command::Yarn(args) => yarn::run(&args),
        Command::Config(args) => config::run(args),
        Command::Journal(args) => journal::run(args),
        Command::Secret(args) => secret::run(&args),
        Command::Cluster(args) => cluster::run(&args),
        Command::Sbin(args) => sbin::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args, Cli::command()),
        Command::Executor(args) => executor::run(args),
        Command::ApplicationMaster(args) => match application_master::run(args) {
            Ok(code) => return code,
            Err(failure) => Err(failure),
        },
    };
    match done {
        Ok(exit) => exit.into(),
        Err(failure) if log_options.tells_failure(level) => {
            tracing::error!("{}", failure.sentence());
            failure.exit().into()
        }
        Err(failure) => {
            // The last lines of the log come before the error message.
            drop(last_lines);
            failure.report(format)
        }
    }
}

impl Command {
    /// The name of the command, which its log lines contain as the component.
    fn name(&self) -> &'static str {
        match self {
            Self::Master(_) => "master",
            Self::Worker(_) => "worker",
            Self::Executor(_) => "executor",
            Self::ApplicationMaster(_) => "application-master",
            Self::Map(_) => "map",
            Self::Shell(_) => "shell",
            Self::Launch(_) => "launch",
            Self::Attach(_)
            | Self::History(_)
            | Self::Config(_)
            | Self::Journal(_)
            | Self::Secret(_)
            | Self::Cluster(_)
            | Self::Sbin(_)
            | Self::Completions(_)
            | Self::Man(_)
            | Self::Status(_)
            | Self::Explain(_)
            | Self::Kill(_)
            | Self::Decommission(_)
            | Self::Approve(_)
            | Self::Top(_)
            | Self::Logs(_)
            | Self::Submit(_)
            | Self::Plan(_)
            | Self::Simulate(_)
            | Self::Yarn(_) => "command",
        }
    }

    /// The format of this command's errors. `asked` is the format that was found before parsing. At that time, an
    /// option of another program could be mistaken for an option of this command.
    fn error_format(&self, asked: ErrorFormat) -> ErrorFormat {
        if let Self::Launch(args) = self {
            return ErrorFormat::of(args.prints_json());
        }
        if let Self::Submit(args) = self {
            return ErrorFormat::of(args.prints_json());
        }
        asked
    }

    fn default_level(&self) -> log::DefaultLevel {
        match self {
            Self::Master(_) | Self::Worker(_) | Self::Executor(_) | Self::ApplicationMaster(_) => {
                log::DefaultLevel::Info
            }
            Self::Config(_)
            | Self::Journal(_)
            | Self::Secret(_)
            | Self::Cluster(_)
            | Self::Sbin(_)
            | Self::Completions(_)
            | Self::Man(_)
            | Self::Status(_)
            | Self::Explain(_)
            | Self::Kill(_)
            | Self::Decommission(_)
            | Self::Approve(_)
            | Self::History(_)
            | Self::Top(_)
            | Self::Logs(_)
            | Self::Map(_)
            | Self::Shell(_)
            | Self::Launch(_)
            | Self::Attach(_)
            | Self::Submit(_)
            | Self::Plan(_)
            | Self::Simulate(_)
            | Self::Yarn(_) => log::DefaultLevel::Warnings,
        }
    }
}

/// Turns `-h` into a request for help unless a host follows: in Spark's daemons, `-h` sets the host.
fn ask_for_help(words: &mut [OsString]) {
    if let [_, command, .., last] = words
        && (*command == "master" || *command == "worker")
        && *last == "-h"
    {
        *last = "--short-help".into();
    }
}

/// The path of this program, which starts others of its kind.
fn own_program() -> Result<PathBuf, Failure> {
    let path = std::env::current_exe();
    path.map_err(|error| Failure::of(Exit::Failure, format!("cannot find this program: {error}")))
}

/// Runs a daemon as a task of its own runtime. Its connections and runners are tasks of the same runtime, so they wake
/// the daemon without another thread.
fn run_daemon<T: Send + 'static>(daemon: impl Future<Output = T> + Send + 'static) -> Result<T, Failure> {
    let ended = block_on(async { tokio::spawn(daemon).await })?;
    // The task is never cancelled.
    Ok(ended.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic())))
}

/// Runs a request or a terminal program on its own runtime. Tasks that still run at the end are abandoned.
fn block_on<T>(future: impl Future<Output = T>) -> Result<T, Failure> {
    // Use one extra thread: a thread may block on a stopped terminal, and signals must still be
    // handled.
    let threads = std::thread::available_parallelism().map_or(2, |threads| threads.get().max(2));
    let runtime = runtime::start("runtime", threads).map_err(|error| {
        let words = "cannot start: the machine gives no threads or open files; see ulimit -u and ulimit -n";
        Failure::of(Exit::Shortage, format!("{words}: {error}"))
    })?;
    let result = runtime.block_on(future);
    runtime.shutdown_background();
    Ok(result)
}
