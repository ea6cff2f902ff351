//! The key that two sides of a connection share.

use std::fmt;

use firesteel_protocol::secret::Secret;
use hkdf::Hkdf;
use sha2::Sha256;

/// Number of bytes of a key's name.
pub(in crate::net) const NAME: usize = 8;

/// The name of a key. It is sent in the clear, and nobody can find out the key from it.
pub(in crate::net) type KeyName = [u8; NAME];

/// A key that two sides of a connection share. `Debug` output does not show it.
#[derive(Clone)]
pub(in crate::net) struct Key {
    pub(in crate::net) name: KeyName,
    pub(in crate::net) bytes: [u8; 32],
}

impl Key {
    pub(in crate::net) fn of(secret: &Secret) -> Self {
        Self { name: derived(secret, "firesteel key name"), bytes: derived(secret, "firesteel key") }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({:02x?})", self.name)
    }
}

/// Bytes for one use of a secret. Nobody can find out the secret, or the bytes for another use, from them.
pub(super) fn derived<const LENGTH: usize>(secret: &Secret, usage: &str) -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    let source = Hkdf::<Sha256>::new(None, secret.reveal().as_bytes());
    source.expand(usage.as_bytes(), &mut bytes).expect("the length is allowed");
    bytes
}
