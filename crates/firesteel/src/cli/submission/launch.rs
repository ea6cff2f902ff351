//! `firesteel launch`: its options, and the start of the application.

use clap::{Args as ClapArgs, ValueEnum};
use firesteel_apps::detached::Announcement;
use firesteel_apps::launch::event::{LineFormat, Lines};
use firesteel_apps::launch::{self, Launch};
use firesteel_engine::launcher;
use firesteel_host::progress::{Progress, Show};
use firesteel_protocol::process::Command;
use firesteel_settings::Reader;

use super::command_context::{directory, environment};
use super::default_name::default_name;
use super::submit::{Submission, Submit, TaskOptions};
use super::{command_file, misplaced};
use crate::cli::detach::{self, Detach};
use crate::cli::exit::Failure;
use crate::cli::options::any_bytes::any_bytes;
use crate::cli::options::conf;
use crate::cli::yarn::{program, request};
use crate::cli::{block_on, help};

/// The options of `firesteel launch`, which runs a command on every executor of an application.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = help::short("launch", EXAMPLES),
    after_long_help = conf::help(HELP, Reader::Application)
)]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    submit: Submit,
    /// When to stop: after any executor or all executors have ended, or never
    #[arg(long, value_enum, value_name = "WHEN", default_value = "all", help_heading = "Command")]
    until: Until,
    /// Working directory on the executors' machines; "executor" is the executor's own
    ///
    /// An executor's own directory is below its Worker's work directory.
    #[arg(long, value_name = "DIR", default_value = "executor", help_heading = "Command", value_parser = any_bytes())]
    chdir: String,
    /// Set a variable for the command; NAME alone passes on the value it has here; may be repeated
    ///
    /// No other variable of this environment reaches the command.
    #[arg(long, value_name = "NAME[=VALUE]", help_heading = "Command", value_parser = any_bytes())]
    env: Vec<String>,
    /// Print events as JSON, one object per line
    #[arg(long, help_heading = "Output")]
    json: bool,
    #[command(flatten)]
    detach: Detach,
    /// Command with its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND", value_parser = any_bytes())]
    command: Vec<String>,
}

/// The event at which a launch ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Until {
    /// After the first executor has ended; the exit code is its own
    Any,
    /// After all requested executors have ended; the exit code is the greatest of theirs
    All,
    /// On ctrl-c or kill only; an executor that ends is replaced
    Never,
}

const EXAMPLES: &str = "  firesteel launch --master spark://node-1:7077 -- hostname
  firesteel launch --num-executors 4 --executor-cores 1 --until never -- ./serve.sh
  firesteel launch --executor-cores 2 --files work.sh --until any --json -- ./work.sh {{CORES}}";

const HELP: &str = "\
Each executor is one process of the command, started by its Worker. firesteel logs shows what it writes. If it fails, \
the end of its standard error is shown here, for the first three failures. An argument that is exactly one of these is \
replaced: {{EXECUTOR_ID}}, {{CORES}}, {{MEMORY}} (MiB), {{HOSTNAME}}, {{APP_ID}}, {{WORKER_ID}}, {{WORKER_URL}}, \
{{RESOURCE_PROFILE_ID}}, {{RESOURCES}} (gpu=0,1;nic=a) and {{FIRESTEEL}} (the Worker's program). The command is not \
run by a shell: to use variables write -- sh -c '...'.

The command inherits the environment of its Worker, and nothing of this one: use --env. It also finds \
FIRESTEEL_APP_ID, FIRESTEEL_EXECUTOR_ID (from 0), FIRESTEEL_EXECUTOR_DIR, FIRESTEEL_WORKER_ID, FIRESTEEL_CORES, \
FIRESTEEL_MEMORY_MIB and FIRESTEEL_RESOURCE_NAME (addresses).

  firesteel launch --master spark://node-1:7077 -- hostname
  firesteel launch --num-executors 4 --executor-cores 1 --env FIRST=8000 --until never -- \\
    sh -c 'exec python3 -m http.server $((FIRST + FIRESTEEL_EXECUTOR_ID))'
  firesteel launch --executor-cores 2 --files work.sh --until any --json -- ./work.sh {{CORES}}

