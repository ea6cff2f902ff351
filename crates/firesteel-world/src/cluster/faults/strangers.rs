//! Hostile peers and status clients, which send well-formed messages without sense.

use bytes::Bytes;
use firesteel_placement::{Cores, ExecutorLimit, MiB, Resources};
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{
    AppId, AttemptId, DriverId, ExecutorId, ExecutorKey, PeerId, ProfileId, TaskId, WorkerId,
};
use firesteel_protocol::messages::{
    ApplicationDescription, ApplicationFiles, ClientToMaster, ClientToWorker, DriverLogRequest,
    DriverToMaster, ExecutorLaunch, ExecutorReport, ExecutorState, ExecutorTarget, ExecutorToDriver,
    ExecutorWork, FileDescription, FileKind, HistoryCursor, HostPreferences, LogAuthor, LogRange, LogRequest,
    LogStart, LossReason, MasterToWorker, Offered, Placing, RefusedRegistration, Requester, ResourceProfile,
    Rights, Sha256, Shared, StateCursor, Stream, Submitter, TaskDirectory, TaskEnd, TaskState,
    WantedExecutors, Work, WorkerDescription, WorkerToMaster,
};
use firesteel_protocol::process::{Command, ExitStatus, StartFailure, StartStep};
use firesteel_protocol::secret::Secret;

use crate::cluster::laws::entrance::{secret_of, wrong};
use crate::cluster::network::ProcessEnd;
use crate::cluster::network::links::Side;
use crate::cluster::network::message::Message;
use crate::cluster::processes::node::Body;
use crate::cluster::scheduled_event::{ScheduledEvent, StrangerRole};
use crate::cluster::world::{NodeIndex, World};

impl World {
    pub(crate) fn speak(&mut self, node: NodeIndex, role: StrangerRole, left: u64) {
        if !self.node(node).body.is_alive() {
            return;
        }
        if left == 0 || self.is_calm {
            return self.end_process(node, ProcessEnd::Abruptly);
        }
        let message = match role {
            StrangerRole::Worker => Message::WorkerToMaster(self.odd_worker_message()),
            StrangerRole::Driver => Message::DriverToMaster(self.odd_driver_message()),
            StrangerRole::Executor => Message::ExecutorToDriver(self.odd_executor_message()),
            StrangerRole::Master => Message::MasterToWorker(self.odd_order()),
            StrangerRole::Impostor => match self.impostors_registration(node) {
                Some(message) => Message::ExecutorToDriver(message),
                None => return self.end_process(node, ProcessEnd::Abruptly),
            },
            StrangerRole::Client => match self.listener(node) {
                Some(Body::Worker(_)) => Message::ClientToWorker(self.odd_request()),
                _ => Message::ClientToMaster(self.odd_question()),
            },
        };
        self.send(node, PeerId(0), message);
        if role == StrangerRole::Impostor {
            // The hostile peer waits for a task.
            let patience = self.dice.between(1_000, 20_000);
            return self.after(patience, ScheduledEvent::Speak { node, role, left: 0 });
        }
        let pause =
            if self.dice.one_in(5) { self.dice.between(100, 15_000) } else { self.dice.between(1, 50) };
        self.after(pause, ScheduledEvent::Speak { node, role, left: left - 1 });
    }

    fn listener(&self, stranger: NodeIndex) -> Option<&Body> {
        let link = self.link_of(stranger, PeerId(0))?;
        let end = self.links[link.0].end(Side::Listener);
        Some(&self.node(end.node).body)
    }

