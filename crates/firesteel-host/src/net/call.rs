//! Questions and their answers, for commands that are no daemons.

use std::time::Duration;

use bytes::BytesMut;
use firesteel_core::address::Address;
use firesteel_core::wire::{self, DecodeError, Hello, Role, TooLong};
use serde::{Serialize, de::DeserializeOwned};
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;
use tokio_util::codec::Encoder;

use super::connection::next_frame;
use super::dial::{self, DialError};
use super::frame::{FrameError, Frames};
use super::handshake::Introduced;

/// An answer must be there after this.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// No connection.
    #[error(transparent)]
    Dial(#[from] DialError),
    /// The question does not fit a frame.
    #[error(transparent)]
    TooLong(#[from] TooLong),
    /// The connection broke.
    #[error("lost the connection to {address}: {error}")]
    Frame {
        /// Whom.
        address: Address,
        /// How.
        error: FrameError,
    },
    /// The other side hung up.
    #[error("{address} closed the connection without an answer")]
    NoAnswer {
        /// Whom.
        address: Address,
    },
    /// The other side took too long.
    #[error("{address} did not answer within {} s", ANSWER_TIMEOUT.as_secs())]
    TimedOut {
        /// Whom.
        address: Address,
    },
    /// The answer is one to another question.
    #[error("{address} sent an unexpected answer")]
    OtherAnswer {
        /// Whom.
        address: Address,
    },
    /// The answer cannot be read.
    #[error("cannot read the answer of {address}: {error}")]
    Decode {
        /// Whom.
        address: Address,
        /// Why.
        error: DecodeError,
    },
}

/// Dials the address as a client named `name`, asks one question and waits for one answer.
///
/// # Errors
/// See [`CallError`].
pub async fn call<Q: Serialize, A: DeserializeOwned>(
    address: &Address,
    role: Role,
    name: &str,
    question: &Q,
) -> Result<A, CallError> {
    Inquiry::open(address, role, name).await?.ask(question).await
}

/// A connection for one question after the other.
#[derive(Debug)]
pub struct Inquiry {
    address: Address,
    introduced: Introduced,
}

impl Inquiry {
    /// Dials the address as a client named `name`.
    ///
    /// # Errors
    /// There is no connection.
    pub async fn open(address: &Address, role: Role, name: &str) -> Result<Self, CallError> {
        let ours =
            Hello { role: Role::Client, name: name.to_owned(), challenge: Default::default(), epoch: 0 };
        let (introduced, _) = dial::open(address, &ours, role).await?;
        Ok(Self { address: address.clone(), introduced })
    }

    /// Asks a question and waits for its answer. After an error the connection is of no more use.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn ask<Q: Serialize, A: DeserializeOwned>(&mut self, question: &Q) -> Result<A, CallError> {
        let Self { address, introduced } = self;
        let broken = |error| CallError::Frame { address: address.clone(), error };
        let mut bytes = BytesMut::new();
        let body = wire::encode(question, wire::MAX_FRAME)?;
        Frames::of_hello().encode(body, &mut bytes).expect("a body that fits was just made");
        let exchange = async {
            introduced.writer.write_all(&bytes).await.map_err(FrameError::Io)?;
            next_frame(&mut introduced.reader).await
        };
        let body = timeout(ANSWER_TIMEOUT, exchange)
            .await
            .map_err(|_| CallError::TimedOut { address: address.clone() })?
            .map_err(broken)?
            .ok_or_else(|| CallError::NoAnswer { address: address.clone() })?;
        wire::decode(&body).map_err(|error| CallError::Decode { address: address.clone(), error })
    }
}
