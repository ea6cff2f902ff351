//! The bytes of an encrypted connection.
//!
//! The ciphers are AES in counter mode, as one stream in each direction, or AES-GCM for each write of a side:
//!
//! ```text
//!  i64 length of all | u8 length of the header | salt | 7 bytes | segments of 32 KiB, each with a tag
//! ```
//!
//! Counter mode notices no change on the way: a header of a frame that was changed breaks the connection, but other
//! changes do not. With GCM, each change is noticed.
//!
//! The messages of the handshake do not tell the version of the engine or the cipher. Both follow from the first bytes
//! of the dialling side, which must begin a frame.

use std::fmt;

use aes::{Aes128, Aes256};
use aes_gcm::aead::{Aead, KeyInit};
use aes_gcm::{Aes128Gcm, Aes256Gcm, Nonce};
use bytes::{Buf, BufMut, BytesMut};
use ctr::Ctr128BE;
use ctr::cipher::{KeyIvInit, StreamCipher};
use hkdf::Hkdf;
use sha2::Sha256;
use thiserror::Error;

use crate::frame::{LONGEST, is_header};

/// How a connection is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Engine {
    /// The version of the engine that makes the key.
    pub version: Version,
    /// The cipher that uses the key.
    pub cipher: Cipher,
}

/// The versions of Spark's AES engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// The result of the key exchange is the key (AES-256).
    V1,
    /// The key is derived from the result (AES-128).
    V2,
}

/// The ciphers of Spark's AES engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cipher {
    /// Counter mode, which notices no change on the way.
    Ctr,
    /// Authenticated encryption.
    Gcm,
}

impl Engine {
    /// All engines, the most usual first.
    pub const ALL: [Self; 4] = [
        Self { version: Version::V1, cipher: Cipher::Ctr },
        Self { version: Version::V2, cipher: Cipher::Ctr },
        Self { version: Version::V1, cipher: Cipher::Gcm },
        Self { version: Version::V2, cipher: Cipher::Gcm },
    ];
}

/// What was received was not encrypted for this connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("bytes from it were changed on the way, or were not encrypted for this connection")]
pub struct NotAuthentic;

/// The keys of a connection, for all engines.
#[derive(Clone)]
pub(super) struct ConnectionKeys {
    /// The key of the first version of the engine.
    pub(super) first: [u8; 32],
    /// The key of the second version.
    pub(super) second: [u8; 16],
    /// Where the stream of the accepting side begins.
    pub(super) of_responder: [u8; 16],
    /// Where the stream of the dialling side begins.
    pub(super) of_initiator: [u8; 16],
}

/// The encryption of one connection in both directions.
#[derive(Debug)]
pub struct Encryption {
    state: State,
    salts: Salts,
}

enum State {
    /// The other side has not sent enough to find out the engine.
    Unknown(ConnectionKeys),
    Ctr {
        sent: Stream,
        received: Stream,
    },
    Gcm(Key),
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown(_) => "Unknown",
            Self::Ctr { .. } => "Ctr",
            Self::Gcm(_) => "Gcm",
        })
    }
}

impl Encryption {
    /// The accepting side's encryption.
    pub(super) fn of_responder(keys: ConnectionKeys, seed: [u8; SEED]) -> Self {
        Self { state: State::Unknown(keys), salts: Salts { seed, next: 0 } }
    }

    /// The dialling side's encryption.
    pub(super) fn of_initiator(keys: &ConnectionKeys, engine: Engine, seed: [u8; SEED]) -> Self {
        let state = State::of(keys.key(engine.version), engine.cipher, keys.of_initiator, keys.of_responder);
        Self { state, salts: Salts { seed, next: 0 } }
    }

    /// Encrypts bytes, and appends them to those that are to be written. The bytes stay as they are while the accepting
    /// side does not know the engine.
    pub fn encrypt(&mut self, plain: &mut BytesMut, to_write: &mut BytesMut) {
        if plain.is_empty() {
            return;
        }
        match &mut self.state {
            State::Unknown(_) => {}
            State::Ctr { sent, .. } => {
                sent.apply(plain);
                to_write.unsplit(plain.split());
            }
            State::Gcm(key) => key.seal(&plain.split(), self.salts.draw(), to_write),
        }
    }

