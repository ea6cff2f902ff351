//! A connection without an owner: one task sends and receives in turn, and waits for the peer.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::{Buf, BytesMut};
use firesteel_protocol::address::Address;
use firesteel_protocol::messages::Rights;
use firesteel_protocol::wire::{self, DecodeError, Message, Role, TooLong};
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::dial::{self, DialError};
use super::encryption::keyring::UserName;
use super::frame::{self, FrameError, FrameReader};
use super::handshake::Introduced;
use super::listener::limits::ConnectionPermit;
use super::older_peer::OlderPeer;
use super::writer::Writer;
use super::{Introduction, WRITE_TIMEOUT};

/// A connection that a single task owns.
#[derive(Debug)]
pub struct Conversation {
    introduced: Introduced,
    remote: SocketAddr,
    /// The connection's permit, if this side accepted the connection.
    _permit: Option<ConnectionPermit>,
}

/// Why a conversation ended. The text is a sentence about the peer, without the peer's name.
#[derive(Debug, thiserror::Error)]
pub enum ConversationError {
    #[error("it sent nothing for {} s", patience.as_secs())]
    Silent { patience: Duration },
    /// The peer does not read messages.
    #[error("it read nothing for {} s", WRITE_TIMEOUT.as_secs())]
    Blocked,
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error(transparent)]
    Message(#[from] DecodeError),
    /// A message for the peer does not fit into a frame.
    #[error(transparent)]
    TooLong(#[from] TooLong),
    /// The peer speaks an older version of the protocol, which does not have the message.
    #[error(transparent)]
    Older(#[from] OlderPeer),
}

impl Conversation {
    pub(super) fn new(introduced: Introduced, remote: SocketAddr, permit: ConnectionPermit) -> Self {
        Self { introduced, remote, _permit: Some(permit) }
    }

    /// Dials and checks that the peer has the wanted role.
    ///
    /// # Errors
    /// The peer does not answer, or has another role.
    pub async fn dial(address: &Address, ours: &Introduction, wanted: Role) -> Result<Self, DialError> {
        let (introduced, remote) = dial::open(address, ours, wanted).await?;
        Ok(Self { introduced, remote, _permit: None })
    }

    /// The halves of a connection that this side dialled. Each can be used by itself.
    #[must_use]
    pub fn into_halves(self) -> (FrameReader, Writer) {
        (self.introduced.reader, self.introduced.writer)
    }

    /// The peer's name, as the peer gave it. The name is untrusted: it is only logged, with escapes.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.introduced.hello.name
    }

    #[must_use]
    pub fn remote(&self) -> SocketAddr {
        self.remote
    }

    /// The user whom the peer's secret proves.
    #[must_use]
    pub fn user(&self) -> Option<&str> {
        self.introduced.user.as_ref().map(UserName::as_str)
    }

    /// What the peer's secret allows.
    #[must_use]
    pub fn rights(&self) -> Rights {
        self.introduced.rights
    }

    /// A number that only the two sides of this connection have; 0 if it is in the clear.
    #[must_use]
    pub fn channel(&self) -> u64 {
        self.introduced.channel
    }

    /// Sends a message. The future must not be dropped before it completes.
    ///
    /// # Errors
    /// The message is too long, the peer reads nothing, or the peer's version does not have the message.
    pub async fn send<M: Message>(&mut self, message: &M) -> Result<(), ConversationError> {
        OlderPeer::check(message, self.introduced.version)?;
        let mut bytes = BytesMut::new();
        frame::append(message, &mut bytes, wire::MAX_FRAME)?;
        while bytes.has_remaining() || !self.introduced.writer.is_flushed() {
            let writing = poll_fn(|context| self.introduced.writer.poll_write(context, &mut bytes));
            match timeout(WRITE_TIMEOUT, writing).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => return Err(FrameError::Io(error).into()),
                Err(_) => return Err(ConversationError::Blocked),
            }
        }
        Ok(())
    }

    /// Receives the next message, or `None` at the end.
    ///
    /// # Errors
    /// The peer sent nothing within `patience`, or the bytes received are not a message.
    pub async fn receive<M: DeserializeOwned>(
        &mut self,
        patience: Duration,
    ) -> Result<Option<M>, ConversationError> {
        let frame = timeout(patience, self.introduced.reader.next()).await;
        let body = frame.map_err(|_| ConversationError::Silent { patience })??;
        Ok(body.map(|body| wire::decode(&body)).transpose()?)
    }
}
