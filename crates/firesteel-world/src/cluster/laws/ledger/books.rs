//! The rows of the ledger: Workers and applications.

use std::collections::BTreeMap;
use std::time::Duration;

use firesteel_placement::advanced::resources::{serves, without_kind};
use firesteel_placement::{Amount, Cores, ExecutorLimit, MiB, Quantity, ResourceAmounts, Resources};
use firesteel_protocol::ids::{DriverId, ExecutorId, ExecutorKey, PeerId, ProfileId, WorkerId};
use firesteel_protocol::messages::{ExecutorLaunch, Relaunch, WorkerDescription};
use firesteel_protocol::secret::Secret;

/// A living Worker.
#[derive(Debug)]
pub(super) struct WorkerBook {
    pub(super) total: WorkerDescription,
    /// The Worker's connection. `None` while the Worker is away.
    pub(super) peer: Option<PeerId>,
    /// Until when the Worker may return after its connection ended, in milliseconds. `None`: it is connected, or the
    /// Master was restarted.
    pub(super) away_until: Option<u64>,
    pub(super) availability: Availability,
    /// Whether a client has decommissioned the Worker.
    pub(super) is_asked: bool,
    /// Whether the Worker has reported that it cannot write.
    pub(super) cannot_start: bool,
    pub(super) grants: BTreeMap<ExecutorKey, ExecutorLaunch>,
    pub(super) drivers: BTreeMap<DriverId, DriverHold>,
}

/// The resources of a cluster driver on its Worker.
#[derive(Debug)]
pub(super) struct DriverHold {
    pub(super) cores: Cores,
    pub(super) memory: MiB,
    pub(super) resources: Resources,
    /// The memory that the Master takes for the cluster driver's description, in bytes.
    pub(super) described: u64,
}

/// Whether a Worker may get executors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Availability {
    Serving,
    /// The Worker has reported that it will end, or was told to end.
    Decommissioning,
}

#[derive(Debug)]
pub(super) struct AppBook {
    /// The connection of the application's driver. `None` while the driver is away.
    pub(super) peer: Option<PeerId>,
    /// Until when the driver may return after its connection ended, in milliseconds. `None`: it is connected, or the
    /// Master was restarted.
    pub(super) away_until: Option<u64>,
    /// The token with which the application's driver returns.
    pub(super) token: Secret,
    pub(super) max_cores: Cores,
    pub(super) limits: BTreeMap<ProfileId, ExecutorLimit>,
    /// The custom resources of an executor of each profile.
    pub(super) asked: BTreeMap<ProfileId, ResourceAmounts>,
    pub(super) relaunch: Relaunch,
    pub(super) executors: BTreeMap<ExecutorId, WorkerId>,
    pub(super) next: u32,
    /// When each of the application's executors was launched, in milliseconds. Includes ended executors.
    pub(super) launched: BTreeMap<ExecutorId, u64>,
    pub(super) user: String,
    /// The memory that the application takes for its description, in bytes.
    pub(super) described: u64,
    /// The most memory that the application has taken for its host preferences, in bytes.
    pub(super) preferred: u64,
    pub(super) queue: usize,
    pub(super) priority: i32,
    pub(super) run_time: Option<Duration>,
    /// The application's deadline for the serving order, in milliseconds. 0 if applications are served in the order of
    /// registration.
    pub(super) due: u64,
    /// The number of executors that the application must get together at the start.
    pub(super) gang: u64,
    /// When the application registered, in milliseconds.
    pub(super) since: u64,
    /// Whether the application's executors have a fixed number of cores.
    pub(super) is_fixed: bool,
    /// The number of applications that registered before this one.
    pub(super) order: u64,
    pub(super) begun: bool,
    /// Whether the application's driver ever excluded hosts.
    pub(super) avoids: bool,
}

impl WorkerBook {
    /// The cores and the memory of the Worker's executors and cluster drivers.
    pub(super) fn used(&self) -> (Cores, MiB) {
        let executors = self.grants.values().map(|launch| (launch.cores, launch.memory));
        let drivers = self.drivers.values().map(|hold| (hold.cores, hold.memory));
        let all = executors.chain(drivers);
        all.fold((Cores::ZERO, MiB::ZERO), |(cores, memory), share| (cores + share.0, memory + share.1))
    }

    /// Checks that the Worker's executors and drivers use no more than the Worker has, and no address twice.
    pub(super) fn check(&self, id: &WorkerId) -> Result<(), String> {
        let (cores, memory) = self.used();
        if cores > self.total.cores || memory > self.total.memory {
            return Err(format!(
                "Worker {id} has {} and {}, and is given executors of {cores} and {memory}",
                self.total.cores, self.total.memory
            ));
        }
        let mut taken: BTreeMap<(&str, &str), Quantity> = BTreeMap::new();
        let executors =
            self.grants.iter().map(|(key, launch)| (format!("executor {key}"), &launch.resources));
        let drivers = self.drivers.iter().map(|(id, hold)| (id.to_string(), &hold.resources));
        for (holder, resources) in executors.chain(drivers) {
            for (name, address, part) in resources.parts() {
                let exists =
                    self.total.resources.parts().any(|(known, one, _)| serves(known, name) && one == address);
                let sum = taken.entry((without_kind(name), address)).or_default();
                *sum += part;
                if !exists || *sum > Quantity::whole(1) {
                    return Err(format!(
                        "{holder} is given {name} {address} of Worker {id}, which is not free"
                    ));
                }
            }
        }
        Ok(())
    }

    /// Checks the addresses of an executor that is launched on this Worker. The addresses match the request. A part of
    /// an address is taken from the fullest address where this part fits.
    pub(super) fn check_share(&self, launch: &ExecutorLaunch, asked: &ResourceAmounts) -> Result<(), String> {
        let key = &launch.executor;
        for (name, amount) in asked {
            let given = launch.resources.quantity_of(name);
            if given != amount.quantity() {
                return Err(format!("executor {key} asks for {amount} of {name}, and is given {given}"));
            }
            let Amount::Part(part) = amount else { continue };
            let free = |name: &str, address: &str| {
                let executors = self.grants.values().map(|other| &other.resources);
                let drivers = self.drivers.values().map(|hold| &hold.resources);
                let held = executors.chain(drivers).flat_map(Resources::parts);
                let of_it = held
                    .filter(|(other, one, _)| without_kind(other) == without_kind(name) && *one == address);
                Quantity::whole(1).less(of_it.map(|(.., part)| part).sum())
            };
            let all = self.total.resources.parts().filter(|(known, ..)| serves(known, name));
            let fullest = all.map(|(known, address, _)| free(known, address));
            let fullest = fullest.filter(|free| *free >= Quantity::from(Amount::Part(*part))).min();
            let chosen = launch.resources.parts().find(|(known, ..)| known == name);
            let chosen = chosen.map(|(known, address, _)| free(known, address));
            if chosen != fullest {
                return Err(format!(
                    "executor {key} is given {amount} of an address that is not the fullest with room for it"
                ));
            }
        }
        Ok(())
    }
}
