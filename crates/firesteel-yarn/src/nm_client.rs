//! The ApplicationMaster's client of NodeManagers, which starts containers.

use prost::Message as _;

use crate::ipc::{CallError, Idempotence, Identity, Protocol, Retry, Service};
use crate::messages::container::{
    ContainerExceptionMap, StartContainerRequest, StartContainersRequest, StartContainersResponse,
};
use crate::messages::launch::ContainerLaunchContext;
use crate::messages::master::Container;
use crate::messages::records::{ContainerId, NodeId};
use crate::messages::security::Token;

/// A granted container with the token for its NodeManager. This is all that is needed to start the container.
#[derive(Clone, PartialEq, prost::Message)]
pub struct GrantedContainer {
    /// The container, as the ResourceManager described it.
    #[prost(message, required, tag = "1")]
    pub container: Container,
    /// The token, if the ResourceManager sent one.
    #[prost(message, optional, tag = "2")]
    pub token: Option<Token>,
}

impl GrantedContainer {
    /// The bytes of this grant, with which the grant can be stored until the container is started.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.encode_to_vec()
    }

    /// Reads a grant from its bytes.
    ///
    /// # Errors
    /// The bytes are not those of a grant.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, prost::DecodeError> {
        Self::decode(bytes)
    }
}

/// Why a NodeManager did not do what was requested.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    #[error("there is no token for the NodeManager {0}")]
    NoToken(NodeId),
    /// The node could not be reached, or refused the call.
    #[error("the NodeManager {node}: {error}")]
    Call { node: NodeId, error: CallError },
    #[error("the NodeManager {node} refused {container}: {message}")]
    Refused { node: NodeId, container: ContainerId, message: String },
}

/// An ApplicationMaster's client of NodeManagers. Each call has its own connection, as in Hadoop.
#[derive(Clone, Debug)]
pub struct NmClient {
    retry: Retry,
}

impl NmClient {
    #[must_use]
    pub fn new(retry: Retry) -> Self {
        Self { retry }
    }

    /// Starts a granted container. Success does not mean that the container runs: the ResourceManager
    /// reports later errors as the container's end.
    ///
    /// # Errors
    /// The container was refused, or the NodeManager could not be reached. If the response was lost, the request is
    /// repeated; in this case, an existing container is not an error.
    pub async fn start(
        &self,
        granted: GrantedContainer,
        launch: ContainerLaunchContext,
    ) -> Result<(), NodeError> {
        let GrantedContainer { container: granted, token } = granted;
        let (node, container) = (granted.node_id.unwrap_or_default(), granted.id.unwrap_or_default());
        let token = token.ok_or_else(|| NodeError::NoToken(node.clone()))?;
        let request = StartContainersRequest {
            start_container_request: vec![StartContainerRequest {
                container_launch_context: Some(launch),
                container_token: granted.container_token,
            }],
        };
        let (address, identity) = (vec![node.to_string()], Identity::Token(token));
        let service = Service::new(address, Protocol::ContainerManagement, identity, self.retry);
        let called = service.call("startContainers", &request, Idempotence::Idempotent).await;
        let answer: StartContainersResponse =
            called.map_err(|error| NodeError::Call { node: node.clone(), error })?;
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

/// Whether this message means that the container already exists. NodeManagers have no exception class for this.
fn is_there_already(message: &str) -> bool {
    message.contains("already is running on this node")
        || message.contains("Attempt to relaunch the same container")
}
