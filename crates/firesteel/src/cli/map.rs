//! `firesteel map`: its options.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Write as _};
use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, ValueEnum};
use firesteel_apps::cluster::Cluster;
use firesteel_apps::map::input::Source;
use firesteel_apps::map::items::{Cut, Separator, Unit};
use firesteel_apps::map::leftovers::LeftoversError;
use firesteel_apps::map::preference::Preference;
use firesteel_apps::map::preference::wished;
use firesteel_apps::map::printer::Sinks;
use firesteel_apps::map::run::Ending;
use firesteel_apps::map::spool::{Limits, Order};
use firesteel_apps::map::summary::{self, Summary};
use firesteel_apps::map::{self, Job, StartError};
use firesteel_core::driver::Allocation;
use firesteel_core::messages::TaskDirectory;
use firesteel_core::process::Command;
use firesteel_core::wire::MAX_STDIN;
use firesteel_host::progress::{Progress, Show};
use firesteel_settings::{ApplicationSettings, Reader, size};

use super::exit::{Exit, Failure};
use super::submit::{Submission, Submit, TaskOptions};
use super::surroundings::Surroundings;
use super::yarn::{program, request};
use super::{block_on, brought, conf, stray};

/// What separates the command from its items.
const ITEMS: &str = ":::";

/// Runs a command once for each item, on the executors of an application.
#[derive(Debug, ClapArgs)]
#[command(after_help = conf::help(HELP, Reader::Application))]
pub(super) struct Args {
    #[command(flatten)]
    submit: Submit,
    #[command(flatten)]
    tasks: TaskOptions,
    /// Read the items from a file instead of standard input, which is also -, a line an item
    #[arg(short, long, value_name = "FILE", help_heading = "Items")]
    input: Option<PathBuf>,
    /// Items end with a NUL byte, as find -print0 writes them
    #[arg(short = '0', long, help_heading = "Items")]
    null: bool,
    /// Give the command blocks of whole lines on its standard input, instead of an item as an argument
    #[arg(long, help_heading = "Items")]
    pipe: bool,
    /// About how long a block is, at most 8m; otherwise 1m
    #[arg(long, value_name = "SIZE", help_heading = "Items", requires = "pipe")]
    block: Option<String>,
    /// Hosts where items would like to run: line n has those of item n, with commas between; an empty line if it
    /// does not matter
    #[arg(long, value_name = "FILE", help_heading = "Items", conflicts_with = "locality_column")]
    locality: Option<PathBuf>,
    /// The same in a column of each item, counted from 1, which is not passed on
    #[arg(long, value_name = "N", help_heading = "Items", value_parser = clap::value_parser!(u32).range(1..))]
    locality_column: Option<u32>,
    /// What stands between columns; otherwise a tab
    #[arg(long, value_name = "TEXT", help_heading = "Items", requires = "locality_column")]
    delimiter: Option<String>,
    /// Print outputs as items end, not in the order of the input
    #[arg(long, help_heading = "Output")]
    unordered: bool,
    /// Write outputs into this file instead of standard output; in cluster mode, one that the container's host can write
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    /// How the summary on standard error is written
    #[arg(long, value_enum, value_name = "FORM", default_value = "text", help_heading = "Output")]
    summary: Form,
    /// Write the summary as JSON into a file, too
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    summary_file: Option<PathBuf>,
    /// Write the items that failed, were cancelled or were not begun into a file, for another run with --input FILE and
    /// the same options; what was not read from standard input yet is not among them
    #[arg(long, value_name = "FILE", help_heading = "Output", conflicts_with = "locality")]
    failed: Option<PathBuf>,
    #[command(flatten)]
    surroundings: Surroundings,
    /// The command, its arguments, and perhaps ::: and the items
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// How the summary is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// For people
    Text,
    /// For programs, on one line
    Json,
    /// Not at all
    None,
}

