//! Exit codes, and the one line that says why.

use std::error::Error;
use std::io;
use std::process::ExitCode;

use firesteel::settings::SettingError;
use firesteel::settings::sources::SourceError;
use firesteel::settings::standing::Refusal;

/// The exit codes, for `--help`.
pub(super) const HELP: &str = "\
Exit codes: 0 done; 1 failed; 2 wrong usage; 69 no Master could be reached; 78 a file or variable with settings is \
wrong; 130 cancelled.
Logs go to standard error, data to standard output. RUST_LOG sets what is logged, NO_COLOR keeps colours out.";

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    /// Done.
    Done,
    /// Failed.
    Failure,
    /// The command line is wrong.
    Usage,
    /// No Master could be reached.
    Unreachable,
    /// A file or a variable with settings is wrong.
    Configuration,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Failure => 1,
            Exit::Usage => 2,
            Exit::Unreachable => 69,
            Exit::Configuration => 78,
        })
    }
}

/// A command that failed, in one line: what was wrong, where, what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    exit: Exit,
    sentence: String,
}

impl Failure {
    /// A failure with these words.
    pub(super) fn of(exit: Exit, sentence: impl Into<String>) -> Self {
        Self { exit, sentence: sentence.into() }
    }

    /// A failure with an error's words.
    pub(super) fn with(exit: Exit, error: &dyn Error) -> Self {
        Self::of(exit, error.to_string())
    }

    /// A setting that cannot be used: wrong usage if it stands on the command line.
    pub(super) fn setting(error: &SettingError) -> Self {
        Self::with(if error.is_usage() { Exit::Usage } else { Exit::Configuration }, error)
    }

    /// A property with which nothing starts.
    pub(super) fn refusal(refusal: &Refusal) -> Self {
        let exit = if refusal.origin.is_command_line() { Exit::Usage } else { Exit::Configuration };
        Self::with(exit, refusal)
    }

    /// Properties that could not be read.
    pub(super) fn source(error: &SourceError) -> Self {
        match error {
            SourceError::Setting(error) => Self::setting(error),
            SourceError::Unreadable { .. }
            | SourceError::NoFile { .. }
            | SourceError::Grammar { .. }
            | SourceError::Options { .. } => Self::with(Exit::Configuration, error),
        }
    }

    /// What is wrong.
    pub(super) fn sentence(&self) -> &str {
        &self.sentence
    }

    /// Writes the line.
    pub(super) fn report(self) -> ExitCode {
        // Nobody may be left to read it.
        let _ = io::Write::write_all(&mut io::stderr(), format!("firesteel: {}\n", self.sentence).as_bytes());
        self.exit.into()
    }
}

/// What could not be written to standard output. A reader that has had enough is no failure.
pub(super) fn written(result: io::Result<()>) -> Result<Exit, Failure> {
    match result {
        Ok(()) => Ok(Exit::Done),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Exit::Done),
        Err(error) => Err(Failure::of(Exit::Failure, format!("cannot write to standard output: {error}"))),
    }
}

/// Clap's words about the command line: help and version on standard output, errors on standard error.
pub(super) fn usage(error: &clap::Error) -> ExitCode {
    // Nobody may be left to read it.
    let _ = error.print();
    if error.use_stderr() { Exit::Usage.into() } else { Exit::Done.into() }
}
