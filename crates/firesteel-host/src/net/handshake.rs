//! The handshake: preamble and hello, from both sides at once.

use std::io;

use bytes::{BufMut, BytesMut};
use firesteel_core::wire::{self, DecodeError, Hello, PREAMBLE, PreambleError, Role};
use futures_util::StreamExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio_util::codec::{Encoder, FramedRead};

use super::frame::{FrameError, Frames};
use super::{HANDSHAKE_TIMEOUT, socket};

/// Why a handshake failed. A sentence about the peer, without its name.
#[derive(Debug, thiserror::Error)]
pub enum HandshakeError {
    /// It sent nothing: a probe of the port.
    #[error("it closed the connection without sending anything")]
    Silent,
    /// It left before the end.
    #[error("it closed the connection in the middle of the handshake")]
    Closed,
    /// It took too long.
    #[error("it did not complete the handshake within {} s", HANDSHAKE_TIMEOUT.as_secs())]
    TimedOut,
    /// It speaks something else.
    #[error(transparent)]
    Preamble(#[from] PreambleError),
    /// Its hello's frame cannot be read.
    #[error(transparent)]
    Frame(FrameError),
    /// Its hello cannot be decoded.
    #[error("its hello cannot be read: {0}")]
    Hello(#[from] DecodeError),
    /// It is not what was expected.
    #[error("its role is {found}; this {here} accepts only: {}", roles(.wanted))]
    WrongRole {
        /// What it is.
        found: Role,
        /// What this side is.
        here: Role,
        /// What it would have to be.
        wanted: Vec<Role>,
    },
    /// The operating system's error.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Who a failed handshake is news to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Concern {
    /// Nobody: something looked whether the port is open.
    Probe,
    /// Somebody who looks for it: a program that has nothing to do with Firesteel.
    Stranger,
    /// Whoever runs the cluster: a part of Firesteel cannot take part in it.
    Misfit,
}

impl HandshakeError {
    /// Who it is news to.
    pub(super) fn concern(&self) -> Concern {
        match self {
            Self::Silent | Self::Io(_) => Concern::Probe,
            Self::Closed | Self::TimedOut | Self::Preamble(PreambleError::Foreign) => Concern::Stranger,
            Self::Preamble(PreambleError::Version { .. })
            | Self::Frame(_)
            | Self::Hello(_)
            | Self::WrongRole { .. } => Concern::Misfit,
        }
    }
}

fn roles(roles: &[Role]) -> String {
    roles.iter().map(Role::to_string).collect::<Vec<_>>().join(", ")
}

/// A connection whose handshake is over.
#[derive(Debug)]
pub(super) struct Introduced {
    /// Who the peer is.
    pub(super) hello: Hello,
    /// Where its frames come from.
    pub(super) reader: FramedRead<OwnedReadHalf, Frames>,
    /// Where ours go.
    pub(super) writer: OwnedWriteHalf,
}

/// Does both halves of the handshake, which look the same from both sides. `wanted`: the roles that the peer may
/// have.
///
/// # Errors
/// The peer is silent, slow, foreign or not wanted.
pub(super) async fn shake_hands(
    stream: TcpStream,
    ours: &Hello,
    wanted: &[Role],
) -> Result<Introduced, HandshakeError> {
    socket::tune(&stream)?;
    tokio::time::timeout(HANDSHAKE_TIMEOUT, introduce(stream, ours, wanted))
        .await
        .unwrap_or(Err(HandshakeError::TimedOut))
}

async fn introduce(stream: TcpStream, ours: &Hello, wanted: &[Role]) -> Result<Introduced, HandshakeError> {
    let (mut reader, mut writer) = stream.into_split();
    // What is written here fits any socket's buffer, so there is no need to read meanwhile.
    writer.write_all(&opening(ours)).await?;
    wire::check_preamble(read_preamble(&mut reader).await?)?;
    let mut reader = FramedRead::new(reader, Frames::of_hello());
    let body = match reader.next().await {
        None | Some(Err(FrameError::Half)) => return Err(HandshakeError::Closed),
        Some(Err(error)) => return Err(HandshakeError::Frame(error)),
        Some(Ok(body)) => body,
    };
    let hello: Hello = wire::decode(&body)?;
    if !wanted.contains(&hello.role) {
        return Err(HandshakeError::WrongRole {
            found: hello.role,
            here: ours.role,
            wanted: wanted.to_vec(),
        });
    }
    reader.decoder_mut().after_hello();
    Ok(Introduced { hello, reader, writer })
}

/// The preamble and the hello.
fn opening(ours: &Hello) -> BytesMut {
    let mut bytes = BytesMut::from(&PREAMBLE[..]);
    let body = wire::encode(ours, wire::MAX_HELLO).expect("a daemon's own hello is short");
    Frames::of_hello().encode(body, &mut bytes).expect("a hello fits a frame");
    bytes
}

async fn read_preamble(reader: &mut OwnedReadHalf) -> Result<[u8; 8], HandshakeError> {
    let mut preamble = [0; 8];
    let mut room = &mut preamble[..];
    while room.has_remaining_mut() {
        let before = room.len();
        if reader.read_buf(&mut room).await? == 0 {
            let silent = before == PREAMBLE.len();
            return Err(if silent { HandshakeError::Silent } else { HandshakeError::Closed });
        }
    }
    Ok(preamble)
}
