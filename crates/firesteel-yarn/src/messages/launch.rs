//! The description of a container's start: command, environment and files.

use super::records::{StringBytesMap, StringStringMap};

/// The description with which a NodeManager starts a container.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ContainerLaunchContext {
    #[prost(message, repeated, tag = "1")]
    pub local_resources: Vec<StringLocalResourceMap>,
    #[prost(bytes = "vec", optional, tag = "2")]
    pub tokens: Option<Vec<u8>>,
    #[prost(message, repeated, tag = "3")]
    pub service_data: Vec<StringBytesMap>,
    #[prost(message, repeated, tag = "4")]
    pub environment: Vec<StringStringMap>,
    #[prost(string, repeated, tag = "5")]
    pub command: Vec<String>,
    #[prost(message, repeated, tag = "6")]
    pub application_acls: Vec<ApplicationAclMap>,
    #[prost(message, optional, tag = "7")]
    pub container_retry_context: Option<ContainerRetryContext>,
    #[prost(bytes = "vec", optional, tag = "8")]
    pub tokens_conf: Option<Vec<u8>>,
}

/// Whether a NodeManager restarts a container that failed.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ContainerRetryContext {
    #[prost(enumeration = "ContainerRetryPolicy", optional, tag = "1", default = "NeverRetry")]
    pub retry_policy: Option<i32>,
    #[prost(int32, repeated, packed = "false", tag = "2")]
    pub error_codes: Vec<i32>,
    #[prost(int32, optional, tag = "3", default = "0")]
    pub max_retries: Option<i32>,
    #[prost(int32, optional, tag = "4", default = "0")]
    pub retry_interval: Option<i32>,
    #[prost(int64, optional, tag = "5", default = "-1")]
    pub failures_validity_interval: Option<i64>,
}

/// A file that a NodeManager copies to a container. The time must be exactly the file's modification time,
/// in milliseconds.
#[derive(Clone, PartialEq, prost::Message)]
pub struct LocalResource {
    #[prost(message, optional, tag = "1")]
    pub resource: Option<Url>,
    #[prost(int64, optional, tag = "2")]
    pub size: Option<i64>,
    #[prost(int64, optional, tag = "3")]
    pub timestamp: Option<i64>,
    #[prost(enumeration = "LocalResourceType", optional, tag = "4")]
    pub r#type: Option<i32>,
    #[prost(enumeration = "LocalResourceVisibility", optional, tag = "5")]
    pub visibility: Option<i32>,
    #[prost(string, optional, tag = "6")]
    pub pattern: Option<String>,
    #[prost(bool, optional, tag = "7")]
    pub should_be_uploaded_to_shared_cache: Option<bool>,
}

/// The location of a file; the port is -1 if there is none.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Url {
    #[prost(string, optional, tag = "1")]
    pub scheme: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub host: Option<String>,
    #[prost(int32, optional, tag = "3")]
    pub port: Option<i32>,
    #[prost(string, optional, tag = "4")]
    pub file: Option<String>,
    #[prost(string, optional, tag = "5")]
    pub user_info: Option<String>,
}

/// An entry of a map.
#[derive(Clone, PartialEq, prost::Message)]
pub struct StringLocalResourceMap {
    #[prost(string, optional, tag = "1")]
    pub key: Option<String>,
    #[prost(message, optional, tag = "2")]
    pub value: Option<LocalResource>,
}

/// The users and groups that have an access right, separated by a blank, or `*`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ApplicationAclMap {
    #[prost(enumeration = "ApplicationAccessType", optional, tag = "1")]
    pub access_type: Option<i32>,
    #[prost(string, optional, tag = "2", default = " ")]
    pub acl: Option<String>,
}

/// The logs that are aggregated.
#[derive(Clone, PartialEq, prost::Message)]
pub struct LogAggregationContext {
    #[prost(string, optional, tag = "1", default = ".*")]
    pub include_pattern: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub exclude_pattern: Option<String>,
    #[prost(string, optional, tag = "3")]
    pub rolled_logs_include_pattern: Option<String>,
    #[prost(string, optional, tag = "4", default = ".*")]
    pub rolled_logs_exclude_pattern: Option<String>,
    #[prost(string, optional, tag = "5")]
    pub log_aggregation_policy_class_name: Option<String>,
    #[prost(string, optional, tag = "6")]
    pub log_aggregation_policy_parameters: Option<String>,
}

/// Whether a file is unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum LocalResourceType {
    Archive = 1,
    File = 2,
    Pattern = 3,
}

/// Who else may use a copied file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum LocalResourceVisibility {
    Public = 1,
    Private = 2,
    Application = 3,
}

/// The access rights to an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum ApplicationAccessType {
    ViewApp = 1,
    ModifyApp = 2,
}

/// When a container is restarted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum ContainerRetryPolicy {
    NeverRetry = 0,
    RetryOnAllErrors = 1,
    RetryOnSpecificErrorCodes = 2,
}
