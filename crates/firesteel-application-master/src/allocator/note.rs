//! The notes of an allocator, each a line of the log.

use std::fmt;
use std::sync::Arc;

use firesteel_placement::MiB;
use firesteel_placement::advanced::locality::Locality;
use firesteel_placement::advanced::words::counted;
use firesteel_protocol::ids::{ContainerId, ExecutorId, ProfileId};
use firesteel_protocol::machine::NoteLevel;

use super::event::AllocateFailure;

/// A note for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// The number of executors wanted of a profile has changed.
    TargetSet {
        /// The number of the resource profile.
        profile: ProfileId,
        /// The number of executors wanted.
        total: u64,
    },
    /// A target names one profile more than the maximum. It is ignored.
    TooManyProfiles {
        /// The number of the resource profile.
        profile: ProfileId,
    },
    /// A granted container serves a request.
    Matched {
        /// The container's id.
        container: ContainerId,
        /// The host's name.
        host: Arc<str>,
        /// How near it is to what the request asked for.
        level: Locality,
    },
    /// A granted container serves no request, and is given back.
    Excess {
        /// The container's id.
        container: ContainerId,
        /// The host's name.
        host: Arc<str>,
    },
    /// A granted container has too little memory, and is given back.
    TooSmall {
        /// The container's id.
        container: ContainerId,
        /// The amount of memory.
        memory: MiB,
        /// The amount of memory that was asked for.
        asked: MiB,
    },
    /// A container was granted a second time. This is ignored.
    GrantedTwice {
        /// The container's id.
        container: ContainerId,
    },
    /// A container has ended that is unknown, or had ended before. This is ignored.
    UnknownEnd {
        /// The container's id.
        container: ContainerId,
    },
    /// An answer came although no call was made. Its containers are taken in.
    UnexpectedAnswer,
    /// An executor is to be ended that is unknown, or is being ended already. This is ignored.
    UnknownExecutor {
        /// The executor's number.
        executor: ExecutorId,
    },
    /// A container's process could not be started.
    NotStarted {
        /// The executor's number.
        executor: ExecutorId,
        /// The host's name.
        host: Arc<str>,
        /// The error, in words for people.
        error: String,
    },
    /// Too many executors failed on a host, which is excluded.
    HostExcluded {
        /// The host's name.
        host: Arc<str>,
        /// The number of failures on it.
        failures: u64,
    },
    /// A call to the manager failed, and will be repeated.
    CallFailed {
        /// How the call failed.
        failure: AllocateFailure,
        /// The number of failed calls in a row.
        errors: u32,
    },
}

impl Note {
    /// The level at which the note is logged.
    #[must_use]
    pub fn level(&self) -> NoteLevel {
        match self {
            Self::TargetSet { .. } | Self::Matched { .. } | Self::Excess { .. } => NoteLevel::Info,
            Self::TooManyProfiles { .. }
            | Self::TooSmall { .. }
            | Self::GrantedTwice { .. }
            | Self::UnknownEnd { .. }
            | Self::UnexpectedAnswer
            | Self::UnknownExecutor { .. }
            | Self::NotStarted { .. }
            | Self::HostExcluded { .. }
            | Self::CallFailed { .. } => NoteLevel::Warn,
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TargetSet { profile, total } => {
                write!(f, "the target of profile {profile} is {}", counted(*total, "executor"))
            }
            Self::TooManyProfiles { profile } => {
                write!(f, "ignored profile {profile}: there are too many")
            }
            Self::Matched { container, host, level } => {
                write!(f, "container {container} on {host} serves a request at level {level}")
            }
            Self::Excess { container, host } => {
                write!(f, "released container {container} on {host}: not needed")
            }
            Self::TooSmall { container, memory, asked } => {
                write!(f, "released container {container}: it has {memory} instead of {asked}")
            }
            Self::GrantedTwice { container } => write!(f, "container {container} was granted twice"),
            Self::UnknownEnd { container } => write!(f, "unknown container {container} ended"),
            Self::UnexpectedAnswer => f.write_str("ignored an unexpected answer of the ResourceManager"),
            Self::UnknownExecutor { executor } => {
                write!(f, "cannot end executor {executor}: not running")
            }
            Self::NotStarted { executor, host, error } => {
                write!(f, "cannot start executor {executor} on {host}: {error}")
            }
            Self::HostExcluded { host, failures } => {
                write!(f, "avoiding {host}: {} failed there", counted(*failures, "executor"))
            }
            Self::CallFailed { failure, errors } => {
                write!(f, "a call to the ResourceManager failed ({errors} in a row): {failure}")
            }
        }
    }
}

firesteel_protocol::kinds!("allocator note", Note: TargetSet TooManyProfiles Matched Excess TooSmall GrantedTwice
    UnknownEnd UnexpectedAnswer UnknownExecutor NotStarted HostExcluded CallFailed);
