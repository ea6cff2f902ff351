//! The attempt of an ApplicationMaster, and the token that authenticates it.

use std::env;
use std::path::PathBuf;

use firesteel_yarn::credentials::{AM_RM_TOKEN, Credentials, MalformedTokens};
use firesteel_yarn::messages::records::{ApplicationAttemptId, ContainerId};
use firesteel_yarn::messages::security::Token;

#[derive(Clone, Debug)]
pub struct Attempt {
    pub id: ApplicationAttemptId,
    /// The token by which the ResourceManager recognises the attempt.
    pub token: Token,
    /// The name or address of this machine at which drivers can reach it. The ApplicationMaster listens at this host.
    pub host: String,
    /// Other tokens, for executors. The token for the ResourceManager is never among them.
    pub credentials: Credentials,
}

/// Why this process is not in the container of an ApplicationMaster.
#[derive(Debug, thiserror::Error)]
pub enum NoAttempt {
    /// A variable that NodeManagers set is missing.
    #[error("{0} is not set: only a NodeManager starts an ApplicationMaster")]
    Variable(&'static str),
    /// The variable does not contain a container id.
    #[error("CONTAINER_ID: {0}")]
    Container(#[from] firesteel_yarn::messages::ids::NoId),
    /// The token file cannot be read.
    #[error("the tokens in {path}: {error}")]
    Read { path: PathBuf, error: std::io::Error },
    /// The file is not a token file.
    #[error("the tokens in {path}: {error}")]
    Malformed { path: PathBuf, error: MalformedTokens },
    /// The file has no token for the ResourceManager.
    #[error("{path} has no token for the ResourceManager")]
    NoToken { path: PathBuf },
}

impl Attempt {
    /// The attempt to which this process's container belongs. It is read from the environment variables `CONTAINER_ID`,
    /// `NM_HOST` and `HADOOP_TOKEN_FILE_LOCATION`.
    ///
    /// # Errors
    /// The process is not in a container of an ApplicationMaster.
    pub fn of_container() -> Result<Self, NoAttempt> {
        let variable = |name| env::var(name).map_err(|_| NoAttempt::Variable(name));
        let container: ContainerId = variable("CONTAINER_ID")?.parse()?;
        let host = variable("NM_HOST")?;
        let path = PathBuf::from(variable("HADOOP_TOKEN_FILE_LOCATION")?);
        let bytes = std::fs::read(&path).map_err(|error| NoAttempt::Read { path: path.clone(), error })?;
        let mut credentials =
            Credentials::read(&bytes).map_err(|error| NoAttempt::Malformed { path: path.clone(), error })?;
        let token = credentials.token(AM_RM_TOKEN).cloned();
        let token = token.ok_or_else(|| NoAttempt::NoToken { path: path.clone() })?;
        credentials.tokens.retain(|_, token| token.kind != AM_RM_TOKEN);
        let id = container.app_attempt_id.unwrap_or_default();
        Ok(Self { id, token, host, credentials })
    }

    /// An attempt without a container. The only token is the one in the application's report.
    #[must_use]
    pub fn unmanaged(id: ApplicationAttemptId, token: Token, host: impl Into<String>) -> Self {
        Self { id, token, host: host.into(), credentials: Credentials::default() }
    }
}
