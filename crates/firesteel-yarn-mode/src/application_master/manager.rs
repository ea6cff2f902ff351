//! The calls to the ResourceManager. One task makes one call at a time.

use std::collections::BTreeMap;
use std::time::Duration;

use firesteel_application_master::allocator::{
    AllocateFailure, Allocated, Ask, Call, Completed, ContainerSize, Granted, Location,
};
use firesteel_application_master::{ContainerHandle, Event, FinalStatus, Node};
use firesteel_placement::{Cores, MiB};
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{ContainerId, ProfileId};
use firesteel_yarn::AmRmClient;
use firesteel_yarn::heartbeats::Changes;
use firesteel_yarn::ipc::{CallError, Delivery, Kind};
use firesteel_yarn::messages::cluster::NodeState;
use firesteel_yarn::messages::master::{AllocateResponse, AmCommand, Container, ResourceRequest};
use firesteel_yarn::messages::records::FinalApplicationStatus;
use firesteel_yarn::messages::records::{self, Resource};
use tokio::sync::mpsc;
use tokio::time::sleep;

use crate::blueprint::Blueprint;
use firesteel_host::inbox::Inbox;

/// The progress that an ApplicationMaster reports. The real progress is unknown; Spark reports the same value.
const PROGRESS: f32 = 0.1;
/// The maximum number of queued requests. The state machine sends one at a time, and one more at its end.
const QUEUE: usize = 4;
/// The pause between two attempts to register, if the response to the first one was lost.
const REGISTER_PAUSE: Duration = Duration::from_secs(1);
/// The maximum number of attempts to register, if responses are lost.
const REGISTRATIONS: u32 = 3;

#[derive(Debug)]
pub(super) enum ManagerRequest {
    Register,
    Allocate(Call),
    Unregister { status: FinalStatus, message: String },
}

/// The handle of the task that calls the ResourceManager.
#[derive(Debug)]
pub(super) struct Manager {
    requests: mpsc::Sender<ManagerRequest>,
}

impl Manager {
    /// Starts the task, which ends when the handle is dropped. Drivers find the ApplicationMaster at
    /// `address`.
    pub(super) fn start(
        client: AmRmClient,
        address: &Address,
        blueprint: &Blueprint,
        node_label: Option<String>,
        inbox: Inbox<Event>,
    ) -> Self {
        let (sender, requests) = mpsc::channel(QUEUE);
        let scheme = if blueprint.hadoop.https { "https" } else { "http" };
        let task = ManagerTask {
            client,
            address: address.clone(),
            scheme,
            user: blueprint.user.clone(),
            node_label,
            inbox,
        };
        tokio::spawn(task.run(requests));
        Self { requests: sender }
    }

    pub(super) fn send(&self, request: ManagerRequest) {
        self.requests.try_send(request).expect("the machine waits for an answer before its next request");
    }
}

struct ManagerTask {
    client: AmRmClient,
    address: Address,
    scheme: &'static str,
    user: String,
    node_label: Option<String>,
    inbox: Inbox<Event>,
}

impl ManagerTask {
    async fn run(mut self, mut requests: mpsc::Receiver<ManagerRequest>) {
        let mut next = requests.recv().await;
        while let Some(request) = next {
            let (event, later) = match request {
                ManagerRequest::Register => (self.register().await, None),
                // Near the end, do not wait for a ResourceManager that does not answer.
                ManagerRequest::Allocate(call) => tokio::select! {
                    event = self.allocate(call) => (event, None),
                    later = requests.recv() => match later {
                        Some(later) => (None, Some(later)),
                        None => return,
                    },
                },
                ManagerRequest::Unregister { status, message } => {
                    (Some(self.unregister(status, &message).await), None)
                }
            };
            if let Some(event) = event
                && self.inbox.send(event).await.is_err()
            {
                return;
            }
            next = match later {
                Some(later) => Some(later),
                None => requests.recv().await,
            };
        }
    }

    /// Registers the attempt. If the response is lost, registers again. In this case, it is not an error that the
    /// attempt is already registered.
    async fn register(&mut self) -> Option<Event> {
        let mut unsure = false;
        for tried in 1.. {
            let port = i32::from(self.address.port);
            match self.client.register(&self.address.host, port, "").await {
                Ok(answer) => {
                    let largest = answer.maximum_capability.unwrap_or_default();
                    return Some(Event::Registered { largest: size(&largest) });
                }
                Err(error) if unsure && error.kind() == Some(Kind::InvalidApplicationMasterRequest) => {
                    let (cores, memory) = (Cores::UNLIMITED, MiB(i64::MAX));
                    let largest = ContainerSize { cores, memory, ..ContainerSize::default() };
                    return Some(Event::Registered { largest });
                }
                Err(error) if error.delivery == Delivery::Unknown && tried < REGISTRATIONS => {
                    unsure = true;
                    sleep(REGISTER_PAUSE).await;
                }
                Err(error) => return Some(Event::RegisterFailed { error: error.to_string() }),
            }
        }
        None
    }

    async fn allocate(&mut self, call: Call) -> Option<Event> {
        let changes = self.changes(call);
        Some(match self.client.allocate(changes, PROGRESS).await {
            Ok(response) => match command(&response) {
                Some(failure) => Event::AllocateFailed(failure),
                None => self.allocated(response),
            },
            Err(error) => Event::AllocateFailed(failure(&error)),
        })
    }

