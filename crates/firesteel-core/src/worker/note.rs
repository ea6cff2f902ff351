//! What a Worker remarks.

use std::fmt;
use std::time::Duration;

use crate::NoteLevel;
use crate::address::Address;
use crate::ids::{AppId, ExecutorKey, PeerId};
use crate::messages::{ExecutorState, RefusedRegistration};

/// A remark for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// A Master took the Worker.
    Registered {
        /// The Master's URL.
        master_url: String,
        /// The Master had it already, on another connection.
        duplicate: bool,
    },
    /// The Master's connection ended; executors go on.
    MasterLost {
        /// The Master's URL.
        master_url: String,
        /// How many executors live here.
        executors: usize,
    },
    /// A dial failed.
    MasterUnreachable {
        /// The Master's address.
        master: Address,
        /// The error, in words for people.
        error: String,
    },
    /// A Master took the connection and did not answer in time.
    MasterSilent {
        /// The Master's address.
        master: Address,
    },
    /// A Master took the connection and ended it without an answer.
    MasterHungUp {
        /// The Master's address.
        master: Address,
    },
    /// A Master does not take the Worker.
    Refused {
        /// The Master's address.
        master: Address,
        /// Why the Master refuses it.
        refusal: RefusedRegistration,
    },
    /// The Masters will be tried again.
    NextRound {
        /// Rounds that failed since the last registration.
        failed: u32,
        /// How long the pause is.
        pause: Duration,
    },
    /// The Master forgot the Worker, which registers again.
    AskedToReconnect {
        /// The Master's URL.
        master_url: String,
    },
    /// A Master's message came from a peer that the Worker is not registered with. It was dropped.
    NotMyMaster {
        /// The connection's number.
        peer: PeerId,
        /// The message's name.
        message: &'static str,
    },
    /// An order to launch an executor that was launched already. It was dropped.
    LaunchRepeated {
        /// The executor's id.
        executor: ExecutorKey,
    },
    /// What an application brings is being fetched.
    FetchingFiles {
        /// The application's id.
        app: AppId,
        /// The number of files.
        files: usize,
        /// How long in all.
        bytes: u64,
        /// From where.
        source: Address,
    },
    /// It is there.
    FilesFetched {
        /// The application's id.
        app: AppId,
    },
    /// It cannot be had.
    FilesFailed {
        /// The application's id.
        app: AppId,
        /// The error, in words for people.
        error: String,
    },
    /// A fetch ended that nobody waits for any more.
    StrayFetch {
        /// The application's id.
        app: AppId,
    },
    /// An executor became a process.
    ExecutorStarted {
        /// The executor's id.
        executor: ExecutorKey,
        /// The process's id.
        pid: u32,
    },
    /// An executor ended, or could not be started.
    ExecutorEnded {
        /// The executor's id.
        executor: ExecutorKey,
        /// The executor's state.
        state: ExecutorState,
    },
    /// The Master wants an executor to end.
    KillAsked {
        /// The executor's id.
        executor: ExecutorKey,
    },
    /// An order to end an executor that does not live here. It was dropped.
    KillUnknown {
        /// The executor's id.
        executor: ExecutorKey,
    },
    /// An executor did not end when asked, and is killed.
    GraceOver {
        /// The executor's id.
        executor: ExecutorKey,
    },
    /// A runner spoke of an executor that does not live here, or started it twice.
    UnknownRunner {
        /// The executor's id.
        executor: ExecutorKey,
    },
    /// Too many ends wait to be confirmed: this one is not told any more.
    EndForgotten {
        /// The executor's id.
        executor: ExecutorKey,
    },
    /// Directories of applications that ended are removed.
    DirectoriesRemoved {
        /// The number of directories.
        directories: usize,
        /// Nothing in them was written for so long.
        unwritten_for: Duration,
    },
    /// The daemon ends, its executors first.
    ShuttingDown {
        /// How many live.
        executors: usize,
    },
    /// The daemon was asked again to end.
    ShutdownForced {
        /// How many still live.
        executors: usize,
    },
    /// The daemon ends though executors that were killed are not gone.
    LeftBehind {
        /// The number of executors.
        executors: usize,
    },
}

impl Note {
    /// The executor that it is about, for a log line's fields.
    #[must_use]
    pub fn executor(&self) -> Option<&ExecutorKey> {
        match self {
            Self::LaunchRepeated { executor }
            | Self::ExecutorStarted { executor, .. }
            | Self::ExecutorEnded { executor, .. }
            | Self::KillAsked { executor }
            | Self::KillUnknown { executor }
            | Self::GraceOver { executor }
            | Self::UnknownRunner { executor }
            | Self::EndForgotten { executor } => Some(executor),
            Self::Registered { .. }
            | Self::MasterLost { .. }
            | Self::MasterUnreachable { .. }
            | Self::MasterSilent { .. }
            | Self::MasterHungUp { .. }
            | Self::Refused { .. }
            | Self::NextRound { .. }
            | Self::AskedToReconnect { .. }
            | Self::NotMyMaster { .. }
            | Self::FetchingFiles { .. }
            | Self::FilesFetched { .. }
            | Self::FilesFailed { .. }
            | Self::StrayFetch { .. }
            | Self::DirectoriesRemoved { .. }
            | Self::ShuttingDown { .. }
            | Self::ShutdownForced { .. }
            | Self::LeftBehind { .. } => None,
        }
    }

