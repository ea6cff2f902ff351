//! What an ApplicationMaster says to a NodeManager, and hears.

use super::launch::ContainerLaunchContext;
use super::records::{ContainerId, SerializedException, StringBytesMap};
use super::security::Token;

/// Starts containers.
#[derive(Clone, PartialEq, prost::Message)]
pub struct StartContainersRequest {
    #[prost(message, repeated, tag = "1")]
    pub start_container_request: Vec<StartContainerRequest>,
}

/// A container: what is to run in it, and the token that it was granted with, as it came.
#[derive(Clone, PartialEq, prost::Message)]
pub struct StartContainerRequest {
    #[prost(message, optional, tag = "1")]
    pub container_launch_context: Option<ContainerLaunchContext>,
    #[prost(message, optional, tag = "2")]
    pub container_token: Option<Token>,
}

/// Which containers will be started, and which not, and why.
#[derive(Clone, PartialEq, prost::Message)]
pub struct StartContainersResponse {
    #[prost(message, repeated, tag = "1")]
    pub services_meta_data: Vec<StringBytesMap>,
    #[prost(message, repeated, tag = "2")]
    pub succeeded_requests: Vec<ContainerId>,
    #[prost(message, repeated, tag = "3")]
    pub failed_requests: Vec<ContainerExceptionMap>,
}

/// Why something cannot be done with a container.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ContainerExceptionMap {
    #[prost(message, optional, tag = "1")]
    pub container_id: Option<ContainerId>,
    #[prost(message, optional, tag = "2")]
    pub exception: Option<SerializedException>,
}
