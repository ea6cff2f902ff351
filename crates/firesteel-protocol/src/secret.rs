//! Secrets that prove a peer's identity.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A secret word. The owner of an application draws a secret for its executors, and a Worker draws one for itself. Both
/// draw it at their start from the operating system's random source. `Debug` output does not show it.
///
/// The time to compare two secrets depends only on their lengths, so nobody can find out a secret byte by byte. The
/// comparison takes a few lines of code, so no other crate is needed.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

/// The environment variable that contains the application's secret for an executor. The name shows that the value must
/// not be printed.
pub const EXECUTOR_SECRET: &str = "FIRESTEEL_EXECUTOR_SECRET";

impl Secret {
    #[must_use]
    pub fn new(word: impl Into<String>) -> Self {
        Self(word.into())
    }

    /// A secret made of these random bytes, in hexadecimal.
    #[must_use]
    pub fn of_bytes<const LENGTH: usize>(bytes: [u8; LENGTH]) -> Self {
        Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// The word itself, to send it to a peer.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        let (mine, theirs) = (self.0.as_bytes(), other.0.as_bytes());
        let differing = mine.iter().zip(theirs).fold(0, |all, (one, other)| all | (one ^ other));
        mine.len() == theirs.len() && std::hint::black_box(differing) == 0
    }
}

impl Eq for Secret {}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Command;

    #[test]
    fn a_secret_is_equal_to_itself_only() {
        let secret = Secret::of_bytes([7; 16]);
        assert_eq!(secret.reveal(), "07".repeat(16));
        assert_eq!(secret, Secret::new("07".repeat(16)));
        for other in ["", "07", &"07".repeat(15), &"07".repeat(17), &("06".to_owned() + &"07".repeat(15))] {
            assert_ne!(secret, Secret::new(other));
        }
    }

    #[test]
    fn no_secret_is_in_debug_output() {
        let mut command = Command::of("firesteel");
        command.environment.insert(EXECUTOR_SECRET.to_owned(), "hush".to_owned());
        let shown = format!("{:?} {command:?} {command}", Secret::new("hush"));
        assert!(!shown.contains("hush"), "{shown}");
        assert!(shown.contains(EXECUTOR_SECRET), "{shown}");
    }
}
