//! The states with which Masters are started.

use std::time::Duration;

use firesteel_master::{Config, Durability, Event, Inbound, Master, Record, Retries, UnknownExecutors};
use firesteel_protocol::ids::PeerId;
use firesteel_protocol::messages::{RunId, StateId};
use firesteel_protocol::{Kind, Machine, Timestamp};

use super::peers::Worker;

/// The state with which a Master is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Kind)]
#[kind("state")]
pub enum StateFault {
    Latest,
    /// A copy that was made at some time before.
    OlderCopy,
    /// The latest journal, cut between two batches.
    Cut,
    OtherCluster,
}

pub(super) fn config(run: RunId) -> Config {
    Config {
        run,
        foreign: UnknownExecutors::Held,
        // Workers send no heartbeats here.
        worker_timeout: Duration::from_secs(1_000_000),
        recovery_timeout: Duration::from_secs(60),
        retries: Retries::Unlimited,
        proven_after: Duration::ZERO,
        durability: Durability::Durable,
        ..Config::default()
    }
}

/// The run of the other cluster's first Master, which becomes the identity of its state.
pub(super) const OTHER_STATE: StateId = StateId(900);

/// The state of another cluster, whose Master was restarted once.
pub(super) fn other_state(now: Timestamp) -> Vec<Record> {
    let mut image = Vec::new();
    for run in [OTHER_STATE.0, 901] {
        let config = Config { foreign: UnknownExecutors::Ended, ..config(RunId(run)) };
        let mut master = Master::recover(config, now, image).expect("no record contradicts another one");
        let message = Inbound::Worker(Worker::new(run).registration(Vec::new()));
        master.apply(now, Event::Received { peer: PeerId(run), arrived: now, message });
        image = master.image();
    }
    image
}
