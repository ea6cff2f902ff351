//! Commands, placeholders in them, and how processes start and end.

pub mod end_request;
pub mod executor_command;

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use firesteel_placement::{Cores, MiB, Resources};
use serde::{Deserialize, Deserializer, Serialize};

use crate::address::Address;
use crate::byte_text;
use crate::ids::{ExecutorKey, ProfileId, WorkerId};

/// The variable of executors and cluster drivers that names the user whom the secret of their submitter proves. Only a
/// Master sets it.
pub const PROVEN_USER: &str = "FIRESTEEL_USER";

/// Names the proven user in the variables of an executor or a cluster driver. `None`: nobody is proven, whatever the
/// submitter has put there.
pub fn name_proven_user(environment: &mut BTreeMap<String, String>, user: Option<&str>) {
    match user {
        Some(user) => environment.insert(PROVEN_USER.to_owned(), user.to_owned()),
        None => environment.remove(PROVEN_USER),
    };
}

/// A program to start, with its arguments and the variables added to its environment.
///
/// In the executor command of an application, the Worker replaces each argument that is exactly one
/// [`Placeholder`].
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// The path of the program, or a name that is looked up in `PATH`. Program, arguments and variables may contain
    /// [any bytes](crate::byte_text).
    pub program: String,
    /// The arguments, without the program's own name.
    pub arguments: Vec<String>,
    /// Variables added to the inherited environment.
    pub environment: BTreeMap<String, String>,
}

impl Command {
    /// This program without arguments, in the inherited environment.
    #[must_use]
    pub fn of(program: impl Into<String>) -> Self {
        Self { program: program.into(), arguments: Vec::new(), environment: BTreeMap::new() }
    }
}

/// Shows only the names of the variables, because their values may be secrets.
impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { program, arguments, environment } = self;
        let variables: Vec<&String> = environment.keys().collect();
        f.debug_struct("Command")
            .field("program", program)
            .field("arguments", arguments)
            .field("environment", &variables)
            .finish()
    }
}

/// Formats the command for a shell, quoted where a shell needs it: `sh -c 'echo hi'`.
impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Quoted(&self.program))?;
        self.arguments.iter().try_for_each(|argument| write!(f, " {}", Quoted(argument)))
    }
}

/// A word, quoted if a shell needs it. Bytes that are not UTF-8 are written for bash: `$'caf\\xe9'`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quoted<'a>(pub &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(word) = self;
        if byte_text::is_escaped(word) {
            return quoted_bytes(word, f);
        }
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./:=,@%+{}".contains(&b);
        if !word.is_empty() && word.bytes().all(plain) {
            return f.write_str(word);
        }
        write!(f, "'{}'", word.replace('\'', r"'\''"))
    }
}

fn quoted_bytes(word: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("$'")?;
    for letter in word.chars() {
        match (byte_text::byte(letter), letter) {
            (Some(byte), _) => write!(f, "\\x{byte:02x}")?,
            (None, '\'' | '\\') => write!(f, "\\{letter}")?,
            (None, _) => f.write_char(letter)?,
        }
    }
    f.write_str("'")
}

/// A placeholder in the executor command, which the Worker replaces.
///
/// Source: Spark Worker, 4.0.1, except for [`Firesteel`](Placeholder::Firesteel), [`Memory`](Placeholder::Memory),
/// [`Resources`](Placeholder::Resources) and [`WorkerId`](Placeholder::WorkerId). Like Spark, Firesteel replaces only
/// whole arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placeholder {
    ExecutorId,
    Cores,
    /// The executor's memory in MiB.
    Memory,
    /// The host name of the Worker.
    Hostname,
    AppId,
    /// The URL that the Worker listens on, `spark://host:port`.
    WorkerUrl,
    WorkerId,
    ResourceProfileId,
    /// The addresses of the executor's custom resources: `gpu=0,1;nic=a`.
    Resources,
    /// The path of the Worker's own `firesteel` binary. The program of a command may also be this placeholder.
    Firesteel,
}

