//! The laws of admission: which executors a driver accepts, and which Workers a Master accepts. A leaving executor gets
//! no more tasks.
//!
//! Hostile peers do not know the secrets of this world, except for some stolen ones.

use std::collections::{BTreeMap, BTreeSet};

use firesteel_placement::Cores;
use firesteel_protocol::ids::{AppId, ExecutorId, PeerId, WorkerId};
use firesteel_protocol::messages::{DriverToExecutor, ExecutorToDriver, MasterToDriver};
use firesteel_protocol::secret::Secret;

/// The maximum number of cores of a Worker that this world's Master accepts. Some hostile peers claim more.
pub(crate) const PLAUSIBLE: Cores = Cores(63);

/// The prefix of a wrong secret.
const WRONG: &str = "no ";

/// The secret of an application, by its index.
pub(crate) fn secret_of(app: u64) -> Secret {
    Secret::new(format!("secret of {app}"))
}

pub(crate) fn token_of(worker: &WorkerId) -> Secret {
    Secret::new(format!("token of {worker}"))
}

pub(crate) fn wrong(secret: &Secret) -> Secret {
    Secret::new(format!("{WRONG}{}", secret.reveal()))
}

/// The right secret, as a replacement for a wrong one.
pub(crate) fn corrected(secret: &Secret) -> Secret {
    let word = secret.reveal();
    Secret::new(word.strip_prefix(WRONG).unwrap_or(word))
}

/// What a driver has learned about its executors, from its Master and from the executors.
#[derive(Debug, Default)]
pub(crate) struct Entrance {
    app: Option<AppId>,
    announced: BTreeSet<ExecutorId>,
    /// The executors that will end with their Workers, or to free resources for an urgent application.
    leaving: BTreeSet<ExecutorId>,
    claims: BTreeMap<PeerId, Claim>,
}

/// What a peer claims when it registers as an executor.
#[derive(Debug)]
struct Claim {
    executor: ExecutorId,
    secret: Secret,
}

impl Entrance {
    /// The driver receives a message of its Master.
    pub(crate) fn hear_master(&mut self, message: &MasterToDriver) {
        match message {
            MasterToDriver::RegisteredApplication { app, .. } => {
                if self.app.as_ref() != Some(app) {
                    self.announced.clear();
                    self.leaving.clear();
                }
                self.app = Some(app.clone());
            }
            MasterToDriver::ExecutorAdded { executor, .. } => {
                self.announced.insert(*executor);
            }
            MasterToDriver::ExecutorLeaving { executor, .. } => {
                self.leaving.insert(*executor);
            }
            _ => {}
        }
    }

    /// The driver receives a message of a peer. Only the peer's first claim counts.
    pub(crate) fn hear_executor(&mut self, peer: PeerId, message: &ExecutorToDriver) {
        if let ExecutorToDriver::RegisterExecutor { executor, secret, .. } = message {
            let claim = Claim { executor: *executor, secret: secret.clone() };
            self.claims.entry(peer).or_insert(claim);
        }
    }

    /// Checks the driver's answer to a peer.
    pub(crate) fn answer(&self, app: u64, peer: PeerId, message: &DriverToExecutor) -> Result<(), String> {
        match message {
            DriverToExecutor::RegisteredExecutor { .. } => {}
            DriverToExecutor::LaunchTask { .. } => return self.give_task(peer),
            DriverToExecutor::RegisterExecutorFailed(_)
            | DriverToExecutor::OutputCredit { .. }
            | DriverToExecutor::KillTask { .. }
            | DriverToExecutor::Heartbeat { .. }
            | DriverToExecutor::StopExecutor => return Ok(()),
        }
        let Some(Claim { executor, secret }) = self.claims.get(&peer) else {
            return Err(format!("peer {peer} is taken in, and never registered"));
        };
        if *secret != secret_of(app) {
            return Err(format!("executor {executor} is taken in without the secret"));
        }
        if !self.announced.contains(executor) {
            return Err(format!("executor {executor} is taken in, and no Master has told of it"));
        }
        Ok(())
    }

    fn give_task(&self, peer: PeerId) -> Result<(), String> {
        let executor = self.claims.get(&peer).map(|claim| claim.executor);
        match executor.filter(|executor| self.leaving.contains(executor)) {
            Some(executor) => Err(format!("executor {executor} is given a task, and will leave")),
            None => Ok(()),
        }
    }
}
