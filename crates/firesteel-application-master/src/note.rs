//! The notes of an ApplicationMaster, each a line of the log.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{ContainerId, ExecutorId, PeerId};
use firesteel_protocol::machine::NoteLevel;
use firesteel_protocol::messages::ExecutorState;

use crate::allocator;

use super::effect::FinalStatus;

/// A note for the log.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("application master note")]
pub enum Note {
    /// The manager has registered the application.
    Registered,
    /// The driver has registered.
    DriverRegistered {
        /// The application's name.
        name: String,
    },
    /// The driver has returned on a new connection.
    DriverReturned,
    /// The driver's connection ended.
    DriverLost {
        /// How long the driver is awaited. `None`: it need not come back.
        patience: Option<Duration>,
    },
    /// An application is refused.
    Refused {
        /// The reason, in words for people.
        reason: String,
    },
    /// A connection asks for something that is not its own. This is ignored.
    NotItsOwn {
        /// The connection's number.
        peer: PeerId,
    },
    /// An executor is being started.
    ExecutorLaunched {
        /// The executor's number.
        executor: ExecutorId,
        /// The container's id.
        container: ContainerId,
        /// The node that the container is on.
        node: Address,
        /// Where people find its logs.
        logs: String,
    },
    /// An executor has ended.
    ExecutorEnded {
        /// The executor's number.
        executor: ExecutorId,
        /// The host's name.
        host: Arc<str>,
        /// The executor's state.
        state: ExecutorState,
    },
    /// A host is being decommissioned. The driver is told of its executors there, which run until the host is gone.
    Decommissioning {
        /// The host's name.
        host: String,
    },
    /// The application, or this attempt at it, is ending.
    Finishing {
        /// The application's final status.
        status: FinalStatus,
        /// The exit code.
        code: i32,
        /// The reason, in words for people.
        message: String,
    },
    /// The manager could not be told of the end.
    UnregisterFailed {
        /// The error, in words for people.
        error: String,
    },
    /// A note of the allocator.
    Allocator(allocator::Note),
}

impl Note {
    /// The level at which the note is logged.
    #[must_use]
    pub fn level(&self) -> NoteLevel {
        match self {
            Self::Registered
            | Self::DriverRegistered { .. }
            | Self::DriverReturned
            | Self::ExecutorLaunched { .. }
            | Self::ExecutorEnded { .. }
            | Self::Decommissioning { .. } => NoteLevel::Info,
            Self::DriverLost { .. }
            | Self::Refused { .. }
            | Self::NotItsOwn { .. }
            | Self::UnregisterFailed { .. } => NoteLevel::Warn,
            Self::Finishing { status, .. } => match status {
                FinalStatus::Succeeded => NoteLevel::Info,
                FinalStatus::Undefined | FinalStatus::Failed | FinalStatus::Killed => NoteLevel::Warn,
            },
            Self::Allocator(note) => note.level(),
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Registered => f.write_str("registered with the ResourceManager"),
            Self::DriverRegistered { name } => write!(f, "the driver of {name} registered"),
            Self::DriverReturned => f.write_str("the driver reconnected"),
            Self::DriverLost { patience: None } => f.write_str("lost the connection to the driver"),
            Self::DriverLost { patience: Some(patience) } => {
                let seconds = patience.as_secs_f64();
                write!(f, "lost the connection to the driver; waiting for it for {seconds} s")
            }
            Self::Refused { reason } => write!(f, "refused an application: {reason}"),
            Self::NotItsOwn { peer } => {
                write!(f, "ignored a request of connection {peer}: the application is not its own")
            }
            Self::ExecutorLaunched { executor, container, node, logs } => {
                write!(f, "started executor {executor} in {container} on {node}; its logs: {logs}")
            }
            Self::ExecutorEnded { executor, host, state } => {
                write!(f, "executor {executor} on {host} ended: {state}")
            }
            Self::Decommissioning { host } => write!(f, "{host} is being decommissioned"),
            Self::Finishing { status, code, message } => {
                write!(f, "finishing as {status} with code {code}: {message}")
            }
            Self::UnregisterFailed { error } => {
                write!(f, "cannot report the end to the ResourceManager: {error}")
            }
            Self::Allocator(note) => note.fmt(f),
        }
    }
}
