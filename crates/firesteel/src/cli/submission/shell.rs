//! `firesteel shell`: its options, and the start of the session.

use std::env;
use std::io::{self, IsTerminal};
use std::path::PathBuf;

use clap::Args as ClapArgs;
use firesteel_apps::shell::reader::Source;
use firesteel_apps::shell::{self, Defaults, Job, OnFailure, StartError};
use firesteel_host::progress::{Progress, Show};
use firesteel_settings::Reader;

use super::command_context::CommandContext;
use super::submit::{Submission, Submit, TaskOptions};
use crate::cli::exit::{Exit, Failure};
use crate::cli::options::any_bytes::any_bytes;
use crate::cli::options::conf;
use crate::cli::yarn::request;
use crate::cli::{block_on, help};

/// The options of `firesteel shell`, which holds an application and runs typed or scripted commands on its executors.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = help::short("shell", EXAMPLES),
    after_long_help = conf::help(HELP, Reader::Application)
)]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    submit: Submit,
    #[command(flatten)]
    tasks: TaskOptions,
    /// Run these commands and leave, such as 'executors; why'
    #[arg(short, long, value_name = "COMMANDS", help_heading = "Script", conflicts_with = "file", value_parser = any_bytes())]
    command: Option<String>,
    /// Continue a script after a command that failed, instead of leaving with its exit code
    #[arg(long, help_heading = "Script")]
    keep_going: bool,
    /// File for the history of typed lines [default: firesteel/history in $XDG_STATE_HOME or ~/.local/state]
    #[arg(long, value_name = "FILE", help_heading = "Terminal", hide_short_help = true)]
    history: Option<PathBuf>,
    /// Do not save typed lines
    #[arg(long, help_heading = "Terminal", conflicts_with = "history", hide_short_help = true)]
    no_history: bool,
    #[command(flatten)]
    command_context: CommandContext,
    /// Script with commands to run before leaving [default: standard input]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

/// The default name of a session's application.
const NAME: &str = "firesteel shell";

const EXAMPLES: &str =
    "  firesteel shell --master spark://node-1:7077 --total-executor-cores 8 --executor-cores 2
  firesteel shell -c 'run hostname; executors; why'
  firesteel shell --master spark://node-1:7077 script";

const HELP: &str = "\
Without FILE and --command, commands are read from standard input. A terminal has a prompt, history and completion; \
any other input is a script with one command per line. The command help lists all commands. A session:

  $ firesteel shell --master spark://node-1:7077 --total-executor-cores 8 --executor-cores 2
  firesteel shell: application app-20260101120000-0000 at spark://node-1:7077
  4 executors with 8 cores are ready; help lists the commands, ctrl-d leaves
  firesteel> run hostname
  node-2
  firesteel> map -i urls.txt curl -sO
  firesteel> run --cores 2 ./train.sh &
  firesteel> request 6
  6 executors are wanted in all, and 4 are assigned
  2 of 6 executors are missing: 3 Workers have 1 core free, and an executor needs 2 cores
  firesteel> watch

A script:

  printf 'wait --executors 4\\nrun ./prepare\\nmap -i parts ./work\\n' | firesteel shell --master spark://node-1:7077
  firesteel shell -c 'executors; why'

A command is not run by a shell: |, >, <, $NAME and *.txt have no meaning in it. For a shell line write run sh -c '...', \
and for items map sh -c '... \"$1\"' sh. A task inherits the environment of its Worker, and nothing of this one: use \
--env, or set env in the session.

Ctrl-c ends the task in the foreground, never the session. Ctrl-d leaves and ends the application in order. Without \
--master, a local cluster that fits this machine is started for the session.

Exit codes: 0, or in a script the exit code of the last failed command; 1 a command failed, or the Master ended the \
application; 2 wrong usage; 69 no Master could be reached; 75 a Master did not answer in time; 76 what listens there is no Master of this version; 78 a settings file or variable is wrong; 129, 130 and 143 \
ended by SIGHUP, ctrl-c in a script, and SIGTERM; 143 also if firesteel kill killed the application; 141 the reader of \
standard output is gone. A task that cannot be started has 127, a task that signal N ended 128 + N.";

pub(in crate::cli) fn run(args: Args, show: Show) -> Result<u8, Failure> {
    let progress = Progress::new(show);
    let job = args.job(&progress)?;
    block_on(shell::run(job, &progress))?.map_err(|error| failure(&error))
}

fn failure(error: &StartError) -> Failure {
    let exit = match error {
        StartError::Begin(error) => return Failure::start(error),
        StartError::Script { .. } => Exit::Usage,
        StartError::System(_) => return Failure::of_start(error),
    };
    Failure::with(exit, error)
}

impl Args {
    fn job(self, progress: &Progress) -> Result<Job, Failure> {
        let source = self.source();
        if let Some(path) = self.file.as_ref().filter(|path| path.is_dir()) {
            return Err(Failure::of(
                Exit::Usage,
                format!("{} is a directory: give a file with commands", path.display()),
            ));
        }
        if let Some(path) = self.file.as_ref().filter(|path| !path.exists()) {
            let words = format!("no script {}: to run a command line use --command", path.display());
            return Err(Failure::of(Exit::Usage, words));
        }
        let Submission { settings, cluster, properties } =
            self.submit.resolve(&self.tasks, NAME, progress)?;
        request::refuse_shell(&cluster)?;
        if let Some(idle) = settings.idle_resources() {
            progress.remark(idle);
        }
        Ok(Job {
            source,
            on_failure: if self.keep_going { OnFailure::GoesOn } else { OnFailure::Stops },
            defaults: Defaults {
                needs: settings.task_needs(),
                directory: self.command_context.directory(&settings)?,
                environment: self.command_context.environment()?,
            },
            name: settings.name.unwrap_or_else(|| NAME.to_owned()),
            cluster,
            properties,
        })
    }

    fn source(&self) -> Source {
        match (&self.command, &self.file) {
            (Some(words), _) => Source::Words(words.clone()),
            (None, Some(file)) => Source::File(file.clone()),
            (None, None) if io::stdin().is_terminal() => Source::Terminal { history: self.history() },
            (None, None) => Source::StandardInput,
        }
    }

    /// The path of the history file, by the XDG rules. `None` if there is no home directory.
    fn history(&self) -> Option<PathBuf> {
        if self.no_history {
            return None;
        }
        let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let state = || absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")));
        self.history.clone().or_else(|| Some(state()?.join("firesteel/history")))
    }
}
