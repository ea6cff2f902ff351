//! Starts containers: a limited number at the same time, each with its own calls to its NodeManager.

use std::sync::Arc;

use firesteel_application_master::{Event, Launch};
use firesteel_yarn::{GrantedContainer, NmClient};
use tokio::sync::Semaphore;

use super::context::Launching;
use firesteel_host::inbox::Inbox;

/// Starts containers. The queue of waiting containers is never longer than the number of granted containers.
#[derive(Debug)]
pub(super) struct Launches {
    nodes: NmClient,
    launching: Arc<Launching>,
    turns: Arc<Semaphore>,
}

impl Launches {
    /// Makes a starter that starts at most this number of containers at the same time.
    pub(super) fn new(nodes: NmClient, launching: Arc<Launching>, at_once: usize) -> Self {
        Self { nodes, launching, turns: Arc::new(Semaphore::new(at_once)) }
    }

    /// Starts a container. The inbox receives `ContainerStarted` or `ContainerStartFailed`.
    pub(super) fn start(&self, launch: Launch, inbox: Inbox<Event>) {
        let (nodes, turns) = (self.nodes.clone(), Arc::clone(&self.turns));
        let handle = launch.node.as_ref().map(|node| node.handle.clone());
        let container = launch.container.clone();
        let context = self.launching.context(launch);
        tokio::spawn(async move {
            let Ok(_turn) = turns.acquire_owned().await else { return };
            let granted = handle.and_then(|handle| GrantedContainer::from_bytes(handle.as_bytes()).ok());
            let started = match granted {
                Some(granted) => nodes.start(granted, context).await.map_err(|error| error.to_string()),
                None => Err("it was never granted".to_owned()),
            };
            let event = match started {
                Ok(()) => Event::ContainerStarted { container },
                Err(error) => Event::ContainerStartFailed { container, error },
            };
            // If the ApplicationMaster has ended, its containers end with it.
            let _ = inbox.send(event).await;
        });
    }
}
