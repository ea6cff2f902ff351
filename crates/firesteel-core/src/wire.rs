//! Messages and their bytes.
//!
//! A connection opens with [`PREAMBLE`] from both sides, then one frame with a [`Hello`] from both sides, then
//! frames of messages; which messages follows from the two roles. A frame is a big-endian `u32` length and so
//! many bytes of postcard. `docs/PROTOCOL.md` has it all.

use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// The protocol's version. It rises with every change that an older peer would misread.
pub const VERSION: u8 = 2;

/// What both sides send first: a byte that opens neither Spark's frames (0x00), nor TLS (0x16), nor any text
/// protocol; the name; and the version.
pub const PREAMBLE: [u8; 8] = [0xF5, b'F', b'S', b'T', b'L', b'\r', b'\n', VERSION];

/// The largest frame before the hello is over. Strangers get no more memory than this.
pub const MAX_HELLO: usize = 4 << 10;

/// The largest frame of a message.
pub const MAX_FRAME: usize = 16 << 20;

/// The largest piece of a task's output, and the unit in which output is read.
pub const MAX_OUTPUT: usize = 64 << 10;

/// The largest piece of a log that a Worker answers with.
pub const MAX_LOG_PIECE: usize = 1 << 20;

/// The largest standard input of a task; it travels in one frame with the task.
pub const MAX_STDIN: usize = 8 << 20;

/// Introduces a side of a connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// What the sender is.
    pub role: Role,
    /// Who it is, for log lines: an id, a host and port, a program's name.
    pub name: String,
    /// Room for authentication: bytes for the peer to answer. Empty: none asked.
    pub challenge: Bytes,
    /// A Master's epoch: of two Masters the one with the greater epoch leads. 0 from all others.
    pub epoch: u64,
}

/// What a side of a connection is. It decides which messages it may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// Decides; is dialled by the next three.
    Master,
    /// Runs executors; is dialled by clients.
    Worker,
    /// Owns an application; is dialled by its executors.
    Driver,
    /// Asks for a status.
    Client,
    /// Runs tasks.
    Executor,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Master => "Master",
            Self::Worker => "Worker",
            Self::Driver => "driver",
            Self::Client => "client",
            Self::Executor => "executor",
        })
    }
}

/// What is wrong with a preamble.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PreambleError {
    /// The peer speaks something else.
    #[error("the peer does not speak Firesteel's protocol: it sent {found:02x?}")]
    Foreign {
        /// Its first bytes.
        found: [u8; 8],
    },
    /// The peer speaks another version.
    #[error("the peer speaks version {theirs} of the protocol, this side speaks version {VERSION}")]
    Version {
        /// The peer's version.
        theirs: u8,
    },
}

/// Holds a peer's preamble against ours.
///
/// # Errors
/// It is another protocol's or another version's.
pub fn check_preamble(found: [u8; 8]) -> Result<(), PreambleError> {
    let [name @ .., theirs] = found;
    if name != PREAMBLE[..7] {
        return Err(PreambleError::Foreign { found });
    }
    if theirs != VERSION {
        return Err(PreambleError::Version { theirs });
    }
    Ok(())
}

/// A frame that is no message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The bytes do not spell a message.
    #[error("a frame of {length} bytes is not a message: {error}")]
    Malformed {
        /// The frame's length.
        length: usize,
        /// Postcard's words.
        error: postcard::Error,
    },
    /// A message, and then more.
    #[error("{extra} bytes are left over after a message in a frame of {length} bytes")]
    Trailing {
        /// The frame's length.
        length: usize,
        /// Bytes after the message.
        extra: usize,
    },
}

/// A message that does not fit a frame.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a message of {length} bytes is longer than the {limit} bytes that a frame may have")]
pub struct TooLong {
    /// The message's length.
    pub length: usize,
    /// [`MAX_FRAME`] or [`MAX_HELLO`].
    pub limit: usize,
}

/// The body of a frame.
///
/// # Errors
/// The message is longer than `limit`.
pub fn encode<M: Serialize>(message: &M, limit: usize) -> Result<Bytes, TooLong> {
    let body = postcard::to_allocvec(message).expect("our messages have no type that postcard cannot write");
    if body.len() > limit {
        return Err(TooLong { length: body.len(), limit });
    }
    Ok(body.into())
}

/// How many bytes a message or a part of one takes in the body of a frame.
#[must_use]
pub fn length<M: Serialize>(message: &M) -> usize {
    postcard::experimental::serialized_size(message)
        .expect("our messages have no type that postcard cannot write")
}

/// The message in the body of a frame.
///
/// # Errors
/// The bytes are not exactly one message.
pub fn decode<M: DeserializeOwned>(body: &[u8]) -> Result<M, DecodeError> {
    let length = body.len();
    match postcard::take_from_bytes(body) {
        Ok((message, [])) => Ok(message),
        Ok((_, extra)) => Err(DecodeError::Trailing { length, extra: extra.len() }),
        Err(error) => Err(DecodeError::Malformed { length, error }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::AppId;
    use crate::messages::DriverToMaster;

    #[test]
    fn a_message_survives_the_wire() {
        let message = DriverToMaster::UnregisterApplication { app: AppId::new("app-1") };
        let bytes = encode(&message, MAX_FRAME).expect("it is short");
        assert_eq!(&bytes[..], b"\x01\x05app-1");
        assert_eq!(decode::<DriverToMaster>(&bytes), Ok(message));
    }

    #[test]
    fn what_is_not_exactly_one_message_is_refused() {
        let trailing = b"\x01\x05app-1!";
        assert_eq!(decode::<DriverToMaster>(trailing), Err(DecodeError::Trailing { length: 8, extra: 1 }));
        assert!(matches!(decode::<DriverToMaster>(b"\x01\x05app"), Err(DecodeError::Malformed { .. })));
        assert!(matches!(decode::<DriverToMaster>(b"\x63"), Err(DecodeError::Malformed { .. })));
        assert!(encode(&"x".repeat(100), 64).is_err());
    }

    #[test]
    fn only_our_own_preamble_passes() {
        assert_eq!(check_preamble(PREAMBLE), Ok(()));
        let mut older = PREAMBLE;
        older[7] = 0;
        assert_eq!(check_preamble(older), Err(PreambleError::Version { theirs: 0 }));
        assert!(matches!(check_preamble(*b"GET / HT"), Err(PreambleError::Foreign { .. })));
        assert!(!PREAMBLE[0].is_ascii() && PREAMBLE[0] != 0x00 && PREAMBLE[0] != 0x16);
    }
}
