//! Versions of the protocol, and which one the two sides of a connection speak.
//!
//! A later version only adds messages. The side that dials offers its version, and the side that listens answers with the
//! lower one of the two. Version 6 does not do that: it refuses every other offer, and is dialled again in its own version.

use std::fmt;

/// A version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u8);

impl Version {
    /// The oldest version that this build speaks.
    pub const OLDEST: Self = Self(6);
    /// The version of this build. It is incremented by the first message that a release adds.
    pub const CURRENT: Self = Self(7);
    /// The first version whose listeners answer an offer with the lower version.
    const FIRST_TO_ANSWER: Self = Self(7);

    /// What a side that listens answers to this offer. `None`: it does not speak with that peer.
    #[must_use]
    pub fn answer(offered: Self) -> Option<Self> {
        (offered >= Self::OLDEST).then_some(offered.min(Self::CURRENT))
    }

    /// The version that both sides speak after this offer and this answer. `None`: the peer refuses the offer.
    #[must_use]
    pub fn agreed(offered: Self, answered: Self) -> Option<Self> {
        let lower = Self::FIRST_TO_ANSWER..=offered;
        (answered == offered || lower.contains(&answered)).then_some(answered)
    }

    /// The version to offer on a new connection after a peer has refused this offer with that answer. `None`: there is no
    /// version that both speak.
    #[must_use]
    pub fn next_offer(offered: Self, answered: Self) -> Option<Self> {
        let refusing = Self::OLDEST..Self::FIRST_TO_ANSWER;
        (answered < offered && refusing.contains(&answered)).then_some(answered)
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
    fn a_listener_answers_with_the_lower_version_and_refuses_those_before_the_oldest() {
        for (offered, answer) in
            [(0, None), (5, None), (6, Some(6)), (7, Some(7)), (8, Some(7)), (255, Some(7))]
        {
            assert_eq!(Version::answer(Version(offered)), answer.map(Version), "{offered}");
        }
    }

    #[test]
    fn a_peer_that_refuses_is_dialled_again_in_its_version_if_this_build_speaks_it() {
        for (offered, answered, agreed, next) in [
            (7, 7, Some(7), None),
            (7, 6, None, Some(6)),
            (6, 6, Some(6), None),
            (7, 5, None, None),
            (6, 5, None, None),
            (7, 8, None, None),
            (6, 7, None, None),
            // A later build, whose peer answers with the lower version.
            (9, 8, Some(8), None),
            (9, 7, Some(7), None),
            (9, 6, None, Some(6)),
        ] {
            let (offered, answered) = (Version(offered), Version(answered));
            assert_eq!(Version::agreed(offered, answered), agreed.map(Version), "{offered} {answered}");
            assert_eq!(Version::next_offer(offered, answered), next.map(Version), "{offered} {answered}");
        }
    }

    #[test]
    fn no_offer_follows_itself() {
        for (offered, answered) in
            (0..=255).flat_map(|one| (0..=255).map(move |other| (Version(one), Version(other))))
        {
            if let Some(next) = Version::next_offer(offered, answered) {
                assert!(next < offered && Version::agreed(offered, answered).is_none());
            }
        }
    }
}
