//! The handling of Masters and of invalid messages by a driver or a launcher.

use std::collections::BTreeSet;

use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{ExecutorId, PeerId};
use firesteel_protocol::machine::Effects;
use firesteel_protocol::master_search::connect_error::ConnectError;
use firesteel_protocol::master_search::leadership::LeaderConflict;
use firesteel_protocol::master_search::{Order, Remark};
use firesteel_protocol::messages::{DriverToMaster, MasterToDriver};

use super::registration::{ConnectTimeout, Registration};

/// An action on a peer. For each of these actions, an owner of an application has an effect or a note.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Connect {
        master: Address,
    },
    /// Ask a Master to register the application.
    Ask {
        peer: PeerId,
        message: DriverToMaster,
    },
    Close {
        peer: PeerId,
    },
    /// Note that the application's Master is lost.
    MasterLost {
        master: Address,
    },
    MasterUnreachable {
        master: Address,
        error: String,
        patience: ConnectTimeout,
    },
    /// Note that two Masters both claim to lead.
    LeaderConflict(LeaderConflict),
    UnexpectedMessage {
        peer: PeerId,
    },
}

/// Connections that the owner has begun to close and that have not ended. Their messages are ignored.
#[derive(Clone, Debug, Default)]
pub(crate) struct Closing {
    peers: BTreeSet<PeerId>,
}

impl Closing {
    pub(crate) fn contains(&self, peer: PeerId) -> bool {
        self.peers.contains(&peer)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = PeerId> {
        self.peers.iter().copied()
    }

    pub(crate) fn forget(&mut self, peer: PeerId) {
        self.peers.remove(&peer);
    }

    pub(crate) fn close<E: From<Step>>(&mut self, peer: PeerId, effects: &mut Effects<E>) {
        self.peers.insert(peer);
        effects.push(Step::Close { peer }.into());
    }

    /// Closes a connection after a message that is not valid now.
    pub(crate) fn unexpected<E: From<Step>>(&mut self, peer: PeerId, effects: &mut Effects<E>) {
        if !self.contains(peer) {
            effects.push(Step::UnexpectedMessage { peer }.into());
            self.close(peer, effects);
        }
    }
}

impl Registration {
    /// Whether a message is valid on this connection now. Any Master that was asked may register or refuse the
    /// application. All other messages are valid only from the application's Master.
    pub(crate) fn may_say(&self, peer: PeerId, message: &MasterToDriver) -> bool {
        match message {
            MasterToDriver::RegisteredApplication { .. } | MasterToDriver::ApplicationRemoved(_) => {
                self.search.is_master(peer)
            }
            MasterToDriver::ExecutorAdded { .. }
            | MasterToDriver::ExecutorUpdated { .. }
            | MasterToDriver::ExecutorLeaving { .. }
            | MasterToDriver::WorkerRemoved { .. }
            | MasterToDriver::Shortfalls(_)
            | MasterToDriver::ExecutorsRequested { .. }
            | MasterToDriver::ExecutorsKilled { .. }
            | MasterToDriver::ExecutorsGone { .. } => self.master().is_some_and(|(master, _)| master == peer),
        }
    }

    /// Performs the orders of the search for a Master. `executors`: the executors that the owner believes to be alive.
    /// If the search is given up, returns the last error of each Master. Then no order follows.
    pub(crate) fn follow<E: From<Step>, I: Iterator<Item = ExecutorId>>(
        &self,
        orders: Vec<Order<()>>,
        executors: impl Fn() -> I,
        closing: &mut Closing,
        effects: &mut Effects<E>,
    ) -> Option<Vec<(Address, ConnectError)>> {
        let mut given_up = None;
        for order in orders {
            match order {
                Order::Connect(master) => effects.push(Step::Connect { master }.into()),
                Order::Ask(peer) => {
                    effects.push(Step::Ask { peer, message: self.request(executors()) }.into());
                }
                Order::Close(peer) => closing.close(peer, effects),
                Order::Lost { master, terms: () } => effects.push(Step::MasterLost { master }.into()),
                Order::Remark(Remark::Unreachable { master, error }) => {
                    let patience = self.patience();
                    effects.push(Step::MasterUnreachable { master, error, patience }.into());
                }
                Order::Remark(Remark::LeaderConflict(dispute)) => {
                    effects.push(Step::LeaderConflict(dispute).into())
                }
                // These remarks are not passed on while the search lasts. If no Master is found, the reasons are given
                // at the end.
                Order::Remark(
                    Remark::Silent { .. }
                    | Remark::HungUp { .. }
                    | Remark::StandsBy { .. }
                    | Remark::NextRound { .. },
                ) => {}
                Order::GiveUp => given_up = Some(self.search.errors()),
            }
        }
        given_up
    }
}
