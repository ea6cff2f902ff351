//! The records that many messages contain.

/// An application, identified by the ResourceManager's start time and a number. Its text form is in
/// `ids.rs`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, prost::Message)]
pub struct ApplicationId {
    #[prost(int32, optional, tag = "1")]
    pub id: Option<i32>,
    #[prost(int64, optional, tag = "2")]
    pub cluster_timestamp: Option<i64>,
}

/// An attempt at an application, counted from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, prost::Message)]
pub struct ApplicationAttemptId {
    #[prost(message, optional, tag = "1")]
    pub application_id: Option<ApplicationId>,
    #[prost(int32, optional, tag = "2")]
    pub attempt_id: Option<i32>,
}

/// A container of an attempt. The low 40 bits of the id are its number; the bits above are the
/// ResourceManager's epoch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, prost::Message)]
pub struct ContainerId {
    #[prost(message, optional, tag = "1")]
    pub app_id: Option<ApplicationId>,
    #[prost(message, optional, tag = "2")]
    pub app_attempt_id: Option<ApplicationAttemptId>,
    #[prost(int64, optional, tag = "3")]
    pub id: Option<i64>,
}

/// A NodeManager, identified by the host that it registered under and its port.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, prost::Message)]
pub struct NodeId {
    #[prost(string, optional, tag = "1")]
    pub host: Option<String>,
    #[prost(int32, optional, tag = "2")]
    pub port: Option<i32>,
}

/// A priority. For requests, lower numbers are more urgent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, prost::Message)]
pub struct Priority {
    #[prost(int32, optional, tag = "1")]
    pub priority: Option<i32>,
}

/// An amount of resources: memory in MiB, cores, and others by name.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Resource {
    #[prost(int64, optional, tag = "1")]
    pub memory: Option<i64>,
    #[prost(int32, optional, tag = "2")]
    pub virtual_cores: Option<i32>,
    #[prost(message, repeated, tag = "3")]
    pub resource_value_map: Vec<ResourceInformation>,
}

/// An amount of one resource, with its unit.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ResourceInformation {
    #[prost(string, required, tag = "1")]
    pub key: String,
    #[prost(int64, optional, tag = "2")]
    pub value: Option<i64>,
    #[prost(string, optional, tag = "3")]
    pub units: Option<String>,
    #[prost(enumeration = "ResourceTypes", optional, tag = "4")]
    pub r#type: Option<i32>,
    #[prost(string, repeated, tag = "5")]
    pub tags: Vec<String>,
    #[prost(message, repeated, tag = "6")]
    pub attributes: Vec<StringStringMap>,
}

/// A kind of resource that a cluster knows.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ResourceTypeInfo {
    #[prost(string, required, tag = "1")]
    pub name: String,
    #[prost(string, optional, tag = "2")]
    pub units: Option<String>,
    #[prost(enumeration = "ResourceTypes", optional, tag = "3")]
    pub r#type: Option<i32>,
}

/// An entry of a map.
#[derive(Clone, PartialEq, prost::Message)]
pub struct StringBytesMap {
    #[prost(string, optional, tag = "1")]
    pub key: Option<String>,
    #[prost(bytes = "vec", optional, tag = "2")]
    pub value: Option<Vec<u8>>,
}

/// An entry of a map.
#[derive(Clone, PartialEq, prost::Message)]
pub struct StringStringMap {
    #[prost(string, optional, tag = "1")]
    pub key: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub value: Option<String>,
}

/// An entry of a map.
#[derive(Clone, PartialEq, prost::Message)]
pub struct StringFloatMap {
    #[prost(string, required, tag = "1")]
    pub key: String,
    #[prost(float, required, tag = "2")]
    pub value: f32,
}

/// An entry of a map.
#[derive(Clone, PartialEq, prost::Message)]
pub struct StringLongMap {
    #[prost(string, required, tag = "1")]
    pub key: String,
    #[prost(int64, required, tag = "2")]
    pub value: i64,
}

/// An exception of a server, with its class, message and cause.
#[derive(Clone, PartialEq, prost::Message)]
pub struct SerializedException {
    #[prost(string, optional, tag = "1")]
    pub message: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub trace: Option<String>,
    #[prost(string, optional, tag = "3")]
    pub class_name: Option<String>,
    #[prost(message, optional, boxed, tag = "4")]
    pub cause: Option<Box<SerializedException>>,
}

/// The kinds of resource amounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum ResourceTypes {
    Countable = 0,
}

/// Whether a container is guaranteed to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum ExecutionType {
    Guaranteed = 1,
    Opportunistic = 2,
}

/// The states of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum ContainerState {
    New = 1,
    Running = 2,
    Complete = 3,
}