const HELP: &str = "\
{} in any argument is replaced by the item; if there is none, the item is added as the last argument. An item is \
UTF-8 text of less than 128 KiB. With --pipe, arguments stay as they are, and lines may have any bytes. The command \
is no shell line: for pipes and the like write -- sh -c '... \"$1\"' sh. Never write {} into such a line: the shell \
would run what stands in the item. It fails as the last command of a pipe does, or, as bash -c 'set -o pipefail; ...', \
as any of them.

  firesteel map -- gzip -k ::: a.txt b.txt
  git ls-files | firesteel map -- sha256sum
  find . -name '*.png' -print0 | firesteel map -0 -- convert {} {}.jpg
  firesteel map --master spark://node-1:7077 --total-executor-cores 24 --executor-cores 6 -i urls -- curl -sO
  firesteel map --pipe -- grep -c error < log
  firesteel map --files tool.sh,data.txt --archives lib.tgz#lib -i items -- ./tool.sh {}
  firesteel map --executor-resource gpu=2 --task-resource gpu=1 -i models -- sh -c 'train --gpu $FIRESTEEL_TASK_RESOURCE_GPU $1' sh
  printf '%s\\t%s\\n' a.log node-1 b.log node-2,node-3 | firesteel map --locality-column 2 -- gzip

An item that prefers hosts (--locality, --locality-column; by the names that status shows) runs on one of them, after \
spark.locality.wait in the rack of one (firesteel.topology.table: a file with a host and its rack on each line), and \
after as long again anywhere; it waits only where an executor is.

Files and ::: are read through before anything starts (files of up to 64 MiB), so that an item that cannot be used \
shows at once. What a run with --failed left is done by another one:

  firesteel map -i urls --failed left -- curl -sO
  firesteel map -i left --failed left.2 -- curl -sO

Without --master, a local cluster sized to this machine is started and ended. An item that fails is tried again \
elsewhere, up to spark.task.maxFailures times in all; only the last attempt's output is printed.

The command finds in its environment: FIRESTEEL_TASK_ID, FIRESTEEL_TASK_ATTEMPT (from 0), FIRESTEEL_APP_ID, \
FIRESTEEL_EXECUTOR_ID, FIRESTEEL_EXECUTOR_DIR, FIRESTEEL_WORKER_ID, FIRESTEEL_HOST; what its executor has: \
FIRESTEEL_CORES, FIRESTEEL_MEMORY_MIB, FIRESTEEL_RESOURCE_NAME (addresses, with commas between); and what of that it \
was given itself with --task-resource: FIRESTEEL_TASK_RESOURCE_NAME. With --files or --archives it runs in its \
executor's directory, where ./NAME is what was brought along and other paths must be absolute, and FIRESTEEL_FILES_DIR is where that is kept.

With --conf spark.dynamicAllocation.enabled=true there are as many executors as there is work for: when items have \
waited for spark.dynamicAllocation.schedulerBacklogTimeout, one more is asked for, then two, four and so on; one that \
had nothing to do for spark.dynamicAllocation.executorIdleTimeout ends; never more than \
spark.dynamicAllocation.maxExecutors, never fewer than minExecutors.

Exit codes: 0 every item succeeded, or there was none; 1 an item failed, or something went wrong; 2 wrong usage, or an input or output that \
cannot be used, and nothing was done; 69 no Master could be reached; 78 a file or variable with settings is wrong; 129, 130 and 143 ended by \
SIGHUP, ctrl-c and SIGTERM; 143 also if the application was killed by firesteel kill; \
141 standard output was closed.";

/// Runs every item.
pub(super) fn run(args: Args, show: Show) -> Result<u8, Failure> {
    let progress = Progress::new(show);
    let (form, file, output) = (args.summary, args.summary_file.clone(), args.output.clone());
    let (job, settings) = args.job(&progress)?;
    if let Some(request) = job.cluster.in_a_container() {
        let summary = program::Summary { form: form.word(), file: file.as_deref() };
        let program = program::map(&job, &summary, output.as_deref())?;
        return request::submit(request, program, &settings, &progress);
    }
    let directory = job.directory.clone();
    let leaves = job.leftovers.is_some();
    let is_piped = matches!(job.source, Source::StandardInput);
    // What cannot be written is to be known before hours of work.
    let file = file.map(SummaryFile::open).transpose()?;
    let sinks = output.map_or_else(|| Ok(Sinks::standard()), |path| sinks(&path))?;
    let done = block_on(map::run(job, sinks, &progress))?;
    let (ending, summary) = done.map_err(|error| failure(&error))?;
    if let Some(file) = file {
        file.write(&summary)?;
    }
    if is_piped && summary.items == 0 && matches!(ending, Ending::Completed) {
        progress.remark(
            "no items came from standard input: on the command line they stand after the command and :::",
        );
    }
    match form {
        Form::Text if !matches!(ending, Ending::ReaderGone) => {
            say(&progress, show, &summary);
            if directory == TaskDirectory::Executor && summary.failures.iter().any(is_here) {
                progress.remark(
                    "commands ran in their executor's directory: what --files and --archives did not bring needs an \
                     absolute path",
                );
            }
            if summary.unnamed() > 0 && !leaves {
                progress.remark("--failed FILE writes all items that fail, for another run");
            }
        }
        Form::Json => progress.say(summary.to_json()),
        Form::Text | Form::None => {}
    }
    Ok(ending.exit_code(&summary))
}