    async fn unregister(&mut self, status: FinalStatus, message: &str) -> Event {
        let status = match status {
            FinalStatus::Undefined => FinalApplicationStatus::Undefined,
            FinalStatus::Succeeded => FinalApplicationStatus::Succeeded,
            FinalStatus::Failed => FinalApplicationStatus::Failed,
            FinalStatus::Killed => FinalApplicationStatus::Killed,
        };
        match self.client.finish(status, message, "").await {
            Ok(()) => Event::Unregistered,
            Err(error) => Event::UnregisterFailed { error: error.to_string() },
        }
    }

    fn changes(&self, call: Call) -> Changes {
        let Call { asks, release, exclude, include } = call;
        // The machine has only ids of granted containers. Other texts are not ids, and are dropped.
        let release = release.iter().filter_map(|container| container.as_str().parse().ok()).collect();
        Changes { ask: asks.iter().map(|ask| self.request(ask)).collect(), release, exclude, include }
    }

    fn request(&self, ask: &Ask) -> ResourceRequest {
        let priority = i32::try_from(ask.profile.0).unwrap_or(i32::MAX);
        let containers = i32::try_from(ask.containers).unwrap_or(i32::MAX);
        let request =
            ResourceRequest::new(priority, &ask.location.to_string(), resource(&ask.size), containers);
        let node_label_expression = match ask.location {
            Location::Any => self.node_label.clone(),
            Location::Host(_) | Location::Rack(_) => None,
        };
        ResourceRequest { node_label_expression, ..request }
    }

    fn allocated(&self, response: AllocateResponse) -> Event {
        let mut nodes = BTreeMap::new();
        let mut granted = Vec::with_capacity(response.allocated_containers.len());
        for container in response.allocated_containers {
            let id = ContainerId::new(container.id.unwrap_or_default().to_string());
            let (address, logs) = (address(container.node_id.as_ref()), self.logs(&container, &id));
            let priority = container.priority.unwrap_or_default().priority();
            let memory = container.resource.as_ref().map_or(0, Resource::memory);
            granted.push(Granted {
                container: id.clone(),
                host: address.host.clone(),
                profile: ProfileId(u32::try_from(priority).unwrap_or(u32::MAX)),
                memory: MiB(memory),
            });
            let handle = ContainerHandle::new(self.client.granted(container).to_bytes());
            nodes.insert(id, Node { address, logs, handle });
        }
        let completed = response.completed_container_statuses.into_iter().map(|ended| Completed {
            container: ContainerId::new(ended.container_id.unwrap_or_default().to_string()),
            status: ended.exit_status(),
            diagnostics: ended.diagnostics().to_owned(),
        });
        let leaving =
            response.updated_nodes.iter().filter(|node| node.node_state() == NodeState::Decommissioning);
        let leaving = leaving.filter_map(|node| Some(node.node_id.as_ref()?.host().to_owned()));
        let machines = u64::try_from(response.num_cluster_nodes.unwrap_or(0)).unwrap_or(0);
        let allocated = Allocated {
            machines,
            granted,
            completed: completed.collect(),
            decommissioning: leaving.collect(),
        };
        Event::Allocated { allocated, nodes }
    }

    /// The URL of the NodeManager's page with the output of a container.
    fn logs(&self, container: &Container, id: &ContainerId) -> String {
        let at = container.node_http_address();
        format!("{}://{at}/node/containerlogs/{id}/{}", self.scheme, self.user)
    }
}

fn address(node: Option<&records::NodeId>) -> Address {
    let (host, port) = node.map_or(("", 0), |node| (node.host(), node.port()));
    Address::new(host, u16::try_from(port).unwrap_or(0))
}

/// The command that older ResourceManagers send in a response instead of an error.
fn command(response: &AllocateResponse) -> Option<AllocateFailure> {
    response.am_command?;
    Some(match response.am_command() {
        AmCommand::Resync => AllocateFailure::NotRegistered,
        AmCommand::Shutdown => AllocateFailure::Replaced,
    })
}

fn failure(error: &CallError) -> AllocateFailure {
    match error.kind() {
        Some(Kind::NotRegistered) => AllocateFailure::NotRegistered,
        // The token of an attempt that is over becomes unknown.
        Some(Kind::ApplicationAttemptNotFound | Kind::ApplicationNotFound | Kind::InvalidToken) => {
            AllocateFailure::Replaced
        }
        Some(
            Kind::InvalidApplicationMasterRequest
            | Kind::InvalidResourceRequest
            | Kind::InvalidBlacklist
            | Kind::InvalidRelease
            | Kind::NodeManagerNotYetReady
            | Kind::Standby
            | Kind::Retriable
            | Kind::AccessDenied
            | Kind::NotSpoken
            | Kind::Other,
        )
        | None => AllocateFailure::Failed(error.to_string()),
    }
}

/// The resources to request for a container.
fn resource(size: &ContainerSize) -> Resource {
    let cores = i32::try_from(size.cores.0).unwrap_or(i32::MAX);
    let asked = Resource::new(size.memory.0, cores);
    size.resources.iter().fold(asked, |asked, (name, amount)| {
        let value = i64::try_from(amount.value).unwrap_or(i64::MAX);
        asked.with(name, value, &amount.unit)
    })
}

fn size(resource: &Resource) -> ContainerSize {
    let (cores, memory) = (i64::from(resource.virtual_cores()), resource.memory());
    ContainerSize { cores: Cores(cores), memory: MiB(memory), ..ContainerSize::default() }
}
