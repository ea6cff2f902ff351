//! The sources of properties, and their precedence.
//!
//! Precedence, highest first:
//!
//! - a flag that sets a property (added later, by the command that has the flags);
//! - `--conf`;
//! - for a Worker, the variable `SPARK_LOCAL_DIRS`;
//! - for daemons, the `-D` options of `SPARK_MASTER_OPTS` or `SPARK_WORKER_OPTS`, and then of `SPARK_DAEMON_JAVA_OPTS`;
//! - the properties file: the file that `--properties-file` names. Without this flag: the first `spark-defaults.conf`
//!   in `$SPARK_CONF_DIR`, `$SPARK_HOME/conf` or `/etc/firesteel`;
//! - except for a Master, the variable `MASTER`; for applications also `SPARK_EXECUTOR_CORES`, `SPARK_EXECUTOR_MEMORY`
//!   and `SPARK_LOCAL_IP`.
//!
//! Source: Spark 4.0.1; its daemons have no `--conf`.

pub mod java_options;
pub mod properties_file;
pub mod variables;

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::key::Reader;
use super::origin::Origin;
use super::{Properties, SettingError};
use firesteel_protocol::byte_text;
use properties_file::GrammarError;
use variables::{Environment, Role};

pub const DEFAULT_FILE: &str = "spark-defaults.conf";