    /// How loud it is.
    #[must_use]
    pub fn level(&self) -> NoteLevel {
        match self {
            Self::MasterLost { .. }
            | Self::MasterUnreachable { .. }
            | Self::MasterSilent { .. }
            | Self::MasterHungUp { .. }
            | Self::Refused { .. }
            | Self::NotMyMaster { .. }
            | Self::LaunchRepeated { .. }
            | Self::FilesFailed { .. }
            | Self::GraceOver { .. }
            | Self::UnknownRunner { .. }
            | Self::EndForgotten { .. }
            | Self::ShutdownForced { .. }
            | Self::LeftBehind { .. } => NoteLevel::Warn,
            Self::Registered { duplicate: true, .. } => NoteLevel::Warn,
            Self::ExecutorEnded { state, .. } => match state {
                ExecutorState::Failed(_) | ExecutorState::Lost(_) => NoteLevel::Warn,
                ExecutorState::Launching
                | ExecutorState::Running
                | ExecutorState::Killed(_)
                | ExecutorState::Exited(_) => NoteLevel::Info,
            },
            Self::Registered { duplicate: false, .. }
            | Self::NextRound { .. }
            | Self::AskedToReconnect { .. }
            | Self::FetchingFiles { .. }
            | Self::FilesFetched { .. }
            | Self::StrayFetch { .. }
            | Self::ExecutorStarted { .. }
            | Self::KillAsked { .. }
            | Self::KillUnknown { .. }
            | Self::DirectoriesRemoved { .. }
            | Self::ShuttingDown { .. } => NoteLevel::Info,
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Registered { master_url, duplicate: false } => write!(f, "registered with {master_url}"),
            Self::Registered { master_url, duplicate: true } => {
                write!(f, "registered with {master_url}, which had this Worker on another connection")
            }
            Self::MasterLost { master_url, executors } => {
                write!(f, "lost {master_url}; executors that go on: {executors}")
            }
            Self::MasterUnreachable { master, error } => write!(f, "cannot reach {}: {error}", master.url()),
            Self::MasterSilent { master } => write!(f, "{} does not answer", master.url()),
            Self::MasterHungUp { master } => {
                write!(f, "{} ended the connection without an answer", master.url())
            }
            Self::Refused { master, refusal } => {
                write!(f, "{} does not take this Worker: {refusal}", master.url())
            }
            Self::NextRound { failed, pause } => {
                write!(f, "next attempt to register in {:.1} s, {failed} failed", pause.as_secs_f64())
            }
            Self::AskedToReconnect { master_url } => {
                write!(f, "{master_url} does not know this Worker: registering again")
            }
            Self::NotMyMaster { peer, message } => {
                write!(f, "dropped {message} from peer {peer}, which is not this Worker's Master")
            }
            Self::LaunchRepeated { executor } => {
                write!(f, "dropped a repeated order to launch executor {executor}")
            }
            Self::FetchingFiles { app, files, bytes, source } => {
                write!(f, "fetching what {app} brings from {source}: {files} files of {bytes} bytes")
            }
            Self::FilesFetched { app } => write!(f, "the files of {app} are there"),
            Self::FilesFailed { app, error } => write!(f, "cannot get the files of {app}: {error}"),
            Self::StrayFetch { app } => write!(f, "the files of {app} are not needed any more"),
            Self::ExecutorStarted { executor, pid } => write!(f, "executor {executor} runs as process {pid}"),
            Self::ExecutorEnded { executor, state } => write!(f, "executor {executor} ended: {state}"),
            Self::KillAsked { executor } => write!(f, "the Master ends executor {executor}"),
            Self::KillUnknown { executor } => {
                write!(f, "dropped an order to end executor {executor}, which does not live here")
            }
            Self::GraceOver { executor } => {
                write!(f, "executor {executor} did not end when asked and is killed")
            }
            Self::UnknownRunner { executor } => write!(f, "a runner without a row: executor {executor}"),
            Self::EndForgotten { executor } => {
                write!(f, "too many unconfirmed ends: forgot that of executor {executor}")
            }
            Self::DirectoriesRemoved { directories, unwritten_for } => {
                let seconds = unwritten_for.as_secs();
                write!(
                    f,
                    "removing directories of ended applications, unwritten for {seconds} s: {directories}"
                )
            }
            Self::ShuttingDown { executors } => write!(f, "shutting down; executors to end: {executors}"),
            Self::ShutdownForced { executors } => {
                write!(f, "asked again to shut down; {executors} executors are killed")
            }
            Self::LeftBehind { executors } => {
                write!(f, "ending though {executors} killed executors are not gone")
            }
        }
    }
}