/// What cannot be written is to be known before hours of work.
fn sinks(path: &Path) -> Result<Sinks, Failure> {
    Sinks::into_file(path)
        .map_err(|error| usage(format!("cannot write outputs to {}: {error}", path.display())))
}

/// Whether the item names a file by its place below the current directory.
fn is_here(failure: &summary::Failure) -> bool {
    let path = Path::new(&failure.item);
    path.is_relative() && path.exists()
}

/// Where `--summary-file` goes.
struct SummaryFile {
    path: PathBuf,
    file: File,
}

impl SummaryFile {
    /// Opens it, and leaves what it has until there is something else.
    fn open(path: PathBuf) -> Result<Self, Failure> {
        match OpenOptions::new().create(true).truncate(false).write(true).open(&path) {
            Ok(file) => Ok(Self { path, file }),
            Err(error) => Err(usage(format!("cannot write the summary to {}: {error}", path.display()))),
        }
    }

    fn write(mut self, summary: &Summary) -> Result<(), Failure> {
        // What is no file, such as a pipe, has no length to cut.
        let _ = self.file.set_len(0);
        self.file.write_all((summary.to_json() + "\n").as_bytes()).map_err(|error| {
            let words = format!("cannot write the summary to {}: {error}", self.path.display());
            Failure::of(Exit::Failure, words)
        })
    }
}

/// Items that failed are worth a line even to those who want it quiet.
fn say(progress: &Progress, show: Show, summary: &Summary) {
    match show {
        Show::Auto => progress.remark(summary),
        Show::Quiet if summary.failed > 0 => progress.error(summary),
        Show::Quiet => {}
    }
}

fn failure(error: &StartError) -> Failure {
    let exit = match error {
        StartError::Begin(error) => return Failure::start(error),
        StartError::Input(_)
        | StartError::Leftovers(LeftoversError::Open { .. } | LeftoversError::IsInput { .. }) => Exit::Usage,
        StartError::Outlet(_)
        | StartError::Leftovers(LeftoversError::Write { .. } | LeftoversError::Rest { .. }) => Exit::Failure,
    };
    Failure::with(exit, error)
}

