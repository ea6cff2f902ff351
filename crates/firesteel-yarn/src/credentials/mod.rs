//! Tokens and secrets, and the bytes of the file in which a NodeManager gives them to a container
//! (`HADOOP_TOKEN_FILE_LOCATION`).

mod file;
pub mod vint;

use std::collections::BTreeMap;
use std::fmt;

pub use file::{MalformedTokens, TokenFileFormat};
use prost::Message as _;

use crate::messages::records::ApplicationAttemptId;
use crate::messages::security::{AmRmTokenIdentifier, CredentialsKv, Token};

/// The kind of the token of an ApplicationMaster for its ResourceManager. Its service and its alias are empty
/// where a ResourceManager issues it, so it is found by its kind alone.
pub const AM_RM_TOKEN: &str = "YARN_AM_RM_TOKEN";

/// Tokens and secrets, by name. In the order of their names, whatever order they came in.
#[derive(Clone, Default, PartialEq)]
pub struct Credentials {
    /// Tokens, by alias.
    pub tokens: BTreeMap<String, Token>,
    /// Secrets, by name.
    pub secrets: BTreeMap<String, Vec<u8>>,
}

impl Credentials {
    /// The first token of a kind.
    #[must_use]
    pub fn token(&self, kind: &str) -> Option<&Token> {
        self.tokens.values().find(|token| token.kind == kind)
    }
}

/// Names and kinds; secrets are nobody's business.
impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let secrets: Vec<&String> = self.secrets.keys().collect();
        f.debug_struct("Credentials").field("tokens", &self.tokens).field("secrets", &secrets).finish()
    }
}

impl Token {
    /// The attempt that the token of an ApplicationMaster is for, or none if it is another one's.
    #[must_use]
    pub fn attempt(&self) -> Option<ApplicationAttemptId> {
        if self.kind != AM_RM_TOKEN {
            return None;
        }
        AmRmTokenIdentifier::decode(&*self.identifier).ok()?.app_attempt_id
    }
}

/// All but the password.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token")
            .field("kind", &self.kind)
            .field("service", &self.service)
            .finish_non_exhaustive()
    }
}

/// The name alone.
impl fmt::Debug for CredentialsKv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CredentialsKv").field("alias", &self.alias).finish_non_exhaustive()
    }
}
