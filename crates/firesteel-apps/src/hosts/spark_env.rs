//! The variables that the script `spark-env.sh` sets.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use firesteel_settings::variables::Environment;
use nix::errno::Errno;

use super::shell_words;

/// The name of the script in the directory of settings.
const NAME: &str = "spark-env.sh";

/// A script that runs `spark-env.sh` as a daemon's start does, and prints the variables.
const SOURCE: &str = "set -a; . \"$1\" </dev/null >/dev/null; set +a; exec env -0";

/// Why the script's variables could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SparkEnvError {
    #[error("cannot read {}: sh cannot be started: {error}", path.display())]
    NoShell {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    /// The script did not run to its end.
    #[error("{} ends the shell that reads it ({status}){said}: firesteel cluster and Spark's scripts need all of it", path.display())]
    Ended {
        path: PathBuf,
        status: ExitStatus,
        /// The last line of the script's output, after a colon.
        said: String,
        /// The operating system's error if the machine has too few processes or open files to run the script.
        #[source]
        shortage: Option<io::Error>,
    },
}

/// Runs the script in a directory of settings, and blocks until the script ends. Returns the script's path, and this
/// process's environment with the script's changes. Returns `None` if there is no script.
///
/// # Errors
/// The script cannot be read to its end.
pub fn sourced(directory: &Path) -> Result<Option<(PathBuf, Environment)>, SparkEnvError> {
    let script = directory.join(NAME);
    if !script.is_file() {
        return Ok(None);
    }
    // A POSIX shell searches PATH for a name without a slash.
    let path = std::path::absolute(&script).unwrap_or_else(|_| script.clone());
    let mut shell = Command::new("sh");
    shell.args(["-c", SOURCE, "sh"]).arg(path).stdin(Stdio::null());
    let output = shell.output().map_err(|error| SparkEnvError::NoShell { path: script.clone(), error })?;
    if !output.status.success() || output.stdout.is_empty() {
        let text = String::from_utf8_lossy(&output.stderr);
        let said = text.lines().next_back().map_or(String::new(), |line| format!(": {}", line.trim()));
        let shortage = shell_words::tell_of_shortage(&said).then(|| Errno::EMFILE.into());
        return Err(SparkEnvError::Ended { path: script, status: output.status, said, shortage });
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let pairs = text.split('\0').filter_map(|pair| pair.split_once('='));
    Ok(Some((script, pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read(text: &str) -> Result<Option<Environment>, String> {
        let directory = tempfile::tempdir().expect("a temporary directory");
        fs::write(directory.path().join(NAME), text).expect("it can be written");
        let sourced = sourced(directory.path()).map(|read| read.map(|(_, variables)| variables));
        sourced.map_err(|error| error.to_string())
    }

    #[test]
    fn a_script_sets_variables_as_it_does_for_a_daemon() {
        let text = "echo hello\nSPARK_SSH_OPTS='-p 2222'\nexport SPARK_A=\"$SPARK_SSH_OPTS\nx=y\"\nunset HOME\ncat\n";
        let variables = read(text).expect("it is sound").expect("it is there");
        assert_eq!(variables.get("SPARK_SSH_OPTS"), Some("-p 2222"));
        assert_eq!(variables.get("SPARK_A"), Some("-p 2222\nx=y"));
        assert_eq!(variables.get("HOME"), None);
        assert!(variables.get("PATH").is_some(), "what it does not change stays");
        let empty = tempfile::tempdir().expect("a temporary directory");
        assert!(sourced(empty.path()).expect("there need not be one").is_none());
    }

    #[test]
    fn a_script_that_ends_its_shell_is_an_error_that_says_so() {
        for (text, words) in [
            ("echo no >&2; exit 3", "exit status: 3): no:"),
            ("exit 0", "exit status: 0):"),
            ("if", "exit status: 2"),
        ] {
            let error = read(text).expect_err(text);
            assert!(
                error.contains("spark-env.sh ends the shell") && error.contains(words),
                "{text}: {error}"
            );
        }
    }
}
