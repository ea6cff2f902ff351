//! The command of an executor: a program, or a Java class on an installation of Spark.

use std::collections::BTreeMap;
use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::process::Command;
use crate::scheduling::label::Label;

/// What every executor of an application runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExecutorCommand {
    /// A program, with [placeholders](crate::process::Placeholder) in its arguments.
    Program(Command),
    /// A Java class. The Worker starts it with the installation of Spark on its machine.
    Java(Box<JavaCommand>),
}

impl ExecutorCommand {
    #[must_use]
    pub fn program(&self) -> Option<&Command> {
        match self {
            Self::Program(command) => Some(command),
            Self::Java(_) => None,
        }
    }

    /// The program, to change it. `None` if the command is a Java class.
    pub fn program_mut(&mut self) -> Option<&mut Command> {
        match self {
            Self::Program(command) => Some(command),
            Self::Java(_) => None,
        }
    }

    /// This command without the driver's own description of the application. Workers with a label need the description;
    /// all others get this command.
    #[must_use]
    pub fn without_description(&self) -> Self {
        match self {
            Self::Program(_) => self.clone(),
            Self::Java(command) => {
                Self::Java(Box::new(JavaCommand { description: Bytes::new(), ..JavaCommand::clone(command) }))
            }
        }
    }

    /// The Spark releases that the application's executors may have. `None` if the executors are not Spark's, or their
    /// release is unknown.
    #[must_use]
    pub fn label(&self) -> Option<Label> {
        match self {
            Self::Program(_) => None,
            Self::Java(command) => Label::of(&command.releases),
        }
    }

    #[must_use]
    pub fn environment(&self) -> &BTreeMap<String, String> {
        match self {
            Self::Program(command) => &command.environment,
            Self::Java(command) => &command.environment,
        }
    }

    /// The variables that are added to the inherited environment, to change them.
    pub fn environment_mut(&mut self) -> &mut BTreeMap<String, String> {
        match self {
            Self::Program(command) => &mut command.environment,
            Self::Java(command) => &mut command.environment,
        }
    }
}

impl From<Command> for ExecutorCommand {
    fn from(command: Command) -> Self {
        Self::Program(command)
    }
}

/// A Java class to start, as described by Spark's driver. The Worker replaces names in braces as a Spark Worker does.
///
/// Source: Spark's Command, 4.0.1, except for `releases`, which Spark does not send.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JavaCommand {
    pub main_class: String,
    pub arguments: Vec<String>,
    /// Variables added to the inherited environment.
    pub environment: BTreeMap<String, String>,
    /// Class path entries before Spark's own jars.
    pub class_path: Vec<String>,
    /// Directories with native libraries.
    pub library_path: Vec<String>,
    pub java_options: Vec<String>,
    /// The possible Spark releases of the driver: `3.4` means 3.4.0 and later, below 3.5. Empty if the release is
    /// unknown. Executors must have the same release as their driver.
    pub releases: Vec<String>,
    /// The driver's description of the application, in the driver's own protocol, for Workers that use this protocol.
    /// Empty if there is none.
    pub description: Bytes,
}

/// Hides the values of variables, the options and the description, because these may contain secrets.
impl fmt::Debug for JavaCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { main_class, arguments, environment, class_path, library_path, releases, .. } = self;
        let variables: Vec<&String> = environment.keys().collect();
        f.debug_struct("JavaCommand")
            .field("main_class", main_class)
            .field("arguments", arguments)
            .field("environment", &variables)
            .field("class_path", class_path)
            .field("library_path", library_path)
            .field("releases", releases)
            .finish_non_exhaustive()
    }
}
