//! Versions of the protocol, and which one both sides of a connection use.
//!
//! Fields can be added and removed without a new version: see [`wire`](crate::wire). A later version only adds
//! messages. The side that opens the connection offers its version. The side that listens answers with the lower one of
//! the two versions.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u8);

impl Version {
    /// The oldest version that this build supports. Builds before 0.1.0 promised no compatibility. Release 0.1.0
    /// promises it, beginning with its own version.
    pub const OLDEST: Self = Self(8);
    /// The version of this build. A release increments it once if it adds messages.
    pub const CURRENT: Self = Self(9);

    /// The versions that this build supports, in words: `version 8`, `versions 8 to 9`.
    #[must_use]
    pub fn spoken() -> String {
        match (Self::OLDEST, Self::CURRENT) {
            (oldest, current) if oldest == current => format!("version {current}"),
            (oldest, current) => format!("versions {oldest} to {current}"),
        }
    }

    /// The listening side's answer to this offer. `None`: the two sides have no version in common.
    #[must_use]
    pub fn answer(offered: Self) -> Option<Self> {
        (offered >= Self::OLDEST).then_some(offered.min(Self::CURRENT))
    }

    /// The version that both sides use, after this side offered its own and the other side answered. `None`: the two
    /// sides have no version in common.
    #[must_use]
    pub fn agreed(answered: Self) -> Option<Self> {
        (Self::OLDEST..=Self::CURRENT).contains(&answered).then_some(answered)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_sides_speak_the_lower_version_and_none_that_one_does_not_know() {
        let Version(oldest) = Version::OLDEST;
        let Version(current) = Version::CURRENT;
        for (theirs, spoken) in [
            (0, None),
            (oldest - 1, None),
            (oldest, Some(oldest)),
            (current, Some(current)),
            (current + 1, Some(current)),
            (255, Some(current)),
        ] {
            assert_eq!(Version::answer(Version(theirs)), spoken.map(Version), "{theirs} is offered");
            // A newer peer answers with this side's own version.
            let answered = theirs.min(current);
            assert_eq!(Version::agreed(Version(answered)), spoken.map(Version), "{theirs} answers");
        }
        assert_eq!(Version::agreed(Version(current + 1)), None, "nobody answers more than was offered");
    }
}
