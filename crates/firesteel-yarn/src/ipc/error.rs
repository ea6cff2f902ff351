//! The errors of calls, and whether a failed call may have been processed.

use std::sync::Arc;
use std::time::Duration;

use super::frame::FrameError;
use crate::messages::rpc::{RpcErrorCode, RpcResponseHeader, RpcStatus};
use crate::sasl::SaslError;

/// Why a call has no response, or has an error as its response.
#[derive(Clone, Debug, thiserror::Error)]
pub enum IpcError {
    /// The address accepts no connection.
    #[error("{address} cannot be reached: {why}")]
    Unreachable { address: String, why: Arc<std::io::Error> },
    #[error("there was no answer within {} s", .0.as_secs_f32())]
    TimedOut(Duration),
    #[error(transparent)]
    Remote(RemoteError),
    #[error(transparent)]
    Sasl(SaslError),
    #[error("it closed the connection")]
    Closed,
    /// The connection broke, or the bytes received cannot be read.
    #[error("{0}")]
    Broken(Arc<FrameError>),
}

impl IpcError {
    pub(super) fn broken(error: FrameError) -> Self {
        Self::Broken(Arc::new(error))
    }
}

#[derive(Clone, Debug, thiserror::Error)]
#[error("{method}: {error}")]
pub struct CallError {
    pub method: &'static str,
    /// Whether the call may have been processed.
    pub delivery: Delivery,
    pub error: IpcError,
}

impl CallError {
    /// The kind of the exception, if a server sent one.
    #[must_use]
    pub fn kind(&self) -> Option<Kind> {
        match &self.error {
            IpcError::Remote(remote) => Some(remote.kind()),
            _ => None,
        }
    }
}

/// Whether a call that failed may have been processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// The call was not sent, or was rejected before it was read. It can be repeated.
    NotDelivered,
    /// It is unknown whether the call was processed.
    Unknown,
    Answered,
}

/// An error that a server sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} ({})", self.class_name())]
pub struct RemoteError {
    /// The full name of the exception's class.
    pub class: String,
    /// The message of the exception, without the stack trace.
    pub message: String,
    /// Whether the error also ends the connection.
    pub status: RpcStatus,
    /// The server's error code, if it sent one.
    pub detail: Option<RpcErrorCode>,
}

/// The kinds of exceptions that callers treat differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The ResourceManager has no such application.
    ApplicationNotFound,
    /// The attempt is unknown: another attempt has replaced it, or the application is over.
    ApplicationAttemptNotFound,
    /// The ResourceManager has lost the ApplicationMaster's registration.
    NotRegistered,
    /// A second registration, or a response id that is not the last one.
    InvalidApplicationMasterRequest,
    /// A request that the ResourceManager can never grant.
    InvalidResourceRequest,
    /// A request that excludes every node.
    InvalidBlacklist,
    /// The release of a container that the application does not have.
    InvalidRelease,
    NodeManagerNotYetReady,
    Standby,
    /// An error that may be temporary, so the call can be repeated.
    Retriable,
    /// A token that is unknown or has expired.
    InvalidToken,
    /// A call that is not allowed for this user or with this authentication.
    AccessDenied,
    /// An unknown method, protocol or protocol version.
    NotSpoken,
    Other,
}

impl RemoteError {
    pub(super) fn of(header: RpcResponseHeader) -> Self {
        let message = header.error_msg();
        // A message comes with its whole stack trace appended.
        let message = message.split_once("\n\tat ").map_or(message, |(message, _)| message).trim();
        Self {
            message: message.to_owned(),
            status: RpcStatus::try_from(header.status).unwrap_or(RpcStatus::Fatal),
            detail: header.error_detail.and_then(|code| RpcErrorCode::try_from(code).ok()),
            class: header.exception_class_name.unwrap_or_default(),
        }
    }

    /// The name of the class without its package.
    #[must_use]
    pub fn class_name(&self) -> &str {
        self.class.rsplit(['.', '$']).next().unwrap_or_default()
    }

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