    /// A random request of a client: it asks for the whole state or for one application, kills an application by its id
    /// or name, or decommissions Workers.
    fn odd_question(&mut self) -> ClientToMaster {
        let kind = self.dice.below(8);
        let app = match self.dice.below(4) {
            0 => format!("app {}", self.dice.below(4)),
            _ => self.odd_app().to_string(),
        };
        // A third of these requests name an application that has already ended, if there is one.
        let app = self.ledger.over().filter(|_| kind == 2).map_or(app, ToString::to_string);
        // Some prove less than what they ask for needs.
        let rights = match self.now % 8 {
            0 => Rights::None,
            1 => Rights::Own,
            2 => Rights::Modify,
            4 => Rights::View,
            _ => Rights::Admin,
        };
        let name = if self.now % 16 == 1 { "simulated@there" } else { "a \u{1b}stranger" };
        let by = Requester::new(name, rights);
        match kind {
            0 if self.dice.one_in(2) => ClientToMaster::DecommissionWorkers {
                which: match self.dice.below(3) {
                    0 => format!("host{}", self.dice.below(4)),
                    _ => self.odd_worker().to_string(),
                },
                within_millis: Some(self.dice.below(20_000)),
                by,
            },
            0..=2 => ClientToMaster::KillApplication { app, by },
            3..=5 if self.now.is_multiple_of(3) => {
                let (author, stream) = (LogAuthor::Executor(self.odd_key()), Stream::Stderr);
                let range = LogRange { author, stream, from: LogStart::Offset(self.now) };
                ClientToMaster::RequestLog { range, by }
            }
            3..=5 => ClientToMaster::RequestApplication { app, executors_from: self.odd_executor() },
            6 if self.dice.one_in(2) => match self.now % 2 {
                0 => ClientToMaster::RequestHistory { from: HistoryCursor::default() },
                _ => ClientToMaster::RequestReadyz,
            },
            6 => ClientToMaster::RequestMasterState { from: StateCursor::beginning() },
            _ => ClientToMaster::RequestMasterState { from: self.next_cursor() },
        }
    }

    /// The cursor at which the latest reading of the Master's state continues, or a random cursor.
    fn next_cursor(&mut self) -> StateCursor {
        match self.ledger.next_cursor() {
            Some(cursor) => cursor,
            None => StateCursor::Executor { application: self.dice.below(4), executor: self.odd_executor() },
        }
    }

    fn odd_worker_message(&mut self) -> WorkerToMaster {
        match self.dice.below(5) {
            0 => WorkerToMaster::Heartbeat { worker: self.odd_worker(), last_order: None },
            3 => WorkerToMaster::WorkerDecommissioning { worker: self.odd_worker() },
            1 => WorkerToMaster::ExecutorStateChanged(self.odd_report()),
            2 => {
                let executors = (0..self.dice.below(3)).map(|_| self.odd_report()).collect();
                WorkerToMaster::WorkerLatestState { worker: self.odd_worker(), executors }
            }
            _ => {
                let count = self.dice.below(4);
                let executors = (0..count).map(|_| self.odd_report()).collect();
                WorkerToMaster::register(self.odd_description(), executors)
            }
        }
    }

    fn odd_description(&mut self) -> WorkerDescription {
        let number = self.dice.below(self.workers.len() as u64 + 2);
        WorkerDescription::new(
            self.odd_worker(),
            Address::new(format!("host{number}"), *self.dice.pick(&[7078, 9999])),
            Offered {
                cores: *self.dice.pick(&[Cores(4), Cores(0), Cores(-1), Cores(i64::MAX), Cores(64)]),
                memory: *self.dice.pick(&[MiB(4096), MiB(0), MiB(i64::MAX), MiB(65_536)]),
                resources: Resources::default(),
            },
            "/\u{1b}[2J",
        )
    }

    fn odd_order(&mut self) -> MasterToWorker {
        let keys: Vec<&ExecutorKey> = self.processes.keys().collect();
        let executor = match self.dice.index(keys.len()) {
            Some(index) => keys[index].clone(),
            None => ExecutorKey { app: self.odd_app(), executor: self.odd_executor() },
        };
        match self.dice.below(7) {
            0 => MasterToWorker::ReconnectWorker,
            1 => MasterToWorker::KillExecutor { executor },
            2 => MasterToWorker::ApplicationFinished { app: executor.app },
            3 => MasterToWorker::ExecutorEndNoted { executor },
            4 => MasterToWorker::RegisterWorkerFailed(RefusedRegistration::UnsoundId),
            5 => MasterToWorker::RegisteredWorker {
                master_url: "spark://nobody:1".to_owned(),
                heartbeat_millis: 0,
                duplicate: true,
                web_address: None,
                mark: None,
            },
            _ => MasterToWorker::LaunchExecutor(ExecutorLaunch {
                executor,
                profile: ProfileId::DEFAULT,
                cores: Cores(-1),
                memory: MiB(i64::MAX),
                resources: Resources::default(),
                work: Shared::new(ExecutorWork {
                    app_name: String::new(),
                    command: Command::of("").into(),
                    directory: TaskDirectory::Executor,
                    files: None,
                }),
                mark: None,
            }),
        }
    }