impl Placeholder {
    /// All placeholders, in the order of their declaration.
    pub const ALL: [Self; 10] = [
        Self::ExecutorId,
        Self::Cores,
        Self::Memory,
        Self::Hostname,
        Self::AppId,
        Self::WorkerUrl,
        Self::WorkerId,
        Self::ResourceProfileId,
        Self::Resources,
        Self::Firesteel,
    ];

    /// The placeholder with its braces, as written in a command.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::ExecutorId => "{{EXECUTOR_ID}}",
            Self::Cores => "{{CORES}}",
            Self::Memory => "{{MEMORY}}",
            Self::Hostname => "{{HOSTNAME}}",
            Self::AppId => "{{APP_ID}}",
            Self::WorkerUrl => "{{WORKER_URL}}",
            Self::WorkerId => "{{WORKER_ID}}",
            Self::ResourceProfileId => "{{RESOURCE_PROFILE_ID}}",
            Self::Resources => "{{RESOURCES}}",
            Self::Firesteel => "{{FIRESTEEL}}",
        }
    }

    /// Parses a word. `None` if the whole word is not a placeholder.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|placeholder| placeholder.word() == word)
    }
}

/// The values of an executor's placeholders.
#[derive(Clone, Copy, Debug)]
pub struct Filling<'a> {
    pub executor: &'a ExecutorKey,
    pub profile: ProfileId,
    pub cores: Cores,
    pub memory: MiB,
    /// The addresses of custom resources that the executor holds.
    pub resources: &'a Resources,
    pub worker: &'a WorkerId,
    pub address: &'a Address,
}

impl Command {
    /// Replaces each argument that is a placeholder, except [`Placeholder::Firesteel`], which only the daemon can
    /// replace.
    pub fn fill(&mut self, filling: &Filling<'_>) {
        let Filling { executor, profile, cores, memory, resources, worker, address } = filling;
        for argument in &mut self.arguments {
            *argument = match Placeholder::of(argument) {
                None | Some(Placeholder::Firesteel) => continue,
                Some(Placeholder::ExecutorId) => executor.executor.to_string(),
                Some(Placeholder::Cores) => cores.0.to_string(),
                Some(Placeholder::Memory) => memory.0.to_string(),
                Some(Placeholder::Hostname) => address.host.clone(),
                Some(Placeholder::AppId) => executor.app.to_string(),
                Some(Placeholder::WorkerUrl) => address.url(),
                Some(Placeholder::WorkerId) => worker.to_string(),
                Some(Placeholder::ResourceProfileId) => profile.to_string(),
                Some(Placeholder::Resources) => resources.to_string(),
            };
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, crate::Display)]
pub enum ExitStatus {
    #[display("exit code {_0}")]
    Code(i32),
    #[display("signal {_0}{}", signal_name(*_0).map(|it| format!(" ({it})")).unwrap_or_default())]
    Signal(i32),
}

impl ExitStatus {
    pub const SUCCESS: Self = Self::Code(0);

    /// The exit status as a shell reports it: 128 + n for signal n.
    #[must_use]
    pub fn shell_code(self) -> i32 {
        match self {
            Self::Code(code) => code,
            Self::Signal(signal) => 128_i32.saturating_add(signal),
        }
    }
}

/// The names of signals that end processes. Their numbers are the same on every Linux.
fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        _ => return None,
    })
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{step}: {error}")]
pub struct StartFailure {
    pub step: StartStep,
    /// The operating system's error message, with the path. A message from a peer is cut to [`LONGEST_ERROR`] bytes,
    /// because the Master remembers it together with the ended executor.
    #[serde(deserialize_with = "short")]
    pub error: String,
}

/// The maximum length of an error message from a peer, in bytes.
pub const LONGEST_ERROR: usize = 4096;

/// A text, cut to [`LONGEST_ERROR`] bytes.
pub(crate) fn short<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    String::deserialize(deserializer).map(cut)
}

/// An optional text, cut to [`LONGEST_ERROR`] bytes.
pub(crate) fn short_if_any<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.map(cut))
}

fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(LONGEST_ERROR));
    text
}

