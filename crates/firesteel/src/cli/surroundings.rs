//! Where a command runs, and with which variables.

use std::collections::BTreeMap;

use clap::Args;
use firesteel_core::messages::TaskDirectory;
use firesteel_settings::application::ApplicationSettings;

use super::exit::{Exit, Failure};

/// `--chdir` and `--env`.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct Surroundings {
    /// Run the command in this directory of the executors' machines instead of the current one; "executor" is
    /// the executor's own, below its Worker's work directory, and what counts with --files and --archives
    #[arg(long, value_name = "DIR", help_heading = "Command")]
    chdir: Option<String>,
    /// Set a variable for the command, or pass on the one of this environment; may be given several times
    #[arg(long, value_name = "NAME[=VALUE]", help_heading = "Command")]
    env: Vec<String>,
}

impl Surroundings {
    /// The variables.
    pub(super) fn environment(&self) -> Result<BTreeMap<String, String>, Failure> {
        environment(&self.env)
    }

    /// The directory. What files are brought to is the executor's own.
    pub(super) fn directory(&self, settings: &ApplicationSettings) -> Result<TaskDirectory, Failure> {
        match self.chdir.as_deref() {
            Some(chdir) => directory(chdir),
            None if settings.brings_files() => Ok(TaskDirectory::Executor),
            None => Ok(TaskDirectory::Path(current_directory()?)),
        }
    }
}

/// The variables that `--env NAME[=VALUE]` sets.
pub(super) fn environment(names: &[String]) -> Result<BTreeMap<String, String>, Failure> {
    let variable = |text: &String| match text.split_once('=') {
        Some(("", _)) => Err(usage(format!("--env cannot be {text:?}: write NAME or NAME=VALUE"))),
        Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
        None => match std::env::var(text) {
            Ok(value) => Ok((text.clone(), value)),
            Err(error) => Err(usage(format!("--env {text} cannot be passed on: {error}"))),
        },
    };
    names.iter().map(variable).collect()
}

/// The directory that `--chdir` says, from the current one.
pub(super) fn directory(chdir: &str) -> Result<TaskDirectory, Failure> {
    match chdir {
        "executor" => Ok(TaskDirectory::Executor),
        path if path.starts_with('/') => Ok(TaskDirectory::Path(path.to_owned())),
        path => Ok(TaskDirectory::Path(format!("{}/{path}", current_directory()?))),
    }
}

fn current_directory() -> Result<String, Failure> {
    let path = std::env::current_dir()
        .map_err(|error| usage(format!("there is no current directory ({error}): give one with --chdir")))?;
    path.into_os_string()
        .into_string()
        .map_err(|_| usage("the current directory's name is not UTF-8: give another one with --chdir"))
}

fn usage(words: impl Into<String>) -> Failure {
    Failure::of(Exit::Usage, words)
}
