//! `firesteel launch`: its options.

use clap::{Args as ClapArgs, ValueEnum};
use firesteel_apps::launch::occurrence::{Form, Lines};
use firesteel_apps::launch::{self, Launch};
use firesteel_core::launcher;
use firesteel_core::process::Command;
use firesteel_host::progress::{Progress, Show};
use firesteel_settings::Reader;

use super::exit::Failure;
use super::submit::{Submission, Submit, TaskOptions};
use super::surroundings::{directory, environment};
use super::yarn::{program, request};
use super::{block_on, brought, conf, stray};

/// Runs a command on every executor of an application, in the foreground.
#[derive(Debug, ClapArgs)]
#[command(after_help = conf::help(HELP, Reader::Application))]
pub(super) struct Args {
    #[command(flatten)]
    submit: Submit,
    /// When it is over
    #[arg(long, value_enum, value_name = "WHEN", default_value = "all", help_heading = "Command")]
    until: Until,
    /// Run the command in this directory of the executors' machines instead of the executor's own, which is below its
    /// Worker's work directory
    #[arg(long, value_name = "DIR", default_value = "executor", help_heading = "Command")]
    chdir: String,
    /// Set a variable for the command, or pass on the one of this environment; may be given several times
    #[arg(long, value_name = "NAME[=VALUE]", help_heading = "Command")]
    env: Vec<String>,
    /// Write events as JSON, one object a line
    #[arg(long, help_heading = "Output")]
    json: bool,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// When a launch is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Until {
    /// When the first executor has ended: its exit code
    Any,
    /// When all executors that were asked for have ended: the greatest of their exit codes
    All,
    /// Not by itself: an executor that ended is replaced
    Never,
}

const HELP: &str = "\
Every executor is one process of the command, started by its Worker; what it writes is read with firesteel logs, and the \
end of its standard error is shown if it fails (the first three times). An argument that is exactly {{EXECUTOR_ID}}, \
{{CORES}}, {{MEMORY}} (MiB), {{HOSTNAME}}, {{APP_ID}}, {{WORKER_ID}}, {{WORKER_URL}}, {{RESOURCE_PROFILE_ID}}, \
{{RESOURCES}} (gpu=0,1;nic=a) or {{FIRESTEEL}} (the Worker's program) is replaced. The command finds in its \
environment: FIRESTEEL_APP_ID, FIRESTEEL_EXECUTOR_ID (from 0), FIRESTEEL_EXECUTOR_DIR, FIRESTEEL_WORKER_ID, \
FIRESTEEL_CORES, FIRESTEEL_MEMORY_MIB, FIRESTEEL_RESOURCE_NAME (addresses). The command is no shell line: for variables \
write -- sh -c '...'.

  firesteel launch --master spark://node-1:7077 -- hostname
  firesteel launch --num-executors 4 --executor-cores 1 --env FIRST=8000 --until never -- \\
    sh -c 'exec python3 -m http.server $((FIRST + FIRESTEEL_EXECUTOR_ID))'
  firesteel launch --executor-cores 2 --files work.sh --until any --json -- ./work.sh {{CORES}}

How many executors: --num-executors, or as many as --total-executor-cores allows, or, with neither, as many as there is \
room for until the first has ended. Where there is room for fewer, the others wait for their turn, and the reason is \
said after spark.starvation.timeout. An executor that is lost with its Worker is replaced whatever --until says, since \
it did not end by itself. Ctrl-c ends the executors (SIGTERM, and SIGKILL after the Worker's grace) and returns when \
all are gone; a second one returns at once. For a bound on the time write timeout 60 firesteel launch ... To go on after \
you have logged out write nohup firesteel launch ... &

Exit codes: --until all: 0 if every executor returned 0, else the greatest of their codes; --until any: that of the \
first that ended; 128 + N for one that signal N ended, 127 for one that could not be started; 1 the Master ended the \
application (with --until never, when its executors keep failing), or something went wrong; 2 wrong usage; 69 no Master \
could be reached; 78 a file or variable with settings is wrong; 129, 130 and 143 ended by SIGHUP, ctrl-c and SIGTERM; \
143 also if the application was killed by firesteel kill; 141 standard output was closed.";

/// Launches, and stays until it is over.
pub(super) fn run(args: Args, show: Show) -> Result<u8, Failure> {
    let progress = Progress::new(show);
    let form = match (args.json, show) {
        (true, _) => Form::Json,
        (false, Show::Auto) => Form::Text,
        (false, Show::Quiet) => Form::Nothing,
    };
    let launch = args.launch(&progress)?;
    if let Some(request) = launch.cluster.in_a_container() {
        return request::submit(request, program::launch(&launch, form), &launch.settings, &progress);
    }
    let ending = block_on(launch::run(launch, Lines::new(form), &progress))?;
    Ok(ending.map_err(|error| Failure::start(&error))?.exit_code())
}

impl Args {
    fn launch(self, progress: &Progress) -> Result<Launch, Failure> {
        let (program, arguments) = self.command.split_first().expect("clap requires a command");
        stray::first_word::<Self>("launch", program)?;
        let remarks = [
            stray::late::<Self>("launch", &self.command),
            stray::shell_line(&self.command, "'...'"),
            stray::empty_argument(&self.command),
        ];
        remarks.iter().flatten().for_each(|remark| progress.remark(remark));
        let (environment, directory) = (environment(&self.env)?, directory(&self.chdir)?);
        let submission = self.submit.resolve(&TaskOptions::default(), program, progress)?;
        submission.wants_executors()?;
        let Submission { settings, cluster, properties } = submission;
        brought::remark(program, &settings, &directory).iter().for_each(|remark| progress.remark(remark));
        Ok(Launch {
            name: settings.name.clone().unwrap_or_else(|| program.clone()),
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
        })
    }
}
