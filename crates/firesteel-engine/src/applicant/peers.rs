//! What the owner of an application does about Masters, and about peers that send what is not valid: the same for a driver and
//! for a launcher.

use std::collections::BTreeSet;

use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{ExecutorId, PeerId};
use firesteel_protocol::machine::Effects;
use firesteel_protocol::master_search::connect_error::ConnectError;
use firesteel_protocol::master_search::leadership::Dispute;
use firesteel_protocol::master_search::{Order, Remark};
use firesteel_protocol::messages::{DriverToMaster, MasterToDriver};

use super::registration::{Patience, Registration};

/// Something that is done about a peer. Each owner of an application has an effect or a note for it.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Connect to a Master.
    Connect { master: Address },
    /// Ask a Master to register the application.
    Ask { peer: PeerId, message: DriverToMaster },
    /// Close a connection.
    Close { peer: PeerId },
    /// Note that the Master that had the application is lost.
    MasterLost { master: Address },
    /// Note that a Master could not be reached.
    MasterUnreachable { master: Address, error: String, patience: Patience },
    /// Note that two Masters say that they lead.
    Dispute(Dispute),
    /// Note that a connection sent what is not valid now.
    UnexpectedMessage { peer: PeerId },
}

/// The connections that were told to close and have not ended. Their messages are ignored.
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

    /// A connection has ended.
    pub(crate) fn forget(&mut self, peer: PeerId) {
        self.peers.remove(&peer);
    }

    /// Closes a connection.
    pub(crate) fn close<E: From<Step>>(&mut self, peer: PeerId, effects: &mut Effects<E>) {
        self.peers.insert(peer);
        effects.push(Step::Close { peer }.into());
    }

    /// A connection sent a message that is not valid now: it is closed.
    pub(crate) fn unexpected<E: From<Step>>(&mut self, peer: PeerId, effects: &mut Effects<E>) {
        if !self.contains(peer) {
            effects.push(Step::UnexpectedMessage { peer }.into());
            self.close(peer, effects);
        }
    }
}

impl Registration {
    /// Whether a message is valid on this connection now. A Master that was asked may register the application, or refuse it; all
    /// else is valid only from the Master that has the application.
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

    /// Does what the search orders. `executors` are those that the owner takes for living. If the search is given up, returns the
    /// last error of each Master: no order follows then.
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
                Order::Remark(Remark::Dispute(dispute)) => effects.push(Step::Dispute(dispute).into()),
                // Who waits for an application is told no more than that; why none was found is told at the end.
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
