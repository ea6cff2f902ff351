//! No two leaders give the same id.
//!
//! Reason: peers that were separated refer to things by their ids later. A Worker that returns names its executors, and
//! a driver its application. If two leaders gave the same id, one executor or application would be confused with
//! another.

use std::collections::BTreeMap;

use firesteel_protocol::ids::{AppId, ExecutorKey};
use firesteel_protocol::messages::{MasterToDriver, MasterToWorker};

use crate::cluster::network::message::Message;
use crate::cluster::processes::node::Body;
use crate::cluster::world::{NodeIndex, World};

/// The node and the epoch for which each id was given.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    executors: BTreeMap<ExecutorKey, FirstUse>,
    apps: BTreeMap<AppId, FirstUse>,
}

#[derive(Clone, Copy, Debug)]
struct FirstUse {
    epoch: u64,
    /// The Worker or driver that received the id.
    to: NodeIndex,
}

impl FirstUse {
    /// Enters an id. If another node already has the id, returns the epoch in which that node got it.
    fn enter<K: Ord + Clone>(self, books: &mut BTreeMap<K, Self>, id: &K) -> Result<(), u64> {
        match *books.entry(id.clone()).or_insert(self) {
            Self { epoch, to } if to != self.to => Err(epoch),
            Self { .. } => Ok(()),
        }
    }
}

impl World {
    /// Checks the ids in a message that a leader sends to a node.
    pub(crate) fn check_numbers(&mut self, master: NodeIndex, to: NodeIndex, message: &Message) {
        let Some(epoch) = self.terms.epoch_of(master) else { return };
        let is_owner = matches!(self.node(to).body, Body::Driver(_) | Body::Launcher(_));
        let given = FirstUse { epoch, to };
        let numbers = &mut self.terms.numbers;
        let twice = match message {
            Message::MasterToWorker(MasterToWorker::LaunchExecutor(launch)) => given
                .enter(&mut numbers.executors, &launch.executor)
                .map_err(|first| (format!("executor id {}", launch.executor), first)),
            Message::MasterToDriver(MasterToDriver::RegisteredApplication { app, .. }) if is_owner => {
                given.enter(&mut numbers.apps, app).map_err(|first| (format!("application id {app}"), first))
            }
            _ => Ok(()),
        };
        if let Err((id, first)) = twice {
            self.violate(format!("{id} was given in epoch {first}, and is given again in epoch {epoch}"));
        }
    }
}
