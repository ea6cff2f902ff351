//! Tokens, and the identifiers that they contain.

use super::records::ApplicationAttemptId;

/// A token: its identifier, the password that proves it, its kind and its service.
#[derive(Clone, PartialEq, Eq, prost::Message)]
#[prost(skip_debug)]
pub struct Token {
    #[prost(bytes = "vec", required, tag = "1")]
    pub identifier: Vec<u8>,
    #[prost(bytes = "vec", required, tag = "2")]
    pub password: Vec<u8>,
    #[prost(string, required, tag = "3")]
    pub kind: String,
    #[prost(string, required, tag = "4")]
    pub service: String,
}

/// A token or a secret with its name.
#[derive(Clone, PartialEq, prost::Message)]
#[prost(skip_debug)]
pub struct CredentialsKv {
    #[prost(string, required, tag = "1")]
    pub alias: String,
    #[prost(message, optional, tag = "2")]
    pub token: Option<Token>,
    #[prost(bytes = "vec", optional, tag = "3")]
    pub secret: Option<Vec<u8>>,
}

/// Tokens and secrets in the second format of a token file.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Credentials {
    #[prost(message, repeated, tag = "1")]
    pub tokens: Vec<CredentialsKv>,
    #[prost(message, repeated, tag = "2")]
    pub secrets: Vec<CredentialsKv>,
}

/// The identifier in the token of an ApplicationMaster.
#[derive(Clone, PartialEq, prost::Message)]
pub struct AmRmTokenIdentifier {
    #[prost(message, optional, tag = "1")]
    pub app_attempt_id: Option<ApplicationAttemptId>,
    #[prost(int32, optional, tag = "2", default = "-1")]
    pub key_id: Option<i32>,
}
