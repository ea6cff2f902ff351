//! Answers a question about a scheduling pass: builds a Master's tables from the line and runs one pass.

use std::collections::BTreeSet;

use firesteel_master::{
    ApplicationCondition, ApplicationSnapshot, Config, Effect, Event, ExecutorSnapshot, HeldResources,
    Master, Outbound, ProfileSnapshot, Snapshot, SnapshotError, WorkerSnapshot,
};
use firesteel_placement::{Cores, MiB, ResourceAmounts, Resources};
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{AppId, ExecutorId, PeerId, ProfileId, WorkerId};
use firesteel_protocol::messages::{
    ApplicationDescription, ExecutorLaunch, MasterToWorker, Offered, Placing, ResourceProfile, Submitter,
    WantedExecutors, Work, WorkerDescription,
};
use firesteel_protocol::process::Command;
use firesteel_protocol::{Machine, Timestamp};

use super::{
    AppAfter, HeldExecutors, Launch, PassAnswer, PassApp, PassAppState, PassProfile, PassWorker,
    PassWorkerState, SchedulePass,
};

/// The id of a Worker that is not in the line. It runs the executors that applications already have, and has no free
/// capacity.
const ELSEWHERE: &str = "(elsewhere)";

/// Why a pass cannot be answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PassError {
    /// The first profile of an application is not the default profile, or two profiles have the same number.
    #[error(
        "pass {pass}: apps[{app}].profiles: the first profile must be number 0, and all numbers must differ"
    )]
    Profiles { pass: u64, app: usize },
    /// An application has more executors than executor numbers were assigned.
    #[error(
        "pass {pass}: apps[{app}].next_executor_id: {next} is too low, since the application holds {held} executors"
    )]
    NextExecutor { pass: u64, app: usize, next: u32, held: usize },
    /// The fields contradict each other in a way that no other variant describes.
    #[error("pass {pass}: {reason}")]
    Contradiction { pass: u64, reason: SnapshotError },
}

impl SchedulePass {
    /// Runs the pass.
    ///
    /// # Errors
    /// The fields contradict each other.
    pub fn answer(&self) -> Result<PassAnswer, PassError> {
        let now = Timestamp::default();
        let config = Config {
            strategy: self.strategy,
            worker_order: self.order,
            default_cores: self.default_cores,
            ..Config::default()
        };
        let mut master = Master::restore(config, now, self.snapshot()?)
            .map_err(|reason| PassError::Contradiction { pass: self.i, reason })?;
        let effects = master.apply(now, Event::Deadline { heard_until: now });
        let launches: Vec<_> = effects.into_iter().filter_map(|effect| self.launch(effect)).collect();
        let launched: BTreeSet<_> = launches.iter().map(|launch| launch.app).collect();

        let granted = master.view().applications.into_iter().map(|app| app.cores_granted);
        let after = |((index, app), granted): ((usize, &PassApp), Cores)| AppAfter {
            cores_left: app.cores_max.unwrap_or(self.default_cores) - granted,
            state: if launched.contains(&index) { PassAppState::Running } else { PassAppState::Waiting },
        };
        let apps_after = self.apps.iter().enumerate().zip(granted).map(after).collect();
        Ok(PassAnswer { i: self.i, launches, apps_after })
    }

    fn snapshot(&self) -> Result<Snapshot, PassError> {
        let all = self.workers.iter().zip(0..);
        let alive = all.filter(|(worker, _)| worker.state == PassWorkerState::Alive);
        let mut workers: Vec<_> = alive.map(|(worker, peer)| worker.snapshot(PeerId(peer))).collect();
        workers.push(self.elsewhere());
        let applications = self.apps.iter().enumerate().map(|(index, app)| self.application(index, app));
        let applications = applications.collect::<Result<_, _>>()?;
        Ok(Snapshot { workers, applications, ..Snapshot::default() })
    }

