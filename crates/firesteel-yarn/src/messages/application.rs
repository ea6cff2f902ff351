//! Messages about applications: submission, reports, ends.

use super::launch::{ContainerLaunchContext, LogAggregationContext};
use super::master::ResourceRequest;
use super::records::{
    ApplicationAttemptId, ApplicationId, ContainerId, ContainerState, NodeId, Priority, Resource,
    StringLongMap, StringStringMap,
};
use super::security::Token;

/// Requests an id for an application.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct GetNewApplicationRequest {}

/// An application id, and the largest container that can be granted.
#[derive(Clone, PartialEq, prost::Message)]
pub struct GetNewApplicationResponse {
    #[prost(message, optional, tag = "1")]
    pub application_id: Option<ApplicationId>,
    #[prost(message, optional, tag = "2")]
    pub maximum_capability: Option<Resource>,
}

/// Submits an application to the ResourceManager.
#[derive(Clone, PartialEq, prost::Message)]
pub struct SubmitApplicationRequest {
    #[prost(message, optional, tag = "1")]
    pub application_submission_context: Option<ApplicationSubmissionContext>,
}

/// The application was accepted.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct SubmitApplicationResponse {}

/// The description of an application for the ResourceManager.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ApplicationSubmissionContext {
    #[prost(message, optional, tag = "1")]
    pub application_id: Option<ApplicationId>,
    #[prost(string, optional, tag = "2", default = "N/A")]
    pub application_name: Option<String>,
    #[prost(string, optional, tag = "3", default = "default")]
    pub queue: Option<String>,
    #[prost(message, optional, tag = "4")]
    pub priority: Option<Priority>,
    #[prost(message, optional, tag = "5")]
    pub am_container_spec: Option<ContainerLaunchContext>,
    #[prost(bool, optional, tag = "6", default = "true")]
    pub cancel_tokens_when_complete: Option<bool>,
    #[prost(bool, optional, tag = "7", default = "false")]
    pub unmanaged_am: Option<bool>,
    #[prost(int32, optional, tag = "8", default = "0")]
    pub max_app_attempts: Option<i32>,
    #[prost(message, optional, tag = "9")]
    pub resource: Option<Resource>,
    #[prost(string, optional, tag = "10", default = "YARN")]
    pub application_type: Option<String>,
    #[prost(bool, optional, tag = "11", default = "false")]
    pub keep_containers_across_application_attempts: Option<bool>,
    #[prost(string, repeated, tag = "12")]
    pub application_tags: Vec<String>,
    #[prost(int64, optional, tag = "13", default = "-1")]
    pub attempt_failures_validity_interval: Option<i64>,
    #[prost(message, optional, tag = "14")]
    pub log_aggregation_context: Option<LogAggregationContext>,
    #[prost(string, optional, tag = "16")]
    pub node_label_expression: Option<String>,
    #[prost(message, repeated, tag = "17")]
    pub am_container_resource_request: Vec<ResourceRequest>,
    #[prost(message, repeated, tag = "19")]
    pub application_scheduling_properties: Vec<StringStringMap>,
}

/// Requests the report of an application.
#[derive(Clone, PartialEq, prost::Message)]
pub struct GetApplicationReportRequest {
    #[prost(message, optional, tag = "1")]
    pub application_id: Option<ApplicationId>,
}

/// The report of an application.
#[derive(Clone, PartialEq, prost::Message)]
pub struct GetApplicationReportResponse {
    #[prost(message, optional, tag = "1")]
    pub application_report: Option<ApplicationReport>,
}

