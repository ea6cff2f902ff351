//! Why one of Firesteel's own executors ended before its driver accepted it. The executor's exit code tells the Master
//! the reason. Other programs may use the same exit codes. So the Master reads the exit code as a reason only if the
//! executor's command is Firesteel's own.

use std::fmt::Write as _;

use crate::messages::ExecutorState;
use crate::process::executor_command::ExecutorCommand;
use crate::process::{ExitStatus, Placeholder, StartFailure, StartStep};

pub const SUBCOMMAND: &str = "executor";
/// The flag with the address of an executor's driver.
pub const DRIVER_FLAG: &str = "--driver-url";

/// The advice for the case that the Worker's machine cannot reach the driver under this address.
pub const SET_DRIVER_HOST: &str = "set spark.driver.host to a name or an address of the driver's machine that Workers can reach, \
     and spark.driver.port to a port that is open there";

/// The reason why one of Firesteel's own executors ended before its driver accepted it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, crate::Kind)]
#[kind("executor trouble")]
pub enum ExecutorTrouble {
    /// The executor's command line has a word that the executor does not know.
    UnknownOptions,
    /// The operating system does not let the executor start.
    SetUp,
    /// The driver's host has no address on the executor's machine.
    UnknownHost,
    /// Nothing listens at the driver's address.
    NothingListens,
    /// The network does not lead to the driver's address.
    NoRoute,
    TimedOut,
    /// The program at the driver's address accepted the connection, but did not answer or closed it.
    Mute,
    /// The program at the driver's address is not a driver, or it is a driver of another version.
    NoDriver,
    /// A driver listens at the address, but it belongs to another application.
    AnotherDriver,
    Rejected,
    /// The driver closed the connection before it accepted the executor.
    DriverGone,
}

impl ExecutorTrouble {
    /// All troubles, by exit code.
    pub const ALL: [Self; 11] = [
        Self::UnknownOptions,
        Self::SetUp,
        Self::UnknownHost,
        Self::NothingListens,
        Self::NoRoute,
        Self::TimedOut,
        Self::Mute,
        Self::NoDriver,
        Self::AnotherDriver,
        Self::Rejected,
        Self::DriverGone,
    ];

    /// The exit code of an executor that ends for this reason. Spark's executors use the codes 50 to 58, and none of
    /// these is used here.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            // Every command exits with this code if its usage is wrong.
            Self::UnknownOptions => 2,
            Self::SetUp => 81,
            Self::UnknownHost => 82,
            Self::NothingListens => 83,
            Self::NoRoute => 84,
            Self::TimedOut => 85,
            Self::Mute => 86,
            Self::NoDriver => 87,
            Self::AnotherDriver => 88,
            Self::Rejected => 89,
            Self::DriverGone => 90,
        }
    }

    /// Whether the next executor on the same machine would end for the same reason.
    #[must_use]
    pub fn is_certain(self) -> bool {
        match self {
            Self::UnknownOptions
            | Self::UnknownHost
            | Self::NothingListens
            | Self::NoDriver
            | Self::AnotherDriver => true,
            Self::SetUp | Self::NoRoute | Self::TimedOut | Self::Mute | Self::Rejected | Self::DriverGone => {
                false
            }
        }
    }

    /// The trouble that this exit status shows, for an executor with this command. `None` if the command is not
    /// Firesteel's own executor, or if it ended in another way.
    #[must_use]
    pub fn of(command: &ExecutorCommand, status: ExitStatus) -> Option<Self> {
        driver_of(command)?;
        let ExitStatus::Code(code) = status else { return None };
        Self::ALL.into_iter().find(|trouble| i32::from(trouble.exit_code()) == code)
    }

    /// What happened and what to do, as a sentence that names the driver's address.
    #[must_use]
    pub fn sentence(self, driver: &str) -> String {
        let (what, remedy) = self.words();
        let mut sentence = what.replace("DRIVER", &format!("the driver at {driver}"));
        if let Some(remedy) = remedy {
            let _ = write!(sentence, ": {remedy}");
        }
        sentence
    }

    /// What happened, with `DRIVER` in place of the driver, and what to do about it.
    fn words(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::UnknownOptions => (
                "its Worker's firesteel does not know the options that DRIVER gives",
                Some("use the same version for both"),
            ),
            Self::SetUp => {
                ("the operating system does not let it start", Some("its standard error says why"))
            }
            Self::UnknownHost => {
                ("it cannot reach DRIVER, whose host is unknown there", Some(SET_DRIVER_HOST))
            }
            Self::NothingListens => ("it cannot reach DRIVER: connection refused", Some(SET_DRIVER_HOST)),
            Self::NoRoute => {
                ("it cannot reach DRIVER: the network does not lead there", Some(SET_DRIVER_HOST))
            }
            Self::TimedOut => ("it cannot reach DRIVER, which did not answer in time", Some(SET_DRIVER_HOST)),
            Self::Mute => (
                "it cannot reach DRIVER: its connection was accepted, and nothing answered",
                Some(SET_DRIVER_HOST),
            ),
            Self::NoDriver => (
                "what listens in place of DRIVER is another program, or another version of Firesteel",
                Some(SET_DRIVER_HOST),
            ),
            Self::AnotherDriver => {
                ("what listens in place of DRIVER is another application's driver", Some(SET_DRIVER_HOST))
            }
            Self::Rejected => ("DRIVER rejected it", Some("its standard error says why")),
            Self::DriverGone => ("DRIVER closed the connection before it accepted this executor", None),
        }
    }

    /// What the exit code means, for the list of exit codes.
    #[must_use]
    pub fn meaning(self) -> String {
        self.words().0.replace("DRIVER", "its driver")
    }
}

