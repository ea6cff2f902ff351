//! The notes of an allocator, each a line of the log.

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
    /// A target names one profile more than the maximum.
    #[note(Warn, "ignored profile {profile}: there are too many")]
    TooManyProfiles { profile: ProfileId },
    /// `level` is how near a granted container is to what the request asked for.
    #[note(Info, "container {container} on {host} serves a request at level {level}")]
    Matched { container: ContainerId, host: Arc<str>, level: Locality },
    #[note(Info, "released container {container} on {host}: not needed")]
    Excess { container: ContainerId, host: Arc<str> },
    #[note(Warn, "released container {container}: it has {memory} instead of {asked}")]
    TooSmall { container: ContainerId, memory: MiB, asked: MiB },
    /// This is ignored.
    #[note(Warn, "container {container} was granted twice")]
    GrantedTwice { container: ContainerId },
    /// The container is unknown, or had ended before. This is ignored.
    #[note(Warn, "unknown container {container} ended")]
    UnknownEnd { container: ContainerId },
    /// An answer came although no call was made. Its containers are taken in.
    #[note(Warn, "ignored an unexpected answer of the ResourceManager")]
    UnexpectedAnswer,
    /// The executor is unknown, or is being ended already.
    #[note(Warn, "cannot end executor {executor}: not running")]
    UnknownExecutor { executor: ExecutorId },
    #[note(Warn, "cannot start executor {executor} on {host}: {error}")]
    NotStarted { executor: ExecutorId, host: Arc<str>, error: String },
    #[note(Warn, "avoiding {host}: {} failed there", counted(*failures, "executor"))]
    HostExcluded { host: Arc<str>, failures: u64 },
    /// The call will be repeated.
    #[note(Warn, "a call to the ResourceManager failed ({errors} in a row): {failure}")]
    CallFailed { failure: AllocateFailure, errors: u32 },
}
