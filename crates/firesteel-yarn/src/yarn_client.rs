//! A user's client of a ResourceManager.

use std::time::Duration;

use tokio::time::sleep;

use crate::ipc::{CallError, Idempotence, Identity, Protocol, Retry, Service};
use crate::messages::application::{
    ApplicationAttemptReport, ApplicationReport, ApplicationSubmissionContext, ContainerReport,
    GetApplicationAttemptReportRequest, GetApplicationAttemptReportResponse, GetApplicationReportRequest,
    GetApplicationReportResponse, GetApplicationsRequest, GetApplicationsResponse, GetContainersRequest,
    GetContainersResponse, GetNewApplicationRequest, GetNewApplicationResponse, KillApplicationRequest,
    KillApplicationResponse, SubmitApplicationRequest, SubmitApplicationResponse,
};
use crate::messages::cluster::{GetClusterNodesRequest, GetClusterNodesResponse, NodeReport, NodeState};
use crate::messages::records::{ApplicationAttemptId, ApplicationId};

/// The pause between two requests to kill an application that has not ended yet.
const KILL_PAUSE: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub struct YarnClient {
    service: Service,
}

impl YarnClient {
    /// Makes a client for these addresses (`host:port`; several if there are standby ResourceManagers), as this user.
    #[must_use]
    pub fn new(addresses: Vec<String>, user: &str, retry: Retry) -> Self {
        let identity = Identity::Simple { user: user.to_owned() };
        Self { service: Service::new(addresses, Protocol::ApplicationClient, identity, retry) }
    }

    /// A new id for an application, and the largest container that can be granted.
    ///
    /// # Errors
    /// Any error of a call: see [`CallError`].
    pub async fn new_application(&self) -> Result<GetNewApplicationResponse, CallError> {
        // A repeated call only wastes an id.
        self.service.call("getNewApplication", &GetNewApplicationRequest {}, Idempotence::Idempotent).await
    }

    /// Submits an application. Submitting the same id again changes nothing.
    ///
    /// # Errors
    /// The application is refused, or any error of a call.
    pub async fn submit(&self, context: ApplicationSubmissionContext) -> Result<(), CallError> {
        let request = SubmitApplicationRequest { application_submission_context: Some(context) };
        let SubmitApplicationResponse {} =
            self.service.call("submitApplication", &request, Idempotence::Idempotent).await?;
        Ok(())
    }

    /// The report of an application.
    ///
    /// # Errors
    /// `ApplicationNotFound` if the application is unknown, or any error of a call.
    pub async fn report(&self, application: ApplicationId) -> Result<ApplicationReport, CallError> {
        let request = GetApplicationReportRequest { application_id: Some(application) };
        let answer: GetApplicationReportResponse =
            self.service.call("getApplicationReport", &request, Idempotence::Idempotent).await?;
        Ok(answer.application_report.unwrap_or_default())
    }

    /// The report of an attempt.
    ///
    /// # Errors
    /// `ApplicationAttemptNotFound` if the attempt is unknown, or any error of a call.
    pub async fn attempt_report(
        &self,
        attempt: ApplicationAttemptId,
    ) -> Result<ApplicationAttemptReport, CallError> {
        let request = GetApplicationAttemptReportRequest { application_attempt_id: Some(attempt) };
        let answer: GetApplicationAttemptReportResponse =
            self.service.call("getApplicationAttemptReport", &request, Idempotence::Idempotent).await?;
        Ok(answer.application_attempt_report.unwrap_or_default())
    }

    /// The containers of an attempt: all running containers, and perhaps some ended ones.
    ///
    /// # Errors
    ///
    /// The attempt is unknown, or any error of a call.
    pub async fn containers(&self, attempt: ApplicationAttemptId) -> Result<Vec<ContainerReport>, CallError> {
        let request = GetContainersRequest { application_attempt_id: Some(attempt) };
        let answer: GetContainersResponse =
            self.service.call("getContainers", &request, Idempotence::Idempotent).await?;
        Ok(answer.containers)
    }

    /// The reports of the matching applications.
    ///
    /// # Errors
    /// Any error of a call.
    pub async fn applications(
        &self,
        matching: GetApplicationsRequest,
    ) -> Result<Vec<ApplicationReport>, CallError> {
        let answer: GetApplicationsResponse =
            self.service.call("getApplications", &matching, Idempotence::Idempotent).await?;
        Ok(answer.applications)
    }

    /// Kills an application, and returns when its state is final. Waits without a time limit.
    ///
    /// # Errors
    ///
    /// Any error of a call.
    pub async fn kill(&self, application: ApplicationId, diagnostics: &str) -> Result<(), CallError> {
        let request = KillApplicationRequest {
            application_id: Some(application),
            diagnostics: Some(diagnostics.to_owned()),
        };
        loop {
            let answer: KillApplicationResponse =
                self.service.call("forceKillApplication", &request, Idempotence::Idempotent).await?;
            if answer.is_kill_completed() {
                return Ok(());
            }
            sleep(KILL_PAUSE).await;
        }
    }

    /// The nodes in these states.
    ///
    /// # Errors
    /// Any error of a call.
    pub async fn nodes(&self, states: &[NodeState]) -> Result<Vec<NodeReport>, CallError> {
        let states = states.iter().map(|&state| state.into());
        let request = GetClusterNodesRequest { node_states: states.collect() };
        let answer: GetClusterNodesResponse =
            self.service.call("getClusterNodes", &request, Idempotence::Idempotent).await?;
        Ok(answer.node_reports)
    }
}