impl StartFailure {
    /// Whether the process may have failed to start because nothing can be written in the work directory.
    #[must_use]
    pub fn may_be_of_the_disk(&self) -> bool {
        match self.step {
            StartStep::Files | StartStep::Directory | StartStep::Output => true,
            StartStep::Lookup | StartStep::Program => false,
        }
    }

    /// Whether the machine is the cause: another start of the same process on it would fail, too.
    #[must_use]
    pub fn is_of_the_machine(&self) -> bool {
        match self.step {
            StartStep::Directory | StartStep::Lookup => true,
            StartStep::Files | StartStep::Output | StartStep::Program => false,
        }
    }
}

/// A process that was not started, as seen by the daemon that tried to start it. Peers receive only the failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotStarted {
    pub failure: StartFailure,
    pub fault: Fault,
}

/// Who is at fault that a process was not started, as far as the operating system's error shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fault {
    /// The command is at fault, or it is unknown who is.
    Command,
    /// The machine is at fault for a time: there are not enough processes, open files or memory, or the program is just
    /// being written.
    Shortage,
    /// The machine is at fault: Firesteel's own program cannot be started there.
    OwnProgram,
    /// Neither is at fault: the application's files were fetched, but have been removed since.
    LostFiles,
}

impl Fault {
    /// Whether the machine cannot start anything, or nothing more for now. The same command could then be started
    /// elsewhere.
    #[must_use]
    pub fn is_of_the_machine(self) -> bool {
        match self {
            Self::Shortage | Self::OwnProgram => true,
            Self::Command | Self::LostFiles => false,
        }
    }
}

/// Assumes that the machine is not at fault.
impl From<StartFailure> for NotStarted {
    fn from(failure: StartFailure) -> Self {
        Self { failure, fault: Fault::Command }
    }
}

/// One step of starting a process. The steps are taken in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, crate::Display)]
pub enum StartStep {
    /// Fetching the application's files, or putting them in place.
    #[display("cannot get the application's files")]
    Files,
    /// Making the working directory or entering it.
    #[display("cannot use the working directory")]
    Directory,
    #[display("cannot open the output files")]
    Output,
    /// Finding the program fails if it does not exist or may not be executed.
    #[display("cannot start the program")]
    Lookup,
    /// Starting the program itself. An [executor](crate::executor_trouble) that ends before its driver accepts it also
    /// fails in this step.
    #[display("cannot start the program")]
    Program,
}

/// A signal that ends a process. The signal is sent to the whole process group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Signal {
    /// SIGTERM, which asks the process to end.
    Terminate,
    /// SIGKILL, which ends the process at once.
    Kill,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_error_of_a_peer_is_cut() {
        let failure = StartFailure { step: StartStep::Program, error: "é".repeat(LONGEST_ERROR) };
        let bytes = crate::wire::encode(&failure, crate::wire::MAX_FRAME).expect("it fits");
        let read: StartFailure = crate::wire::decode(&bytes).expect("it is one");
        assert_eq!(read.error, "é".repeat(LONGEST_ERROR / 2));
    }

    #[test]
    fn a_signal_death_shows_as_a_shell_shows_it() {
        assert_eq!(ExitStatus::Signal(9).shell_code(), 137);
        assert_eq!(ExitStatus::Signal(9).to_string(), "signal 9 (SIGKILL)");
        assert_eq!(ExitStatus::Code(3).to_string(), "exit code 3");
    }

    #[test]
    fn a_command_is_quoted_where_a_shell_would_need_it() {
        let arguments = ["-c", "echo it's", ""].map(String::from).to_vec();
        let command = Command { program: "sh".into(), arguments, environment: BTreeMap::new() };
        assert_eq!(command.to_string(), r"sh -c 'echo it'\''s' ''");
        let bytes = byte_text::of(b"it's a\\caf\xe9\n".to_vec());
        assert_eq!(Quoted(&bytes).to_string(), "$'it\\'s a\\\\caf\\xe9\n'");
    }

    #[test]
    fn only_a_whole_word_is_a_placeholder() {
        for placeholder in Placeholder::ALL {
            assert_eq!(Placeholder::of(placeholder.word()), Some(placeholder));
        }
        assert_eq!(Placeholder::of("--cores={{CORES}}"), None);
    }
}