impl Args {
    /// What is to be done, and what it is settled from.
    fn job(self, progress: &Progress) -> Result<(Job, ApplicationSettings), Failure> {
        let (command, items) = split(self.command);
        let Some((program, arguments)) = command.split_first() else {
            return Err(usage("there is no command before :::"));
        };
        if items.iter().flatten().any(|item| item == ITEMS) {
            return Err(usage(
                "::: stands there twice: all items stand after one; an item that is ::: is given by --input",
            ));
        }
        stray::first_word::<Self>("map", program)?;
        let remarks = [
            stray::late::<Self>("map", &command),
            stray::shell_line(&command, "'... \"$1\"' sh"),
            stray::item_in_line(&command),
            stray::empty_argument(&command),
        ];
        remarks.iter().flatten().for_each(|remark| progress.remark(remark));
        let submission = self.submit.resolve(&self.tasks, program, progress)?;
        // What is allocated dynamically begins with none, perhaps, and then has as many as the work needs.
        if submission.settings.allocation == Allocation::Fixed {
            submission.wants_executors()?;
        }
        let Submission { settings, cluster, properties } = submission;
        if let Some(idle) = settings.idle_resources() {
            progress.remark(idle);
        }
        let directory = self.surroundings.directory(&settings)?;
        brought::remark(program, &settings, &directory).iter().for_each(|remark| progress.remark(remark));
        let source = source(items, self.input, progress)?;
        let unit =
            if self.pipe { Unit::Block { bytes: block(self.block.as_deref())? } } else { Unit::Record };
        if self.pipe && matches!(source, Source::Words(_)) {
            return Err(usage(
                "--pipe reads blocks of lines: give them with --input or standard input, not with :::",
            ));
        }
        let preference = preference(self.locality, self.locality_column, self.delimiter)?;
        if self.pipe && preference != Preference::None {
            return Err(usage("--pipe makes blocks of many lines: they cannot prefer hosts of single ones"));
        }
        let separator = if self.null { Separator::Nul } else { Separator::Newline };
        if let (Some(_), Source::Words(words), Separator::Newline) = (&self.failed, &source, separator)
            && words.iter().any(|word| word.contains('\n'))
        {
            return Err(usage(
                "an item has a line feed: the file of --failed has an item a line, unless --null is given",
            ));
        }
        let name = settings.name.clone().unwrap_or_else(|| program.clone());
        let mut cluster = cluster;
        if let Cluster::Yarn(request) = &mut cluster {
            request.wished = wished(&preference, &source, separator);
            if let Some(words) =
                request.unasked().map_err(|error| Failure::with(Exit::Configuration, &error))?
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
                environment: self.surroundings.environment()?,
            },
            directory,
            order: if self.unordered { Order::Completion } else { Order::Input },
            leftovers: self.failed,
            limits: Limits::default(),
            name,
            cluster,
            properties,
        };
        Ok((job, settings))
    }
}

impl Form {
    /// As it is written.
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

/// The command, and the items if they stand after it.
fn split(mut words: Vec<String>) -> (Vec<String>, Option<Vec<String>>) {
    match words.iter().position(|word| word == ITEMS) {
        Some(at) => {
            let items = words.split_off(at + 1);
            words.pop();
            (words, Some(items))
        }
        None => (words, None),
    }
}

fn source(items: Option<Vec<String>>, file: Option<PathBuf>, progress: &Progress) -> Result<Source, Failure> {
    match (items, file) {
        (Some(_), Some(_)) => Err(usage("items come either after ::: or from --input, not from both")),
        (Some(items), None) => Ok(Source::Words(items)),
        (None, Some(file)) if file.as_os_str() != "-" => Ok(Source::File(file)),
        (None, Some(_) | None) => {
            if io::stdin().is_terminal() {
                progress.remark("reading items from the terminal, a line an item; ctrl-d ends them");
            }
            Ok(Source::StandardInput)
        }
    }
}

fn preference(
    file: Option<PathBuf>,
    column: Option<u32>,
    delimiter: Option<String>,
) -> Result<Preference, Failure> {
    match (file, column) {
        (Some(file), _) => Ok(Preference::File(file)),
        (None, Some(number)) => {
            let delimiter = delimiter.unwrap_or_else(|| "\t".to_owned()).replace("\\t", "\t");
            if delimiter.is_empty() {
                return Err(usage("--delimiter cannot be empty: write what stands between columns"));
            }
            Ok(Preference::Column { number: number as usize, delimiter })
        }
        (None, None) => Ok(Preference::None),
    }
}

fn block(text: Option<&str>) -> Result<usize, Failure> {
    let text = text.unwrap_or("1m");
    let bytes = size::bytes(text, size::Unit::Bytes).ok().and_then(|bytes| usize::try_from(bytes).ok());
    bytes.filter(|bytes| (1..=MAX_STDIN).contains(bytes)).ok_or_else(|| {
        usage(format!(
            "--block cannot be {text:?}: write a size from 1 to {}m, such as 512k",
            MAX_STDIN >> 20
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn items_stand_after_three_colons() {
        assert_eq!(split(words("echo -n")), (words("echo -n"), None));
        assert_eq!(split(words("echo ::: a ::: b")), (words("echo"), Some(words("a ::: b"))));
        assert_eq!(split(words("echo :::")), (words("echo"), Some(Vec::new())));
    }

    #[test]
    fn blocks_have_a_size_that_a_task_can_take() {
        assert_eq!(block(None), Ok(1 << 20));
        assert_eq!(block(Some("8m")), Ok(MAX_STDIN));
        for bad in ["0", "9m", "-1", "x", ""] {
            assert!(block(Some(bad)).is_err(), "{bad}");
        }
    }
}
