//! Messages about the nodes of the cluster.

use super::records::{NodeId, Resource, StringFloatMap};

/// Requests the numbers of nodes.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct GetClusterMetricsRequest {}

/// The numbers of nodes.
#[derive(Clone, PartialEq, prost::Message)]
pub struct GetClusterMetricsResponse {
    #[prost(message, optional, tag = "1")]
    pub cluster_metrics: Option<YarnClusterMetrics>,
}

/// The number of nodes in each state.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct YarnClusterMetrics {
    #[prost(int32, optional, tag = "1")]
    pub num_node_managers: Option<i32>,
    #[prost(int32, optional, tag = "2")]
    pub num_decommissioned_nms: Option<i32>,
    #[prost(int32, optional, tag = "3")]
    pub num_active_nms: Option<i32>,
    #[prost(int32, optional, tag = "4")]
    pub num_lost_nms: Option<i32>,
    #[prost(int32, optional, tag = "5")]
    pub num_unhealthy_nms: Option<i32>,
    #[prost(int32, optional, tag = "6")]
    pub num_rebooted_nms: Option<i32>,
    #[prost(int32, optional, tag = "7")]
    pub num_decommissioning_nms: Option<i32>,
    #[prost(int32, optional, tag = "8")]
    pub num_shutdown_nms: Option<i32>,
}

/// Requests all nodes in the given states.
#[derive(Clone, PartialEq, prost::Message)]
pub struct GetClusterNodesRequest {
    #[prost(enumeration = "NodeState", repeated, packed = "false", tag = "1")]
    pub node_states: Vec<i32>,
}

/// The reports of nodes.
#[derive(Clone, PartialEq, prost::Message)]
pub struct GetClusterNodesResponse {
    #[prost(message, repeated, tag = "1")]
    pub node_reports: Vec<NodeReport>,
}

/// The state of a node.
#[derive(Clone, PartialEq, prost::Message)]
pub struct NodeReport {
    #[prost(message, optional, tag = "1")]
    pub node_id: Option<NodeId>,
    #[prost(string, optional, tag = "2")]
    pub http_address: Option<String>,
    #[prost(string, optional, tag = "3")]
    pub rack_name: Option<String>,
    #[prost(message, optional, tag = "4")]
    pub used: Option<Resource>,
    #[prost(message, optional, tag = "5")]
    pub capability: Option<Resource>,
    #[prost(int32, optional, tag = "6")]
    pub num_containers: Option<i32>,
    #[prost(enumeration = "NodeState", optional, tag = "7")]
    pub node_state: Option<i32>,
    #[prost(string, optional, tag = "8")]
    pub health_report: Option<String>,
    #[prost(int64, optional, tag = "9")]
    pub last_health_report_time: Option<i64>,
    #[prost(string, repeated, tag = "10")]
    pub node_labels: Vec<String>,
    #[prost(message, optional, tag = "11")]
    pub containers_utilization: Option<ResourceUtilization>,
    #[prost(message, optional, tag = "12")]
    pub node_utilization: Option<ResourceUtilization>,
    #[prost(uint32, optional, tag = "13")]
    pub decommissioning_timeout: Option<u32>,
    #[prost(enumeration = "NodeUpdateType", optional, tag = "14")]
    pub node_update_type: Option<i32>,
}

/// The measured use of a node's resources.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ResourceUtilization {
    #[prost(int32, optional, tag = "1")]
    pub pmem: Option<i32>,
    #[prost(int32, optional, tag = "2")]
    pub vmem: Option<i32>,
    #[prost(float, optional, tag = "3")]
    pub cpu: Option<f32>,
    #[prost(message, repeated, tag = "4")]
    pub custom_resources: Vec<StringFloatMap>,
}

/// The states of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum NodeState {
    New = 1,
    Running = 2,
    Unhealthy = 3,
    Decommissioned = 4,
    Lost = 5,
    Rebooted = 6,
    Decommissioning = 7,
    Shutdown = 8,
}

/// The kinds of changes of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum NodeUpdateType {
    Usable = 0,
    Unusable = 1,
    Decommissioning = 2,
}
