//! A test bench: a driver whose Master and executors are simulated by the test.

use std::time::Duration;

use bytes::Bytes;
use firesteel_placement::advanced::locality::Topology;
use firesteel_placement::{Cores, MiB, Resources};
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{AppId, AttemptId, ExecutorId, PeerId, ProfileId, TaskId, WorkerId};
use firesteel_protocol::machine::Machine;
use firesteel_protocol::master_search::leadership::Leadership;
use firesteel_protocol::messages::{
    ApplicationDescription, DriverToExecutor, DriverToMaster, ExecutorState, ExecutorToDriver,
    HostPreferences, MasterToDriver, Placing, ResourceProfile, Resumption, Submitter, TaskDirectory, TaskEnd,
    TaskSpec, TaskState, WantedExecutors, Work,
};
use firesteel_protocol::process::{Command, ExitStatus};
use firesteel_protocol::secret::Secret;
use firesteel_protocol::time::Timestamp;

use crate::applicant::registration;
use crate::driver::{
    Allocation, Config, Driver, DynamicAllocation, Effect, Event, ExclusionPolicy, ExitCodes, FailureCause,
    Heartbeats, Inbound, LocalityWait, Note, Outbound, Reason, TaskOutcome,
};

pub(super) const MASTER: PeerId = PeerId(1);
pub(super) const WINDOW: u64 = 1000;
const SEED: u64 = 7;

/// Longer than any test, because heartbeats have their own tests.
const NEVER: Duration = Duration::from_secs(100 * 365 * 86_400);

/// A driver under test, and the time.
pub(super) struct Bench {
    pub(super) driver: Driver,
    pub(super) now: Timestamp,
    /// The messages about preferred hosts that the Master received.
    pub(super) hints: Vec<HostPreferences>,
}

impl Bench {
    pub(super) fn new(masters: &[&str]) -> Self {
        Self::of(config(masters))
    }

    pub(super) fn of(config: Config) -> Self {
        Self { driver: Driver::new(config), now: Timestamp::from_millis(1_000_000), hints: Vec::new() }
    }

    /// A registered driver with executors of these cores in this topology.
    pub(super) fn in_topology(topology: Topology, cores: &[i64]) -> Self {
        let wait = Duration::from_secs(3);
        Self::with_waits(topology, wait, wait, cores)
    }

    /// Like `in_topology`, with these waiting times for locality.
    pub(super) fn with_waits(topology: Topology, node: Duration, rack: Duration, cores: &[i64]) -> Self {
        let locality_wait = LocalityWait { node, rack };
        let mut bench = Self::of(Config { topology, locality_wait, ..config(&["m1"]) });
        bench.register();
        bench.add_executors(cores);
        bench
    }

    /// A driver that the Master `m1` has registered as `app-1`.
    pub(super) fn registered() -> Self {
        let mut bench = Self::new(&["m1"]);
        bench.register();
        bench
    }

    /// Like `registered`, with dynamic allocation of executors with `cores` cores each.
    pub(super) fn scaled(cores: i64, allocation: DynamicAllocation) -> Self {
        let mut config = Config { allocation: Allocation::Dynamic(allocation), ..config(&["m1"]) };
        config.description.profile.cores = Some(Cores(cores));
        let mut bench = Self::of(config);
        bench.register();
        bench
    }

    pub(super) fn register(&mut self) {
        self.apply(Event::Start);
        self.apply(Event::Connected { peer: MASTER, master: master("m1"), leadership: Leadership::ALONE });
        self.master(registered("app-1"));
    }

    /// A registered driver with executors of these cores. Executor `i` is on host `hi`, and its connection has the
    /// number 10 + i.
    pub(super) fn with_executors(cores: &[i64]) -> Self {
        let mut bench = Self::registered();
        bench.add_executors(cores);
        bench
    }

    pub(super) fn add_executors(&mut self, cores: &[i64]) {
        for (id, &cores) in (0..).zip(cores) {
            self.executor(id, register(id, cores));
        }
    }

    /// The driver's next deadline, other than heartbeats.
    pub(super) fn next_deadline(&self) -> Option<(Timestamp, Reason)> {
        self.driver.next_deadline().filter(|(at, _)| at.since(self.now) < NEVER / 2)
    }