    fn odd_request(&mut self) -> ClientToWorker {
        if self.dice.one_in(4) {
            return match self.now.is_multiple_of(2) {
                true => ClientToWorker::RequestWorkerReport,
                false => ClientToWorker::RequestWorkerState,
            };
        }
        let starts = [LogStart::Offset(0), LogStart::LastBytes(9), LogStart::LastLines(u64::MAX)];
        let (executor, stream, from) = (self.odd_key(), Stream::Stdout, *self.dice.pick(&starts));
        // No random number is drawn, so that existing seeds keep their meaning.
        if self.now.is_multiple_of(3) {
            let some = self.some_cluster_driver();
            let driver = some.unwrap_or_else(|| DriverId::new(executor.app.as_str()));
            return ClientToWorker::RequestDriverLog(DriverLogRequest { driver, stream, from });
        }
        ClientToWorker::RequestLog(LogRequest { executor, stream, from })
    }

    /// A registration of a hostile peer. It usually names an announced executor that has not registered yet, with the
    /// right secret.
    fn impostors_registration(&mut self, node: NodeIndex) -> Option<ExecutorToDriver> {
        let Some(Body::Driver(body)) = self.listener(node) else { return None };
        let (app, _) = body.registration.clone()?;
        let secret = secret_of(body.app as u64);
        let (secret, executor) = match self.dice.below(5) {
            0 | 1 => (wrong(&secret), self.ledger.some_executor(&app, &mut self.dice)?),
            2 => (secret, ExecutorId(1_000_000)),
            _ => (secret, self.ledger.some_executor(&app, &mut self.dice)?),
        };
        let (worker, host) = (WorkerId::new("worker-of-nobody"), "nowhere".to_owned());
        let profile = ProfileId::DEFAULT;
        // Sometimes more addresses than fit into a frame beside a task.
        let addresses = if self.dice.one_in(4) { vec!["a".repeat(1 << 20)] } else { Vec::new() };
        // An executor without cores is too small for every task.
        let cores = *self.dice.pick(&[Cores(4), Cores(4), Cores(0)]);
        let resources = Resources::from_iter([("gpu", addresses)]);
        Some(ExecutorToDriver::RegisterExecutor {
            app,
            executor,
            profile,
            worker,
            host,
            cores,
            resources,
            secret,
            received: self.dice.one_in(2).then_some(0),
        })
    }

    /// A hostile peer that receives a task sends more output than any credit allows.
    pub(crate) fn flood(&mut self, node: NodeIndex, attempt: AttemptId) {
        static FLOOD: [u8; 1 << 17] = [b'!'; 1 << 17];
        let output = ExecutorToDriver::TaskOutput {
            attempt,
            stream: Stream::Stdout,
            bytes: Bytes::from_static(&FLOOD),
        };
        self.send(node, PeerId(0), Message::ExecutorToDriver(output));
    }

    fn odd_driver_message(&mut self) -> DriverToMaster {
        let app = self.odd_app();
        match self.dice.below(6) {
            0 => DriverToMaster::UnregisterApplication { app, outcome: None },
            1 if self.dice.one_in(2) => {
                let avoided = (0..6).map(|number| format!("host{number}")).collect();
                DriverToMaster::PreferHosts {
                    app,
                    preferences: Box::new(HostPreferences { avoided, ..HostPreferences::default() }),
                }
            }
            1 => DriverToMaster::RequestShortfall { app },
            2 => {
                let executor = self.odd_executor();
                DriverToMaster::KillExecutors { app, executors: vec![executor, executor] }
            }
            3 => {
                let cores = *self.dice.pick(&[Cores(0), Cores(2), Cores(i64::MIN)]);
                let target = ExecutorTarget {
                    id: ProfileId(1),
                    profile: ResourceProfile { cores: Some(cores), ..ResourceProfile::default() },
                    total: u64::MAX,
                };
                DriverToMaster::RequestExecutors { app, targets: vec![target] }
            }
            _ => DriverToMaster::RegisterApplication(Box::new(self.odd_application())),
        }
    }

