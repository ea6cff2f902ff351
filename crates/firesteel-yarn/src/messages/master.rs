//! Messages between an ApplicationMaster and the ResourceManager.

use super::application::FinalApplicationStatus;
use super::cluster::NodeReport;
use super::launch::ApplicationAclMap;
use super::records::{
    ContainerId, ContainerState, ExecutionType, NodeId, Priority, Resource, ResourceTypeInfo, StringStringMap,
};
use super::security::Token;

/// Registers an ApplicationMaster.
#[derive(Clone, PartialEq, prost::Message)]
pub struct RegisterApplicationMasterRequest {
    #[prost(string, optional, tag = "1")]
    pub host: Option<String>,
    #[prost(int32, optional, tag = "2")]
    pub rpc_port: Option<i32>,
    #[prost(string, optional, tag = "3")]
    pub tracking_url: Option<String>,
}

/// The registration succeeded; it lists what the ApplicationMaster must know.
#[derive(Clone, PartialEq, prost::Message)]
pub struct RegisterApplicationMasterResponse {
    #[prost(message, optional, tag = "1")]
    pub maximum_capability: Option<Resource>,
    #[prost(bytes = "vec", optional, tag = "2")]
    pub client_to_am_token_master_key: Option<Vec<u8>>,
    #[prost(message, repeated, tag = "3")]
    pub application_acls: Vec<ApplicationAclMap>,
    #[prost(message, repeated, tag = "4")]
    pub containers_from_previous_attempts: Vec<Container>,
    #[prost(string, optional, tag = "5")]
    pub queue: Option<String>,
    #[prost(message, repeated, tag = "6")]
    pub nm_tokens_from_previous_attempts: Vec<NmToken>,
    #[prost(enumeration = "SchedulerResourceTypes", repeated, packed = "false", tag = "7")]
    pub scheduler_resource_types: Vec<i32>,
    #[prost(message, repeated, tag = "9")]
    pub resource_types: Vec<ResourceTypeInfo>,
}

/// Reports that an application is over.
#[derive(Clone, PartialEq, prost::Message)]
pub struct FinishApplicationMasterRequest {
    #[prost(string, optional, tag = "1")]
    pub diagnostics: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub tracking_url: Option<String>,
    #[prost(enumeration = "FinalApplicationStatus", optional, tag = "3")]
    pub final_application_status: Option<i32>,
}

/// Whether the end is recorded; if not, the request is repeated.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct FinishApplicationMasterResponse {
    #[prost(bool, optional, tag = "1", default = "false")]
    pub is_unregistered: Option<bool>,
}

/// The heartbeat of an ApplicationMaster, with all changes of what it wants.
#[derive(Clone, PartialEq, prost::Message)]
pub struct AllocateRequest {
    #[prost(message, repeated, tag = "1")]
    pub ask: Vec<ResourceRequest>,
    #[prost(message, repeated, tag = "2")]
    pub release: Vec<ContainerId>,
    #[prost(message, optional, tag = "3")]
    pub blacklist_request: Option<ResourceBlacklistRequest>,
    #[prost(int32, optional, tag = "4")]
    pub response_id: Option<i32>,
    #[prost(float, optional, tag = "5")]
    pub progress: Option<f32>,
    #[prost(string, optional, tag = "11")]
    pub tracking_url: Option<String>,
}

/// The granted and ended containers, and the state of the cluster.
#[derive(Clone, PartialEq, prost::Message)]
pub struct AllocateResponse {
    #[prost(enumeration = "AmCommand", optional, tag = "1")]
    pub am_command: Option<i32>,
    #[prost(int32, optional, tag = "2")]
    pub response_id: Option<i32>,
    #[prost(message, repeated, tag = "3")]
    pub allocated_containers: Vec<Container>,
    #[prost(message, repeated, tag = "4")]
    pub completed_container_statuses: Vec<ContainerStatus>,
    #[prost(message, optional, tag = "5")]
    pub limit: Option<Resource>,
    #[prost(message, repeated, tag = "6")]
    pub updated_nodes: Vec<NodeReport>,
    #[prost(int32, optional, tag = "7")]
    pub num_cluster_nodes: Option<i32>,
    #[prost(message, optional, tag = "8")]
    pub preempt: Option<PreemptionMessage>,
    #[prost(message, repeated, tag = "9")]
    pub nm_tokens: Vec<NmToken>,
    #[prost(message, optional, tag = "12")]
    pub am_rm_token: Option<Token>,
    #[prost(message, optional, tag = "13")]
    pub application_priority: Option<Priority>,
    #[prost(message, repeated, tag = "17")]
    pub containers_from_previous_attempts: Vec<Container>,
}