    /// Takes what has arrived, as far as it is complete, and appends it in the clear.
    ///
    /// # Errors
    /// It was not encrypted for this connection, which cannot be used any more.
    pub fn decrypt(&mut self, arrived: &mut BytesMut, plain: &mut BytesMut) -> Result<(), NotAuthentic> {
        if let State::Unknown(keys) = &self.state {
            let Some(first) = arrived.first_chunk() else { return Ok(()) };
            let Engine { version, cipher } = keys.engine_of(*first).ok_or(NotAuthentic)?;
            self.state = State::of(keys.key(version), cipher, keys.of_responder, keys.of_initiator);
        }
        match &mut self.state {
            State::Unknown(_) => unreachable!("the engine was found"),
            State::Ctr { received, .. } => {
                received.apply(arrived);
                plain.unsplit(arrived.split());
            }
            State::Gcm(key) => while key.open(arrived, plain)? {},
        }
        Ok(())
    }
}

impl State {
    fn of(key: Key, cipher: Cipher, from_here: [u8; 16], from_there: [u8; 16]) -> Self {
        match cipher {
            Cipher::Ctr => Self::Ctr { sent: key.stream(from_here), received: key.stream(from_there) },
            Cipher::Gcm => Self::Gcm(key),
        }
    }
}

/// Length of what tells the engine: a frame's length and type, or the length of a message of GCM and of its header.
const TELLING: usize = 9;

impl ConnectionKeys {
    fn key(&self, version: Version) -> Key {
        match version {
            Version::V1 => Key::Aes256(self.first),
            Version::V2 => Key::Aes128(self.second),
        }
    }

    /// The engine of a dialling side that begins with these bytes.
    fn engine_of(&self, first: [u8; TELLING]) -> Option<Engine> {
        let fits = |engine: &Engine| {
            let key = self.key(engine.version);
            match engine.cipher {
                Cipher::Ctr => {
                    let mut first = first;
                    key.stream(self.of_initiator).apply(&mut first);
                    is_header(first)
                }
                Cipher::Gcm => {
                    let (length, header) = first.split_first_chunk().expect("it has 9 bytes");
                    let length = usize::try_from(i64::from_be_bytes(*length)).unwrap_or(usize::MAX);
                    header == [key.header()] && length <= LONGEST
                }
            }
        };
        Engine::ALL.into_iter().find(fits)
    }
}

enum Stream {
    Aes128(Ctr128BE<Aes128>),
    Aes256(Ctr128BE<Aes256>),
}

impl Stream {
    fn apply(&mut self, bytes: &mut [u8]) {
        match self {
            Self::Aes128(stream) => stream.apply_keystream(bytes),
            Self::Aes256(stream) => stream.apply_keystream(bytes),
        }
    }
}

/// Length of the random bytes from which the salts of a connection are made.
pub(super) const SEED: usize = 32;

/// Length of the common part of the nonces of a message.
const PREFIX: usize = 7;

/// What makes the keys and nonces of the messages of GCM differ.
struct Salts {
    seed: [u8; SEED],
    next: u64,
}

impl fmt::Debug for Salts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Salts(..)")
    }
}

impl Salts {
    /// A salt, of which a key of 16 bytes uses the first half, and the common part of the nonces.
    fn draw(&mut self) -> ([u8; 32], [u8; PREFIX]) {
        let source = Hkdf::<Sha256>::new(None, &self.seed);
        let (mut salt, mut prefix) = ([0; 32], [0; PREFIX]);
        let number = self.next.to_be_bytes();
        source.expand_multi_info(&[b"salt", &number], &mut salt).expect("the length is allowed");
        source.expand_multi_info(&[b"prefix", &number], &mut prefix).expect("the length is allowed");
        self.next += 1;
        (salt, prefix)
    }
}

/// Length of the number before each message of GCM, which counts itself.
const LENGTH: usize = 8;

const TAG: usize = 16;

/// Length of a segment with its tag.
const SEGMENT: usize = 32 << 10;

enum Key {
    Aes128([u8; 16]),
    Aes256([u8; 32]),
}

