//! A command that runs in a container: its arguments, and its files there.
//!
//! The arguments are built from the parsed options instead of the typed text. Relative paths become absolute. Files
//! that the command would read on this machine are staged.

use std::path::{Path, absolute};

use firesteel_apps::launch::Launch;
use firesteel_apps::launch::event::LineFormat;
use firesteel_apps::map::Job;
use firesteel_apps::map::input::Source;
use firesteel_apps::map::items::{Separator, Unit};
use firesteel_apps::map::preference::Preference;
use firesteel_apps::map::spool::OutputOrder;
use firesteel_engine::launcher::Until;
use firesteel_protocol::byte_text;
use firesteel_protocol::messages::TaskDirectory;
use firesteel_protocol::process::Command;
use firesteel_settings::{Properties, keys, protection};
use firesteel_yarn_mode::blueprint::Program;
use firesteel_yarn_mode::submission::{Content, DriverFile};

use crate::cli::exit::{Exit, Failure};

const INPUT: &str = "__input__";
/// Name of the file with the preferred hosts.
const LOCALITY: &str = "__locality__";
const RACKS: &str = "__racks__";

/// Properties of the submission. They have already taken effect when the program starts.
const DONE: [&str; 10] = [
    keys::MASTER,
    keys::DEPLOY_MODE,
    keys::FILES,
    keys::ARCHIVES,
    keys::YARN_FILES,
    keys::YARN_ARCHIVES,
    keys::TOPOLOGY_TABLE,
    keys::DRIVER_HOST,
    keys::DRIVER_BIND_ADDRESS,
    keys::APP_NAME,
];

/// The arguments of a program, while they are collected.
struct ProgramArguments(Vec<String>);

impl ProgramArguments {
    fn of(command: &str, name: &str, properties: &Properties) -> Self {
        let mut words = Self(vec![command.to_owned(), "--only-conf".to_owned()]);
        words.option("--name", name);
        let is_done = |key: &str| {
            DONE.contains(&key) || key.starts_with("spark.hadoop.") || protection::is_left_to_yarn(key)
        };
        for (key, value) in properties.iter().filter(|(key, _)| !is_done(key)) {
            words.option("--conf", &format!("{key}={value}"));
        }
        words.option("--conf", &format!("{}={RACKS}", keys::TOPOLOGY_TABLE));
        words
    }

    fn flag(&mut self, flag: &str, is_set: bool) {
        if is_set {
            self.0.push(flag.to_owned());
        }
    }

    fn option(&mut self, option: &str, value: &str) {
        // A value may look like an option.
        self.0.push(format!("{option}={value}"));
    }

    fn path(&mut self, option: &str, path: Option<&Path>) -> Result<(), Failure> {
        if let Some(path) = path {
            self.option(option, &there(path)?);
        }
        Ok(())
    }

    fn command(mut self, command: &Command, directory: &TaskDirectory) -> Vec<String> {
        match directory {
            TaskDirectory::Executor => self.option("--chdir", "executor"),
            TaskDirectory::Path(path) => self.option("--chdir", path),
        }
        for (name, value) in &command.environment {
            self.option("--env", &format!("{name}={value}"));
        }
        self.0.push("--".to_owned());
        self.0.push(command.program.clone());
        self.0.extend(command.arguments.iter().cloned());
        self.0
    }
}

/// The absolute form of a path, which is valid in any working directory.
fn there(path: &Path) -> Result<String, Failure> {
    let found = absolute(path).map_err(|error| usage(format!("{}: {error}", path.display())))?;
    Ok(byte_text::of_os(found))
}

fn usage(words: String) -> Failure {
    Failure::of(Exit::Usage, words)
}

#[derive(Clone, Debug)]
pub(in crate::cli) struct Summary<'a> {
    pub(in crate::cli) form: &'a str,
    pub(in crate::cli) file: Option<&'a Path>,
}

/// The program for `firesteel map` in a container.
pub(in crate::cli) fn map(
    job: &Job,
    summary: &Summary<'_>,
    output: Option<&Path>,
) -> Result<(Program, Vec<DriverFile>), Failure> {
    let mut words = ProgramArguments::of("map", &job.name, &job.properties);
    let (content, separator) = content(&job.source, job.cut.separator);
    words.option("--input", INPUT);
    words.flag("--null", separator == Separator::Nul);
    match job.cut.unit {
        Unit::Record => {}
        Unit::Block { bytes } => {
            words.flag("--pipe", true);
            words.option("--block", &format!("{bytes}b"));
        }
    }
    let mut inputs =
        vec![DriverFile { name: INPUT, content }, DriverFile { name: RACKS, content: Content::Racks }];
    match &job.preference {
        Preference::None => {}
        Preference::Column { number, delimiter } => {
            words.option("--locality-column", &number.to_string());
            words.option("--delimiter", delimiter);
        }
        Preference::File(path) => {
            words.option("--locality", LOCALITY);
            inputs.push(DriverFile { name: LOCALITY, content: Content::File(path.clone()) });
        }
    }
    words.flag("--unordered", job.order == OutputOrder::Completion);
    words.option("--summary", summary.form);
    words.path("--summary-file", summary.file)?;
    words.path("--failed", job.leftovers.as_deref())?;
    let output = output.map(there).transpose()?.map(|path| byte_text::path(&path));
    let arguments = words.command(&job.command, &job.directory);
    Ok((Program { arguments, output, ..Program::default() }, inputs))
}

/// The items as a file to stage, and their separator. An item from the command line may contain a line feed.
fn content(source: &Source, separator: Separator) -> (Content, Separator) {
    match source {
        Source::Words(words) => {
            let bytes = words.iter().flat_map(|word| word.bytes().chain([0])).collect();
            (Content::Bytes(bytes), Separator::Nul)
        }
        Source::File(path) => (Content::File(path.clone()), separator),
        Source::StandardInput => (Content::StandardInput, separator),
    }
}

/// The program for `firesteel launch` in a container.
pub(in crate::cli) fn launch(launch: &Launch, format: LineFormat) -> (Program, Vec<DriverFile>) {
    let mut words = ProgramArguments::of("launch", &launch.name, &launch.properties);
    let until = match launch.until {
        Until::Any => "any",
        Until::All => "all",
        Until::Never => "never",
    };
    words.option("--until", until);
    words.flag("--json", format == LineFormat::Json);
    let arguments = words.command(&launch.command, &launch.directory);
    let racks = DriverFile { name: RACKS, content: Content::Racks };
    (Program { arguments, ..Program::default() }, vec![racks])
}
