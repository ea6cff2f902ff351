//! `firesteel map`: its options, and the start of the run.

mod input;

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, ValueEnum};
use firesteel_apps::cluster::Cluster;
use firesteel_apps::detached::Announcement;
use firesteel_apps::map::input::Source;
use firesteel_apps::map::items::{Cut, Separator, Unit};
use firesteel_apps::map::preference::preferred_hosts;
use firesteel_apps::map::printer::Sinks;
use firesteel_apps::map::run_record::RecordError;
use firesteel_apps::map::spool::{OutputOrder, SpoolLimits};
use firesteel_apps::map::summary::{self, Summary};
use firesteel_apps::map::{self, Ending, Job, StartError};
use firesteel_engine::driver::Allocation;
use firesteel_host::progress::{Progress, Show};
use firesteel_protocol::byte_text;
use firesteel_protocol::messages::TaskDirectory;
use firesteel_protocol::process::Command;
use firesteel_settings::{ApplicationSettings, Reader};

use super::command_context::CommandContext;
use super::default_name::default_name;
use super::submit::{Submission, Submit, TaskOptions};
use super::{command_file, misplaced, placeholders};
use crate::cli::detach::{self, Detach};
use crate::cli::exit::{Exit, Failure};
use crate::cli::options::any_bytes::any_bytes;
use crate::cli::options::conf;
use crate::cli::yarn::{program, request};
use crate::cli::{block_on, help};
use input::{ITEMS, block, check_input, preference, source, split};

/// The options of `firesteel map`, which runs a command once for each item, on the executors of an application.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = help::short("map", EXAMPLES),
    after_long_help = conf::help(HELP, Reader::Application)
)]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    submit: Submit,
    #[command(flatten)]
    tasks: TaskOptions,
    /// Read items from FILE, one per line; - is standard input [default: -]
    #[arg(short, long, value_name = "FILE", help_heading = "Items")]
    input: Option<PathBuf>,
    /// Items end with a NUL byte instead of a line feed, as find -print0 writes them
    #[arg(short = '0', long, help_heading = "Items")]
    null: bool,
    /// Pass blocks of whole lines on standard input instead of one item as an argument
    #[arg(long, help_heading = "Items")]
    pipe: bool,
    /// Size of a block with --pipe, at most 8m [default: 1m]
    #[arg(long, value_name = "SIZE", help_heading = "Items", requires = "pipe", hide_short_help = true)]
    block: Option<String>,
    /// File with the preferred hosts of each item: line N has those of item N, separated by commas
    ///
    /// An empty line means no preference.
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "Items",
        conflicts_with = "locality_column",
        hide_short_help = true
    )]
    locality: Option<PathBuf>,
    /// Column of each item that has its preferred hosts, counted from 1; it is not passed to the command
    #[arg(
        long,
        value_name = "N",
        help_heading = "Items",
        value_parser = clap::value_parser!(u32).range(1..),
        hide_short_help = true
    )]
    locality_column: Option<u32>,
    /// Separator of columns [default: a tab]
    #[arg(
        long,
        value_name = "TEXT",
        help_heading = "Items",
        requires = "locality_column",
        hide_short_help = true
    )]
    delimiter: Option<String>,
    /// Print outputs as items finish, instead of in input order
    #[arg(long, help_heading = "Output")]
    unordered: bool,
    /// Write outputs to FILE, new or empty, instead of standard output
    ///
    /// In cluster mode on YARN, FILE is on the machine of the driver's container.
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Form of the summary on standard error
    #[arg(
        long,
        value_enum,
        value_name = "FORM",
        default_value = "text",
        help_heading = "Output",
        hide_short_help = true
    )]
    summary: SummaryFormat,
    /// Also write the summary to FILE, as JSON
    #[arg(long, value_name = "FILE", help_heading = "Output", hide_short_help = true)]
    summary_file: Option<PathBuf>,
    /// Write the items that did not succeed to FILE, for another run with --input FILE
    ///
    /// They are the items that failed, were cancelled or did not start. Give that run the same options. FILE may be the
    /// file of --input. With --pipe, FILE has the lines of the blocks that did not succeed. Items that were still
    /// unread on standard input are not in FILE.
    #[arg(long, value_name = "FILE", help_heading = "Output", conflicts_with = "locality")]
    failed: Option<PathBuf>,
    #[command(flatten)]
    detach: Detach,
    #[command(flatten)]
    command_context: CommandContext,
    /// Command with its arguments, then optionally ::: and the items
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND", value_parser = any_bytes())]
    command: Vec<String>,
}

