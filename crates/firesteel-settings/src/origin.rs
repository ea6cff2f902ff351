//! The origin of a property's value: a flag, a file with its line, a variable, or the default.

use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;

/// The place where a value was set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, firesteel_protocol::Display)]
#[serde(tag = "kind", content = "where", rename_all = "snake_case")]
pub enum Origin {
    /// A flag that sets the property: `--executor-cores`.
    Flag(&'static str),
    #[display("--conf")]
    Conf,
    #[display("${_0}")]
    Variable(&'static str),
    /// A `-D` option in an environment variable.
    #[display("-D in ${_0}")]
    JavaOption(&'static str),
    /// A line of a properties file.
    #[display("{} line {line}", path.display())]
    File {
        path: Arc<PathBuf>,
        /// The line number, counted from 1.
        line: usize,
    },
    /// A shell script that sets an environment variable.
    #[display("{}", _0.display())]
    Script(Arc<PathBuf>),
    /// Firesteel itself set the value, for this reason.
    Derived(&'static str),
}

impl Origin {
    /// Whether the value was set on the command line instead of in the configuration.
    #[must_use]
    pub fn is_command_line(&self) -> bool {
        match self {
            Self::Flag(_) | Self::Conf | Self::Derived(_) => true,
            Self::Variable(_) | Self::JavaOption(_) | Self::File { .. } | Self::Script(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_can_be_found_by_its_words() {
        let file = Origin::File { path: Arc::new(PathBuf::from("/etc/spark-defaults.conf")), line: 3 };
        for (origin, words, command_line) in [
            (Origin::Flag("--name"), "--name", true),
            (Origin::Conf, "--conf", true),
            (Origin::Variable("SPARK_LOCAL_IP"), "$SPARK_LOCAL_IP", false),
            (Origin::JavaOption("SPARK_MASTER_OPTS"), "-D in $SPARK_MASTER_OPTS", false),
            (file, "/etc/spark-defaults.conf line 3", false),
        ] {
            assert_eq!((origin.to_string().as_str(), origin.is_command_line()), (words, command_line));
        }
    }
}