    pub(super) fn apply(&mut self, event: Event) -> Vec<Effect> {
        let mut effects = self.driver.apply(self.now, event);
        // Messages about preferred hosts have their own test.
        effects.retain(|effect| match effect {
            Effect::Send {
                message: Outbound::Master(DriverToMaster::PreferHosts { preferences, .. }),
                ..
            } => {
                self.hints.push((**preferences).clone());
                false
            }
            _ => true,
        });
        self.driver.check().expect("the invariants hold");
        effects
    }

    pub(super) fn master(&mut self, message: MasterToDriver) -> Vec<Effect> {
        self.apply(Event::Received { peer: MASTER, message: Inbound::Master(message) })
    }

    /// An executor sends a message. Before an executor registers, the Master announces it.
    pub(super) fn executor(&mut self, id: u32, message: ExecutorToDriver) -> Vec<Effect> {
        if self.driver.view().master.is_some()
            && let Some(added) = self.announcement(&message)
        {
            self.master(added);
        }
        self.unannounced(id, message)
    }

    /// The announcement that the Master sends before an executor of this application registers.
    pub(super) fn announcement(&self, message: &ExecutorToDriver) -> Option<MasterToDriver> {
        match message {
            ExecutorToDriver::RegisterExecutor { app, executor, profile, worker, host, cores, .. }
                if self.driver.app() == Some(app) =>
            {
                Some(MasterToDriver::ExecutorAdded {
                    executor: *executor,
                    profile: *profile,
                    worker: worker.clone(),
                    host: host.clone(),
                    cores: *cores,
                    memory: MiB(512),
                    port: 7078,
                })
            }
            _ => None,
        }
    }

    /// Like `executor`, but the Master does not announce the executor.
    pub(super) fn unannounced(&mut self, id: u32, message: ExecutorToDriver) -> Vec<Effect> {
        self.apply(Event::Received { peer: peer(id), message: Inbound::Executor(message) })
    }

    pub(super) fn end(&mut self, id: u32, attempt: AttemptId, end: TaskEnd) -> Vec<Effect> {
        self.executor(id, ExecutorToDriver::StatusUpdate { attempt, state: TaskState::Ended(end) })
    }

    /// The Master assigns an executor.
    pub(super) fn added(&mut self, id: u32, cores: i64) -> Vec<Effect> {
        self.master(MasterToDriver::ExecutorAdded {
            executor: ExecutorId(id),
            profile: ProfileId::DEFAULT,
            worker: WorkerId::new(format!("worker-{id}")),
            host: format!("h{id}"),
            cores: Cores(cores),
            memory: MiB(512),
            port: 7078,
        })
    }

    pub(super) fn updated(&mut self, id: u32, state: ExecutorState) -> Vec<Effect> {
        let executor = ExecutorId(id);
        self.master(MasterToDriver::ExecutorUpdated { executor, state, lost_host: None })
    }

    pub(super) fn submit(&mut self, task: u64, cores: i64) -> Vec<Effect> {
        self.apply(Event::Submit { task: TaskId(task), request: spec(cores).into() })
    }

    /// Lets time pass without an event.
    pub(super) fn pass(&mut self, time: Duration) -> Vec<Effect> {
        self.now = self.now + time;
        self.apply(Event::Deadline)
    }
}

pub(super) fn config(masters: &[&str]) -> Config {
    Config {
        masters: masters.iter().map(|&host| master(host)).collect(),
        description: description(),
        secret: secret(),
        max_task_failures: 3,
        fatal_exit_codes: ExitCodes::from_iter([124]),
        allocation: Allocation::Fixed,
        output_credit: WINDOW,
        registration_timeout: Duration::from_secs(60),
        starvation_timeout: Duration::from_secs(15),
        loss_delay: Duration::from_secs(5),
        away_timeout: Duration::ZERO,
        executor_timeout: Duration::from_secs(120),
        heartbeats: Heartbeats { interval: NEVER, timeout: NEVER * 2, max_failures: 1 },
        topology: Topology::default(),
        locality_wait: LocalityWait { node: Duration::from_secs(3), rack: Duration::from_secs(3) },
        exclusion: ExclusionPolicy::default(),
        seed: SEED,
    }
}

/// The description, with the token that the driver draws.
pub(super) fn with_token(description: ApplicationDescription) -> ApplicationDescription {
    let token = registration::token(SEED);
    let mut description = description;
    description.token = token;
    description
}

/// Registers a driver at another Master after it has lost one.
pub(super) fn resume(
    app: &str,
    executors: Vec<ExecutorId>,
    description: ApplicationDescription,
) -> DriverToMaster {
    let (app, description) = (AppId::new(app), Box::new(with_token(description)));
    DriverToMaster::ResumeApplication(Resumption { app, executors, description })
}

