//! Requests and their responses, for commands that are not daemons.

use std::time::Duration;

use bytes::BytesMut;
use firesteel_placement::advanced::words::counted;
use firesteel_protocol::Leadership;
use firesteel_protocol::address::Address;
use firesteel_protocol::master_search::connect_error::Evidence;
use firesteel_protocol::wire::{self, DecodeError, Message, Role, TooLong};
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::dial::{self, DialError};
use super::frame::{self, FrameError};
use super::handshake::introduction::Introduction;
use super::handshake::{HandshakeError, Introduced};
use super::older_peer::OlderPeer;

const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// The maximum number of standby Masters to ask for the leader, one after the other. Each standby Master names the next
/// one.
const MOST_STANDBYS: usize = 4;

#[derive(Debug, thiserror::Error)]
pub enum CallError {
    #[error(transparent)]
    Dial(#[from] DialError),
    /// The Master at this address is a standby, and does not know the leader.
    #[error("{address} stands by, and no Master leads yet")]
    NoLeader { address: Address },
    /// The Master at this address is a standby, and the leader that it names cannot be reached.
    #[error("{address} stands by; the Master that it says leads cannot be reached: {error}")]
    LeaderGone { address: Address, error: Box<DialError> },
    /// The request does not fit into a frame.
    #[error(transparent)]
    TooLong(#[from] TooLong),
    /// The other side speaks an older version of the protocol, which does not have the request.
    #[error("the {role} at {address} cannot answer this: {older}")]
    Older {
        address: Address,
        role: Role,
        /// The version that the request needs, and the peer's version.
        older: OlderPeer,
    },
    /// The connection broke.
    #[error("lost the connection to {address}: {error}")]
    Frame { address: Address, error: FrameError },
    /// The other side closed the connection without sending a response.
    #[error("{address} closed the connection without an answer")]
    NoAnswer { address: Address },
    /// The response did not arrive in time, although the peer had completed the handshake.
    #[error("the {role} at {address} did not answer within {} s: it is overloaded or was stopped", ANSWER_TIMEOUT.as_secs())]
    TimedOut { address: Address, role: Role },
    /// The response consists of several pages, and not all of them arrived.
    #[error("the answer broke off after {}: {error}", counted(*.rows, "row"))]
    Incomplete { rows: u64, error: Box<CallError> },
    /// The response belongs to a different kind of request.
    #[error("{address} sent an unexpected answer")]
    OtherAnswer { address: Address },
    #[error("cannot read the answer of {address}: {error}")]
    Decode { address: Address, error: DecodeError },
}

impl CallError {
    /// Whether the two sides do not know the same secret.
    #[must_use]
    pub fn is_about_secrets(&self) -> bool {
        let is_refusal = |error: &DialError| {
            matches!(error, DialError::Handshake { error: HandshakeError::NotAdmitted(_), .. })
        };
        match self {
            Self::Dial(error) => is_refusal(error),
            Self::LeaderGone { error, .. } => is_refusal(error),
            _ => false,
        }
    }

    #[must_use]
    pub fn evidence(&self) -> Evidence {
        match self {
            Self::Dial(error) => error.evidence(),
            Self::NoLeader { .. }
            | Self::LeaderGone { .. }
            | Self::Frame { .. }
            | Self::NoAnswer { .. }
            | Self::TimedOut { .. }
            | Self::Incomplete { .. } => Evidence::NoAnswer,
            Self::TooLong(_) | Self::Older { .. } | Self::OtherAnswer { .. } | Self::Decode { .. } => {
                Evidence::Stranger
            }
        }
    }
}

/// Dials the address as a client with this name, sends one request and waits for the response.
///
/// # Errors
/// See [`CallError`].
pub async fn call<Q: Message, A: DeserializeOwned>(
    address: &Address,
    role: Role,
    name: &str,
    question: &Q,
) -> Result<A, CallError> {
    Inquiry::open(address, role, name).await?.ask(question).await
}

/// A connection for several requests, one after the other.
#[derive(Debug)]
pub struct Inquiry {
    address: Address,
    introduced: Introduced,
}

impl Inquiry {
    /// Dials the address as this client. If the Master at this address is a standby, dials the leader.
    pub async fn open(
        address: &Address,
        role: Role,
        client: impl Into<Introduction>,
    ) -> Result<Self, CallError> {
        let ours = client.into();
        let mut asked = address.clone();
        let mut dialled = dial::open(&asked, &ours, role).await?;
        for _ in 0..MOST_STANDBYS {
            let (introduced, _) = dialled;
            match Leadership::of(&introduced.hello) {
                Leadership::Here { .. } => return Ok(Self { address: asked, introduced }),
                Leadership::Elsewhere { leader: None } => break,
                Leadership::Elsewhere { leader: Some(leader) } => {
                    dialled = dial::open(&leader, &ours, role).await.map_err(|error| {
                        CallError::LeaderGone { address: address.clone(), error: Box::new(error) }
                    })?;
                    asked = leader;
                }
            }
        }
        Err(CallError::NoLeader { address: asked })
    }

    /// A number that only the two sides of this connection have; 0 if it is in the clear.
    #[must_use]
    pub fn channel(&self) -> u64 {
        self.introduced.channel
    }

    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Sends a request and waits for its response. After an error the connection cannot be used again.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn ask<Q: Message, A: DeserializeOwned>(&mut self, question: &Q) -> Result<A, CallError> {
        let Self { address, introduced } = self;
        let role = introduced.hello.role;
        OlderPeer::check(question, introduced.version).map_err(|older| CallError::Older {
            address: address.clone(),
            role,
            older,
        })?;
        let broken = |error| CallError::Frame { address: address.clone(), error };
        let mut bytes = BytesMut::new();
        frame::append(question, &mut bytes, wire::MAX_FRAME)?;
        let exchange = async {
            introduced.writer.write_all(&bytes).await.map_err(FrameError::Io)?;
            introduced.reader.next().await
        };
        let body = timeout(ANSWER_TIMEOUT, exchange)
            .await
            .map_err(|_| CallError::TimedOut { address: address.clone(), role })?
            .map_err(broken)?
            .ok_or_else(|| CallError::NoAnswer { address: address.clone() })?;
        wire::decode(&body).map_err(|error| CallError::Decode { address: address.clone(), error })
    }
}
