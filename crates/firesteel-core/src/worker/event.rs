//! What happens to a Worker.

use crate::address::Address;
use crate::ids::{AppId, ExecutorKey, FetchId, PeerId};
use crate::messages::{ClientToWorker, MasterToWorker};
use crate::process::{ExitStatus, StartFailure};

/// What happens to a Worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The daemon is ready. Comes once, first.
    Start,
    /// A connection that was asked for is open.
    Connected {
        /// Its number from now on.
        peer: PeerId,
        /// The Master that was dialled.
        master: Address,
    },
    /// A connection that was asked for could not be opened.
    ConnectFailed {
        /// The Master that was dialled.
        master: Address,
        /// Why.
        error: String,
    },
    /// A message came.
    Received {
        /// From this connection.
        peer: PeerId,
        /// The message.
        message: Inbound,
    },
    /// A connection ended, however.
    Disconnected {
        /// Which.
        peer: PeerId,
    },
    /// An application's files are there.
    FilesFetched {
        /// Whose.
        app: AppId,
        /// By which fetch.
        fetch: FetchId,
    },
    /// An application's files cannot be had, and what had come of them is removed.
    FilesFailed {
        /// Whose.
        app: AppId,
        /// By which fetch.
        fetch: FetchId,
        /// Which file, from where, and why.
        error: String,
    },
    /// An executor's process runs.
    RunnerStarted {
        /// Which executor's.
        executor: ExecutorKey,
        /// The process, which leads a process group of its own.
        pid: u32,
    },
    /// An executor's process could not be started.
    RunnerFailed {
        /// Which executor's.
        executor: ExecutorKey,
        /// Why.
        failure: StartFailure,
    },
    /// An executor's process ended, and nothing that it started is left.
    RunnerExited {
        /// Which executor's.
        executor: ExecutorKey,
        /// How.
        status: ExitStatus,
    },
    /// The daemon is asked to end (SIGTERM, ctrl-c). Asked again, it ends at once.
    Shutdown,
    /// The time of the next deadline has come.
    Deadline,
}

/// A message to the Worker. Which kind a connection may send was settled by its hello.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inbound {
    /// From a Master.
    Master(MasterToWorker),
    /// From a status client.
    Client(ClientToWorker),
}
