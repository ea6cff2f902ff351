//! Messages as bytes.
//!
//! On a connection both sides first send a [`preamble`], then one frame with a [`Hello`], then frames with messages.
//! The two roles decide which messages are allowed. A frame is a big-endian `u32` length followed by that many bytes of
//! postcard. `docs/PROTOCOL.md` describes the protocol in full.

mod read;
mod write;

use bytes::{Bytes, BytesMut};
use firesteel_placement::advanced::words::counted;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use read::Reader;
use write::{Append, Count, Sink, Writer};

use crate::address::Address;
use crate::version::Version;

/// The preamble of this build's own version.
pub const PREAMBLE: [u8; 8] = preamble(Version::CURRENT);

/// The first bytes that both sides send: a magic byte, the name and the version. The magic byte differs from the first
/// byte of Spark's frames (0x00), of TLS (0x16), and of text protocols.
#[must_use]
pub const fn preamble(version: Version) -> [u8; 8] {
    [0xF5, b'F', b'S', b'T', b'L', b'\r', b'\n', version.0]
}

/// The first bytes that both sides of an encrypted connection send, in the clear.
#[must_use]
pub const fn encrypted_preamble(version: Version) -> [u8; 8] {
    let mut bytes = preamble(version);
    bytes[4] = b'E';
    bytes
}

/// The largest frame during the handshake, in bytes. The limit keeps an unknown peer from making a daemon reserve more
/// memory.
pub const MAX_HELLO: usize = 4 << 10;

/// The largest frame with a message, in bytes.
pub const MAX_FRAME: usize = 16 << 20;

/// The largest piece of a task's output, in bytes. Output is read in pieces of this size.
pub const MAX_OUTPUT: usize = 64 << 10;

/// The largest piece of a log in a Worker's answer, in bytes.
pub const MAX_LOG_PIECE: usize = 1 << 20;

/// The largest standard input of a task, in bytes. It is sent in one frame with the task.
pub const MAX_STDIN: usize = 8 << 20;

/// Bytes that this build appends to each struct. The feature `next` makes a build write like a later version that has
/// one more field.
const LATER_FIELDS: &[u8] = if cfg!(feature = "next") { b"\x05later" } else { b"" };

/// The first message of each side of a connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    pub role: Role,
    /// The sender's name for log lines: an id, a host and port, or a program's name.
    pub name: String,
    /// Always empty. Earlier versions proved here that they belonged to a local cluster.
    pub challenge: Bytes,
    /// A Master's epoch: of two Masters, the one with the greater epoch leads. 0 if the sender is a Master that was not
    /// elected, or has another role.
    pub epoch: u64,
    /// The leader's address, if the sender is a standby Master that knows it. `None` otherwise.
    pub leader: Option<Address>,
}

impl Hello {
    /// A hello with this role and name, in which all else is empty.
    #[must_use]
    pub fn new(role: Role, name: impl Into<String>) -> Self {
        Self { role, name: name.into(), challenge: Bytes::new(), epoch: 0, leader: None }
    }
}

/// The role of one side of a connection. It decides which messages that side may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, crate::Display)]
pub enum Role {
    /// A Master: assigns executors. Workers, drivers and clients connect to it.
    #[display("Master")]
    Master,
    /// A Worker: runs executors. Clients connect to it.
    #[display("Worker")]
    Worker,
    /// A driver: owns an application. Its executors connect to it.
    #[display("driver")]
    Driver,
    /// A client: asks for status.
    #[display("client")]
    Client,
    /// An executor: runs the tasks of a driver.
    #[display("executor")]
    Executor,
    /// A standby Master, while another Master leads. It handles no messages, and closes its connections when it begins
    /// to lead.
    #[display("standby Master")]
    Standby,
    /// A machine without a secret that asks to become a Worker, or an administrator who admits it.
    #[display("joining")]
    Joining,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PreambleError {
    /// The peer uses another protocol.
    #[error("the peer does not speak Firesteel's protocol")]
    Foreign,
    /// The peer begins a TLS handshake.
    #[error(
        "the peer speaks TLS, which is not here yet: set spark.ssl.rpc.enabled=false, and use a trusted network only"
    )]
    Tls,
    /// The peer answers like a web server.
    #[error("the peer speaks HTTP, not Firesteel's protocol")]
    Http,
    #[error("the peer speaks version {theirs} of the protocol, this side speaks {}", Version::spoken())]
    Version { theirs: Version },
}

/// A peer's preamble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preamble {
    pub version: Version,
    pub is_encrypted: bool,
}