/// The state of an application. Times are in milliseconds since 1970.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ApplicationReport {
    #[prost(message, optional, tag = "1")]
    pub application_id: Option<ApplicationId>,
    #[prost(string, optional, tag = "2")]
    pub user: Option<String>,
    #[prost(string, optional, tag = "3")]
    pub queue: Option<String>,
    #[prost(string, optional, tag = "4")]
    pub name: Option<String>,
    #[prost(string, optional, tag = "5")]
    pub host: Option<String>,
    #[prost(int32, optional, tag = "6")]
    pub rpc_port: Option<i32>,
    #[prost(message, optional, tag = "7")]
    pub client_to_am_token: Option<Token>,
    #[prost(enumeration = "YarnApplicationState", optional, tag = "8")]
    pub yarn_application_state: Option<i32>,
    #[prost(string, optional, tag = "9")]
    pub tracking_url: Option<String>,
    #[prost(string, optional, tag = "10", default = "N/A")]
    pub diagnostics: Option<String>,
    #[prost(int64, optional, tag = "11")]
    pub start_time: Option<i64>,
    #[prost(int64, optional, tag = "12")]
    pub finish_time: Option<i64>,
    #[prost(enumeration = "FinalApplicationStatus", optional, tag = "13")]
    pub final_application_status: Option<i32>,
    #[prost(message, optional, tag = "14")]
    pub app_resource_usage: Option<ApplicationResourceUsageReport>,
    #[prost(string, optional, tag = "15")]
    pub original_tracking_url: Option<String>,
    #[prost(message, optional, tag = "16")]
    pub current_application_attempt_id: Option<ApplicationAttemptId>,
    #[prost(float, optional, tag = "17")]
    pub progress: Option<f32>,
    #[prost(string, optional, tag = "18")]
    pub application_type: Option<String>,
    #[prost(message, optional, tag = "19")]
    pub am_rm_token: Option<Token>,
    #[prost(string, repeated, tag = "20")]
    pub application_tags: Vec<String>,
    #[prost(bool, optional, tag = "22", default = "false")]
    pub unmanaged_application: Option<bool>,
    #[prost(message, optional, tag = "23")]
    pub priority: Option<Priority>,
    #[prost(string, optional, tag = "24")]
    pub app_node_label_expression: Option<String>,
    #[prost(string, optional, tag = "25")]
    pub am_node_label_expression: Option<String>,
    #[prost(int64, optional, tag = "27")]
    pub launch_time: Option<i64>,
    #[prost(int64, optional, tag = "28")]
    pub submit_time: Option<i64>,
    #[prost(string, optional, tag = "29")]
    pub rm_cluster_id: Option<String>,
}

/// The resources that an application uses and has used.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ApplicationResourceUsageReport {
    #[prost(int32, optional, tag = "1")]
    pub num_used_containers: Option<i32>,
    #[prost(int32, optional, tag = "2")]
    pub num_reserved_containers: Option<i32>,
    #[prost(message, optional, tag = "3")]
    pub used_resources: Option<Resource>,
    #[prost(message, optional, tag = "4")]
    pub reserved_resources: Option<Resource>,
    #[prost(message, optional, tag = "5")]
    pub needed_resources: Option<Resource>,
    #[prost(int64, optional, tag = "6")]
    pub memory_seconds: Option<i64>,
    #[prost(int64, optional, tag = "7")]
    pub vcore_seconds: Option<i64>,
    #[prost(float, optional, tag = "8")]
    pub queue_usage_percentage: Option<f32>,
    #[prost(float, optional, tag = "9")]
    pub cluster_usage_percentage: Option<f32>,
    #[prost(int64, optional, tag = "10")]
    pub preempted_memory_seconds: Option<i64>,
    #[prost(int64, optional, tag = "11")]
    pub preempted_vcore_seconds: Option<i64>,
    #[prost(message, repeated, tag = "12")]
    pub application_resource_usage_map: Vec<StringLongMap>,
    #[prost(message, repeated, tag = "13")]
    pub application_preempted_resource_usage_map: Vec<StringLongMap>,
}

/// Requests the report of an attempt.
#[derive(Clone, PartialEq, prost::Message)]
pub struct GetApplicationAttemptReportRequest {
    #[prost(message, optional, tag = "1")]
    pub application_attempt_id: Option<ApplicationAttemptId>,
}

/// The report of an attempt.
#[derive(Clone, PartialEq, prost::Message)]
pub struct GetApplicationAttemptReportResponse {
    #[prost(message, optional, tag = "1")]
    pub application_attempt_report: Option<ApplicationAttemptReport>,
}

/// The state of an attempt.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ApplicationAttemptReport {
    #[prost(message, optional, tag = "1")]
    pub application_attempt_id: Option<ApplicationAttemptId>,
    #[prost(string, optional, tag = "2")]
    pub host: Option<String>,
    #[prost(int32, optional, tag = "3")]
    pub rpc_port: Option<i32>,
    #[prost(string, optional, tag = "4")]
    pub tracking_url: Option<String>,
    #[prost(string, optional, tag = "5", default = "N/A")]
    pub diagnostics: Option<String>,
    #[prost(enumeration = "YarnApplicationAttemptState", optional, tag = "6")]
    pub yarn_application_attempt_state: Option<i32>,
    #[prost(message, optional, tag = "7")]
    pub am_container_id: Option<ContainerId>,
    #[prost(string, optional, tag = "8")]
    pub original_tracking_url: Option<String>,
    #[prost(int64, optional, tag = "9")]
    pub start_time: Option<i64>,
    #[prost(int64, optional, tag = "10")]
    pub finish_time: Option<i64>,
}

