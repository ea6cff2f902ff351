//! The result of an application's work.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The result of an application's work. The driver reports it when it unregisters. The application's state is separate:
/// it is `FINISHED` for every result, as in Spark.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, crate::Kind)]
#[kind("outcome")]
pub enum Outcome {
    /// All of the work was done.
    Succeeded,
    Failed(OutcomeWords),
    /// The user ended the application before all of the work was done.
    Cancelled(OutcomeWords),
}

/// A few words about an outcome, such as `3 of 10 items failed`: at most [`LONGEST`](Self::LONGEST) bytes on one line.
/// Longer texts are cut, and control characters are removed, also in a message from a peer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String")]
pub struct OutcomeWords(String);

impl Outcome {
    #[must_use]
    pub fn failed(words: impl Into<String>) -> Self {
        Self::Failed(words.into().into())
    }

    /// The user ended the application early. The words describe how, and which work was not done.
    #[must_use]
    pub fn cancelled(words: impl Into<String>) -> Self {
        Self::Cancelled(words.into().into())
    }

    /// The words about the outcome. `None` for a success.
    #[must_use]
    pub fn words(&self) -> Option<&str> {
        match self {
            Self::Succeeded => None,
            Self::Failed(words) | Self::Cancelled(words) => Some(&words.0),
        }
    }

    /// The outcome as one word: `succeeded`, `failed`, `cancelled`.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed(_) => "failed",
            Self::Cancelled(_) => "cancelled",
        }
    }
}

/// Formats an outcome as `succeeded`, or as `failed: 3 of 10 items failed`.
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())?;
        match self.words() {
            None | Some("") => Ok(()),
            Some(words) => write!(f, ": {words}"),
        }
    }
}

impl OutcomeWords {
    /// The maximum length, in bytes. It is small because every list of ended applications contains these words.
    pub const LONGEST: usize = 200;
}

impl From<String> for OutcomeWords {
    fn from(words: String) -> Self {
        const ELLIPSIS: &str = "...";
        let mut words: String = words.chars().filter(|letter| !letter.is_control()).collect();
        if words.len() > Self::LONGEST {
            words.truncate(words.floor_char_boundary(Self::LONGEST - ELLIPSIS.len()));
            words.push_str(ELLIPSIS);
        }
        Self(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire;

    #[test]
    fn an_outcome_is_told_in_few_words() {
        assert_eq!(Outcome::Succeeded.to_string(), "succeeded");
        assert_eq!(Outcome::failed("3 of 10 items failed").to_string(), "failed: 3 of 10 items failed");
        assert_eq!(Outcome::cancelled("").to_string(), "cancelled");
    }

    #[test]
    fn words_from_a_peer_are_cut_and_have_no_control_characters() {
        /// An outcome as a peer sends it, before its words are cut.
        #[derive(Serialize)]
        #[expect(dead_code, reason = "only the place of Failed among the variants counts")]
        enum Unchecked {
            Succeeded,
            Failed(String),
        }
        let long = "é".repeat(OutcomeWords::LONGEST);
        let cut = format!("{}...", "é".repeat(98));
        for (words, kept) in [("a\u{1b}[2J\nb\u{7f}", "a[2Jb"), (long.as_str(), cut.as_str()), ("", "")] {
            let bytes =
                wire::encode(&Unchecked::Failed(words.to_owned()), wire::MAX_FRAME).expect("it is short");
            let outcome: Outcome = wire::decode(&bytes).expect("it is an outcome");
            assert_eq!(outcome.words(), Some(kept));
            assert!(kept.len() <= OutcomeWords::LONGEST);
        }
    }
}
