//! Tokens and what is in them.

use super::records::ApplicationAttemptId;

/// A token: what it says, the password that proves it, its kind and the service that it is for.
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

/// A token or a secret, by name.
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

/// Tokens and secrets, as a file of tokens in its second format has them.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Credentials {
    #[prost(message, repeated, tag = "1")]
    pub tokens: Vec<CredentialsKv>,
    #[prost(message, repeated, tag = "2")]
    pub secrets: Vec<CredentialsKv>,
}

/// What the token of an ApplicationMaster says.
#[derive(Clone, PartialEq, prost::Message)]
pub struct AmRmTokenIdentifier {
    #[prost(message, optional, tag = "1")]
    pub app_attempt_id: Option<ApplicationAttemptId>,
    #[prost(int32, optional, tag = "2", default = "-1")]
    pub key_id: Option<i32>,
}
