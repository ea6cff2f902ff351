//! The rows of the ledger: Workers and applications.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use firesteel_core::ids::{DriverId, ExecutorId, ExecutorKey, PeerId, ProfileId, WorkerId};
use firesteel_core::messages::{ExecutorLaunch, Relaunch, WorkerDescription};
use firesteel_core::secret::Secret;
use firesteel_placement::{Cores, ExecutorLimit, MiB};

/// A living Worker.
#[derive(Debug)]
pub(super) struct WorkerBook {
    pub(super) total: WorkerDescription,
    /// Its connection. `None`: it has not returned since the Master was restarted.
    pub(super) peer: Option<PeerId>,
    pub(super) availability: Availability,
    /// Whether a client has asked it to leave.
    pub(super) is_asked: bool,
    /// Whether the Worker has said that it cannot write.
    pub(super) cannot_write: bool,
    pub(super) grants: BTreeMap<ExecutorKey, ExecutorLaunch>,
    /// The cores and the memory of its cluster drivers.
    pub(super) drivers: BTreeMap<DriverId, (Cores, MiB)>,
}

/// Whether a Worker may be given executors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Availability {
    Serving,
    /// The Worker said that it will end, or was asked to.
    Decommissioning,
}

/// A live application.
#[derive(Debug)]
pub(super) struct AppBook {
    /// Its driver's connection. `None`: the driver has not returned since the Master was restarted.
    pub(super) peer: Option<PeerId>,
    /// What its driver shows when it returns.
    pub(super) token: Secret,
    pub(super) max_cores: Cores,
    pub(super) limits: BTreeMap<ProfileId, ExecutorLimit>,
    pub(super) relaunch: Relaunch,
    /// Its executors, each with its Worker.
    pub(super) executors: BTreeMap<ExecutorId, WorkerId>,
    pub(super) next: u32,
    /// The number of its queue.
    pub(super) queue: usize,
    pub(super) priority: i32,
    /// How long it says that it runs.
    pub(super) run_time: Option<Duration>,
    /// When it is due, in milliseconds; 0 if applications are served as they registered.
    pub(super) due: u64,
    /// The number of executors that it must get together at first.
    pub(super) gang: u64,
    /// Whether its executors have a fixed number of cores.
    pub(super) is_fixed: bool,
    /// The number of applications that registered before it.
    pub(super) order: u64,
    /// Whether it ever had an executor.
    pub(super) begun: bool,
    /// Whether its driver ever named hosts to avoid.
    pub(super) avoids: bool,
}

impl WorkerBook {
    /// The cores and the memory of its executors and cluster drivers.
    pub(super) fn used(&self) -> (Cores, MiB) {
        let executors = self.grants.values().map(|launch| (launch.cores, launch.memory));
        let all = executors.chain(self.drivers.values().copied());
        all.fold((Cores::ZERO, MiB::ZERO), |(cores, memory), share| (cores + share.0, memory + share.1))
    }

    /// Checks that no more is given than there is, and no address twice.
    pub(super) fn check(&self, id: &WorkerId) -> Result<(), String> {
        let (cores, memory) = self.used();
        if cores > self.total.cores || memory > self.total.memory {
            return Err(format!(
                "Worker {id} has {} and {}, and is given executors of {cores} and {memory}",
                self.total.cores, self.total.memory
            ));
        }
        let mut taken = BTreeSet::new();
        for (key, launch) in &self.grants {
            for (name, addresses) in launch.resources.iter() {
                for address in addresses {
                    let exists =
                        self.total.resources.iter().any(|(known, mut addresses)| {
                            known == name && addresses.any(|one| one == address)
                        });
                    if !exists || !taken.insert((name, address)) {
                        return Err(format!(
                            "executor {key} is given {name} {address} of Worker {id}, which is not free"
                        ));
                    }
                }
            }
        }
        Ok(())
    }
}
