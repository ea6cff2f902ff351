//! The handshake: the side that dials offers a version in its preamble, the other side answers, and both send a hello.
//!
//! An [`introduction`] holds the data that a side sends in the handshake, and its keys. `opening` is all that comes
//! before the hellos.

pub mod introduction;
mod opening;

use std::io;

use bytes::BytesMut;
use firesteel_protocol::messages::Rights;
use firesteel_protocol::version::Version;
use firesteel_protocol::wire::{self, DecodeError, Hello, PreambleError, Role};
use tokio::net::TcpStream;
use tokio::runtime::Handle;

use self::opening::{Arrived, Opened};
use super::encryption::keyring::{Transition, UserName};
use super::frame::{self, FrameError, FrameReader};
use super::writer::Writer;
use super::{HANDSHAKE_TIMEOUT, Introduction, socket};

pub use opening::NotAdmitted;

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
    /// The peer did not identify itself, and another connection needed its place.
    #[error("it did not complete the handshake while others waited for its place")]
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
    /// The two sides do not know the same secret.
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
    pub(super) writer: Writer,
    /// The user to whom the peer's key was granted.
    pub(super) user: Option<UserName>,
    pub(super) rights: Rights,
    /// A number that only the two sides of this connection have; 0 if it is in the clear.
    pub(super) channel: u64,
    /// How long the peer is admitted that has shown no secret.
    pub(super) transition: Option<Transition>,
}

impl Introduced {
    /// Moves the connection to another runtime.
    ///
    /// # Errors
    /// The operating system does not let the runtime wait for the socket.
    pub(super) fn moved_to(self, runtime: &Handle) -> io::Result<Self> {
        let (reader, writer) = self.reader.moved_to(self.writer, runtime)?;
        Ok(Self { reader, writer, ..self })
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
/// The peer is silent or slow, speaks another protocol, has another role, or does not know the secret.
pub(super) async fn shake_hands(
    stream: TcpStream,
    side: Side,
    ours: &Introduction,
    wanted: &[Role],
) -> Result<Introduced, HandshakeError> {
    socket::configure(&stream)?;
    let mut arrived = Arrived::Nothing;
    let introduced = introduce(stream, side, ours, wanted, &mut arrived);
    match tokio::time::timeout(HANDSHAKE_TIMEOUT, introduced).await {
        Ok(introduced) => introduced,
        Err(_) => Err(match arrived {
            Arrived::Nothing => HandshakeError::Mute,
            Arrived::Something => HandshakeError::TimedOut,
        }),
    }
}

async fn introduce(
    stream: TcpStream,
    side: Side,
    ours: &Introduction,
    wanted: &[Role],
    arrived: &mut Arrived,
) -> Result<Introduced, HandshakeError> {
    let (mut reader, mut writer) = stream.into_split();
    let both = (&mut reader, &mut writer);
    let opened = match side {
        Side::Dialled => opening::dialled(both, ours.to_dial(wanted)?, arrived).await?,
        Side::Accepted => opening::accepted(both, ours, arrived).await?,
    };
    let Opened { version, halves, answer, admitted, transition } = opened;
    let channel = halves.as_ref().map_or(0, |halves| halves.channel);
    let (decryptor, encryptor) = halves.map(|halves| (halves.decryptor, halves.encryptor)).unzip();
    let mut writer = Writer::new(writer, encryptor.map(Box::new));
    // These bytes fit into any socket's buffer, so the write needs no concurrent read.
    writer.open(&answer, &hello_frame(&ours.hello)).await?;
    let mut reader = FrameReader::of_hello(reader, decryptor.map(Box::new));
    let hello: Hello = wire::decode(&next_frame(&mut reader).await?)?;
    let is_admitted = |role: &Role| admitted.as_ref().is_none_or(|admitted| admitted.roles.contains(role));
    let wanted: Vec<Role> = wanted.iter().copied().filter(is_admitted).collect();
    if !wanted.contains(&hello.role) {
        return Err(HandshakeError::WrongRole { found: hello.role, here: ours.hello.role, wanted });
    }
    // Who joins has proven nothing, and has little to say.
    if hello.role != Role::Joining {
        reader.raise_limit();
    }
    // Without keys everybody may do everything.
    let (user, rights) = admitted.map_or((None, Rights::Admin), |admitted| (admitted.user, admitted.rights));
    Ok(Introduced { hello, version, reader, writer, user, rights, channel, transition })
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
