//! Secrets: drawn from the operating system's random source, or read from a [credentials] file, which
//! [file_keyring] follows. `token` checks tokens.

pub mod credentials;
pub mod file_keyring;
pub(crate) mod token;

use firesteel_protocol::messages::RunId;
use firesteel_protocol::secret::Secret;

/// A new secret of 128 random bits.
///
/// # Panics
/// The operating system has no random source.
#[must_use]
pub fn draw() -> Secret {
    Secret::of_bytes(random::<16>())
}

/// A random number for a run of a Master, which is not 0.
///
/// # Panics
/// The operating system has no random source.
#[must_use]
pub(crate) fn draw_run() -> RunId {
    RunId(u64::from_le_bytes(random()).max(1))
}

pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system has random bytes");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_secret_is_drawn_twice() {
        let (one, other) = (draw(), draw());
        assert_ne!(one, other);
        assert_eq!(one.reveal().len(), 32);
    }
}
