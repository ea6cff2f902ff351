//! What an ApplicationMaster says to NodeManagers: containers start, stop, and stand somehow.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::ipc::{CallError, Identity, Protocol, Repeat, Retry, Service};
use crate::messages::container::{
    ContainerExceptionMap, GetContainerStatusesRequest, GetContainerStatusesResponse, StartContainerRequest,
    StartContainersRequest, StartContainersResponse, StopContainersRequest, StopContainersResponse,
};
use crate::messages::launch::ContainerLaunchContext;
use crate::messages::master::{Container, ContainerStatus};
use crate::messages::records::{ContainerId, NodeId};
use crate::messages::security::Token;

/// Tokens for NodeManagers. One comes with the first container on a node and not again, so they are kept for the
/// attempt's life; a later one replaces an earlier one. As many as the attempt has met nodes.
#[derive(Clone, Debug, Default)]
pub struct NodeTokens(Arc<Mutex<BTreeMap<NodeId, Token>>>);

impl NodeTokens {
    /// Keeps a token.
    pub fn keep(&self, node: NodeId, token: Token) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(node, token);
    }

    /// The token for a node.
    #[must_use]
    pub fn of(&self, node: &NodeId) -> Option<Token> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(node).cloned()
    }
}

/// Why a NodeManager did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The ResourceManager sent no token for it.
    #[error("there is no token for the NodeManager {0}")]
    NoToken(NodeId),
    /// It was not reached, or refused the call.
    #[error("the NodeManager {node}: {error}")]
    Call {
        /// The node.
        node: NodeId,
        /// Why.
        error: CallError,
    },
    /// It refused one container.
    #[error("the NodeManager {node} refused {container}: {message}")]
    Refused {
        /// The node.
        node: NodeId,
        /// The container.
        container: ContainerId,
        /// Its words.
        message: String,
    },
}

/// An ApplicationMaster's conversations with NodeManagers. Each call has a connection of its own, as Hadoop's have.
#[derive(Clone, Debug)]
pub struct NmClient {
    tokens: NodeTokens,
    retry: Retry,
}

impl NmClient {
    /// One with these tokens.
    #[must_use]
    pub fn new(tokens: NodeTokens, retry: Retry) -> Self {
        Self { tokens, retry }
    }

    /// Starts a container that was granted. That it was taken does not mean that it runs: what goes wrong later, a
    /// ResourceManager tells as the container's end.
    ///
    /// # Errors
    /// When the container was refused, or the NodeManager not reached. Where the answer was lost it is asked again, and that
    /// the container is there already is no error.
    pub async fn start(&self, granted: &Container, launch: ContainerLaunchContext) -> Result<(), NodeError> {
        let (node, container) = place(granted);
        let request = StartContainersRequest {
            start_container_request: vec![StartContainerRequest {
                container_launch_context: Some(launch),
                container_token: granted.container_token.clone(),
            }],
        };
        let answer: StartContainersResponse = self.call(&node, "startContainers", &request).await?;
        match refusal(&node, &answer.failed_requests) {
            Some(NodeError::Refused { message, .. }) if is_there_already(&message) => Ok(()),
            Some(refusal) => Err(refusal),
            None if answer.succeeded_requests.contains(&container) => Ok(()),
            None => {
                let message = "it says nothing of it".to_owned();
                Err(NodeError::Refused { node, container, message })
            }
        }
    }

    /// Stops a container: it is asked to end, and killed a moment later.
    ///
    /// # Errors
    /// When it is not known there, or the NodeManager not reached.
    pub async fn stop(&self, node: &NodeId, container: ContainerId) -> Result<(), NodeError> {
        let request = StopContainersRequest { container_id: vec![container] };
        let answer: StopContainersResponse = self.call(node, "stopContainers", &request).await?;
        refusal(node, &answer.failed_requests).map_or(Ok(()), Err)
    }

    /// How a container stands. A NodeManager knows one that has ended for a while.
    ///
    /// # Errors
    /// When it is not known there, or the NodeManager not reached.
    pub async fn status(&self, node: &NodeId, container: ContainerId) -> Result<ContainerStatus, NodeError> {
        let request = GetContainerStatusesRequest { container_id: vec![container] };
        let answer: GetContainerStatusesResponse = self.call(node, "getContainerStatuses", &request).await?;
        match refusal(node, &answer.failed_requests) {
            Some(refusal) => Err(refusal),
            None => Ok(answer.status.into_iter().next().unwrap_or_default()),
        }
    }

    async fn call<A: prost::Message + Default>(
        &self,
        node: &NodeId,
        method: &'static str,
        request: &impl prost::Message,
    ) -> Result<A, NodeError> {
        let token = self.tokens.of(node).ok_or_else(|| NodeError::NoToken(node.clone()))?;
        let identity = Identity::Token(token);
        let service =
            Service::new(vec![node.to_string()], Protocol::ContainerManagement, identity, self.retry);
        let called = service.call(method, request, Repeat::Harmless).await;
        called.map_err(|error| NodeError::Call { node: node.clone(), error })
    }
}

fn place(granted: &Container) -> (NodeId, ContainerId) {
    (granted.node_id.clone().unwrap_or_default(), granted.id.unwrap_or_default())
}

fn refusal(node: &NodeId, failed: &[ContainerExceptionMap]) -> Option<NodeError> {
    let failure = failed.first()?;
    let message = failure.exception.as_ref().map(|exception| exception.message().to_owned());
    Some(NodeError::Refused {
        node: node.clone(),
        container: failure.container_id.unwrap_or_default(),
        message: message.unwrap_or_default(),
    })
}

/// A NodeManager has no class of its own for that.
fn is_there_already(message: &str) -> bool {
    message.contains("already is running on this node")
        || message.contains("Attempt to relaunch the same container")
}