/// The format in which the summary is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SummaryFormat {
    /// Lines for people
    Text,
    /// One line of JSON
    Json,
    /// No summary
    None,
}

const EXAMPLES: &str = "  firesteel map -- gzip -k ::: a.txt b.txt
  git ls-files | firesteel map -- sha256sum
  find . -name '*.png' -print0 | firesteel map -0 -- convert {} {}.jpg
  firesteel map --master spark://node-1:7077 --executor-cores 6 -i urls -- curl -sO";

const HELP: &str = "\
{} in an argument is replaced by the item. If no argument has {}, the item becomes the last argument. An item has \
less than 128 KiB, of any bytes but NUL. With --pipe, arguments stay as they are, and lines may have any bytes. The command is \
not run by a shell: for pipes and the like write -- sh -c '... \"$1\"' sh. Do not write {} into such a shell line: the \
shell would run the text of the item. A pipe's exit code is that of its last command; bash -c 'set -o pipefail; ...' \
makes it fail if any of its commands fails. Other placeholders of GNU parallel are not replaced: write ${1%.*} for {.}, \
${1##*/} for {/} and $FIRESTEEL_TASK_ID for {#} into the line of sh -c.

  firesteel map -- gzip -k ::: a.txt b.txt
  git ls-files | firesteel map -- sha256sum
  find . -name '*.png' -print0 | firesteel map -0 -- convert {} {}.jpg
  firesteel map --master spark://node-1:7077 --total-executor-cores 24 --executor-cores 6 -i urls -- curl -sO
  firesteel map --pipe -- grep -c error < log
  firesteel map --files tool.sh,data.txt --archives lib.tgz#lib -i items -- ./tool.sh {}
  firesteel map --executor-resource gpu=2 --task-resource gpu=1 -i models -- sh -c 'train --gpu $FIRESTEEL_TASK_RESOURCE_GPU $1' sh
  printf '%s\\t%s\\n' a.log node-1 b.log node-2,node-3 | firesteel map --locality-column 2 -- gzip

Preferred hosts (--locality, --locality-column) are host names as firesteel status shows them. An item first waits for \
a free core on one of them. After spark.locality.wait it may run on any host in the same rack \
(firesteel.topology.table: a file with a host and its rack on each line). After another spark.locality.wait it may run \
anywhere. It waits only for hosts that have an executor.

Files and the items after ::: are checked before anything starts (files of up to 64 MiB), so that a bad item is \
reported at once. With --detach, the run goes on after logout: map prints the id of the application and returns, and firesteel attach ID shows \
the outputs, the summary and the exit code.

To run again what did not succeed:

  firesteel map -i urls --failed todo -- curl -sO
  firesteel map -i todo --failed todo -- curl -sO

The second line is right each time, also for a list of your own: it runs what todo has and leaves there what did not \
succeed. An empty todo means that all items succeeded, and runs nothing. During the run, todo.unfinished has the progress, \
with a copy of the items unless they come from a file of more than 64 MiB, and todo is written at the end. If the run is \
killed, --input todo reads the remaining items from todo.unfinished.

Without --master, a local cluster that fits this machine is started for the run. An item that fails is retried on \
another executor if possible, until it has failed spark.task.maxFailures times; only the output of its last attempt is \
printed. Some exit codes are not retried (--fatal-exit-codes): 124, which timeout returns when the time is over. Codes \
such as 125, 126 and 127 are retried, since they often depend on the machine. A program that no machine can start is \
tried once on each.

The command inherits the environment of its Worker, and nothing of this one, on every kind of cluster. The Workers of \
a local cluster have only PATH, HOME, USER, LOGNAME, SHELL, LANG, LANGUAGE, LC_*, TZ, TMPDIR and XDG_RUNTIME_DIR of \
this environment. To set a variable use --env, or --conf spark.executorEnv.NAME=VALUE.

The command also finds FIRESTEEL_TASK_ID, FIRESTEEL_TASK_ATTEMPT (from 0), FIRESTEEL_APP_ID, FIRESTEEL_EXECUTOR_ID, \
FIRESTEEL_EXECUTOR_DIR, FIRESTEEL_WORKER_ID and FIRESTEEL_HOST; for its executor FIRESTEEL_CORES, FIRESTEEL_MEMORY_MIB \
and FIRESTEEL_RESOURCE_NAME (addresses, separated by commas); for itself, with --task-resource, \
FIRESTEEL_TASK_RESOURCE_NAME. With --files or --archives it runs in its executor's directory: there ./NAME is a file \
that was copied, other paths must be absolute, and FIRESTEEL_FILES_DIR is the directory that keeps the files.

