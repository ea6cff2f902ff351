//! The ApplicationMaster's client of its ResourceManager. It registers once, requests containers in every heartbeat,
//! and reports the end.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::sleep;

use crate::heartbeats::{Acknowledged, Changes, Heartbeats};
use crate::ipc::{CallError, Idempotence, Identity, Kind, Protocol, Retry, Service};
use crate::messages::master::{
    AllocateResponse, Container, FinishApplicationMasterRequest, FinishApplicationMasterResponse, NmToken,
    RegisterApplicationMasterRequest, RegisterApplicationMasterResponse,
};
use crate::messages::records::FinalApplicationStatus;
use crate::messages::records::NodeId;
use crate::messages::security::Token;
use crate::nm_client::GrantedContainer;

/// The pause between two reports that an application is over.
const FINISH_PAUSE: Duration = Duration::from_millis(100);

/// An ApplicationMaster's client of its ResourceManager.
#[derive(Debug)]
pub struct AmRmClient {
    service: Service,
    heartbeats: Heartbeats,
    /// The tokens for NodeManagers. The ResourceManager sends a token only with the first container on a node, so
    /// tokens are kept for the whole attempt. A later token replaces an earlier one.
    tokens: BTreeMap<NodeId, Token>,
}

impl AmRmClient {
    /// Makes a client for these addresses of schedulers (`host:port`), with the token of the attempt.
    #[must_use]
    pub fn new(addresses: Vec<String>, token: Token, retry: Retry) -> Self {
        Self {
            service: Service::new(addresses, Protocol::ApplicationMaster, Identity::Token(token), retry),
            heartbeats: Heartbeats::default(),
            tokens: BTreeMap::new(),
        }
    }

    /// Registers the ApplicationMaster, with the address at which it listens (port -1 if it does not
    /// listen) and its tracking URL.
    ///
    /// # Errors
    /// The ApplicationMaster is already registered, or it is unknown whether the registration succeeded. A registration
    /// is not repeated. Also any error of a call.
    pub async fn register(
        &mut self,
        host: &str,
        port: i32,
        tracking_url: &str,
    ) -> Result<RegisterApplicationMasterResponse, CallError> {
        let registration = RegisterApplicationMasterRequest {
            host: Some(host.to_owned()),
            rpc_port: Some(port),
            tracking_url: Some(tracking_url.to_owned()),
        };
        let answer: RegisterApplicationMasterResponse =
            self.service.call("registerApplicationMaster", &registration, Idempotence::NotIdempotent).await?;
        self.keep(&answer.nm_tokens_from_previous_attempts);
        Ok(answer)
    }

    /// Sends one heartbeat. It reports changes, and receives the containers that were granted or have ended since the
    /// last heartbeat. The ApplicationMaster itself counts its wanted containers.
    ///
    /// # Errors
    /// `NotRegistered` if the ResourceManager has lost the registration. Then the ApplicationMaster registers again and
    /// reports everything. `ApplicationAttemptNotFound` if the attempt is over. Also any error of a call. The next
    /// heartbeat then repeats the changes of this one.
    pub async fn allocate(&mut self, changes: Changes, progress: f32) -> Result<AllocateResponse, CallError> {
        self.heartbeats.add(changes);
        let mut all: Option<AllocateResponse> = None;
        // At most two requests: first the one that was not answered, then the new changes.
        for _ in 0..2 {
            let request = self.heartbeats.next(progress);
            let response: AllocateResponse =
                match self.service.call("allocate", &request, Idempotence::Idempotent).await {
                    Ok(response) => response,
                    Err(failure) => {
                        match failure.kind() {
                            Some(Kind::NotRegistered) => self.heartbeats.forgotten(),
                            Some(_) => self.heartbeats.refused(),
                            None => {}
                        }
                        // An error must not lose the content of the first response.
                        return all.ok_or(failure);
                    }
                };
            self.keep(&response.nm_tokens);
            if let Some(token) = response.am_rm_token.clone() {
                self.service.identify(Identity::Token(token)).await;
            }
            let acknowledged = self.heartbeats.answered(&response);
            if acknowledged != Acknowledged::Repeated {
                all = Some(match all {
                    Some(earlier) => joined(earlier, response),
                    None => response,
                });
            }
            if acknowledged != Acknowledged::More {
                break;
            }
        }
        Ok(all.unwrap_or_default())
    }

    /// Reports that the application is over. Returns when the ResourceManager has recorded it.
    ///
    /// # Errors
    /// Any error of a call.
    pub async fn finish(
        &mut self,
        status: FinalApplicationStatus,
        diagnostics: &str,
        tracking_url: &str,
    ) -> Result<(), CallError> {
        let request = FinishApplicationMasterRequest {
            diagnostics: Some(diagnostics.to_owned()),
            tracking_url: Some(tracking_url.to_owned()),
            final_application_status: Some(status.into()),
        };
        loop {
            let answer: FinishApplicationMasterResponse =
                self.service.call("finishApplicationMaster", &request, Idempotence::Idempotent).await?;
            if answer.is_unregistered() {
                return Ok(());
            }
            sleep(FINISH_PAUSE).await;
        }
    }

    /// A granted container, with the token for its NodeManager.
    #[must_use]
    pub fn granted(&self, container: Container) -> GrantedContainer {
        let token = container.node_id.as_ref().and_then(|node| self.tokens.get(node)).cloned();
        GrantedContainer { container, token }
    }

    fn keep(&mut self, tokens: &[NmToken]) {
        for NmToken { node_id, token } in tokens {
            if let (Some(node), Some(token)) = (node_id, token) {
                self.tokens.insert(node.clone(), token.clone());
            }
        }
    }
}

/// Joins two consecutive responses into one. The state of the cluster comes from the later response.
fn joined(mut earlier: AllocateResponse, mut later: AllocateResponse) -> AllocateResponse {
    earlier.allocated_containers.append(&mut later.allocated_containers);
    earlier.completed_container_statuses.append(&mut later.completed_container_statuses);
    earlier.updated_nodes.append(&mut later.updated_nodes);
    AllocateResponse {
        allocated_containers: earlier.allocated_containers,
        completed_container_statuses: earlier.completed_container_statuses,
        updated_nodes: earlier.updated_nodes,
        ..later
    }
}
