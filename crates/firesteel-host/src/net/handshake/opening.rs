//! The opening of a connection: preambles, and on an encrypted connection the agreement on its keys.
//!
//! ```text
//!  the side that dials                              the side that listens
//!    preamble                                 -->
//!                                             <--   preamble                     of a connection in the clear
//!
//!    encrypted preamble, name of key, offer   -->
//!                                             <--   encrypted preamble, 1, answer
//!                                             <--   encrypted preamble, 0        the key or the version is refused
//! ```
//!
//! Everything that follows on an encrypted connection is in records (`noise`). The side that listens reads no more
//! than an offer from a peer that does not know the secret.

use firesteel_protocol::version::Version;
use firesteel_protocol::wire::{self, PREAMBLE, PreambleError, Role};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

use super::HandshakeError;
use super::introduction::Introduction;
use crate::net::encryption::key::{Key, KeyName};
use crate::net::encryption::keyring::{Admitted, Transition};
use crate::net::encryption::noise::{self, Halves, Initiator, NotAuthentic};

/// The byte before an answer.
const ADMITTED: u8 = 1;

/// The byte in place of an answer.
const REFUSED: u8 = 0;

/// Why a peer is rejected. The text is a sentence about the peer, without the peer's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAdmitted {
    /// The peer has a secret, and this side has none.
    #[error(
        "it admits only those who know its secret, and this side has none: set firesteel.credentials.file, or for a local \
         cluster be the user who started it"
    )]
    NoSecretHere,
    /// This side has a secret, and the peer does not encrypt.
    #[error("it has no secret, and this side connects only to those who know its own")]
    NoSecretThere,
    #[error("it has another secret")]
    OtherSecret,
    /// The secret of this side is for another purpose.
    #[error("the secret of this side does not allow it to connect to a {wanted}")]
    OtherPurpose { wanted: Role },
}

/// A connection after its opening.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) version: Version,
    pub(super) halves: Option<Halves>,
    /// The bytes that this side sends before its hello.
    pub(super) answer: Vec<u8>,
    /// Whom the peer's key admits. `None`: everybody.
    pub(super) admitted: Option<Admitted>,
    /// How long the peer is admitted that has shown no key.
    pub(super) transition: Option<Transition>,
}

/// What has arrived from a peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Arrived {
    #[default]
    Nothing,
    Something,
}

/// Opens a connection from the side that dials, with this key if there is one.
///
/// # Errors
/// The peer speaks another protocol or version, or does not know the secret.
pub(super) async fn dialled(
    (reader, writer): (&mut OwnedReadHalf, &mut OwnedWriteHalf),
    key: Option<Key>,
    arrived: &mut Arrived,
) -> Result<Opened, HandshakeError> {
    let offered = key.as_ref().map(|key| {
        let preamble = wire::encrypted_preamble(Version::CURRENT);
        let (initiator, offer) = Initiator::begin(key, &prologue(preamble, key));
        (initiator, [&preamble[..], &key.name, &offer].concat())
    });
    let first = offered.as_ref().map_or(&PREAMBLE[..], |(_, bytes)| bytes);
    writer.write_all(first).await?;
    let preamble = read(reader, arrived).await?;
    let theirs = wire::read_preamble(preamble)?;
    let version = || {
        let version = Version::agreed(theirs.version);
        version.ok_or(PreambleError::Version { theirs: theirs.version })
    };
    let halves = match (offered, theirs.is_encrypted) {
        (None, false) => None,
        (None, true) => return Err(NotAdmitted::NoSecretHere.into()),
        (Some(_), false) => return Err(NotAdmitted::NoSecretThere.into()),
        (Some((initiator, _)), true) => {
            version()?;
            let [admitted] = read(reader, arrived).await?;
            if admitted != ADMITTED {
                return Err(NotAdmitted::OtherSecret.into());
            }
            let answer = read(reader, arrived).await?;
            Some(initiator.finish(&answer, preamble).map_err(other_secret)?)
        }
    };
    Ok(Opened { version: version()?, halves, answer: Vec::new(), admitted: None, transition: None })
}

/// Opens a connection from the side that listens. If the peer is rejected, writes the reason to it.
///
/// # Errors
/// The peer speaks another protocol or version, or does not know the secret.
pub(super) async fn accepted(
    (reader, writer): (&mut OwnedReadHalf, &mut OwnedWriteHalf),
    ours: &Introduction,
    arrived: &mut Arrived,
) -> Result<Opened, HandshakeError> {
    let preamble = read(reader, arrived).await?;
    let theirs = wire::read_preamble(preamble)?;
    let answered = Version::answer(theirs.version);
    let version = answered.ok_or(PreambleError::Version { theirs: theirs.version });
    let spoken = answered.unwrap_or(Version::CURRENT);
    let plain = wire::preamble(spoken);
    let encrypted = wire::encrypted_preamble(spoken);
    let is_secured = ours.accepts_secured();
    let transition = ours.transition().filter(|_| !theirs.is_encrypted).cloned();
    let rejected: HandshakeError = match (is_secured && transition.is_none(), theirs.is_encrypted) {
        (false, false) => match version {
            Ok(version) => {
                let answer = plain.to_vec();
                return Ok(Opened { version, halves: None, answer, admitted: None, transition });
            }
            Err(error) => error.into(),
        },
        (false, true) => NotAdmitted::NoSecretHere.into(),
        (true, false) => NotAdmitted::NoSecretThere.into(),
        (true, true) => {
            let name: KeyName = read(reader, arrived).await?;
            let offer = read(reader, arrived).await?;
            let answer = version.map_err(HandshakeError::from).and_then(|version| {
                let (key, admitted) = ours.accepted(name).ok_or(NotAdmitted::OtherSecret)?;
                let prologue = prologue(preamble, &key);
                let (answer, halves) =
                    noise::answer(&key, &prologue, &offer, encrypted).map_err(other_secret)?;
                let answer = [&encrypted[..], &[ADMITTED], &answer].concat();
                let halves = Some(halves);
                Ok(Opened { version, halves, answer, admitted: Some(admitted), transition: None })
            });
            match answer {
                Ok(opened) => return Ok(opened),
                Err(error) => error,
            }
        }
    };
    let answer = if is_secured { [&encrypted[..], &[REFUSED]].concat() } else { plain.to_vec() };
    // These bytes fit into any socket's buffer, so the write needs no concurrent read.
    writer.write_all(&answer).await?;
    Err(rejected)
}

fn other_secret(_: NotAuthentic) -> HandshakeError {
    NotAdmitted::OtherSecret.into()
}

/// What the side that dials has sent in the clear, on which both sides have to agree.
fn prologue(preamble: [u8; 8], key: &Key) -> Vec<u8> {
    [&preamble[..], &key.name].concat()
}

async fn read<const LENGTH: usize>(
    reader: &mut OwnedReadHalf,
    arrived: &mut Arrived,
) -> Result<[u8; LENGTH], HandshakeError> {
    let mut bytes = [0; LENGTH];
    let mut filled = 0;
    while filled < LENGTH {
        match reader.read(&mut bytes[filled..]).await? {
            0 if *arrived == Arrived::Nothing => return Err(HandshakeError::Silent),
            0 => return Err(HandshakeError::Closed),
            read => filled += read,
        }
        *arrived = Arrived::Something;
    }
    Ok(bytes)
}
