//! The notes of an allocator. Each note is a line of the log.

use std::sync::Arc;

use firesteel_placement::MiB;
use firesteel_placement::advanced::locality::Locality;
use firesteel_placement::advanced::words::counted;
use firesteel_protocol::ids::{ContainerId, ExecutorId, ProfileId};

use super::event::AllocateFailure;

/// A line of the log: its level, its text and its fields.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind, firesteel_protocol::Note)]
#[kind("allocator note")]
pub enum Note {
    /// The number of executors wanted of a profile has changed.
    #[note(Info, "the target of profile {profile} is {}", counted(*total, "executor"))]
    TargetSet { profile: ProfileId, total: u64 },
    /// A target names a further profile, but the maximum is reached.
    #[note(Warn, "ignored profile {profile}: there are too many")]
    TooManyProfiles { profile: ProfileId },
    /// A granted container serves a request. `level` is how near the container is to the requested hosts.
    #[note(Info, "container {container} on {host} serves a request at level {level}")]
    Matched { container: ContainerId, host: Arc<str>, level: Locality },
    #[note(Info, "released container {container} on {host}: not needed")]
    Excess { container: ContainerId, host: Arc<str> },
    #[note(Warn, "released container {container}: it has {memory} instead of {asked}")]
    TooSmall { container: ContainerId, memory: MiB, asked: MiB },
    /// The manager granted the same container twice. The second grant is ignored.
    #[note(Warn, "container {container} was granted twice")]
    GrantedTwice { container: ContainerId },
    /// The manager reported the end of a container that is unknown or had ended before. This is ignored.
    #[note(Warn, "unknown container {container} ended")]
    UnknownEnd { container: ContainerId },
    /// An answer came although no call was open. Its containers are accepted.
    #[note(Warn, "ignored an unexpected answer of the ResourceManager")]
    UnexpectedAnswer,
    /// The driver asked to end an executor that is unknown or is already being ended.
    #[note(Warn, "cannot end executor {executor}: not running")]
    UnknownExecutor { executor: ExecutorId },
    #[note(Warn, "cannot start executor {executor} on {host}: {error}")]
    NotStarted { executor: ExecutorId, host: Arc<str>, error: String },
    #[note(Warn, "avoiding {host}: {} failed there", counted(*failures, "executor"))]
    HostExcluded { host: Arc<str>, failures: u64 },
    /// A call to the manager failed, and will be repeated.
    #[note(Warn, "a call to the ResourceManager failed ({errors} in a row): {failure}")]
    CallFailed { failure: AllocateFailure, errors: u32 },
}