With --conf spark.dynamicAllocation.enabled=true the number of executors follows the work. When items have waited for \
spark.dynamicAllocation.schedulerBacklogTimeout, one executor is requested, then 2, 4 and so on. An executor without \
work ends after spark.dynamicAllocation.executorIdleTimeout. Bounds: spark.dynamicAllocation.minExecutors and \
spark.dynamicAllocation.maxExecutors.

Exit codes: 0 every item succeeded, or there was none; 1 an item failed, or something else failed; 2 wrong usage, or \
an input or output that cannot be used, and nothing ran; 69 no Master could be reached; 75 a Master did not answer in time; 76 what listens there is no Master of this version; 78 a settings file or variable \
is wrong; 129, 130 and 143 ended by SIGHUP, ctrl-c and SIGTERM; 143 also if firesteel kill killed the application; \
141 the reader of standard output is gone.";

/// Runs every item. With `--detach`, the run is in another process.
pub(in crate::cli) fn run(args: Args, show: Show) -> Result<u8, Failure> {
    args.detach.run(show, |announcement| run_here(args, show, announcement))
}

fn run_here(args: Args, show: Show, announcement: Option<Announcement>) -> Result<u8, Failure> {
    let progress = Progress::new(show);
    let (form, file, output) = (args.summary, args.summary_file.clone(), args.output.clone());
    let (mut job, settings) = args.job(&progress)?;
    if let Some(request) = job.cluster.in_a_container() {
        detach::refuse_container(announcement.as_ref())?;
        let summary = program::Summary { form: form.word(), file: file.as_deref() };
        let program = program::map(&job, &summary, output.as_deref())?;
        return request::submit(request, program, &settings, &progress);
    }
    announcement.iter().for_each(|it| it.named(&job.name));
    job.announcement = announcement;
    let directory = job.directory.clone();
    let leaves = job.leftovers.is_some();
    let nothing_read = match &job.source {
        Source::StandardInput => Some(
            "standard input had no items: to give items on the command line write COMMAND ::: ITEM.."
                .to_owned(),
        ),
        Source::File(path) => Some(format!("{} has no items, so nothing ran", path.display())),
        Source::Words(_) => None,
    };
    // An unwritable file is reported now, not after hours of work.
    let file = file.map(SummaryFile::open).transpose()?;
    let sinks = output.map_or_else(|| Ok(Sinks::standard()), |path| sinks(&path))?;
    let done = block_on(map::run(job, sinks, &progress))?;
    let (ending, summary) = done.map_err(|error| failure(&error))?;
    if let Some(file) = file {
        file.write(&summary)?;
    }
    if let Some(remark) = nothing_read
        && summary.items == 0
        && matches!(ending, Ending::Completed)
    {
        progress.remark(remark);
    }
    match form {
        SummaryFormat::Text if !matches!(ending, Ending::ReaderGone) => {
            say(&progress, show, &summary);
            if directory == TaskDirectory::Executor && summary.failures.iter().any(is_here) {
                progress.remark(
                    "commands ran in their executor's directory: files that --files and --archives did not copy there \
                     need an absolute path",
                );
            }
            if summary.unnamed() > 0 && !leaves {
                progress.remark("--failed FILE lists all items that fail, for another run");
            }
        }
        SummaryFormat::Json => progress.say(summary.to_json()),
        SummaryFormat::Text | SummaryFormat::None => {}
    }
    Ok(map::exit_code(&ending, &summary))
}

/// Opens the output file at the start, so that an error is reported before hours of work.
fn sinks(path: &Path) -> Result<Sinks, Failure> {
    if fs::metadata(path).is_ok_and(|data| data.is_file() && data.len() > 0) {
        return Err(usage(format!(
            "{path} has outputs already, which --output does not overwrite: remove {path}, or add to it with >> {path} \
             in the place of --output",
            path = path.display()
        )));
    }
    Sinks::into_file(path)
        .map_err(|error| usage(format!("cannot write outputs to {}: {error}", path.display())))
}

/// Whether the item of a failure is the relative path of an existing file.
fn is_here(failure: &summary::Failure) -> bool {
    let path = byte_text::path(&failure.item);
    path.is_relative() && path.exists()
}

/// The file that `--summary-file` names.
struct SummaryFile {
    path: PathBuf,
    file: File,
}

impl SummaryFile {
    /// Opens the file, but keeps its contents until the summary is written.
    fn open(path: PathBuf) -> Result<Self, Failure> {
        match OpenOptions::new().create(true).truncate(false).write(true).open(&path) {
            Ok(file) => Ok(Self { path, file }),
            Err(error) => Err(usage(format!("cannot write the summary to {}: {error}", path.display()))),
        }
    }