/// Reads a peer's preamble.
///
/// # Errors
/// The preamble belongs to another protocol.
pub fn read_preamble(found: [u8; 8]) -> Result<Preamble, PreambleError> {
    if found.starts_with(b"HTTP/") {
        return Err(PreambleError::Http);
    }
    if found.starts_with(&[0x16, 0x03]) {
        return Err(PreambleError::Tls);
    }
    let version = Version(found[7]);
    match found {
        plain if plain == preamble(version) => Ok(Preamble { version, is_encrypted: false }),
        encrypted if encrypted == encrypted_preamble(version) => Ok(Preamble { version, is_encrypted: true }),
        _ => Err(PreambleError::Foreign),
    }
}

/// A frame that holds no valid message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The bytes are not a message.
    #[error("a frame of {} is not a message: {error}", counted(*.length, "byte"))]
    Malformed { length: usize, error: postcard::Error },
    /// The frame has more bytes than its message.
    #[error("a frame of {length} bytes has a message and {} more", counted(*.extra, "byte"))]
    Trailing {
        length: usize,
        /// The number of bytes after the message.
        extra: usize,
    },
}

/// A message that is too long for a frame.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a message of {length} bytes is longer than the {limit} bytes that a frame may have")]
pub struct TooLong {
    pub length: usize,
    /// The limit: [`MAX_FRAME`] or [`MAX_HELLO`].
    pub limit: usize,
}

/// A complete message, as it is sent to a peer.
pub trait Message: Serialize + Send + Sync + 'static {
    /// The part of the message's encoding that is [shared](crate::messages::Shared) with other messages. Only a few
    /// fields may follow that part.
    fn shared(&self) -> Option<Bytes> {
        None
    }

    /// The protocol version that added this message. It is not sent to peers of older versions.
    fn since(&self) -> Version {
        Version::OLDEST
    }
}

/// Encodes a message as the body of a frame.
///
/// # Errors
/// The message is longer than `limit`.
pub fn encode<M: Serialize>(message: &M, limit: usize) -> Result<Bytes, TooLong> {
    let mut body = BytesMut::new();
    append(message, &mut body, limit)?;
    Ok(body.freeze())
}

/// Appends the body of a message's frame to these bytes.
///
/// # Errors
/// The message is longer than `limit`. Then nothing is appended.
pub fn append<M: Serialize>(message: &M, bytes: &mut BytesMut, limit: usize) -> Result<(), TooLong> {
    let before = bytes.len();
    write_to(message, Append(bytes), LATER_FIELDS);
    let length = bytes.len() - before;
    if length > limit {
        bytes.truncate(before);
        return Err(TooLong { length, limit });
    }
    Ok(())
}

/// The length that a message, or a part of one, has in the body of a frame.
#[must_use]
pub fn length<M: Serialize>(message: &M) -> usize {
    write_to(message, Count::default(), LATER_FIELDS)
}

/// Encodes a message like a later version, which appends these bytes to each struct.
#[must_use]
pub fn encode_with_later_fields<M: Serialize>(message: &M, later: &'static [u8]) -> Bytes {
    let mut body = BytesMut::new();
    write_to(message, Append(&mut body), later);
    body.freeze()
}

/// Writes the message. Returns the number of bytes in the sink afterwards.
fn write_to<M: Serialize, S: Sink>(message: &M, sink: S, later: &'static [u8]) -> usize {
    let mut writer = Writer::new(sink, later);
    message.serialize(&mut writer).expect("our messages have no type that postcard cannot write");
    writer.length()
}

/// Decodes the message in the body of a frame.
///
/// # Errors
/// The bytes are not exactly one message.
pub fn decode<M: DeserializeOwned>(body: &[u8]) -> Result<M, DecodeError> {
    let length = body.len();
    match take(body) {
        Ok((message, [])) => Ok(message),
        Ok((_, extra)) => Err(DecodeError::Trailing { length, extra: extra.len() }),
        Err(error) => Err(DecodeError::Malformed { length, error }),
    }
}

