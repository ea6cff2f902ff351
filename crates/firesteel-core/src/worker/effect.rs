//! What a Worker has its shell do.

use std::collections::BTreeSet;

use firesteel_placement::{Cores, MiB, Resources};

use super::Note;
use crate::address::Address;
use crate::ids::{AppId, ExecutorKey, FetchId, PeerId, ProfileId};
use crate::messages::{ApplicationFiles, LogRequest, TaskDirectory, WorkerToClient, WorkerToMaster};
use crate::process::{Command, Signal};
use crate::time::Timestamp;

/// What a Worker has its shell do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Dial a Master: `Connected` or `ConnectFailed` comes back.
    Connect {
        /// The Master's address.
        master: Address,
    },
    /// Send a message. Silently nothing if the connection has ended.
    Send {
        /// The connection's number.
        peer: PeerId,
        /// The message itself.
        message: Outbound,
    },
    /// End a connection. `Disconnected` comes back.
    Close {
        /// The connection's number.
        peer: PeerId,
    },
    /// Fetch what an application brings: `FilesFetched` or `FilesFailed` comes back, and after the latter nothing
    /// of it is left here.
    FetchFiles {
        /// The fetch's own number.
        fetch: FetchId,
        /// The application's id.
        app: AppId,
        /// Which, and where from.
        files: ApplicationFiles,
    },
    /// Remove what was fetched for an application, or stop fetching it. Nothing needs to come back.
    RemoveFiles {
        /// The application's id.
        app: AppId,
    },
    /// Start an executor: `RunnerStarted` or `RunnerFailed` comes back, and in the end `RunnerExited`.
    StartExecutor(ExecutorPlan),
    /// Signal an executor's process group. Silently nothing if it has ended.
    SignalExecutor {
        /// The executor's id.
        executor: ExecutorKey,
        /// The signal to send.
        signal: Signal,
    },
    /// An application ended and none of its executors is left here. Their directories stay, for people to read:
    /// see [`Effect::RemoveDirectory`].
    CleanApplication {
        /// The application's id.
        app: AppId,
    },
    /// Look for directories of applications that are not written any more: `StaleFound` comes back.
    FindStale {
        /// Applications that live here: no need to look.
        keep: BTreeSet<AppId>,
        /// A directory is stale if nothing in it was written since.
        unwritten_since: Timestamp,
    },
    /// Remove an application's directory with all that is in it. An executor of the application that is started
    /// later has a new one.
    RemoveDirectory {
        /// The application's id.
        app: AppId,
    },
    /// Read a piece of an executor's log: `LogRead` comes back.
    ReadLog {
        /// The connection's number.
        peer: PeerId,
        /// What. The application's id is sound.
        request: LogRequest,
    },
    /// End the daemon.
    Exit(Exit),
    /// Something worth a line in the log.
    Note(Note),
}

impl From<Note> for Effect {
    fn from(note: Note) -> Self {
        Self::Note(note)
    }
}

/// A message from the Worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outbound {
    /// To a Master.
    Master(WorkerToMaster),
    /// To a status client.
    Client(WorkerToClient),
}

/// A process to start. It has the directory `<work directory>/<application>/<executor>` and leads a process group of
/// its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutorPlan {
    /// The executor's id.
    pub executor: ExecutorKey,
    /// The number of its resource profile.
    pub profile: ProfileId,
    /// The application's name.
    pub app_name: String,
    /// What to run; placeholders are filled in, but for the Worker's own binary, which only the shell knows.
    pub command: Command,
    /// The directory that it runs in.
    pub directory: TaskDirectory,
    /// The number of cores.
    pub cores: Cores,
    /// The amount of memory.
    pub memory: MiB,
    /// The addresses that are its own.
    pub resources: Resources,
    /// The names of the files that its application brings. They are there.
    pub files: Vec<String>,
}

/// Why the daemon ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It was asked to.
    Shutdown,
    /// No Master took it in as many attempts as its settings allow.
    NoMaster {
        /// The number of attempts.
        attempts: u32,
    },
    /// A Master refused it.
    Refused(crate::messages::RefusedRegistration),
}
