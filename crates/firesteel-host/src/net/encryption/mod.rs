//! Encrypted connections: both sides prove that they know the same secret, and nobody else can read or change what
//! they send.
//!
//! The construction is the Noise Protocol Framework's `NNpsk0` over X25519, ChaCha20-Poly1305 and SHA-256, by the crate
//! `snow`. Each connection draws keys of its own, so a secret that becomes known later does not reveal what was sent
//! before.
//!
//! - `key`: the key that two sides share, made from a secret.
//! - [`keyring`]: the keys that one side has, and the roles that each key admits.
//! - `noise`: the two messages that agree on the keys of a connection, and its encrypted records.

pub(super) mod key;
pub mod keyring;
pub(super) mod noise;
