//! Where properties are read from, and which beats which.
//!
//! From the strongest to the weakest: a flag that stands for a property (set later, by whoever has flags), `--conf`, for
//! daemons the `-D` options of `SPARK_MASTER_OPTS` or `SPARK_WORKER_OPTS` and then of `SPARK_DAEMON_JAVA_OPTS`, the
//! file, and, but for a Master, the variable `MASTER`, for applications also `SPARK_EXECUTOR_CORES`,
//! `SPARK_EXECUTOR_MEMORY` and `SPARK_LOCAL_IP`. The file is that of `--properties-file` or, without one, `spark-defaults.conf` in
//! `$SPARK_CONF_DIR` or, without that, in `$SPARK_HOME/conf`.
//!
//! Source: Spark 4.0.1; its daemons have no `--conf`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::key::Reader;
use super::origin::Origin;
use super::properties_file::{self, GrammarError};
use super::variables::{self, Environment, Role};
use super::{Properties, SettingError, java_options};

/// The name of the file that is read without being named.
pub const DEFAULT_FILE: &str = "spark-defaults.conf";

/// What properties are read from.
#[derive(Clone, Debug)]
pub struct Sources {
    /// Who reads.
    pub reader: Reader,
    /// `--conf`, each `key=value`.
    pub conf: Vec<String>,
    /// The files.
    pub files: Files,
    /// The environment.
    pub environment: Environment,
}

/// Which files of properties are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Files {
    /// `spark-defaults.conf`, where there is one.
    Defaults,
    /// The one of `--properties-file`, in place of `spark-defaults.conf`.
    Named(PathBuf),
    /// The one of `--properties-file`, and then `spark-defaults.conf` for what that does not set.
    NamedThenDefaults(PathBuf),
}

/// What was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// The properties, with their origins.
    pub properties: Properties,
    /// The files that were read.
    pub files: Vec<PathBuf>,
    /// What stood there and is no property of Spark's or Firesteel's, and where.
    pub strangers: Vec<(String, Origin)>,
}

/// Properties that could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// A `--conf` is no pair.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// A file is not there, or cannot be read.
    #[error("cannot read the properties file {}: {error}", path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A file is a directory or a device.
    #[error("the properties file {} is not a regular file: give a regular file", path.display())]
    NoFile {
        /// Which.
        path: PathBuf,
    },
    /// A file is not of the grammar.
    #[error("cannot read the properties file {}: {error}", path.display())]
    Grammar {
        /// Which.
        path: PathBuf,
        /// Where and why.
        error: GrammarError,
    },
    /// A variable with options is not of the grammar.
    #[error("cannot read ${name}: {error}")]
    Options {
        /// Which. Its value may hold a secret.
        name: &'static str,
        /// Why.
        error: java_options::Unfinished,
    },
}

impl Sources {
    /// Reads everything.
    ///
    /// # Errors
    /// A `--conf` is no pair, a file that was named is not there, or something is not of its grammar. That there is
    /// no `spark-defaults.conf` is none.
    pub fn load(&self) -> Result<Loaded, SourceError> {
        let mut loaded = Loaded {
            properties: Properties::parse(self.conf.iter().map(String::as_str))?,
            ..Loaded::default()
        };
        // Options for one kind of daemon stand behind those for all in the table, and beat them.
        let variables: Vec<_> = variables::of(self.reader).collect();
        for variable in variables.iter().rev().filter(|variable| variable.role == Role::Options) {
            loaded.add_options(variable.name, &self.environment)?;
        }
        for path in self.paths() {
            loaded.add_file(path)?;
        }
        for variable in variables {
            if let Role::Property(key) = variable.role
                && let Some(value) = self.environment.get(variable.name)
            {
                loaded.properties.set_weaker(key, value, Origin::Variable(variable.name));
            }
        }
        Ok(loaded)
    }

    /// The files to read, the strongest first.
    fn paths(&self) -> Vec<PathBuf> {
        let default = || default_file(&self.environment);
        match &self.files {
            Files::Defaults => default().into_iter().collect(),
            Files::Named(path) => vec![path.clone()],
            Files::NamedThenDefaults(path) => std::iter::once(path.clone()).chain(default()).collect(),
        }
    }
}

/// Spark's directory of configuration, by the environment.
#[must_use]
pub fn conf_directory(environment: &Environment) -> Option<PathBuf> {
    let home = || environment.get("SPARK_HOME").map(|home| Path::new(home).join("conf"));
    environment.get("SPARK_CONF_DIR").map(PathBuf::from).or_else(home)
}

/// `spark-defaults.conf`, where there is one.
#[must_use]
pub fn default_file(environment: &Environment) -> Option<PathBuf> {
    conf_directory(environment).map(|directory| directory.join(DEFAULT_FILE)).filter(|path| path.is_file())
}

impl Loaded {
    /// What the file sets, below what is set already.
    fn add_file(&mut self, path: PathBuf) -> Result<(), SourceError> {
        let unreadable = |error| SourceError::Unreadable { path: path.clone(), error };
        if !fs::metadata(&path).map_err(unreadable)?.is_file() {
            return Err(SourceError::NoFile { path });
        }
        let bytes = fs::read(&path).map_err(unreadable)?;
        let pairs = properties_file::parse(&bytes)
            .map_err(|error| SourceError::Grammar { path: path.clone(), error })?;
        let shared = Arc::new(path.clone());
        // The last of several counts.
        for pair in pairs.iter().rev() {
            let origin = Origin::File { path: shared.clone(), line: pair.line };
            self.add(&pair.key, properties_file::trimmed(&pair.value), origin);
        }
        self.files.push(path);
        Ok(())
    }

    /// What the `-D` options of the variable set, below what is set already.
    fn add_options(&mut self, name: &'static str, environment: &Environment) -> Result<(), SourceError> {
        let Some(value) = environment.get(name) else { return Ok(()) };
        let words = java_options::words(value).map_err(|error| SourceError::Options { name, error })?;
        for word in words.iter().rev() {
            match java_options::property(word) {
                Some((key, value)) => self.add(key, value, Origin::JavaOption(name)),
                None => self.strangers.push((word.clone(), Origin::JavaOption(name))),
            }
        }
        Ok(())
    }

    /// Only Spark's and Firesteel's properties count.
    fn add(&mut self, key: &str, value: &str, origin: Origin) {
        if key.starts_with("spark.") || key.starts_with("firesteel.") {
            self.properties.set_weaker(key, value, origin);
        } else {
            self.strangers.push((key.to_owned(), origin));
        }
    }
}

#[cfg(test)]
mod tests;
