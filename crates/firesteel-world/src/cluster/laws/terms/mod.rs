//! The books of the leaders of a cluster with several Masters: which Master led in which epoch, which messages it sent,
//! and which peers know. The books share no code with the machines.
//!
//! - `voice`: one Master sends messages in an epoch, and no messages after a later epoch has begun.
//! - `heed`: a peer that has met a later leader leaves the former leaders.
//! - `numbers`: no two leaders give the same id.

mod heed;
mod numbers;
mod voice;

use std::collections::BTreeMap;

use crate::cluster::world::NodeIndex;

use self::heed::EpochsSeen;
use self::numbers::Numbers;
use self::voice::FirstSpeakers;

#[derive(Debug, Default)]
pub(crate) struct Terms {
    /// The epoch of each Master that ever led.
    epochs: BTreeMap<NodeIndex, u64>,
    latest: u64,
    voices: FirstSpeakers,
    heed: EpochsSeen,
    numbers: Numbers,
}

impl Terms {
    /// Records that a Master begins to lead, and returns its epoch. `is_greater` is false only with the deliberate bug
    /// `EpochNotIncreased`: then the Master reuses the latest epoch.
    pub(crate) fn begin(&mut self, node: NodeIndex, is_greater: bool) -> u64 {
        if is_greater || self.latest == 0 {
            self.latest += 1;
        }
        self.epochs.insert(node, self.latest);
        self.latest
    }

    /// The epoch of a Master that leads or led.
    pub(crate) fn epoch_of(&self, node: NodeIndex) -> Option<u64> {
        self.epochs.get(&node).copied()
    }

    pub(crate) fn latest(&self) -> u64 {
        self.latest
    }

    /// Whether another Master has begun to lead after this one.
    pub(crate) fn is_succeeded(&self, node: NodeIndex) -> bool {
        self.epoch_of(node).is_some_and(|epoch| epoch < self.latest)
    }
}
