//! A cluster driver of Spark: a Java class that a Worker runs with the Spark installed there.
//!
//! The state machines treat a cluster driver like any other command. The command's program is [`SPARK`], and its
//! arguments are the class and the class's own arguments. The data for the Worker alone is in a variable with the name
//! of the program, so that tables do not show it.

use std::collections::BTreeMap;
use std::fmt;

use firesteel_protocol::process::Command;
use firesteel_protocol::process::executor_command::JavaCommand;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The placeholder for the Worker's installation of Spark in a command: the program, and the name of a variable.
pub const SPARK: &str = "{{SPARK}}";

/// A cluster driver of Spark: its jar, and the command that starts its class.
#[derive(Clone, PartialEq, Eq)]
pub struct SparkDriver {
    /// The URL of the driver's jar; empty if the driver has none.
    pub jar: String,
    /// The class with `main`, its arguments, and the options of its JVM.
    pub command: JavaCommand,
}

/// Hides the URL, which may contain a password.
impl fmt::Debug for SparkDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SparkDriver").field("command", &self.command).finish_non_exhaustive()
    }
}

/// The data for the Worker alone.
#[derive(Serialize, Deserialize)]
struct WorkerOnlyFields {
    jar: String,
    class_path: Vec<String>,
    library_path: Vec<String>,
    java_options: Vec<String>,
    releases: Vec<String>,
}

/// Why a command whose program is [`SPARK`] is not a valid cluster driver.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unsound {
    /// The data that says how to start the JVM is missing or malformed.
    #[error("the variable {SPARK} of its command cannot be read: {0}")]
    WorkerOnlyFields(String),
    /// The command has no argument that names the class.
    #[error("its command names no class")]
    NoClass,
}

impl SparkDriver {
    /// Turns the driver into a command for the state machines.
    #[must_use]
    pub fn into_command(self) -> Command {
        let Self { jar, command } = self;
        let JavaCommand {
            main_class,
            mut arguments,
            mut environment,
            class_path,
            library_path,
            java_options,
            releases,
            description: _,
        } = command;
        let particulars = WorkerOnlyFields { jar, class_path, library_path, java_options, releases };
        let particulars = serde_json::to_string(&particulars).expect("texts can be written as JSON");
        environment.insert(SPARK.to_owned(), particulars);
        arguments.insert(0, main_class);
        Command { program: SPARK.to_owned(), arguments, environment }
    }

    /// Reads the cluster driver from a command. `None` if the command's program is not [`SPARK`].
    ///
    /// # Errors
    ///
    /// The command's program is [`SPARK`], but the rest is not valid.
    pub fn of(command: &Command) -> Option<Result<Self, Unsound>> {
        (command.program == SPARK).then(|| Self::read(command))
    }

    fn read(command: &Command) -> Result<Self, Unsound> {
        let mut environment: BTreeMap<String, String> = command.environment.clone();
        let text = environment.remove(SPARK).unwrap_or_default();
        let particulars: WorkerOnlyFields =
            serde_json::from_str(&text).map_err(|error| Unsound::WorkerOnlyFields(error.to_string()))?;
        let WorkerOnlyFields { jar, class_path, library_path, java_options, releases } = particulars;
        let (main_class, arguments) = command.arguments.split_first().ok_or(Unsound::NoClass)?;
        let command = JavaCommand {
            main_class: main_class.clone(),
            arguments: arguments.to_vec(),
            environment,
            class_path,
            library_path,
            java_options,
            releases,
            ..JavaCommand::default()
        };
        Ok(Self { jar, command })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(words: &str) -> Vec<String> {
        words.split_whitespace().map(str::to_owned).collect()
    }

    fn driver() -> SparkDriver {
        let command = JavaCommand {
            main_class: "Pi".to_owned(),
            arguments: texts("ten --fast"),
            environment: [("SPARK_X".to_owned(), "1".to_owned())].into(),
            class_path: texts("/a.jar"),
            library_path: texts("/lib"),
            java_options: texts("-Dspark.password=s3cret"),
            releases: texts("4.0"),
            ..JavaCommand::default()
        };
        SparkDriver { jar: "http://me:s3cret@host/pi.jar".to_owned(), command }
    }

    #[test]
    fn a_driver_is_a_command_that_shows_class_and_arguments_and_no_secret() {
        let command = driver().into_command();
        assert_eq!(command.to_string(), "{{SPARK}} Pi ten --fast");
        assert_eq!(SparkDriver::of(&command), Some(Ok(driver())));
        let shown = format!("{command:?} {:?}", driver());
        assert!(!shown.contains("s3cret"), "{shown}");
    }

    #[test]
    fn a_program_is_none_and_a_broken_command_says_what_is_wrong() {
        assert_eq!(SparkDriver::of(&Command::of("sh")), None);
        let Some(Err(unsound)) = SparkDriver::of(&Command::of(SPARK)) else { panic!("it has no variable") };
        assert!(unsound.to_string().starts_with("the variable {{SPARK}} of its command"), "{unsound}");
        let without = Command { arguments: Vec::new(), ..driver().into_command() };
        assert_eq!(SparkDriver::of(&without), Some(Err(Unsound::NoClass)));
    }
}