/// Decodes the first value in these bytes. Also returns the bytes after it.
///
/// # Errors
/// The bytes do not begin with a value of this type.
pub fn take<M: DeserializeOwned>(bytes: &[u8]) -> postcard::Result<(M, &[u8])> {
    let mut reader = Reader { input: bytes };
    Ok((M::deserialize(&mut reader)?, reader.input))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_survives_the_wire() {
        let message = now::State::Runs { pid: 300 };
        let bytes = encode(&message, MAX_FRAME).expect("it is short");
        // Variant 1 with a content of two bytes.
        assert_eq!(&bytes[..], b"\x03\x02\xac\x02");
        assert_eq!(length(&message), bytes.len());
        assert_eq!(decode(&bytes), Ok(message));
        let long = vec![Some("x".repeat(200)); 100];
        assert_eq!(length(&long), encode(&long, MAX_FRAME).expect("it fits").len());
    }

    #[test]
    fn what_is_not_exactly_one_message_is_refused() {
        let trailing = b"\x03\x02\xac\x02!";
        assert_eq!(decode::<now::State>(trailing), Err(DecodeError::Trailing { length: 5, extra: 1 }));
        // In each body, the struct is cut, has no content, is longer than its length, or lacks a required field.
        for body in
            [&b"\x03\x02\xac"[..], b"\x05", b"\x03\x01\xac\x02", b"\x03\xff\xff\x7f", b"\x03\x00", b""]
        {
            assert!(matches!(decode::<now::State>(body), Err(DecodeError::Malformed { .. })), "{body:?}");
        }
        assert!(encode(&"x".repeat(100), 64).is_err());
    }

    /// A struct and an enum in this version.
    mod now {
        #[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub(super) struct Row {
            pub(super) name: String,
            pub(super) state: State,
            pub(super) last: u8,
        }

        #[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub(super) enum State {
            Idle,
            Runs {
                pid: u32,
            },
            Named(String),
            Pair(u8, u8),
            /// A variant that the version `now` does not know.
            #[serde(other)]
            Other,
        }
    }

    /// The same types in a later version.
    mod later {
        #[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub(super) struct Row {
            pub(super) name: String,
            pub(super) state: State,
            pub(super) last: u8,
            #[serde(default)]
            pub(super) labels: Vec<String>,
            #[serde(default)]
            pub(super) note: Option<String>,
        }

        #[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub(super) enum State {
            Idle,
            Runs {
                pid: u32,
                #[serde(default)]
                since: u64,
            },
            Named(String),
            Pair(u8, u8),
            Other,
            Paused {
                until: u64,
            },
            Gone,
        }
    }

    #[test]
    fn a_row_of_this_version_is_read_by_a_later_one_and_the_other_way_round() {
        let long = "n".repeat(300);
        let labels = vec!["a".to_owned(), long.clone()];
        for (old, new, back) in [
            (now::State::Idle, later::State::Idle, now::State::Idle),
            (
                now::State::Runs { pid: 7 },
                later::State::Runs { pid: 7, since: 0 },
                now::State::Runs { pid: 7 },
            ),
            (now::State::Named("x".into()), later::State::Named("x".into()), now::State::Named("x".into())),
            (now::State::Pair(1, 2), later::State::Pair(1, 2), now::State::Pair(1, 2)),
            (now::State::Other, later::State::Paused { until: 9 }, now::State::Other),
            (now::State::Other, later::State::Gone, now::State::Other),
        ] {
            for name in ["", "node", &long] {
                let row = now::Row { name: name.to_owned(), state: old.clone(), last: 5 };
                let bytes = encode(&vec![row.clone(), row.clone()], MAX_FRAME).expect("it is short");
                let read: Vec<later::Row> = decode(&bytes).expect("a later version reads it");
                assert_eq!(
                    (&read[1].name, read[1].last, &read[1].labels, &read[1].note),
                    (&row.name, 5, &vec![], &None)
                );
                if old != now::State::Other {
                    assert_eq!(read[1].state, new);
                }
                let (state, note) = (new.clone(), Some(long.clone()));
                let row = later::Row { name: name.to_owned(), state, last: 5, labels: labels.clone(), note };
                let bytes = encode(&vec![row.clone(), row], MAX_FRAME).expect("it is short");
                let expected = now::Row { name: name.to_owned(), state: back.clone(), last: 5 };
                assert_eq!(decode(&bytes), Ok(vec![expected.clone(), expected]));
            }
        }
    }

    #[test]
    fn nobody_makes_us_reserve_more_than_he_sends() {
        // A list of 2^60 numbers, and a struct of the same length.
        let huge = b"\x80\x80\x80\x80\x80\x80\x80\x80\x10\x01";
        assert!(decode::<Vec<u64>>(huge).is_err());
        assert!(decode::<now::Row>(huge).is_err());
    }

    #[test]
    fn only_our_own_preamble_passes() {
        for version in [Version::OLDEST, Version::CURRENT, Version(255)] {
            let plain = Preamble { version, is_encrypted: false };
            assert_eq!(read_preamble(preamble(version)), Ok(plain));
            let encrypted = Preamble { version, is_encrypted: true };
            assert_eq!(read_preamble(encrypted_preamble(version)), Ok(encrypted));
        }
        assert_eq!(read_preamble(*b"GET / HT"), Err(PreambleError::Foreign));
        assert_eq!(read_preamble(*b"HTTP/1.1"), Err(PreambleError::Http));
        assert_eq!(read_preamble(*b"\x16\x03\x01\x02\x00\x01\x00\x01"), Err(PreambleError::Tls));
        assert!(!PREAMBLE[0].is_ascii() && PREAMBLE[0] != 0x00 && PREAMBLE[0] != 0x16);
    }
}
