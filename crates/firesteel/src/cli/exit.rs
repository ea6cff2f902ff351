//! Exit codes, and the one-line error messages.

use firesteel_host::plain;
use std::error::Error;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::{fs, io};

use clap::error::{ContextKind, ContextValue};
use firesteel_apps::cluster::ClusterError;
use firesteel_apps::startup::StartError;
use firesteel_host::net::Evidence;
use firesteel_host::{exit_code, standard, start};
use firesteel_protocol::executor_trouble::ExecutorTrouble;
use firesteel_settings::SettingError;
use firesteel_settings::property_effect::Refusal;
use firesteel_settings::sources::SourceError;
use firesteel_yarn::ipc::{FrameError, IpcError};
use firesteel_yarn_mode::client::YarnError;
use firesteel_yarn_mode::site::AskError;
use firesteel_yarn_mode::submission::SubmitError;
use serde::Serialize;

use super::options::any_bytes::own_words;
use super::submission::misplaced;

/// The end of the text of `firesteel --help`.
pub(super) const HELP: &str = "\
Results go to standard output, everything else to standard error. Daemons log events, other commands only warnings. Each \
--verbose logs one level more, each --quiet one level less, down to errors; RUST_LOG overrides both. FIRESTEEL_LOG_FORMAT stands for --log-format, also for executors. With --quiet, commands \
also print no progress, summaries, remarks or events. Times are in UTC. \
Commands with --json print one JSON value with the number of its schema, and their errors are JSON, too; launch --json and logs --json \
print one value on each line. docs/JSON.md says what each name means.

  firesteel map -- gzip -k ::: a.txt b.txt   compress files on this machine
  firesteel master --host node-1             start a cluster: first its Master,
  firesteel worker --host node-2 spark://node-1:7077   then a Worker on each machine
  firesteel map -h                           the common options of map
  firesteel map --help                       everything about map

Exit codes: 0 done; 1 failed; 2 wrong usage; 69 no Master could be reached; 71 the machine has too few processes, open files or \
too little memory to start, for every command; 75 a Master did not answer in time or in full; 76 \
what listens there is no Master of this version; 78 a settings file or variable is wrong; \
129, 130 and 143 ended by SIGHUP, ctrl-c and SIGTERM; 141 the reader of the output is gone.";

/// Examples for `firesteel -h`.
pub(super) const EXAMPLES: &str =
    "  firesteel map -- gzip -k ::: a.txt b.txt   compress files on this machine
  firesteel master --host node-1             start a cluster: first its Master,
  firesteel worker --host node-2 spark://node-1:7077   then a Worker on each machine
  firesteel map -h                           the common options of map";

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    Done,
    Failure,
    Usage,
    /// No Master answered. The evidence shows whether the address may be wrong.
    Unanswered(Evidence),
    /// The machine has too little memory, or too few processes or open files, to start.
    Shortage,
    /// A settings file or a variable is wrong.
    Configuration,
    /// An executor ended before its driver accepted it.
    Executor(ExecutorTrouble),
}

impl Exit {
    pub(super) fn code(self) -> u8 {
        match self {
            Self::Done => exit_code::DONE,
            Self::Failure => exit_code::FAILURE,
            Self::Usage => exit_code::USAGE,
            Self::Unanswered(evidence) => exit_code::unanswered(evidence),
            Self::Shortage => exit_code::SHORTAGE,
            Self::Configuration => exit_code::CONFIGURATION,
            Self::Executor(trouble) => trouble.exit_code(),
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ErrorFormat {
    /// One line of text for people.
    Text,
    /// One line of JSON, because the command line asks for JSON.
    Json,
}

impl ErrorFormat {
    /// The format of errors that the command line asks for, found without parsing it. `--json` may belong to another
    /// command: it does not count after `--`, or if this command has no such option.
    pub(super) fn asked(words: &[OsString], command: &clap::Command) -> Self {
        let named = words.iter().skip(1).find_map(|word| command.find_subcommand(word));
        let takes_words =
            |command: &clap::Command| command.get_arguments().any(clap::Arg::is_trailing_var_arg_set);
        let knows_json =
            |command: &clap::Command| command.get_arguments().any(|it| it.get_long() == Some("json"));
        let is_json = words.iter().take_while(|word| *word != "--").any(|word| word == "--json");
        match named {
            Some(named) if is_json && (knows_json(named) || !takes_words(named)) => Self::Json,
            Some(_) | None => Self::Text,
        }
    }

    /// The format that a parsed command line asks for.
    pub(super) fn of(is_json: bool) -> Self {
        if is_json { Self::Json } else { Self::Text }
    }

    fn line(self, exit: Exit, sentence: &str) -> String {
        match self {
            Self::Text => format!("firesteel: {}\n", plain::clean(sentence)),
            Self::Json => {
                let error = JsonError { code: exit.code(), message: sentence };
                let line = serde_json::to_string(&JsonFailure { schema: 1, error });
                plain::escaped(&line.expect("numbers and words can be written as JSON")) + "\n"
            }
        }
    }
}

#[derive(Serialize)]
struct JsonFailure<'a> {
    schema: u32,
    error: JsonError<'a>,
}

#[derive(Serialize)]
struct JsonError<'a> {
    code: u8,
    message: &'a str,
}

/// The failure of a command, in one line: what failed, why, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    exit: Exit,
    sentence: String,
}

