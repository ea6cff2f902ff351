//! Partitions: no message passes between two parties for some time, in one direction or in both. The messages arrive
//! when the partition ends, unless a side closes the connection earlier.

use super::Fault;
use super::election::ListenerState;
use crate::cluster::network::links::{LinkIndex, Side};
use crate::cluster::processes::node::Body;
use crate::cluster::world::{NodeIndex, World};
use firesteel_sim::dice::Dice;

#[derive(Clone, Debug)]
pub struct Partition {
    /// The beginning, in milliseconds after the start.
    pub from: u64,
    /// The duration in milliseconds. A partition ends when the faults stop, at the latest.
    pub millis: u64,
    /// The parties. No message passes from the first to the second.
    pub parties: [Party; 2],
    /// Whether the other direction is blocked, too.
    pub is_mutual: bool,
}

/// The processes at one place of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Party {
    /// The Master at the listener with this number.
    Master(usize),
    /// The Worker of the machine with this number, and its executors.
    Machine(usize),
    /// The driver or launcher of the application with this number.
    Owner(usize),
}

impl Partition {
    /// Random partitions: in one of four clusters with faults, between up to three pairs of parties.
    pub(crate) fn rolled(
        dice: &mut Dice,
        faults_until: u64,
        [listeners, machines, apps]: [usize; 3],
    ) -> Vec<Self> {
        if faults_until == 0 || !dice.one_in(4) {
            return Vec::new();
        }
        let any = |dice: &mut Dice, kind| {
            let index = |dice: &mut Dice, count| dice.index(count).unwrap_or(0);
            match kind {
                0 => Party::Master(index(dice, listeners)),
                1 => Party::Machine(index(dice, machines)),
                _ => Party::Owner(index(dice, apps)),
            }
        };
        let count = dice.between(1, 3);
        let partition = |_| {
            let (one, step) = (dice.below(3), dice.between(1, 2));
            Self {
                from: dice.below(faults_until),
                millis: dice.between(1_000, 60_000),
                parties: [any(dice, one), any(dice, (one + step) % 3)],
                is_mutual: dice.one_in(2),
            }
        };
        (0..count).map(partition).collect()
    }

    /// Whether the partition blocks messages from `from` to `to`.
    fn stops(&self, from: Party, to: Party) -> bool {
        self.parties == [from, to] || self.is_mutual && self.parties == [to, from]
    }
}

impl World {
    pub(crate) fn part(&mut self, partition: Partition) {
        let until = (self.now + partition.millis).min(self.scenario.faults.until);
        self.fault(Fault::Partition);
        self.parted.push((partition, until));
        (0..self.links.len()).map(LinkIndex).for_each(|link| self.part_link(link));
    }

    /// Holds back messages on a connection between parties that are separated.
    pub(crate) fn part_link(&mut self, link: LinkIndex) {
        if !self.links[link.0].is_open() {
            return;
        }
        for side in Side::BOTH {
            let (from, to) = (self.links[link.0].end(side.other()).node, self.links[link.0].end(side).node);
            if let Some(until) = self.parted_until(from, to) {
                self.links[link.0].stall(side, until);
                if side == Side::Dialler && matches!(self.party_of(from), Some(Party::Master(_))) {
                    self.hang_up_if_silent(link, side, until - self.now);
                }
            }
        }
    }

    /// Whether a partition prevents a node from connecting to another node.
    pub(crate) fn are_parted(&self, one: NodeIndex, other: NodeIndex) -> bool {
        self.parted_until(one, other).or(self.parted_until(other, one)).is_some()
    }

    /// If messages from one node to another are blocked now, returns when they pass again.
    fn parted_until(&self, from: NodeIndex, to: NodeIndex) -> Option<u64> {
        let mut now = self.parted.iter().filter(|(_, until)| self.now < *until).peekable();
        now.peek()?;
        let (from, to) = (self.party_of(from)?, self.party_of(to)?);
        now.filter(|(partition, _)| partition.stops(from, to)).map(|(_, until)| *until).max()
    }

    fn party_of(&self, node: NodeIndex) -> Option<Party> {
        let machine_of =
            |worker| self.workers.iter().position(|one| *one == Some(worker)).map(Party::Machine);
        match &self.node(node).body {
            Body::Master(_) | Body::Standby { .. } => {
                let is_here = |listener: &ListenerState| match listener {
                    ListenerState::Empty => false,
                    ListenerState::Leader(one) | ListenerState::Former(one) | ListenerState::Standby(one) => {
                        *one == node
                    }
                };
                self.listeners.iter().position(is_here).map(Party::Master)
            }
            Body::Worker(_) => machine_of(node),
            Body::Executor(body) => machine_of(body.process.worker),
            Body::Command(process) => machine_of(process.worker),
            Body::Driver(body) => Some(Party::Owner(body.app)),
            Body::Launcher(body) => Some(Party::Owner(body.app)),
            Body::Stranger | Body::Gone => None,
        }
    }
}
