//! The handshake: the side that dials offers a version in its preamble, the other side answers, and both send a hello.
//!
//! An [`introduction`] holds the data that a side sends in the handshake.

mod admission;
pub mod introduction;

use std::io;

use bytes::{BufMut, Bytes, BytesMut};
use firesteel_protocol::version::Version;
use firesteel_protocol::wire::{self, DecodeError, Hello, PREAMBLE, PreambleError, Role};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::runtime::Handle;

use self::admission::Pass;
use super::frame::{self, FrameError, FrameReader};
use super::{HANDSHAKE_TIMEOUT, Introduction, socket};

pub use admission::NotAdmitted;

/// Why a handshake failed. The text is a sentence about the peer, without the peer's name.
#[derive(Debug, thiserror::Error)]
pub enum HandshakeError {
    /// The peer closed the connection without sending anything. Programs that check whether a port is open do this.
    #[error("it closed the connection without sending anything")]
    Silent,
    #[error("it closed the connection in the middle of the handshake")]
    Closed,
    #[error("it sent nothing within {} s", HANDSHAKE_TIMEOUT.as_secs())]
    Mute,
    #[error("it did not complete the handshake within {} s", HANDSHAKE_TIMEOUT.as_secs())]
    TimedOut,
    /// The peer sent nothing, and another connection needed its permit.
    #[error("it sent nothing while others waited for its place")]
    CrowdedOut,
    /// The peer speaks another protocol or version.
    #[error(transparent)]
    Preamble(#[from] PreambleError),
    /// The frame of the peer's hello cannot be read.
    #[error(transparent)]
    Frame(FrameError),
    /// The peer's hello cannot be decoded.
    #[error("its hello cannot be read: {0}")]
    Hello(#[from] DecodeError),
    #[error("its role is {found}; this {here} accepts only: {}", roles(.wanted))]
    WrongRole { found: Role, here: Role, wanted: Vec<Role> },
    /// The peer or this side is part of a local cluster, and the other side is not.
    #[error(transparent)]
    NotAdmitted(#[from] NotAdmitted),
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// The apparent kind of the peer in a failed handshake. The kind decides how the failure is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PeerKind {
    /// A program that checks whether the port is open.
    Probe,
    /// A program unrelated to Firesteel.
    Foreign,
    /// A part of Firesteel that cannot join the cluster. An administrator has to act.
    Incompatible,
}

impl HandshakeError {
    pub(super) fn peer_kind(&self) -> PeerKind {
        match self {
            Self::Silent | Self::Io(_) => PeerKind::Probe,
            Self::Closed
            | Self::Mute
            | Self::TimedOut
            | Self::CrowdedOut
            | Self::Preamble(PreambleError::Foreign | PreambleError::Http | PreambleError::Tls) => {
                PeerKind::Foreign
            }
            Self::Preamble(PreambleError::Version { .. })
            | Self::Frame(_)
            | Self::Hello(_)
            | Self::NotAdmitted(_)
            | Self::WrongRole { .. } => PeerKind::Incompatible,
        }
    }
}

fn roles(roles: &[Role]) -> String {
    roles.iter().map(Role::to_string).collect::<Vec<_>>().join(", ")
}

/// A connection after a successful handshake.
#[derive(Debug)]
pub(super) struct Introduced {
    pub(super) hello: Hello,
    pub(super) version: Version,
    pub(super) reader: FrameReader,
    pub(super) writer: OwnedWriteHalf,
}

impl Introduced {
    /// Moves the connection to another runtime.
    ///
    /// # Errors
    /// The operating system does not let the runtime wait for the socket.
    pub(super) fn moved_to(self, runtime: &Handle) -> io::Result<Self> {
        let Self { hello, version, reader, writer } = self;
        let (reader, writer) = reader.moved_to(writer, runtime)?;
        Ok(Self { hello, version, reader, writer })
    }
}

/// The side of a connection that performs a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// This side dialled, and offers this version.
    Dialled,
    /// The peer dialled.
    Accepted,
}

/// Performs the handshake. `wanted` lists the roles that the peer may have.
///
/// # Errors
/// The peer is silent or slow, speaks another protocol, has another role, or is not of the same local cluster.
pub(super) async fn shake_hands(
    stream: TcpStream,
    side: Side,
    ours: &Introduction,
    wanted: &[Role],
) -> Result<Introduced, HandshakeError> {
    socket::configure(&stream)?;
    let dialled = match side {
        Side::Dialled => stream.peer_addr()?,
        Side::Accepted => stream.local_addr()?,
    };
    let pass = ours.pass(dialled.port());
    let mut first = FirstByte::Missing;
    let introduced = introduce(stream, side, (&ours.hello, pass), wanted, &mut first);
    match tokio::time::timeout(HANDSHAKE_TIMEOUT, introduced).await {
        Ok(introduced) => introduced,
        Err(_) => Err(match first {
            FirstByte::Missing => HandshakeError::Mute,
            FirstByte::Came => HandshakeError::TimedOut,
        }),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FirstByte {
    Missing,
    Came,
}

async fn introduce(
    stream: TcpStream,
    side: Side,
    (ours, pass): (&Hello, Option<Pass>),
    wanted: &[Role],
    first: &mut FirstByte,
) -> Result<Introduced, HandshakeError> {
    let (mut reader, mut writer) = stream.into_split();
    let challenged = |challenge| Hello { challenge, ..ours.clone() };
    let version = match side {
        Side::Dialled => {
            writer.write_all(&PREAMBLE).await?;
            let theirs = wire::read_preamble(read_preamble(&mut reader, first).await?)?;
            let agreed = Version::agreed(theirs).ok_or(PreambleError::Version { theirs })?;
            if pass.is_none() {
                // A side that has to prove something needs the peer's hello first.
                writer.write_all(&hello_frame(ours)).await?;
            }
            agreed
        }
        Side::Accepted => {
            let theirs = wire::read_preamble(read_preamble(&mut reader, first).await?)?;
            let answer = Version::answer(theirs);
            let mut opening = BytesMut::from(&wire::preamble(answer.unwrap_or(Version::CURRENT))[..]);
            let question = pass.as_ref().map(Pass::question).unwrap_or_default();
            opening.unsplit(hello_frame(&challenged(question)));
            // These bytes fit into any socket's buffer, so the write needs no concurrent read.
            writer.write_all(&opening).await?;
            answer.ok_or(PreambleError::Version { theirs })?
        }
    };
    let mut reader = FrameReader::of_hello(reader);
    let hello: Hello = wire::decode(&next_frame(&mut reader).await?)?;
    if !wanted.contains(&hello.role) {
        return Err(HandshakeError::WrongRole {
            found: hello.role,
            here: ours.role,
            wanted: wanted.to_vec(),
        });
    }
    match (side, &pass) {
        (Side::Accepted, None) => {}
        (Side::Dialled, None) => admission::outside(&hello.challenge)?,
        (Side::Accepted, Some(pass)) => {
            let mut proof = BytesMut::new();
            frame::append(&pass.admit(&hello.challenge)?, &mut proof, wire::MAX_HELLO)
                .expect("a proof is short");
            writer.write_all(&proof).await?;
        }
        (Side::Dialled, Some(pass)) => {
            let answer = pass.answer(&hello.challenge)?;
            writer.write_all(&hello_frame(&challenged(answer))).await?;
            let proof: Bytes = wire::decode(&next_frame(&mut reader).await?)?;
            pass.trust(&hello.challenge, &proof)?;
        }
    }
    reader.raise_limit();
    Ok(Introduced { hello, version, reader, writer })
}

async fn next_frame(reader: &mut FrameReader) -> Result<BytesMut, HandshakeError> {
    match reader.next().await {
        Ok(None) | Err(FrameError::Half) => Err(HandshakeError::Closed),
        Err(FrameError::Io(error)) => Err(HandshakeError::Io(error)),
        Err(error) => Err(HandshakeError::Frame(error)),
        Ok(Some(body)) => Ok(body),
    }
}

fn hello_frame(ours: &Hello) -> BytesMut {
    let mut bytes = BytesMut::new();
    frame::append(ours, &mut bytes, wire::MAX_HELLO).expect("a daemon's own hello is short");
    bytes
}

async fn read_preamble(reader: &mut OwnedReadHalf, first: &mut FirstByte) -> Result<[u8; 8], HandshakeError> {
    let mut preamble = [0; 8];
    let mut room = &mut preamble[..];
    while room.has_remaining_mut() {
        let before = room.len();
        if reader.read_buf(&mut room).await? == 0 {
            let silent = before == PREAMBLE.len();
            return Err(if silent { HandshakeError::Silent } else { HandshakeError::Closed });
        }
        *first = FirstByte::Came;
    }
    Ok(preamble)
}