impl Failure {
    pub(super) fn of(exit: Exit, sentence: impl Into<String>) -> Self {
        Self { exit, sentence: sentence.into() }
    }

    pub(super) fn with(exit: Exit, error: &dyn Error) -> Self {
        Self::of(exit, error.to_string())
    }

    /// The failure for a setting that cannot be used. If the setting comes from the command line, this is wrong usage.
    pub(super) fn setting(error: &SettingError) -> Self {
        Self::with(if error.is_usage() { Exit::Usage } else { Exit::Configuration }, error)
    }

    /// The failure to start something. The exit code distinguishes a shortage of the machine from other failures.
    /// A file or directory that cannot be written.
    pub(super) fn of_write(path: &Path, error: &io::Error) -> Self {
        Self::of(Exit::Failure, format!("cannot write {}: {error}", path.display()))
    }

    pub(super) fn of_start(error: &(dyn Error + 'static)) -> Self {
        Self::with(if start::is_of_shortage(error) { Exit::Shortage } else { Exit::Failure }, error)
    }

    pub(super) fn start(error: &StartError) -> Self {
        match error {
            StartError::Setting(error) => Self::setting(error),
            StartError::Files(_) => Self::with(Exit::Usage, error),
            StartError::Cluster(ClusterError::Yarn(error)) => Self::yarn(error),
            StartError::Cluster(ClusterError::Local(_))
            | StartError::Driver(_)
            | StartError::Offer(_)
            | StartError::Signals(_) => Self::of_start(error),
        }
    }

    /// The failure of an application that does not run on YARN.
    pub(super) fn yarn(error: &YarnError) -> Self {
        match error {
            YarnError::Submit(SubmitError::Ask(error)) => Self::asked(error),
            YarnError::Ask { error: AskError::Unreachable { error: why, .. }, .. } => {
                Self::with(Exit::Unanswered(evidence(why)), error)
            }
            YarnError::Submit(SubmitError::TooLarge { .. }) => Self::with(Exit::Usage, error),
            YarnError::Submit(SubmitError::Racks(_)) => Self::with(Exit::Configuration, error),
            YarnError::Submit(SubmitError::Staging(_) | SubmitError::Program(_) | SubmitError::NoId)
            | YarnError::Ask { .. }
            | YarnError::Ended(_)
            | YarnError::Master(_)
            | YarnError::MasterEnded(_)
            | YarnError::Nowhere(_) => Self::with(Exit::Failure, error),
        }
    }

    /// The failure of a request to a ResourceManager.
    pub(super) fn asked(error: &AskError) -> Self {
        let exit = match error {
            AskError::Site(_) => Exit::Configuration,
            AskError::Unreachable { error, .. } => Exit::Unanswered(evidence(error)),
            AskError::Objection { .. } => Exit::Failure,
        };
        Self::with(exit, error)
    }

    /// The failure for a property that prevents the start.
    pub(super) fn refusal(refusal: &Refusal) -> Self {
        let exit = if refusal.origin.is_command_line() { Exit::Usage } else { Exit::Configuration };
        Self::with(exit, refusal)
    }

    /// The failure for properties that could not be read.
    pub(super) fn source(error: &SourceError) -> Self {
        match error {
            SourceError::Setting(error) => Self::setting(error),
            SourceError::Unreadable { .. }
            | SourceError::NoFile { .. }
            | SourceError::Grammar { .. }
            | SourceError::Options { .. } => Self::with(Exit::Configuration, error),
        }
    }

    pub(super) fn exit(&self) -> Exit {
        self.exit
    }

    pub(super) fn sentence(&self) -> &str {
        &self.sentence
    }

    /// Appends words to the message.
    pub(super) fn and(self, words: &str) -> Self {
        Self { sentence: format!("{}; {words}", self.sentence), ..self }
    }

    pub(super) fn report(self, format: ErrorFormat) -> ExitCode {
        // The reader may have closed standard error.
        let line = format.line(self.exit, &self.sentence);
        let _ = io::Write::write_all(&mut plain::stderr(), line.as_bytes());
        self.exit.into()
    }
}

/// Evidence from an error about the address of a ResourceManager.
fn evidence(error: &IpcError) -> Evidence {
    match error {
        IpcError::Unreachable { .. } | IpcError::Closed => Evidence::Unreachable,
        IpcError::TimedOut(_) | IpcError::Remote(_) | IpcError::Sasl(_) => Evidence::NoAnswer,
        IpcError::Broken(frame) => match **frame {
            FrameError::Half | FrameError::Io(_) => Evidence::Unreachable,
            FrameError::TooLong { .. } | FrameError::OtherVersion { .. } | FrameError::Undecodable(_) => {
                Evidence::Stranger
            }
        },
    }
}

/// Turns the result of a write to standard output into an exit. It is not a failure if the other end has closed the
/// pipe.
pub(super) fn written(result: io::Result<()>) -> Result<Exit, Failure> {
    match result {
        Ok(()) => Ok(Exit::Done),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Exit::Done),
        Err(error) => Err(Failure::of(Exit::Failure, format!("cannot write to standard output: {error}"))),
    }
}

