//! The state of the Worker's registration: its search for a Master, and the terms of the Master that it found.

use std::collections::BTreeMap;
use std::time::Duration;

use firesteel_protocol::ids::{ExecutorKey, PeerId};
use firesteel_protocol::machine::{Violation, ensure};
use firesteel_protocol::master_search::{GiveUp, MasterSearch, Pace};
use firesteel_protocol::messages::{DriverReport, ExecutorState, StateMark};
use firesteel_protocol::time::Timestamp;

use super::shutdown_phase::ShutdownPhase;
use crate::{Config, Reason};

/// The pace of the search. A Worker that was registered may have executors, so it should find a returning Master within
/// two seconds.
const PACE: Pace = Pace {
    first: Duration::from_secs(1),
    longest: Duration::from_secs(60),
    returning: Duration::from_secs(1),
    soon: Duration::from_millis(100),
};

#[derive(Debug)]
pub(crate) struct Registration {
    pub(crate) search: MasterSearch<SentReport, Terms>,
    /// The last order to launch an executor that no heartbeat has answered, and the Master that sent it. If the Worker
    /// registers again on the same connection, it answers the order afterwards.
    last_order: Option<(PeerId, ExecutorKey)>,
    /// The latest moment of each state of a Master that the Worker has been told of.
    seen: Vec<StateMark>,
}

/// What the Worker reported to a Master when it asked to be registered.
#[derive(Debug, Default)]
pub(crate) struct SentReport {
    pub(crate) executors: BTreeMap<ExecutorKey, ExecutorState>,
    pub(crate) drivers: Vec<DriverReport>,
    /// Whether the Worker had been registered with this Master on the same connection, so that orders may still be on
    /// their way.
    pub(crate) gave_orders: bool,
}

/// The terms of the registration with a Master.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    /// The Master's URL, as reported by the Master.
    pub(crate) url: String,
    /// The URL at which the Master serves HTTP, if the Master reports one.
    pub(crate) web_address: Option<String>,
    pub(crate) heartbeat: Duration,
    pub(crate) next_heartbeat: Timestamp,
}

impl Registration {
    pub(crate) fn new(config: &Config) -> Self {
        let give_up = GiveUp::Rounds(config.max_registration_retries.max(1));
        let search = MasterSearch::new(&config.masters, PACE, give_up, config.seed);
        Self { search, last_order: None, seen: Vec::new() }
    }

    /// The connection to the Master that the Worker is registered with.
    pub(crate) fn master(&self) -> Option<PeerId> {
        self.search.registered().map(|master| master.peer)
    }

    /// The URL of this Master, as reported by it.
    pub(crate) fn master_url(&self) -> Option<&str> {
        self.search.registered().map(|master| master.terms.url.as_str())
    }

    /// The URL at which this Master serves HTTP, if it has reported one.
    pub(crate) fn web_address(&self) -> Option<&str> {
        self.search.registered()?.terms.web_address.as_deref()
    }

    /// Whether orders from this connection count. Orders count if they come from the present Master. They also count
    /// from a Master that asked the Worker to register again, because orders that were on their way are not sent twice.
    pub(crate) fn takes_orders_of(&self, peer: PeerId) -> bool {
        self.master() == Some(peer) || self.search.asked(peer).is_some_and(|asked| asked.told.gave_orders)
    }

    pub(crate) fn next_deadline(&self) -> Option<(Timestamp, Reason)> {
        match self.search.registered() {
            Some(master) => Some((master.terms.next_heartbeat, Reason::Heartbeat)),
            None => self.search.next_deadline().map(|(at, due)| (at, Reason::Registration(due))),
        }
    }

    pub(crate) fn check(&self, shutdown: &ShutdownPhase) -> Result<(), Violation> {
        let contradiction = self.search.contradiction();
        ensure!("worker", contradiction.is_none(), "{}", contradiction.unwrap_or_default());
        ensure!(
            "worker",
            shutdown.wants_master() || !self.search.is_seeking(),
            "a Master is sought in {shutdown:?}"
        );
        Ok(())
    }

    /// Remembers how far the Master's state goes.
    pub(crate) fn see(&mut self, mark: Option<StateMark>) {
        StateMark::remember(mark, &mut self.seen);
    }

    pub(crate) fn seen(&self) -> Vec<StateMark> {
        self.seen.clone()
    }

    /// Records that an order to launch an executor has come. The next heartbeat will answer it.
    pub(crate) fn answer_order(&mut self, peer: PeerId, executor: ExecutorKey) {
        self.last_order = Some((peer, executor));
    }

    /// The last order of this Master that no heartbeat has answered.
    pub(crate) fn answer_to(&mut self, peer: PeerId) -> Option<ExecutorKey> {
        self.last_order.take_if(|(from, _)| *from == peer).map(|(_, executor)| executor)
    }
}