#[derive(Clone, Debug)]
pub struct Sources {
    pub reader: Reader,
    pub conf: Vec<String>,
    pub files: Files,
    pub environment: Environment,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Files {
    /// No file.
    None,
    /// The file `spark-defaults.conf`, if it exists.
    Defaults,
    /// The file that `--properties-file` names, instead of `spark-defaults.conf`.
    Named(PathBuf),
    /// The file that `--properties-file` names. Properties that this file does not set come from `spark-defaults.conf`.
    NamedThenDefaults(PathBuf),
}

impl Files {
    /// The files that `--properties-file` and `--load-spark-defaults` select.
    #[must_use]
    pub fn of(named: Option<PathBuf>, and_defaults: bool) -> Self {
        match (named, and_defaults) {
            (None, _) => Self::Defaults,
            (Some(path), false) => Self::Named(path),
            (Some(path), true) => Self::NamedThenDefaults(path),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    pub properties: Properties,
    pub files: Vec<PathBuf>,
    /// The names that are properties of neither Spark nor Firesteel, and where each name was set.
    pub unknown: Vec<(String, Origin)>,
}

#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// A `--conf` flag is not a pair of key and value.
    #[error(transparent)]
    Setting(#[from] SettingError),
    #[error("cannot read the properties file {}: {error}", path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    /// The path is a directory or a device.
    #[error("the properties file {} is not a regular file: give a regular file", path.display())]
    NoFile { path: PathBuf },
    #[error("cannot read the properties file {}: {error}", path.display())]
    Grammar { path: PathBuf, error: GrammarError },
    #[error("cannot read ${name}: {error}")]
    Options {
        /// The name of the variable. Its value is left out, because it may contain a secret.
        name: &'static str,
        error: java_options::Unfinished,
    },
}

impl Sources {
    /// Reads all sources.
    ///
    /// # Errors
    /// A `--conf` flag is not a pair, a named file does not exist, or a file or variable cannot be parsed. A missing
    /// `spark-defaults.conf` is not an error.
    pub fn load(&self) -> Result<Loaded, SourceError> {
        let mut loaded = Loaded {
            properties: Properties::parse(self.conf.iter().map(String::as_str))?,
            ..Loaded::default()
        };
        let variables: Vec<_> = variables::of(self.reader).collect();
        for variable in &variables {
            if let Role::Override(key) = variable.role {
                loaded.add_variable(variable.name, key, &self.environment);
            }
        }
        // In the table, options for one kind of daemon come after those for all daemons, and take
        // precedence over them.
        for variable in variables.iter().rev().filter(|variable| variable.role == Role::Options) {
            loaded.add_options(variable.name, &self.environment)?;
        }
        for path in self.paths() {
            loaded.add_file(path)?;
        }
        for variable in variables {
            if let Role::Property(key) = variable.role {
                loaded.add_variable(variable.name, key, &self.environment);
            }
        }
        Ok(loaded)
    }

    fn paths(&self) -> Vec<PathBuf> {
        let default = || default_file(&self.environment);
        match &self.files {
            Files::None => Vec::new(),
            Files::Defaults => default().into_iter().collect(),
            Files::Named(path) => vec![path.clone()],
            Files::NamedThenDefaults(path) => std::iter::once(path.clone()).chain(default()).collect(),
        }
    }
}

/// The directory of the settings that the installed package provides for a machine.
const PACKAGED: &str = "/etc/firesteel";

/// The configuration directory: Spark's directory, from the environment. If there is none, the package's directory, if
/// it exists.
#[must_use]
pub fn conf_directory(environment: &Environment) -> Option<PathBuf> {
    let home = || environment.get("SPARK_HOME").map(|home| byte_text::path(home).join("conf"));
    let packaged = || Some(PathBuf::from(PACKAGED)).filter(|directory| directory.is_dir());
    environment.get("SPARK_CONF_DIR").map(byte_text::path).or_else(home).or_else(packaged)
}

/// The path of `spark-defaults.conf`, if it exists.
#[must_use]
pub fn default_file(environment: &Environment) -> Option<PathBuf> {
    conf_directory(environment).map(|directory| directory.join(DEFAULT_FILE)).filter(|path| path.is_file())
}

impl Loaded {
    /// Adds the properties of a file, with lower precedence than the properties that are already set.
    fn add_file(&mut self, path: PathBuf) -> Result<(), SourceError> {
        let unreadable = |error| SourceError::Unreadable { path: path.clone(), error };
        if !fs::metadata(&path).map_err(unreadable)?.is_file() {
            return Err(SourceError::NoFile { path });
        }
        let bytes = fs::read(&path).map_err(unreadable)?;
        let pairs = properties_file::parse(&bytes)
            .map_err(|error| SourceError::Grammar { path: path.clone(), error })?;
        let shared = Arc::new(path.clone());
        // The last of several pairs with one key counts.
        for pair in pairs.iter().rev() {
            let origin = Origin::File { path: shared.clone(), line: pair.line };
            self.add(&pair.key, properties_file::trimmed(&pair.value), origin);
        }
        self.files.push(path);
        Ok(())
    }

    /// Adds the property that a variable sets, with lower precedence than the properties that are already set.
    fn add_variable(&mut self, name: &'static str, key: &str, environment: &Environment) {
        if let Some(value) = environment.get(name) {
            self.properties.set_weaker(key, value, Origin::Variable(name));
        }
    }

    /// Adds the `-D` options of a variable, with lower precedence than the properties that are already set.
    fn add_options(&mut self, name: &'static str, environment: &Environment) -> Result<(), SourceError> {
        let Some(value) = environment.get(name) else { return Ok(()) };
        let words = java_options::words(value).map_err(|error| SourceError::Options { name, error })?;
        for word in words.iter().rev() {
            match java_options::property(word) {
                Some((key, value)) => self.add(key, value, Origin::JavaOption(name)),
                None => self.unknown.push((word.clone(), Origin::JavaOption(name))),
            }
        }
        Ok(())
    }

    /// Adds a property. If the name is a property of neither Spark nor Firesteel, it is only reported.
    fn add(&mut self, key: &str, value: &str, origin: Origin) {
        if key.starts_with("spark.") || key.starts_with("firesteel.") {
            self.properties.set_weaker(key, value, origin);
        } else {
            self.unknown.push((key.to_owned(), origin));
        }
    }
}

#[cfg(test)]
mod tests;
