//! The key exchange of Spark's AES engine: each side sends an X25519 public key, encrypted with a key that is made from
//! the secret.
//!
//! The two versions of the engine have the same messages. They differ in the key that they make of the exchange.

use aes_gcm::aead::{Aead, KeyInit, Payload};
use aes_gcm::{Aes128Gcm, Nonce};
use bytes::Bytes;
use firesteel_protocol::secret::Secret;
use hkdf::Hkdf;
use sha2::Sha256;
use x25519_dalek::x25519;

use super::encryption::ConnectionKeys;
use super::message::{self, SALT, USER};
use super::{Random, Refusal};

/// Length of the nonce before an encrypted public key.
pub(super) const IV: usize = 12;

const PUBLIC_KEY: usize = 32;

const BASE_POINT: [u8; PUBLIC_KEY] = {
    let mut point = [0; PUBLIC_KEY];
    point[0] = 9;
    point
};

/// The message with this side's public key, which follows what was sent before.
pub(super) fn message(secret: &Secret, random: &Random, before: &[u8]) -> Bytes {
    let additional = additional(&random.salt, before);
    let public = x25519(random.private, BASE_POINT);
    let payload = Payload { msg: &public, aad: &additional };
    let encrypted = cipher(secret, &random.salt, &additional).encrypt(&Nonce::from(random.iv), payload);
    let encrypted = [&random.iv[..], &encrypted.expect("it is short")].concat();
    message::key(&random.salt, &encrypted)
}

/// The other side's public key. `before`: what was sent before its message.
///
/// # Errors
/// The message was made with another secret.
pub(super) fn public_key(
    secret: &Secret,
    salt: &[u8; SALT],
    encrypted: &[u8],
    before: &[u8],
) -> Result<[u8; PUBLIC_KEY], Refusal> {
    let additional = additional(salt, before);
    let (iv, text) = encrypted.split_first_chunk::<IV>().ok_or(Refusal::Malformed)?;
    let payload = Payload { msg: text, aad: &additional };
    let key = cipher(secret, salt, &additional).decrypt(&Nonce::from(*iv), payload);
    let key = key.map_err(|_| Refusal::WrongSecret)?;
    key.try_into().map_err(|_| Refusal::Malformed)
}

/// The keys of a connection. `transcript`: both messages.
///
/// # Errors
/// The other side's key is one with which everybody knows the result.
pub(super) fn connection_keys(
    random: &Random,
    public: [u8; PUBLIC_KEY],
    transcript: &[u8],
) -> Result<ConnectionKeys, Refusal> {
    let shared = x25519(random.private, public);
    if shared == [0; PUBLIC_KEY] {
        return Err(Refusal::Malformed);
    }
    let source = Hkdf::<Sha256>::new(Some(transcript), &shared);
    Ok(ConnectionKeys {
        first: shared,
        second: expanded(&source, b"derivedKey"),
        of_responder: expanded(&source, b"inputIv"),
        of_initiator: expanded(&source, b"outputIv"),
    })
}

fn additional(salt: &[u8; SALT], before: &[u8]) -> Vec<u8> {
    [USER.as_bytes(), salt, before].concat()
}

fn cipher(secret: &Secret, salt: &[u8; SALT], additional: &[u8]) -> Aes128Gcm {
    let source = Hkdf::<Sha256>::new(Some(salt), secret.reveal().as_bytes());
    Aes128Gcm::new(&expanded::<16>(&source, additional).into())
}

fn expanded<const LENGTH: usize>(source: &Hkdf<Sha256>, usage: &[u8]) -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    source.expand(usage, &mut bytes).expect("the length is allowed");
    bytes
}
