//! The Workers and drivers of the world: models that keep the protocol.

use std::collections::{BTreeMap, BTreeSet};

use firesteel_placement::{Cores, ExecutorLimit, MiB, Resources};
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{AppId, ExecutorId, ExecutorKey, PeerId, WorkerId};
use firesteel_protocol::messages::{
    ApplicationDescription, DriverToMaster, ExecutorReport, ExecutorState, Offered, Placing, ResourceProfile,
    Resumption, StateMark, Submitter, WantedExecutors, Work, WorkerDescription, WorkerToMaster,
};
use firesteel_protocol::process::Command;
use firesteel_protocol::secret::Secret;

/// The number of executors that each application wants.
pub(super) const WANTED: u64 = 2;

#[derive(Debug)]
pub(super) struct Worker {
    pub(super) description: WorkerDescription,
    pub(super) peer: Option<PeerId>,
    pub(super) seen: Vec<StateMark>,
    pub(super) live: BTreeSet<ExecutorKey>,
    /// The ends that no Master has confirmed.
    pub(super) ended: BTreeMap<ExecutorKey, ExecutorState>,
}

impl Worker {
    pub(super) fn new(number: u64) -> Self {
        let offered = Offered { cores: Cores(4), memory: MiB(8192), resources: Resources::default() };
        let id = WorkerId::new(format!("worker-{number}"));
        let address = Address::new(format!("node-{number}"), 7078);
        let description = WorkerDescription::new(id, address, offered, "/work")
            .with_token(Secret::new(format!("worker {number}")));
        let (live, ended) = Default::default();
        Self { description, peer: None, seen: Vec::new(), live, ended }
    }

    pub(super) fn registration(&self, seen: Vec<StateMark>) -> WorkerToMaster {
        let mut description = self.description.clone();
        description.seen = seen;
        let running =
            self.live.iter().map(|executor| ExecutorReport::new(executor.clone(), ExecutorState::Running));
        let ended =
            self.ended.iter().map(|(executor, end)| ExecutorReport::new(executor.clone(), end.clone()));
        WorkerToMaster::register(description, running.chain(ended).collect())
    }
}

#[derive(Debug)]
pub(super) struct Driver {
    pub(super) description: ApplicationDescription,
    pub(super) peer: Option<PeerId>,
    pub(super) app: Option<AppId>,
    pub(super) live: BTreeSet<ExecutorId>,
}

impl Driver {
    pub(super) fn new(number: u64) -> Self {
        let profile = ResourceProfile { cores: Some(Cores(1)), memory: Some(MiB(512)), ..Default::default() };
        let mut description = ApplicationDescription::new(
            Submitter::new(format!("app-{number}"), "ann"),
            WantedExecutors { profile, limit: ExecutorLimit::AtMost(WANTED), ..WantedExecutors::default() },
            Placing::default(),
            Work::of(Command::of("server")),
        );
        description.token = Secret::new(format!("driver {number}"));
        Self { description, peer: None, app: None, live: BTreeSet::new() }
    }

    pub(super) fn registration(&self) -> DriverToMaster {
        let description = Box::new(self.description.clone());
        match self.app.clone() {
            None => DriverToMaster::RegisterApplication(description),
            Some(app) => {
                let executors = self.live.iter().copied().collect();
                DriverToMaster::ResumeApplication(Resumption { app, executors, description })
            }
        }
    }

    /// Handles a new executor. One below the highest number that the driver has seen is ignored, as by the real driver.
    pub(super) fn add(&mut self, executor: ExecutorId) {
        if executor >= self.description.first_executor {
            self.description.first_executor = ExecutorId(executor.0 + 1);
            self.live.insert(executor);
        }
    }

    pub(super) fn registered(&mut self, app: AppId, mark: Option<StateMark>) {
        if self.app.as_ref().is_some_and(|known| *known != app) {
            self.live.clear();
            self.description.first_executor = ExecutorId::default();
        }
        self.app = Some(app);
        StateMark::remember(mark, &mut self.description.seen);
    }
}
