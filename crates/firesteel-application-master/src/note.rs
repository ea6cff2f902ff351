//! The notes of an ApplicationMaster. Each note is a line of the log.

use std::sync::Arc;
use std::time::Duration;

use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{ContainerId, ExecutorId, PeerId};
use firesteel_protocol::messages::ExecutorState;

use crate::allocator;

use super::effect::FinalStatus;

/// A line of the log: its level, its text and its fields.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind, firesteel_protocol::Note)]
#[kind("application master note")]
pub enum Note {
    #[note(Info, "registered with the ResourceManager")]
    Registered,
    #[note(Info, "the driver of {name} registered")]
    DriverRegistered { name: String },
    #[note(Info, "the driver reconnected")]
    DriverReturned,
    /// The driver's connection ended. `patience` is how long the ApplicationMaster waits for its return. `None`: it
    /// need not return.
    #[note(
        Warn,
        "lost the connection to the driver{}",
        patience.map(|it| format!("; waiting for it for {} s", it.as_secs_f64())).unwrap_or_default()
    )]
    DriverLost { patience: Option<Duration> },
    #[note(Warn, "refused an application: {reason}")]
    Refused { reason: String },
    #[note(Warn, "ignored a request of connection {peer}: the application is not its own")]
    NotItsOwn { peer: PeerId },
    #[note(Info, "started executor {executor} in {container} on {node}; its logs: {logs}")]
    ExecutorLaunched { executor: ExecutorId, container: ContainerId, node: Address, logs: String },
    #[note(Info, "executor {executor} on {host} ended: {state}")]
    ExecutorEnded { executor: ExecutorId, host: Arc<str>, state: ExecutorState },
    /// A host is being decommissioned. The driver gets a message about its executors there, which run until the host is
    /// gone.
    #[note(Info, "{host} is being decommissioned")]
    Decommissioning { host: String },
    /// The application, or this attempt at it, is ending.
    #[note(
        match status {
            FinalStatus::Succeeded => Info,
            FinalStatus::Undefined | FinalStatus::Failed | FinalStatus::Killed => Warn,
        },
        "finishing as {status} with code {code}: {message}"
    )]
    Finishing { status: FinalStatus, code: i32, message: String },
    #[note(Warn, "cannot report the end to the ResourceManager: {error}")]
    UnregisterFailed { error: String },
    #[note(_0.level(), "{_0}")]
    Allocator(#[mentions] allocator::Note),
}