pub(super) fn master(host: &str) -> Address {
    Address::new(host, 7077)
}

pub(super) fn peer(executor: u32) -> PeerId {
    PeerId(10 + u64::from(executor))
}

pub(super) fn description() -> ApplicationDescription {
    let profile = ResourceProfile { cores: None, memory: Some(MiB(512)), ..ResourceProfile::default() };
    ApplicationDescription::new(
        Submitter::new("test", "someone"),
        WantedExecutors { profile, ..WantedExecutors::default() },
        Placing::default(),
        Work::of(command()),
    )
}

pub(super) fn command() -> Command {
    Command::of("true")
}

pub(super) fn spec(cores: i64) -> TaskSpec {
    let (directory, stdin) = (TaskDirectory::Executor, Bytes::new());
    TaskSpec { command: command(), directory, stdin, cores: Cores(cores) }
}

pub(super) fn registered(app: &str) -> MasterToDriver {
    MasterToDriver::RegisteredApplication {
        app: AppId::new(app),
        master_url: master("m1").url(),
        max_cores: Cores::UNLIMITED,
        first_executor: ExecutorId(0),
        mark: None,
    }
}

pub(super) fn register(id: u32, cores: i64) -> ExecutorToDriver {
    register_for("app-1", id, cores)
}

pub(super) fn register_for(app: &str, id: u32, cores: i64) -> ExecutorToDriver {
    ExecutorToDriver::RegisterExecutor {
        app: AppId::new(app),
        executor: ExecutorId(id),
        profile: ProfileId::DEFAULT,
        worker: WorkerId::new(format!("worker-{id}")),
        host: format!("h{id}"),
        cores: Cores(cores),
        resources: Resources::default(),
        secret: secret(),
        received: Some(0),
    }
}

/// The secret that executors of the application know.
pub(super) fn secret() -> Secret {
    Secret::new("hush")
}

/// The driver's message that accepts an executor.
pub(super) fn confirmation() -> DriverToExecutor {
    DriverToExecutor::RegisteredExecutor { rules: config(&[]).rules(), received: 0 }
}

pub(super) fn attempt(task: u64, number: u32) -> AttemptId {
    AttemptId { task: TaskId(task), attempt: number }
}

pub(super) fn exit(code: i32) -> TaskEnd {
    TaskEnd::Exited(ExitStatus::Code(code))
}

// Notes and effects of the driver:

pub(super) fn to_master(message: DriverToMaster) -> Effect {
    Effect::Send { peer: MASTER, message: Outbound::Master(message) }
}

/// The request to the Master to end these executors.
pub(super) fn kill_asked(numbers: &[u32]) -> Effect {
    let (app, executors) = (AppId::new("app-1"), numbers.iter().copied().map(ExecutorId).collect());
    to_master(DriverToMaster::KillExecutors { app, executors })
}

pub(super) fn to_executor(id: u32, message: DriverToExecutor) -> Effect {
    Effect::Send { peer: peer(id), message: Outbound::Executor(message) }
}

pub(super) fn launch(on: u32, attempt: AttemptId) -> Effect {
    launch_sized(on, attempt, 1)
}

pub(super) fn launch_sized(on: u32, attempt: AttemptId, cores: i64) -> Effect {
    let (spec, resources) = (spec(cores), Resources::default());
    to_executor(on, DriverToExecutor::LaunchTask { attempt, spec, resources, credit: WINDOW })
}

pub(super) fn discard(attempt: AttemptId) -> Effect {
    Effect::DiscardOutput { attempt }
}

pub(super) fn ended(task: u64, outcome: TaskOutcome) -> Effect {
    Effect::TaskEnded { task: TaskId(task), outcome }
}

pub(super) fn succeeded(attempt: AttemptId, on: u32) -> Effect {
    ended(attempt.task.0, TaskOutcome::Succeeded { attempt, executor: ExecutorId(on), locality: None })
}

pub(super) fn cancelled(task: u64) -> Effect {
    ended(task, TaskOutcome::Cancelled)
}

pub(super) fn failure_noted(attempt: AttemptId, on: u32, cause: FailureCause, failures: u32) -> Effect {
    let (executor, host) = (ExecutorId(on), format!("h{on}"));
    Effect::Note(Note::TaskFailed { attempt, executor, host, cause, failures, limit: 3 })
}

pub(super) fn closed(id: u32) -> Effect {
    Effect::Close { peer: peer(id) }
}