impl Key {
    fn stream(&self, from: [u8; 16]) -> Stream {
        match self {
            Self::Aes128(key) => Stream::Aes128(Ctr128BE::new(&(*key).into(), &from.into())),
            Self::Aes256(key) => Stream::Aes256(Ctr128BE::new(&(*key).into(), &from.into())),
        }
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Self::Aes128(key) => key,
            Self::Aes256(key) => key,
        }
    }

    /// Length of a message's header.
    fn header(&self) -> u8 {
        let length = 1 + self.bytes().len() + PREFIX;
        u8::try_from(length).expect("it is short")
    }

    /// The cipher of a message.
    fn segments(&self, salt: &[u8], length: [u8; LENGTH], prefix: [u8; PREFIX]) -> Segments {
        let source = Hkdf::<Sha256>::new(Some(salt), self.bytes());
        let mut key = [0; 32];
        let key = &mut key[..self.bytes().len()];
        source.expand(&length, key).expect("the length is allowed");
        let cipher = match self {
            Self::Aes128(_) => {
                SegmentCipher::Aes128(Aes128Gcm::new_from_slice(key).expect("it has 16 bytes"))
            }
            Self::Aes256(_) => {
                SegmentCipher::Aes256(Aes256Gcm::new_from_slice(key).expect("it has 32 bytes"))
            }
        };
        Segments { cipher, prefix, next: 0 }
    }

    /// Appends a message with these bytes.
    fn seal(&self, plain: &[u8], (salt, prefix): ([u8; 32], [u8; PREFIX]), to_write: &mut BytesMut) {
        let count = plain.len().div_ceil(SEGMENT - TAG);
        let length = LENGTH + usize::from(self.header()) + plain.len() + count * TAG;
        let length = (length as u64).to_be_bytes();
        let salt = &salt[..self.bytes().len()];
        to_write.put_slice(&length);
        to_write.put_u8(self.header());
        to_write.put_slice(salt);
        to_write.put_slice(&prefix);
        let mut segments = self.segments(salt, length, prefix);
        let mut parts = plain.chunks(SEGMENT - TAG).peekable();
        while let Some(part) = parts.next() {
            to_write.put_slice(&segments.seal(part, parts.peek().is_none()));
        }
    }

    /// Takes the first message, if it is complete. Returns whether it was.
    fn open(&self, arrived: &mut BytesMut, plain: &mut BytesMut) -> Result<bool, NotAuthentic> {
        let Some(length) = arrived.first_chunk::<LENGTH>().copied() else { return Ok(false) };
        let header = LENGTH + usize::from(self.header());
        let whole = usize::try_from(i64::from_be_bytes(length)).unwrap_or(usize::MAX);
        if !(header..=LONGEST).contains(&whole) {
            return Err(NotAuthentic);
        }
        if arrived.len() < whole {
            return Ok(false);
        }
        let message = arrived.split_to(whole);
        let mut rest = &message[LENGTH..];
        if rest.get_u8() != self.header() {
            return Err(NotAuthentic);
        }
        let (salt, rest) = rest.split_at(self.bytes().len());
        let (prefix, rest) = rest.split_first_chunk().expect("the header has this length");
        let mut segments = self.segments(salt, length, *prefix);
        let mut parts = rest.chunks(SEGMENT).peekable();
        while let Some(part) = parts.next() {
            plain.put_slice(&segments.open(part, parts.peek().is_none())?);
        }
        Ok(true)
    }
}

/// The segments of one message, which are numbered.
struct Segments {
    cipher: SegmentCipher,
    prefix: [u8; PREFIX],
    next: u32,
}

enum SegmentCipher {
    Aes128(Aes128Gcm),
    Aes256(Aes256Gcm),
}

impl Segments {
    fn nonce(&mut self, is_last: bool) -> [u8; 12] {
        let mut nonce = [0; 12];
        nonce[..PREFIX].copy_from_slice(&self.prefix);
        nonce[PREFIX..11].copy_from_slice(&self.next.to_be_bytes());
        nonce[11] = u8::from(is_last);
        self.next += 1;
        nonce
    }

    fn seal(&mut self, part: &[u8], is_last: bool) -> Vec<u8> {
        let nonce = Nonce::from(self.nonce(is_last));
        let sealed = match &self.cipher {
            SegmentCipher::Aes128(cipher) => cipher.encrypt(&nonce, part),
            SegmentCipher::Aes256(cipher) => cipher.encrypt(&nonce, part),
        };
        sealed.expect("a segment is short")
    }

    fn open(&mut self, part: &[u8], is_last: bool) -> Result<Vec<u8>, NotAuthentic> {
        let nonce = Nonce::from(self.nonce(is_last));
        let opened = match &self.cipher {
            SegmentCipher::Aes128(cipher) => cipher.decrypt(&nonce, part),
            SegmentCipher::Aes256(cipher) => cipher.decrypt(&nonce, part),
        };
        opened.map_err(|_| NotAuthentic)
    }
}
