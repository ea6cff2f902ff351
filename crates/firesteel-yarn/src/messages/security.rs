//! Tokens and what is in them.

use super::launch::LogAggregationContext;
use super::records::{ApplicationAttemptId, ContainerId, ExecutionType, NodeId, Priority, Resource};

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

/// What a token for a NodeManager says.
#[derive(Clone, PartialEq, prost::Message)]
pub struct NmTokenIdentifier {
    #[prost(message, optional, tag = "1")]
    pub app_attempt_id: Option<ApplicationAttemptId>,
    #[prost(message, optional, tag = "2")]
    pub node_id: Option<NodeId>,
    #[prost(string, optional, tag = "3")]
    pub app_submitter: Option<String>,
    #[prost(int32, optional, tag = "4", default = "-1")]
    pub key_id: Option<i32>,
}

/// What the token of a container says: all that was granted.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ContainerTokenIdentifier {
    #[prost(message, optional, tag = "1")]
    pub container_id: Option<ContainerId>,
    #[prost(string, optional, tag = "2")]
    pub nm_host_addr: Option<String>,
    #[prost(string, optional, tag = "3")]
    pub app_submitter: Option<String>,
    #[prost(message, optional, tag = "4")]
    pub resource: Option<Resource>,
    #[prost(int64, optional, tag = "5")]
    pub expiry_time_stamp: Option<i64>,
    #[prost(int32, optional, tag = "6", default = "-1")]
    pub master_key_id: Option<i32>,
    #[prost(int64, optional, tag = "7")]
    pub rm_identifier: Option<i64>,
    #[prost(message, optional, tag = "8")]
    pub priority: Option<Priority>,
    #[prost(int64, optional, tag = "9")]
    pub creation_time: Option<i64>,
    #[prost(message, optional, tag = "10")]
    pub log_aggregation_context: Option<LogAggregationContext>,
    #[prost(string, optional, tag = "11")]
    pub node_label_expression: Option<String>,
    #[prost(enumeration = "ContainerType", optional, tag = "12")]
    pub container_type: Option<i32>,
    #[prost(enumeration = "ExecutionType", optional, tag = "13", default = "Guaranteed")]
    pub execution_type: Option<i32>,
    #[prost(int32, optional, tag = "14", default = "0")]
    pub version: Option<i32>,
    #[prost(int64, optional, tag = "15", default = "-1")]
    pub allocation_request_id: Option<i64>,
    #[prost(string, repeated, tag = "16")]
    pub allocation_tags: Vec<String>,
}

/// What a container is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum ContainerType {
    ApplicationMaster = 1,
    Task = 2,
}