Number of executors: --num-executors, or as many as --total-executor-cores allows. With neither, executors start wherever they fit, until \
the first one ends; after that no more start. If fewer fit, the others wait; after spark.starvation.timeout the reason is printed. An \
executor that is lost with its Worker is always replaced, whatever --until says.

Events are printed as they happen, each with its time in UTC, as in the logs of the daemons; --json has milliseconds \
since 1970 in time_ms.

Ctrl-c sends SIGTERM to the executors, and SIGKILL after the Worker's grace period, and returns when all have ended; a \
second ctrl-c returns at once. To limit the time write timeout 60 firesteel launch .... With --detach, the application goes \
on after logout: launch prints its id and returns, and firesteel attach ID shows the events and the exit code.

Exit codes: --until all: 0 if every executor returned 0, else the greatest of their codes; --until any: that of the \
first that ended; 128 + N if signal N ended it, 127 if it could not be started; 1 the Master ended the application \
(with --until never, because its executors keep failing), or something else failed; 2 wrong usage; 69 no Master \
could be reached; 75 a Master did not answer in time; 76 what listens there is no Master of this version; 78 a settings file or variable is wrong; 129, 130 and 143 ended by SIGHUP, ctrl-c and SIGTERM; \
143 also if firesteel kill killed the application; 141 the reader of standard output is gone.";

/// Launches the application and waits until it is over. With `--detach`, the launch runs in another process.
pub(in crate::cli) fn run(args: Args, show: Show) -> Result<u8, Failure> {
    args.detach.run(show, |announcement| run_here(args, show, announcement))
}

fn run_here(args: Args, show: Show, announcement: Option<Announcement>) -> Result<u8, Failure> {
    let progress = Progress::new(show);
    let format = match (args.json, show) {
        (true, _) => LineFormat::Json,
        (false, Show::Auto) => LineFormat::Text,
        (false, Show::Quiet) => LineFormat::Nothing,
    };
    let mut launch = args.launch(&progress)?;
    if let Some(request) = launch.cluster.in_a_container() {
        detach::refuse_container(announcement.as_ref())?;
        return request::submit(request, program::launch(&launch, format), &launch.settings, &progress);
    }
    announcement.iter().for_each(|it| it.named(&launch.name));
    launch.announcement = announcement;
    let ending = block_on(launch::run(launch, Lines::new(format), &progress))?;
    Ok(ending.map_err(|error| Failure::start(&error))?.exit_code())
}

impl Args {
    /// Whether events and errors are printed as JSON.
    pub(in crate::cli) fn prints_json(&self) -> bool {
        self.json
    }

    fn launch(self, progress: &Progress) -> Result<Launch, Failure> {
        let (program, arguments) = self.command.split_first().expect("clap requires a command");
        misplaced::first_word("launch", program)?;
        let remarks = [
            misplaced::late::<Self>("launch", &self.command),
            misplaced::shell_line(&self.command, "'...'"),
            misplaced::empty_argument(&self.command),
        ];
        remarks.iter().flatten().for_each(|remark| progress.remark(remark));
        let (environment, directory) = (environment(&self.env)?, directory(&self.chdir)?);
        let submission = self.submit.resolve(&TaskOptions::default(), program, progress)?;
        submission.wants_executors()?;
        let Submission { settings, cluster, properties } = submission;
        command_file::remark(program, &settings, &directory)
            .iter()
            .for_each(|remark| progress.remark(remark));
        Ok(Launch {
            name: settings.name.clone().unwrap_or_else(|| default_name(program, arguments)),
            command: Command { program: program.clone(), arguments: arguments.to_vec(), environment },
            directory,
            until: match self.until {
                Until::Any => launcher::Until::Any,
                Until::All => launcher::Until::All,
                Until::Never => launcher::Until::Never,
            },
            cluster,
            settings,
            properties,
            announcement: None,
        })
    }
}
