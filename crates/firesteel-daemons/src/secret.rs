//! Draws secrets from the operating system's random source.

use firesteel_protocol::secret::Secret;

/// A new secret of 128 random bits.
///
/// # Panics
/// The operating system has no random source.
#[must_use]
pub fn draw() -> Secret {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("the operating system has random bytes");
    Secret::of_bytes(bytes)
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
