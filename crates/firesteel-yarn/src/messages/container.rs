//! Messages between an ApplicationMaster and a NodeManager.

use super::launch::ContainerLaunchContext;
use super::records::{ContainerId, SerializedException, StringBytesMap};
use super::security::Token;

/// Starts a list of containers.
#[derive(Clone, PartialEq, prost::Message)]
pub struct StartContainersRequest {
    #[prost(message, repeated, tag = "1")]
    pub start_container_request: Vec<StartContainerRequest>,
}

/// A container to start: what it runs, and the unchanged token of its grant.
#[derive(Clone, PartialEq, prost::Message)]
pub struct StartContainerRequest {
    #[prost(message, optional, tag = "1")]
    pub container_launch_context: Option<ContainerLaunchContext>,
    #[prost(message, optional, tag = "2")]
    pub container_token: Option<Token>,
}

/// The containers that will be started, and those that will not, with the reasons.
#[derive(Clone, PartialEq, prost::Message)]
pub struct StartContainersResponse {
    #[prost(message, repeated, tag = "1")]
    pub services_meta_data: Vec<StringBytesMap>,
    #[prost(message, repeated, tag = "2")]
    pub succeeded_requests: Vec<ContainerId>,
    #[prost(message, repeated, tag = "3")]
    pub failed_requests: Vec<ContainerExceptionMap>,
}

/// The error of a container.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ContainerExceptionMap {
    #[prost(message, optional, tag = "1")]
    pub container_id: Option<ContainerId>,
    #[prost(message, optional, tag = "2")]
    pub exception: Option<SerializedException>,
}
