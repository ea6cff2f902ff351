//! The law that one Master sends messages in an epoch, and no messages after a later epoch has begun.
//!
//! Reason: the decisions of two independent Masters cannot both hold. So the next Master must know every message that a
//! Master has sent. The next Master reads the journal only once, when it begins.

use std::collections::BTreeMap;

use super::Terms;
use crate::cluster::network::message::Message;
use crate::cluster::processes::node::Body;
use crate::cluster::world::{NodeIndex, World};

/// Which Master first sent a message in each epoch.
#[derive(Debug, Default)]
pub(super) struct FirstSpeakers(BTreeMap<u64, NodeIndex>);

impl Terms {
    fn speaks(&mut self, node: NodeIndex) -> Result<(), String> {
        let Some(epoch) = self.epoch_of(node) else {
            return Err("a Master speaks that stands by".to_owned());
        };
        let latest = self.latest;
        if epoch < latest {
            return Err(format!("the Master of epoch {epoch} speaks after epoch {latest} has begun"));
        }
        match *self.voices.0.entry(epoch).or_insert(node) {
            first if first == node => Ok(()),
            _ => Err(format!("two Masters speak in epoch {epoch}")),
        }
    }
}

impl World {
    /// Checks a message that a node is about to send.
    pub(crate) fn check_voice(&mut self, node: NodeIndex, message: &Message) {
        let is_a_masters = matches!(
            message,
            Message::MasterToWorker(_) | Message::MasterToDriver(_) | Message::MasterToClient(_)
        );
        let is_master = matches!(self.node(node).body, Body::Master(_) | Body::Standby { .. });
        if is_a_masters && is_master && self.is_elected() {
            let result = self.terms.speaks(node);
            self.hold(result.map_err(|sentence| format!("{sentence}: {message:?}")));
        }
    }
}