/// The number of containers that are wanted at a location, as an absolute number.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ResourceRequest {
    #[prost(message, optional, tag = "1")]
    pub priority: Option<Priority>,
    #[prost(string, optional, tag = "2")]
    pub resource_name: Option<String>,
    #[prost(message, optional, tag = "3")]
    pub capability: Option<Resource>,
    #[prost(int32, optional, tag = "4")]
    pub num_containers: Option<i32>,
    #[prost(bool, optional, tag = "5", default = "true")]
    pub relax_locality: Option<bool>,
    #[prost(string, optional, tag = "6")]
    pub node_label_expression: Option<String>,
    #[prost(message, optional, tag = "7")]
    pub execution_type_request: Option<ExecutionTypeRequest>,
    #[prost(int64, optional, tag = "8", default = "-1")]
    pub allocation_request_id: Option<i64>,
}

/// The requested type of execution.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct ExecutionTypeRequest {
    #[prost(enumeration = "ExecutionType", optional, tag = "1", default = "Guaranteed")]
    pub execution_type: Option<i32>,
    #[prost(bool, optional, tag = "2", default = "false")]
    pub enforce_execution_type: Option<bool>,
}

/// The hosts to add to the excluded ones, and those to remove.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ResourceBlacklistRequest {
    #[prost(string, repeated, tag = "1")]
    pub blacklist_additions: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    pub blacklist_removals: Vec<String>,
}

/// A container that was granted.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Container {
    #[prost(message, optional, tag = "1")]
    pub id: Option<ContainerId>,
    #[prost(message, optional, tag = "2")]
    pub node_id: Option<NodeId>,
    #[prost(string, optional, tag = "3")]
    pub node_http_address: Option<String>,
    #[prost(message, optional, tag = "4")]
    pub resource: Option<Resource>,
    #[prost(message, optional, tag = "5")]
    pub priority: Option<Priority>,
    #[prost(message, optional, tag = "6")]
    pub container_token: Option<Token>,
    #[prost(enumeration = "ExecutionType", optional, tag = "7", default = "Guaranteed")]
    pub execution_type: Option<i32>,
    #[prost(int64, optional, tag = "8", default = "-1")]
    pub allocation_request_id: Option<i64>,
    #[prost(int32, optional, tag = "9", default = "0")]
    pub version: Option<i32>,
    #[prost(string, repeated, tag = "10")]
    pub allocation_tags: Vec<String>,
    #[prost(string, optional, tag = "11")]
    pub exposed_ports: Option<String>,
}

/// The state of a container, or its end.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ContainerStatus {
    #[prost(message, optional, tag = "1")]
    pub container_id: Option<ContainerId>,
    #[prost(enumeration = "ContainerState", optional, tag = "2")]
    pub state: Option<i32>,
    #[prost(string, optional, tag = "3", default = "N/A")]
    pub diagnostics: Option<String>,
    #[prost(int32, optional, tag = "4", default = "-1000")]
    pub exit_status: Option<i32>,
    #[prost(message, optional, tag = "5")]
    pub capability: Option<Resource>,
    #[prost(enumeration = "ExecutionType", optional, tag = "6", default = "Guaranteed")]
    pub execution_type: Option<i32>,
    #[prost(message, repeated, tag = "7")]
    pub container_attributes: Vec<StringStringMap>,
}

/// A token for one NodeManager.
#[derive(Clone, PartialEq, prost::Message)]
pub struct NmToken {
    #[prost(message, optional, tag = "1")]
    pub node_id: Option<NodeId>,
    #[prost(message, optional, tag = "2")]
    pub token: Option<Token>,
}

/// The containers that the ResourceManager wants back.
#[derive(Clone, PartialEq, prost::Message)]
pub struct PreemptionMessage {
    #[prost(message, optional, tag = "1")]
    pub strict_contract: Option<StrictPreemptionContract>,
    #[prost(message, optional, tag = "2")]
    pub contract: Option<PreemptionContract>,
}

/// The containers that will be taken.
#[derive(Clone, PartialEq, prost::Message)]
pub struct StrictPreemptionContract {
    #[prost(message, repeated, tag = "1")]
    pub container: Vec<PreemptionContainer>,
}

/// A set of containers of which some will be taken.
#[derive(Clone, PartialEq, prost::Message)]
pub struct PreemptionContract {
    #[prost(message, repeated, tag = "1")]
    pub resource: Vec<PreemptionResourceRequest>,
    #[prost(message, repeated, tag = "2")]
    pub container: Vec<PreemptionContainer>,
}

/// A container that is wanted back.
#[derive(Clone, PartialEq, prost::Message)]
pub struct PreemptionContainer {
    #[prost(message, optional, tag = "1")]
    pub id: Option<ContainerId>,
}

/// The resources that are wanted back.
#[derive(Clone, PartialEq, prost::Message)]
pub struct PreemptionResourceRequest {
    #[prost(message, optional, tag = "1")]
    pub resource: Option<ResourceRequest>,
}

/// A command to an ApplicationMaster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum AmCommand {
    Resync = 1,
    Shutdown = 2,
}

/// The resource types that a scheduler considers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum SchedulerResourceTypes {
    Memory = 0,
    Cpu = 1,
}
