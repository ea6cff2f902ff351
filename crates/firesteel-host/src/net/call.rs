//! Requests and their responses, for commands that are not daemons.

use std::time::Duration;

use bytes::BytesMut;
use firesteel_placement::advanced::words::counted;
use firesteel_protocol::Leadership;
use firesteel_protocol::address::Address;
use firesteel_protocol::master_search::connect_error::Evidence;
use firesteel_protocol::wire::{self, DecodeError, Message, Role, TooLong};
use serde::de::DeserializeOwned;
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;

use super::dial::{self, DialError};
use super::frame::{self, FrameError};
use super::handshake::Introduced;
use super::handshake::introduction::Introduction;
use super::older_peer::OlderPeer;

/// The timeout of a response.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// The most Masters that are asked who leads, each because the one before named it.
const MOST_STANDBYS: usize = 4;

/// Why a request has no response.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The connection could not be opened.
    #[error(transparent)]
    Dial(#[from] DialError),
    /// The Master there stands by, and does not know which one leads.
    #[error("{address} stands by, and no Master leads yet")]
    NoLeader {
        /// The address that was asked.
        address: Address,
    },
    /// The Master there stands by, and the one that it names as the leader cannot be reached.
    #[error("{address} stands by; the Master that it says leads cannot be reached: {error}")]
    LeaderGone {
        /// The address that was asked.
        address: Address,
        /// Why the other one cannot be reached.
        error: Box<DialError>,
    },
    /// The request does not fit into a frame.
    #[error(transparent)]
    TooLong(#[from] TooLong),
    /// The other side is too old for the request.
    #[error("the {role} at {address} cannot answer this: {older}")]
    Older {
        /// The address that was asked.
        address: Address,
        /// The role of the peer.
        role: Role,
        /// What is missing.
        older: OlderPeer,
    },
    /// The connection broke.
    #[error("lost the connection to {address}: {error}")]
    Frame {
        /// The address that was asked.
        address: Address,
        /// What is wrong with the frame.
        error: FrameError,
    },
    /// The other side closed the connection without a response.
    #[error("{address} closed the connection without an answer")]
    NoAnswer {
        /// The address that was asked.
        address: Address,
    },
    /// The response did not come in time, although the peer had completed the handshake.
    #[error("the {role} at {address} did not answer within {} s: it is overloaded or was stopped", ANSWER_TIMEOUT.as_secs())]
    TimedOut {
        /// The address that was asked.
        address: Address,
        /// The role of the peer.
        role: Role,
    },
    /// The response consists of several pages, and not all of them came.
    #[error("the answer broke off after {}: {error}", counted(*.rows, "row"))]
    Incomplete {
        /// The number of rows that came.
        rows: u64,
        /// Why there are no more.
        error: Box<CallError>,
    },
    /// The response belongs to a different kind of request.
    #[error("{address} sent an unexpected answer")]
    OtherAnswer {
        /// The address that was asked.
        address: Address,
    },
    /// The response cannot be decoded.
    #[error("cannot read the answer of {address}: {error}")]
    Decode {
        /// The address that was asked.
        address: Address,
        /// Why decoding failed.
        error: DecodeError,
    },
}

impl CallError {
    /// What the error says about the address that was asked.
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
    /// Dials the address as this client. If a Master stands by there, dials the one that leads.
    ///
    /// # Errors
    /// The connection could not be opened, or no Master leads.
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

    /// The address that was dialled.
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