    fn write(mut self, summary: &Summary) -> Result<(), Failure> {
        // A pipe, for example, has no length to truncate.
        let _ = self.file.set_len(0);
        self.file.write_all((summary.to_json() + "\n").as_bytes()).map_err(|error| {
            let words = format!("cannot write the summary to {}: {error}", self.path.display());
            Failure::of(Exit::Failure, words)
        })
    }
}

/// Prints the summary. Failed items are listed even in quiet mode.
fn say(progress: &Progress, show: Show, summary: &Summary) {
    match show {
        Show::Auto => progress.say(format_args!("firesteel: {summary}")),
        Show::Quiet if summary.failed > 0 => progress.say(format_args!("firesteel: {summary}")),
        Show::Quiet => {}
    }
}

fn failure(error: &StartError) -> Failure {
    let exit = match error {
        StartError::Begin(error) => return Failure::start(error),
        StartError::Input(_)
        | StartError::Record(
            RecordError::Open { .. } | RecordError::IsInput { .. } | RecordError::Unfinished { .. },
        ) => Exit::Usage,
        StartError::Outlet(_) | StartError::Record(RecordError::Write { .. }) => {
            return Failure::of_start(error);
        }
    };
    Failure::with(exit, error)
}

impl Args {
    /// The job, together with the application's settings.
    fn job(self, progress: &Progress) -> Result<(Job, ApplicationSettings), Failure> {
        let (command, items) = split(self.command);
        let Some((program, arguments)) = command.split_first() else {
            return Err(usage("there is no command before :::; write firesteel map -- COMMAND ::: ITEM.."));
        };
        if items.iter().flatten().any(|item| item == ITEMS) {
            return Err(usage(
                "::: is given twice: write all items after one :::, or an item that is ::: into a file for --input",
            ));
        }
        misplaced::first_word("map", program)?;
        command_remarks(&command).iter().for_each(|remark| progress.remark(remark));
        let submission = self.submit.resolve(&self.tasks, program, progress)?;
        // With dynamic allocation, the application may begin without executors and gets as many as the work needs.
        if submission.settings.allocation == Allocation::Fixed {
            submission.wants_executors()?;
        }
        let Submission { settings, mut cluster, properties } = submission;
        if let Some(idle) = settings.idle_resources() {
            progress.remark(idle);
        }
        let directory = self.command_context.directory(&settings)?;
        command_file::remark(program, &settings, &directory)
            .iter()
            .for_each(|remark| progress.remark(remark));
        let source = source(items, self.input, progress)?;
        let unit =
            if self.pipe { Unit::Block { bytes: block(self.block.as_deref())? } } else { Unit::Record };
        let preference = preference(self.locality, self.locality_column, self.delimiter)?;
        let separator = if self.null { Separator::Nul } else { Separator::Newline };
        check_input(unit, separator, self.failed.is_some(), &source, &preference)?;
        let name = settings.name.clone().unwrap_or_else(|| default_name(program, arguments));
        if let Cluster::Yarn(request) = &mut cluster {
            request.preferred_hosts = preferred_hosts(&preference, &source, separator);
            if let Some(words) =
                request.rack_warning().map_err(|error| Failure::with(Exit::Configuration, &error))?
            {
                progress.remark(words);
            }
        }
        let job = Job {
            source,
            cut: Cut { separator, unit },
            preference,
            command: Command {
                program: program.clone(),
                arguments: arguments.to_vec(),
                environment: self.command_context.environment()?,
            },
            directory,
            order: if self.unordered { OutputOrder::Completion } else { OutputOrder::Input },
            leftovers: self.failed,
            limits: SpoolLimits::default(),
            name,
            cluster,
            properties,
            announcement: None,
        };
        Ok((job, settings))
    }
}

/// Warnings about likely mistakes in a command.
fn command_remarks(command: &[String]) -> Vec<String> {
    let remarks = [
        misplaced::late::<Args>("map", command),
        misplaced::shell_line(command, "'... \"$1\"' sh"),
        misplaced::item_in_line(command),
        misplaced::empty_argument(command),
        placeholders::remark(command),
    ];
    remarks.into_iter().flatten().collect()
}

impl SummaryFormat {
    /// The value's name on the command line.
    fn word(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
            Self::None => "none",
        }
    }
}

fn usage(words: impl Into<String>) -> Failure {
    Failure::of(Exit::Usage, words)
}
