//! The two messages that agree on the keys of a connection, and its encrypted records.
//!
//! A record is a big-endian `u16` with the length of what follows, and at most 65,535 bytes of ciphertext with its tag.
//! Records are numbered by their order, so a record that is left out, repeated or moved is noticed.

use std::sync::Arc;

use bytes::{Buf, BufMut, BytesMut};
use snow::{Builder, HandshakeState, StatelessTransportState};

use super::key::Key;

const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_SHA256";

const PUBLIC_KEY: usize = 32;

const TAG: usize = 16;

/// Length of a record's header.
const HEADER: usize = 2;

/// The most bytes of plaintext in a record.
const MOST: usize = u16::MAX as usize - TAG;

/// Length of the preamble that the answer confirms.
const PREAMBLE: usize = 8;

/// Length of the first message.
pub(in crate::net) const OFFER: usize = PUBLIC_KEY + TAG;

/// Length of the second message.
pub(in crate::net) const ANSWER: usize = PUBLIC_KEY + PREAMBLE + TAG;

/// Bytes that were not encrypted with the keys of this connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("bytes from it were changed on the way, or were not encrypted for this connection")]
pub struct NotAuthentic;

/// The side that dialled, between its message and the answer.
#[derive(Debug)]
pub(in crate::net) struct Initiator(Box<HandshakeState>);

fn builder<'a>(key: &'a Key, prologue: &'a [u8]) -> Builder<'a> {
    let pattern = PATTERN.parse().expect("snow knows the pattern");
    let builder =
        Builder::new(pattern).psk(0, &key.bytes).expect("the pattern has one key, which is set once");
    builder.prologue(prologue).expect("it is set once")
}

impl Initiator {
    /// Returns the first message, too. Both sides must have the same prologue, which is what was sent in the clear.
    ///
    /// # Panics
    /// The operating system has no random source.
    pub(in crate::net) fn begin(key: &Key, prologue: &[u8]) -> (Self, [u8; OFFER]) {
        let mut state = Box::new(builder(key, prologue).build_initiator().expect("all keys are there"));
        let mut offer = [0; OFFER];
        let length = state.write_message(&[], &mut offer).expect("the message has this length");
        assert_eq!(length, OFFER);
        (Self(state), offer)
    }

    /// Completes the agreement with the peer's answer, which confirms the preamble that the peer sent in the clear.
    ///
    /// # Errors
    /// The answer was not made with the same key, for this offer and preamble.
    pub(in crate::net) fn finish(
        mut self,
        answer: &[u8; ANSWER],
        preamble: [u8; PREAMBLE],
    ) -> Result<Halves, NotAuthentic> {
        let mut confirmed = [0; PREAMBLE];
        self.0.read_message(answer, &mut confirmed).map_err(|_| NotAuthentic)?;
        if confirmed != preamble {
            return Err(NotAuthentic);
        }
        Ok(halves(*self.0))
    }
}

/// Answers a dialling side's offer, and confirms the preamble of this side.
///
/// # Errors
/// The offer was not made with the same key and prologue.
///
/// # Panics
/// The operating system has no random source.
pub(in crate::net) fn answer(
    key: &Key,
    prologue: &[u8],
    offer: &[u8; OFFER],
    preamble: [u8; PREAMBLE],
) -> Result<([u8; ANSWER], Halves), NotAuthentic> {
    let mut state = builder(key, prologue).build_responder().expect("all keys are there");
    state.read_message(offer, &mut []).map_err(|_| NotAuthentic)?;
    let mut answer = [0; ANSWER];
    let length = state.write_message(&preamble, &mut answer).expect("the message has this length");
    assert_eq!(length, ANSWER);
    Ok((answer, halves(state)))
}

/// Both directions of a connection whose keys are agreed.
#[derive(Debug)]
pub(in crate::net) struct Halves {
    pub(in crate::net) decryptor: Decryptor,
    pub(in crate::net) encryptor: Encryptor,
    /// A number that both sides of this connection have, and no two connections have alike: the beginning of the
    /// handshake's hash. Source: Noise, revision 34, 11.2.
    pub(in crate::net) channel: u64,
}

fn halves(state: HandshakeState) -> Halves {
    let hash = state.get_handshake_hash().first_chunk().expect("a hash is longer");
    let channel = u64::from_be_bytes(*hash);
    let state = Arc::new(state.into_stateless_transport_mode().expect("both messages were exchanged"));
    let decryptor = Decryptor { state: Arc::clone(&state), next: 0, encrypted: BytesMut::new() };
    let encryptor = Encryptor { state, next: 0, encrypted: BytesMut::new() };
    Halves { decryptor, encryptor, channel }
}

/// Decrypts what the peer sends.
#[derive(Debug)]
pub(in crate::net) struct Decryptor {
    state: Arc<StatelessTransportState>,
    next: u64,
    /// The bytes of the record that has not arrived completely.
    encrypted: BytesMut,
}

impl Decryptor {
    /// Appends the contents of all records that are complete with these bytes.
    ///
    /// # Errors
    /// A record is not authentic. The connection cannot be used again.
    pub(in crate::net) fn decrypt(
        &mut self,
        arrived: &[u8],
        plain: &mut BytesMut,
    ) -> Result<(), NotAuthentic> {
        self.encrypted.extend_from_slice(arrived);
        while let Some(header) = self.encrypted.first_chunk::<HEADER>() {
            let length = usize::from(u16::from_be_bytes(*header));
            let length_of_text = length.checked_sub(TAG).ok_or(NotAuthentic)?;
            if self.encrypted.len() < HEADER + length {
                return Ok(());
            }
            let before = plain.len();
            plain.resize(before + length_of_text, 0);
            let record = &self.encrypted[HEADER..HEADER + length];
            self.state.read_message(self.next, record, &mut plain[before..]).map_err(|_| NotAuthentic)?;
            self.next += 1;
            self.encrypted.advance(HEADER + length);
        }
        if self.encrypted.is_empty() {
            // An idle connection needs no memory for it.
            self.encrypted = BytesMut::new();
        }
        Ok(())
    }

    /// The memory of an incomplete record, in bytes.
    pub(in crate::net) fn memory(&self) -> usize {
        self.encrypted.capacity()
    }

    pub(in crate::net) fn has_partial_record(&self) -> bool {
        !self.encrypted.is_empty()
    }
}

/// Encrypts what is sent to the peer.
#[derive(Debug)]
pub(in crate::net) struct Encryptor {
    state: Arc<StatelessTransportState>,
    next: u64,
    /// The records that were not written yet.
    pub(in crate::net) encrypted: BytesMut,
}

impl Encryptor {
    /// Appends the next bytes of a buffer as one record. Does nothing if the buffer is empty.
    pub(in crate::net) fn encrypt(&mut self, plain: &mut impl Buf) {
        let length = plain.remaining().min(MOST);
        if length == 0 {
            return;
        }
        let text = plain.copy_to_bytes(length);
        let length = length + TAG;
        self.encrypted.put_u16(u16::try_from(length).expect("a record is not that long"));
        let before = self.encrypted.len();
        self.encrypted.resize(before + length, 0);
        self.state
            .write_message(self.next, &text, &mut self.encrypted[before..])
            .expect("there is room for it");
        self.next += 1;
    }

    /// Appends all of these bytes as records.
    pub(in crate::net) fn encrypt_all(&mut self, mut plain: &[u8]) {
        while plain.has_remaining() {
            self.encrypt(&mut plain);
        }
    }
}