    fn elsewhere(&self) -> WorkerSnapshot {
        let held = self.apps.iter().flat_map(|app| &app.existing_executors).map(HeldExecutors::all_cores);
        let description = description(ELSEWHERE, held.sum(), MiB::ZERO, Resources::default());
        WorkerSnapshot::serving(description, PeerId(self.workers.len() as u64))
    }

    /// The application's row in the Master's tables. Its id is its index.
    fn application(&self, index: usize, app: &PassApp) -> Result<ApplicationSnapshot, PassError> {
        let (pass, next) = (self.i, app.next_executor_id);
        let numbers: BTreeSet<_> = app.profiles.iter().map(|profile| profile.rp_id).collect();
        let Some((default, others)) = app.profiles.split_first() else {
            return Err(PassError::Profiles { pass, app: index });
        };
        if default.rp_id != 0 || numbers.len() != app.profiles.len() {
            return Err(PassError::Profiles { pass, app: index });
        }
        let executors = app.executors();
        if executors.len() > next as usize {
            return Err(PassError::NextExecutor { pass, app: index, next, held: executors.len() });
        }
        let command = Command::of("true");
        Ok(ApplicationSnapshot {
            id: AppId::new(index.to_string()),
            description: ApplicationDescription::new(
                Submitter::new(format!("apps[{index}]"), ""),
                WantedExecutors {
                    profile: default.needs(),
                    max_cores: app.cores_max,
                    limit: default.limit,
                    ..WantedExecutors::default()
                },
                Placing::default(),
                Work::of(command),
            ),
            submitted: Timestamp::default(),
            peer: PeerId((self.workers.len() + 1 + index) as u64),
            profiles: others.iter().map(PassProfile::snapshot).collect(),
            executors,
            next_executor: ExecutorId(next),
            preempted: Vec::new(),
            condition: ApplicationCondition::default(),
        })
    }

    fn launch(&self, effect: Effect) -> Option<Launch> {
        let Effect::Send { peer, message: Outbound::Worker(MasterToWorker::LaunchExecutor(launch)) } = effect
        else {
            return None;
        };
        let ExecutorLaunch { executor, profile, cores, memory, resources, .. } = launch;
        Some(Launch {
            app: executor.app.as_str().parse().ok()?,
            worker: self.workers.get(peer.0 as usize)?.id.clone(),
            exec_id: executor.executor.0,
            cores,
            memory,
            rp_id: profile.0,
            resources,
        })
    }
}

impl PassWorker {
    /// A Worker whose whole capacity is the free capacity of this one.
    fn snapshot(&self, peer: PeerId) -> WorkerSnapshot {
        let free = self.resources.iter().map(|(name, addresses)| (name, &addresses.free));
        WorkerSnapshot::serving(
            description(&self.id, self.cores_free, self.memory_free, free.collect()),
            peer,
        )
    }
}

impl PassApp {
    /// The executors that the application already has, numbered from 0.
    fn executors(&self) -> Vec<ExecutorSnapshot> {
        let each = |held: &HeldExecutors| std::iter::repeat_n(*held, held.count.into());
        let executor = |(held, id): (HeldExecutors, u32)| ExecutorSnapshot {
            id: ExecutorId(id),
            profile: ProfileId(held.rp_id),
            worker: WorkerId::new(ELSEWHERE),
            cores: held.cores,
            memory: MiB::ZERO,
            resources: HeldResources::Amounts(ResourceAmounts::new()),
            launched: Timestamp::default(),
        };
        self.existing_executors.iter().flat_map(each).zip(0..).map(executor).collect()
    }
}

impl PassProfile {
    fn needs(&self) -> ResourceProfile {
        ResourceProfile { cores: self.cores, memory: self.memory, resources: self.resources.clone() }
    }

    fn snapshot(&self) -> ProfileSnapshot {
        ProfileSnapshot { id: ProfileId(self.rp_id), profile: self.needs(), limit: self.limit }
    }
}

fn description(id: &str, cores: Cores, memory: MiB, resources: Resources) -> WorkerDescription {
    WorkerDescription::new(
        WorkerId::new(id),
        Address::new(id.to_owned(), 0),
        Offered { cores, memory, resources },
        "",
    )
}
