//! The working directory and the environment variables of a command.

use std::collections::BTreeMap;

use clap::Args;
use firesteel_protocol::byte_text;
use firesteel_protocol::messages::TaskDirectory;
use firesteel_settings::application::ApplicationSettings;

use crate::cli::exit::{Exit, Failure};
use crate::cli::options::any_bytes::any_bytes;

/// The options `--chdir` and `--env`.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct CommandContext {
    /// Working directory on the executors' machines; "executor" is the executor's own [default: the current one]
    ///
    /// An executor's own directory is below its Worker's work directory. It is the default with --files and --archives.
    #[arg(long, value_name = "DIR", help_heading = "Command", value_parser = any_bytes())]
    chdir: Option<String>,
    /// Set a variable for the command; NAME alone passes on the value it has here; may be repeated
    ///
    /// No other variable of this environment reaches the command.
    #[arg(long, value_name = "NAME[=VALUE]", help_heading = "Command", value_parser = any_bytes())]
    env: Vec<String>,
}

impl CommandContext {
    pub(super) fn environment(&self) -> Result<BTreeMap<String, String>, Failure> {
        environment(&self.env)
    }

    /// The working directory. If the application has files, it is the executor's own directory.
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
        None => match std::env::var_os(byte_text::os(text)) {
            Some(value) => Ok((text.clone(), byte_text::of_os(value))),
            None => Err(usage(format!(
                "--env {text}: {}: write --env {text}=VALUE",
                std::env::VarError::NotPresent
            ))),
        },
    };
    names.iter().map(variable).collect()
}

/// The directory that `--chdir` names, relative to the current directory.
pub(super) fn directory(chdir: &str) -> Result<TaskDirectory, Failure> {
    match chdir {
        "executor" => Ok(TaskDirectory::Executor),
        path if path.starts_with('/') => Ok(TaskDirectory::Path(path.to_owned())),
        path => Ok(TaskDirectory::Path(format!("{}/{path}", current_directory()?))),
    }
}

fn current_directory() -> Result<String, Failure> {
    let path = std::env::current_dir().map_err(|error| {
        usage(format!("cannot find the current directory: {error}: set one with --chdir"))
    })?;
    Ok(byte_text::of_os(path))
}

fn usage(words: impl Into<String>) -> Failure {
    Failure::of(Exit::Usage, words)
}
