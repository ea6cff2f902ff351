//! What goes wrong with a call, and what is known of it then.

use std::sync::Arc;
use std::time::Duration;

use super::frame::FrameError;
use crate::messages::rpc::{RpcErrorCode, RpcResponseHeader, RpcStatus};
use crate::sasl::SaslError;

/// Why there is no answer, or not the one that was hoped for.
#[derive(Clone, Debug, thiserror::Error)]
pub enum IpcError {
    /// Nobody takes a connection there.
    #[error("{address} cannot be reached: {why}")]
    Unreachable {
        /// Host and port.
        address: String,
        /// The operating system's words.
        why: Arc<std::io::Error>,
    },
    /// No answer came in time.
    #[error("there was no answer within {} s", .0.as_secs_f32())]
    TimedOut(Duration),
    /// The server objects.
    #[error(transparent)]
    Remote(RemoteError),
    /// Server and token do not come together.
    #[error(transparent)]
    Sasl(SaslError),
    /// The server closed the connection.
    #[error("it closed the connection")]
    Closed,
    /// The connection broke, or what came cannot be read.
    #[error("{0}")]
    Broken(Arc<FrameError>),
}

impl IpcError {
    pub(super) fn broken(error: FrameError) -> Self {
        Self::Broken(Arc::new(error))
    }
}

/// A call that failed.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{method}: {error}")]
pub struct CallError {
    /// What was called.
    pub method: &'static str,
    /// What became of it.
    pub fate: Fate,
    /// Why.
    pub error: IpcError,
}

impl CallError {
    /// What kind of exception it was, if a server sent one.
    #[must_use]
    pub fn kind(&self) -> Option<Kind> {
        match &self.error {
            IpcError::Remote(remote) => Some(remote.kind()),
            _ => None,
        }
    }
}

/// What is known of a call that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It never left, or was turned away unread: it can be called again.
    NotCalled,
    /// It may have been done, or not.
    Unknown,
    /// It was answered.
    Answered,
}

/// A server's objection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} ({})", self.class_name())]
pub struct RemoteError {
    /// The exception's class, in full.
    pub class: String,
    /// Its message, without the stack trace.
    pub message: String,
    /// Whether the connection is at its end with it.
    pub status: RpcStatus,
    /// What kind of error it was to the server, if it says.
    pub detail: Option<RpcErrorCode>,
}

/// Exceptions after which one does something else than after others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The ResourceManager does not know the application.
    ApplicationNotFound,
    /// It does not know the attempt: it was replaced, or is over.
    ApplicationAttemptNotFound,
    /// It has forgotten that the ApplicationMaster is registered.
    NotRegistered,
    /// Registered twice, or a response id that is not the last one.
    InvalidApplicationMasterRequest,
    /// It never grants what was asked for.
    InvalidResourceRequest,
    /// It was asked to avoid everything.
    InvalidBlacklist,
    /// It was given back what the application does not have.
    InvalidRelease,
    /// A NodeManager has not registered yet.
    NodeManagerNotYetReady,
    /// Another ResourceManager is in charge.
    Standby,
    /// Not now.
    Retriable,
    /// A token is not known, or no longer.
    InvalidToken,
    /// Not for this user, or not in this way.
    AccessDenied,
    /// There is no such method, protocol or version of it.
    NotSpoken,
    /// Any other.
    Other,
}

impl RemoteError {
    pub(super) fn of(header: RpcResponseHeader) -> Self {
        let message = header.error_msg();
        // A message comes with its whole stack trace behind it.
        let message = message.split_once("\n\tat ").map_or(message, |(message, _)| message).trim();
        Self {
            message: message.to_owned(),
            status: RpcStatus::try_from(header.status).unwrap_or(RpcStatus::Fatal),
            detail: header.error_detail.and_then(|code| RpcErrorCode::try_from(code).ok()),
            class: header.exception_class_name.unwrap_or_default(),
        }
    }

    /// The class without its package.
    #[must_use]
    pub fn class_name(&self) -> &str {
        self.class.rsplit(['.', '$']).next().unwrap_or_default()
    }

    /// What kind of exception it is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self.class_name() {
            "ApplicationNotFoundException" => Kind::ApplicationNotFound,
            "ApplicationAttemptNotFoundException" => Kind::ApplicationAttemptNotFound,
            "ApplicationMasterNotRegisteredException" => Kind::NotRegistered,
            "InvalidApplicationMasterRequestException" => Kind::InvalidApplicationMasterRequest,
            "InvalidResourceRequestException" => Kind::InvalidResourceRequest,
            "InvalidResourceBlacklistRequestException" => Kind::InvalidBlacklist,
            "InvalidContainerReleaseException" => Kind::InvalidRelease,
            "NMNotYetReadyException" => Kind::NodeManagerNotYetReady,
            "StandbyException" => Kind::Standby,
            "RetriableException" => Kind::Retriable,
            "InvalidToken" => Kind::InvalidToken,
            "AccessControlException" | "AuthorizationException" | "SaslException" => Kind::AccessDenied,
            "RpcNoSuchMethodException" | "RpcNoSuchProtocolException" | "VersionMismatch" => Kind::NotSpoken,
            _ => Kind::Other,
        }
    }
}
