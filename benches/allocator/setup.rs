//! The cluster and the settings of both allocator benches.

use std::collections::BTreeSet;
use std::time::Duration;

use firesteel_application_master::allocator::{
    Config, Decommissioning, ExecutorNeeds, HostExclusion, Sizing, Target,
};
use firesteel_placement::advanced::locality::{Naming, Topology};
use firesteel_protocol::Timestamp;
use firesteel_protocol::ids::{ExecutorId, ProfileId};

use crate::trace::Trace;

pub const HOSTS: usize = 1_000;

/// The time at which everything begins.
pub const START: Timestamp = Timestamp::from_millis(1_795_209_755_000);

/// Spark's default settings.
pub fn config(topology: Topology) -> Config {
    Config {
        topology,
        sizing: Sizing::default(),
        initial_target: 0,
        naming: Naming::default(),
        first_executor: ExecutorId(1),
        heartbeat: Duration::from_secs(3),
        initial_pause: Duration::from_millis(200),
        most_errors: 5,
        most_failures: 1_000,
        failure_window: None,
        exclusion: HostExclusion::Off,
        never: BTreeSet::new(),
        decommissioning: Decommissioning::Ignored,
    }
}

pub fn target(trace: &Trace, executors: u64, tasks_per_executor: u64) -> Target {
    let on_hosts = trace.hosts.iter().cloned().zip(trace.wanted()).filter(|(_, tasks)| *tasks > 0);
    Target {
        profile: ProfileId::DEFAULT,
        needs: ExecutorNeeds::default(),
        total: executors,
        tasks_per_executor,
        tasks: trace.tasks.len() as u64,
        on_hosts: on_hosts.collect(),
    }
}