/// Requests the containers of an attempt.
#[derive(Clone, PartialEq, prost::Message)]
pub struct GetContainersRequest {
    #[prost(message, optional, tag = "1")]
    pub application_attempt_id: Option<ApplicationAttemptId>,
}

/// The known containers of an attempt.
#[derive(Clone, PartialEq, prost::Message)]
pub struct GetContainersResponse {
    #[prost(message, repeated, tag = "1")]
    pub containers: Vec<ContainerReport>,
}

/// The state of a container, and the URL of its logs.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ContainerReport {
    #[prost(message, optional, tag = "1")]
    pub container_id: Option<ContainerId>,
    #[prost(message, optional, tag = "2")]
    pub resource: Option<Resource>,
    #[prost(message, optional, tag = "3")]
    pub node_id: Option<NodeId>,
    #[prost(message, optional, tag = "4")]
    pub priority: Option<Priority>,
    #[prost(int64, optional, tag = "5")]
    pub creation_time: Option<i64>,
    #[prost(int64, optional, tag = "6")]
    pub finish_time: Option<i64>,
    #[prost(string, optional, tag = "7", default = "N/A")]
    pub diagnostics_info: Option<String>,
    #[prost(string, optional, tag = "8")]
    pub log_url: Option<String>,
    #[prost(int32, optional, tag = "9")]
    pub container_exit_status: Option<i32>,
    #[prost(enumeration = "ContainerState", optional, tag = "10")]
    pub container_state: Option<i32>,
    #[prost(string, optional, tag = "11")]
    pub node_http_address: Option<String>,
}

/// Kills an application by its id.
#[derive(Clone, PartialEq, prost::Message)]
pub struct KillApplicationRequest {
    #[prost(message, optional, tag = "1")]
    pub application_id: Option<ApplicationId>,
    #[prost(string, optional, tag = "2")]
    pub diagnostics: Option<String>,
}

/// Whether the application is dead; if not, the request is repeated.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct KillApplicationResponse {
    #[prost(bool, optional, tag = "1", default = "false")]
    pub is_kill_completed: Option<bool>,
}

/// Requests the reports of all matching applications.
#[derive(Clone, PartialEq, prost::Message)]
pub struct GetApplicationsRequest {
    #[prost(string, repeated, tag = "1")]
    pub application_types: Vec<String>,
    #[prost(enumeration = "YarnApplicationState", repeated, packed = "false", tag = "2")]
    pub application_states: Vec<i32>,
    #[prost(string, repeated, tag = "3")]
    pub users: Vec<String>,
    #[prost(string, repeated, tag = "4")]
    pub queues: Vec<String>,
    #[prost(int64, optional, tag = "5")]
    pub limit: Option<i64>,
    #[prost(int64, optional, tag = "6")]
    pub start_begin: Option<i64>,
    #[prost(int64, optional, tag = "7")]
    pub start_end: Option<i64>,
    #[prost(int64, optional, tag = "8")]
    pub finish_begin: Option<i64>,
    #[prost(int64, optional, tag = "9")]
    pub finish_end: Option<i64>,
    #[prost(string, repeated, tag = "10")]
    pub application_tags: Vec<String>,
    #[prost(string, optional, tag = "12")]
    pub name: Option<String>,
}

/// The reports of applications.
#[derive(Clone, PartialEq, prost::Message)]
pub struct GetApplicationsResponse {
    #[prost(message, repeated, tag = "1")]
    pub applications: Vec<ApplicationReport>,
}

/// The states of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum YarnApplicationState {
    New = 1,
    NewSaving = 2,
    Submitted = 3,
    Accepted = 4,
    Running = 5,
    Finished = 6,
    Failed = 7,
    Killed = 8,
}

/// The states of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum YarnApplicationAttemptState {
    New = 1,
    Submitted = 2,
    Scheduled = 3,
    AllocatedSaving = 4,
    Allocated = 5,
    Launched = 6,
    Failed = 7,
    Running = 8,
    Finishing = 9,
    Finished = 10,
    Killed = 11,
}

/// The final status that an application reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum FinalApplicationStatus {
    Undefined = 0,
    Succeeded = 1,
    Failed = 2,
    Killed = 3,
    Ended = 4,
}
