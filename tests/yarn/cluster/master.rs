//! An ApplicationMaster that requests one container at a time.

use std::time::Duration;

use firesteel_testkit::yarn::YarnCluster;
use firesteel_yarn::heartbeats::Changes;
use firesteel_yarn::ipc::{CallError, Kind};
use firesteel_yarn::messages::master::{
    AllocateResponse, ContainerStatus, RegisterApplicationMasterResponse, ResourceRequest,
};
use firesteel_yarn::messages::records::Resource;
use firesteel_yarn::messages::resource::ANYWHERE;
use firesteel_yarn::messages::security::Token;
use firesteel_yarn::{AmRmClient, GrantedContainer};

use super::unmanaged::RETRY;
use crate::wait::wait_async;

/// The limit for an answer.
const LONGEST: Duration = Duration::from_secs(60);

/// An ApplicationMaster in the tests' own process.
pub(crate) struct Master {
    pub(crate) client: AmRmClient,
    /// Its whole request, repeated for a ResourceManager that has forgotten it.
    wanted: Changes,
}

impl Master {
    /// The ApplicationMaster of an attempt with this token.
    pub(crate) fn new(cluster: &YarnCluster, token: Token) -> Self {
        let client = AmRmClient::new(vec![cluster.scheduler.clone()], token, RETRY);
        Self { client, wanted: Changes::default() }
    }

    pub(crate) async fn register(&mut self) -> Result<RegisterApplicationMasterResponse, CallError> {
        self.client.register("127.0.0.1", -1, "").await
    }

    /// Requests a container on this host only, and waits for it.
    pub(crate) async fn granted(&mut self, host: &str, rack: &str) -> GrantedContainer {
        self.wanted = wanted(host, rack, 1);
        let granted = self.heard(|response| response.allocated_containers.first().cloned()).await;
        self.wanted = wanted(host, rack, 0);
        self.client.granted(granted)
    }

    /// Waits until a container has ended.
    pub(crate) async fn ended(&mut self) -> ContainerStatus {
        self.heard(|response| response.completed_container_statuses.first().cloned()).await
    }

    /// Sends heartbeats until `what` returns a value.
    async fn heard<T>(&mut self, what: impl Fn(&AllocateResponse) -> Option<T>) -> T {
        let mut changes = self.wanted.clone();
        let heartbeat = async || match self.client.allocate(std::mem::take(&mut changes), 0.1).await {
            Ok(response) => what(&response),
            Err(error) if error.kind() == Some(Kind::NotRegistered) => {
                self.register().await.expect("it was registered before");
                changes = self.wanted.clone();
                None
            }
            Err(error) => panic!("the ResourceManager answers: {error}"),
        };
        wait_async("the ResourceManager", LONGEST, heartbeat).await
    }
}

/// Requests containers on one host. They also count for its rack and anywhere, but are not granted there.
fn wanted(host: &str, rack: &str, count: i32) -> Changes {
    let ask = |place: &str| {
        let ask = ResourceRequest::new(0, place, Resource::new(256, 1), count);
        ResourceRequest { relax_locality: Some(place == host), ..ask }
    };
    Changes { ask: [host, rack, ANYWHERE].map(ask).into(), ..Changes::default() }
}
