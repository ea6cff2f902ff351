//! Why no Master answered at an address, and what this shows about the address.

use std::fmt;

use crate::address::Address;

/// What a failed connection or request says about the address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    Unreachable,
    /// A program accepts connections at this address, but did not answer in time or did not send the whole answer.
    NoAnswer,
    /// The program that answers is no Master, or a Master of another version.
    Stranger,
}

impl Evidence {
    /// The evidence that counts most: first a Master that may answer later, then a peer that is no Master.
    #[must_use]
    pub fn of_all(all: impl IntoIterator<Item = Self>) -> Self {
        let mut most = Self::Unreachable;
        for evidence in all {
            match (evidence, most) {
                (Self::NoAnswer, _) | (Self::Stranger, Self::Unreachable) => most = evidence,
                (Self::Unreachable | Self::Stranger, _) => {}
            }
        }
        most
    }
}

/// Why there is no connection to a Master.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectError {
    pub evidence: Evidence,
    pub words: String,
}

impl ConnectError {
    /// An error for an address at which nothing could be reached.
    #[must_use]
    pub fn unreachable(words: impl Into<String>) -> Self {
        Self { evidence: Evidence::Unreachable, words: words.into() }
    }

    /// An error for an address where a program accepted the connection.
    #[must_use]
    pub fn no_answer(words: impl Into<String>) -> Self {
        Self { evidence: Evidence::NoAnswer, words: words.into() }
    }
}

/// The errors of several Masters in words: `spark://a:7077: no answer; spark://b:7077: connection refused`.
#[must_use]
pub fn listed(errors: &[(Address, ConnectError)]) -> String {
    errors.iter().map(|(master, error)| format!("{}: {error}", master.url())).collect::<Vec<_>>().join("; ")
}

/// The combined evidence of the errors of several Masters.
#[must_use]
pub fn evidence(errors: &[(Address, ConnectError)]) -> Evidence {
    Evidence::of_all(errors.iter().map(|(_, error)| error.evidence))
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_addresses_the_one_that_may_answer_later_counts_most() {
        use Evidence::{NoAnswer, Stranger, Unreachable};
        for (all, most) in [
            (&[][..], Unreachable),
            (&[Unreachable, Stranger], Stranger),
            (&[Stranger, Unreachable, NoAnswer], NoAnswer),
            (&[NoAnswer, Stranger], NoAnswer),
        ] {
            assert_eq!(Evidence::of_all(all.iter().copied()), most, "{all:?}");
        }
    }
}