    /// A hostile peer's application. Its executors end immediately, because it has no driver. It gets executors only
    /// where executors are already faulty.
    fn odd_application(&mut self) -> ApplicationDescription {
        ApplicationDescription::new(
            Submitter::new("\u{202e}nobody's\n", ""),
            WantedExecutors {
                max_cores: Some(*self.dice.pick(&[Cores(0), Cores(-5), Cores(i64::MAX), Cores(3)])),
                profile: ResourceProfile {
                    cores: Some(*self.dice.pick(&[Cores(0), Cores(1), Cores(i64::MAX)])),
                    memory: Some(*self.dice.pick(&[MiB(-1), MiB(1), MiB(i64::MAX)])),
                    ..ResourceProfile::default()
                },
                limit: ExecutorLimit::AtMost(0),
                ..WantedExecutors::default()
            },
            Placing::default(),
            Work { files: self.dice.one_in(4).then(odd_files), ..Work::of(Command::of("")) },
        )
    }

    fn odd_executor_message(&mut self) -> ExecutorToDriver {
        let attempt = AttemptId {
            task: TaskId(self.dice.below(50)),
            attempt: u32::try_from(self.dice.below(3)).expect("it is small"),
        };
        match self.dice.below(5) {
            0 => ExecutorToDriver::StatusUpdate { attempt, state: TaskState::Running },
            1 => {
                let end = TaskEnd::Exited(ExitStatus::SUCCESS);
                ExecutorToDriver::StatusUpdate { attempt, state: TaskState::Ended(end) }
            }
            2 => ExecutorToDriver::TaskOutput {
                attempt,
                stream: *self.dice.pick(&[Stream::Stdout, Stream::Stderr]),
                bytes: Bytes::from_static(b"not what it wrote"),
            },
            _ => ExecutorToDriver::RegisterExecutor {
                app: self.odd_app(),
                executor: ExecutorId(1_000_000),
                profile: *self.dice.pick(&[ProfileId::DEFAULT, ProfileId(u32::MAX)]),
                worker: self.odd_worker(),
                host: "nowhere".to_owned(),
                cores: Cores(0),
                resources: Resources::default(),
                secret: Secret::default(),
                received: Some(0),
            },
        }
    }

    fn odd_report(&mut self) -> ExecutorReport {
        let executor = self.odd_key();
        let failure = StartFailure { step: StartStep::Directory, error: String::new() };
        let states = [
            ExecutorState::Launching,
            ExecutorState::Running,
            ExecutorState::Killed(None),
            ExecutorState::Failed(failure),
            ExecutorState::Lost(LossReason::Disconnected),
            ExecutorState::Exited(ExitStatus::SUCCESS),
        ];
        ExecutorReport::new(executor, self.dice.pick(&states).clone())
    }

    /// The key of a live executor, or of an executor that was never started.
    fn odd_key(&mut self) -> ExecutorKey {
        let keys: Vec<&ExecutorKey> = self.processes.keys().collect();
        match self.dice.index(keys.len() + 1) {
            Some(index) if index < keys.len() => keys[index].clone(),
            _ => ExecutorKey { app: self.odd_app(), executor: self.odd_executor() },
        }
    }

    fn odd_executor(&mut self) -> ExecutorId {
        ExecutorId(*self.dice.pick(&[0, 1, 2, 3, u32::MAX]))
    }

    fn odd_app(&mut self) -> AppId {
        let apps: Vec<AppId> = self.ledger.apps().cloned().collect();
        match self.dice.index(apps.len() + 1) {
            Some(index) if index < apps.len() => apps[index].clone(),
            _ => AppId::new("../../etc"),
        }
    }

    /// The id of a live Worker, of a new Worker, or an impossible id.
    fn odd_worker(&mut self) -> WorkerId {
        let workers: Vec<WorkerId> = self.ledger.workers().cloned().collect();
        match self.dice.index(workers.len() + 2) {
            Some(index) if index < workers.len() => workers[index].clone(),
            Some(index) if index == workers.len() => WorkerId::new("worker-of-nobody"),
            _ => WorkerId::new("../.."),
        }
    }
}

/// Files with a name that points outside the directory of the files.
fn odd_files() -> ApplicationFiles {
    let name = "../../.profile".to_owned();
    let file = FileDescription { name, kind: FileKind::Plain, length: u64::MAX, sha256: Sha256([0; 32]) };
    ApplicationFiles { source: Address::new("nowhere", 1), files: vec![file], secret: None }
}