/// Writes a file that the command line names. An error contains the file's path.
pub(super) fn saved(path: &Path, contents: impl AsRef<[u8]>) -> Result<(), Failure> {
    fs::write(path, contents).map_err(|error| Failure::of_write(path, &error))
}

/// Removes advice about values from an error. Clap suggests passing an unknown option as a value. But wherever options
/// can be unknown, no command accepts values that look like options.
fn forget_values(error: &mut clap::Error) {
    let Some(ContextValue::StyledStrs(tips)) = error.remove(ContextKind::Suggested) else { return };
    let (_, tips): (Vec<_>, Vec<_>) =
        tips.into_iter().partition(|tip| tip.to_string().starts_with("to pass "));
    if !tips.is_empty() {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
}

/// Replaces clap's guess about an unknown subcommand, since clap suggests names that are not
/// similar.
fn advise(error: &mut clap::Error) {
    let first = own_words().skip(1).find(|word| !word.starts_with('-'));
    if let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidArg)
        && let Some(advice) = misplaced::argument(first.as_deref(), word)
    {
        error.remove(ContextKind::SuggestedArg);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![advice.into()]));
    }
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return };
    let word = word.clone();
    error.remove(ContextKind::SuggestedSubcommand);
    error.remove(ContextKind::Suggested);
    let parent = first.filter(|first| *first != word);
    if let Some(advice) = misplaced::subcommand(parent.as_deref(), &word) {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![advice.into()]));
    }
}

/// Prints clap's message about the command line: help and version to standard output, errors to
/// standard error.
pub(super) fn usage(mut error: clap::Error, format: ErrorFormat) -> ExitCode {
    forget_values(&mut error);
    advise(&mut error);
    match format {
        ErrorFormat::Json if error.use_stderr() => {
            let text = error.render().to_string();
            let first = text.split("\n\n").next().unwrap_or_default().trim_start_matches("error: ");
            let sentence = first.split_whitespace().collect::<Vec<_>>().join(" ");
            Failure::of(Exit::Usage, sentence).report(format)
        }
        ErrorFormat::Json | ErrorFormat::Text => {
            // Clap's own printing handles colours, but not a closed stream.
            let printed = standard::stdout().check().and_then(|()| error.print());
            match (error.use_stderr(), written(printed)) {
                (true, _) => Exit::Usage.into(),
                (false, Ok(exit)) => exit.into(),
                (false, Err(failure)) => failure.report(format),
            }
        }
    }
}
