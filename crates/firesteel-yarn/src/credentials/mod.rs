//! Tokens and secrets, and the file in which a NodeManager gives them to a container
//! (`HADOOP_TOKEN_FILE_LOCATION`).
//!
//! - `file`: the two formats of that file.
//! - `vint`: Hadoop's integers of variable length, which one of the formats uses.

mod file;
pub mod vint;

use std::collections::BTreeMap;
use std::fmt;

pub use file::{MalformedTokens, TokenFileFormat};
use prost::Message as _;

use crate::messages::records::ApplicationAttemptId;
use crate::messages::security::{AmRmTokenIdentifier, CredentialsKv, Token};

/// The kind of an ApplicationMaster's token for its ResourceManager. A ResourceManager issues this token with an empty
/// service and alias, so only the kind identifies it.
pub const AM_RM_TOKEN: &str = "YARN_AM_RM_TOKEN";

/// Tokens and secrets, in the order of their names.
#[derive(Clone, Default, PartialEq)]
pub struct Credentials {
    pub tokens: BTreeMap<String, Token>,
    pub secrets: BTreeMap<String, Vec<u8>>,
}

impl Credentials {
    /// The first token of a kind.
    #[must_use]
    pub fn token(&self, kind: &str) -> Option<&Token> {
        self.tokens.values().find(|token| token.kind == kind)
    }
}

/// Shows names and kinds, but no secrets.
impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let secrets: Vec<&String> = self.secrets.keys().collect();
        f.debug_struct("Credentials").field("tokens", &self.tokens).field("secrets", &secrets).finish()
    }
}

impl Token {
    /// The attempt that an ApplicationMaster's token belongs to. `None` for any other token.
    #[must_use]
    pub fn attempt(&self) -> Option<ApplicationAttemptId> {
        if self.kind != AM_RM_TOKEN {
            return None;
        }
        AmRmTokenIdentifier::decode(&*self.identifier).ok()?.app_attempt_id
    }
}

/// Shows everything except the password.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token")
            .field("kind", &self.kind)
            .field("service", &self.service)
            .finish_non_exhaustive()
    }
}

/// Shows only the name.
impl fmt::Debug for CredentialsKv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CredentialsKv").field("alias", &self.alias).finish_non_exhaustive()
    }
}