/// The address of the driver in an executor's command. `None` if the command is not one of Firesteel's own executors.
fn driver_of(command: &ExecutorCommand) -> Option<&str> {
    let command = command.program()?;
    let is_ours = Placeholder::of(&command.program) == Some(Placeholder::Firesteel)
        && command.arguments.first().is_some_and(|word| word == SUBCOMMAND);
    let flag = command.arguments.iter().position(|word| word == DRIVER_FLAG).filter(|_| is_ours)?;
    command.arguments.get(flag + 1).map(String::as_str)
}

/// Turns `EXITED` into `FAILED` with the reason in words, if the command is one of Firesteel's own executors and its
/// exit code names a trouble. Returns any other state unchanged.
#[must_use]
pub fn explained(
    command: &ExecutorCommand,
    state: ExecutorState,
) -> (ExecutorState, Option<ExecutorTrouble>) {
    if let ExecutorState::Exited(status) = state
        && let Some(trouble) = ExecutorTrouble::of(command, status)
        && let Some(driver) = driver_of(command)
    {
        let failure = StartFailure { step: StartStep::Program, error: trouble.sentence(driver) };
        return (ExecutorState::Failed(failure), Some(trouble));
    }
    (state, None)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::machine::kind::Kind;
    use crate::process::Command;

    fn command(program: &str, words: &[&str]) -> ExecutorCommand {
        let arguments = words.iter().map(|&word| word.to_owned()).collect();
        Command { program: program.to_owned(), arguments, environment: BTreeMap::new() }.into()
    }

    fn own() -> ExecutorCommand {
        command("{{FIRESTEEL}}", &["executor", "--driver-url", "jupyter-7f3a:7100", "--app-id", "{{APP_ID}}"])
    }

    #[test]
    fn each_trouble_has_its_own_exit_code_and_names_the_driver_and_what_to_do() {
        let codes: BTreeSet<u8> = ExecutorTrouble::ALL.map(ExecutorTrouble::exit_code).into();
        assert_eq!(codes.len(), ExecutorTrouble::ALL.len());
        assert_eq!(ExecutorTrouble::ALL.map(|trouble| trouble.kind()), ExecutorTrouble::NAMES);
        for trouble in ExecutorTrouble::ALL {
            let status = ExitStatus::Code(trouble.exit_code().into());
            let (state, told) = explained(&own(), ExecutorState::Exited(status));
            assert_eq!(told, Some(trouble));
            let words = state.to_string();
            let says_why =
                trouble == ExecutorTrouble::SetUp || words.contains("the driver at jupyter-7f3a:7100");
            assert!(words.starts_with("FAILED (") && says_why, "{words}");
            assert!(!words.contains("DRIVER"), "{words}");
        }
        let reach = |trouble: ExecutorTrouble| trouble.sentence("me:1").contains("spark.driver.host");
        assert!(reach(ExecutorTrouble::UnknownHost) && reach(ExecutorTrouble::AnotherDriver));
    }

    #[test]
    fn the_exit_codes_of_other_programs_and_other_ends_keep_their_words() {
        let status = ExecutorState::Exited(ExitStatus::Code(82));
        for other in [
            command("sh", &["executor", "--driver-url", "a:1"]),
            command("{{FIRESTEEL}}", &["map", "--driver-url", "a:1"]),
            command("{{FIRESTEEL}}", &["executor", "--driver-url"]),
            ExecutorCommand::Java(Box::default()),
        ] {
            assert_eq!(explained(&other, status.clone()), (status.clone(), None), "{other:?}");
        }
        for state in [
            ExecutorState::Running,
            ExecutorState::Exited(ExitStatus::SUCCESS),
            ExecutorState::Exited(ExitStatus::Code(1)),
            ExecutorState::Exited(ExitStatus::Signal(82)),
            ExecutorState::Killed(Some(ExitStatus::Code(82))),
        ] {
            assert_eq!(explained(&own(), state.clone()), (state, None));
        }
    }
}
