//! Table tests: they compare all effects of each event, in order.

mod application_directories;
mod drivers;
mod executors;
mod files;
mod leaders;
mod logs;
mod registration;
mod shutdown;
mod storm;
mod usage;

use std::collections::BTreeMap;
use std::time::Duration;

use firesteel_placement::{Cores, MiB, Resources};
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{AppId, ExecutorId, ExecutorKey, PeerId, ProfileId, WorkerId};
use firesteel_protocol::master_search::Due;
use firesteel_protocol::master_search::connect_error::ConnectError;
use firesteel_protocol::master_search::leadership::Leadership;
use firesteel_protocol::messages::{
    ApplicationFiles, ExecutorLaunch, ExecutorReport, ExecutorState, ExecutorWork, MasterToWorker, Offered,
    Shared, TaskDirectory, WorkerDescription, WorkerToMaster,
};
use firesteel_protocol::process::{Command, Signal};
use firesteel_protocol::{Machine, Timestamp};

use super::{
    Config, Effect, Event, ExecutorPlan, Inbound, Limits, Note, Outbound, Reason, StartTried, Worker,
};

const MASTER: PeerId = PeerId(1);
const GRACE: Duration = Duration::from_secs(10);

/// A Worker under virtual time. Its invariants are checked after every event.
struct Bench {
    worker: Worker,
    now: Timestamp,
}

impl Bench {
    /// A Worker that knows these Masters and has not started.
    fn new(masters: &[&str]) -> Self {
        Self::with_retries(masters, 16)
    }

    fn with_retries(masters: &[&str], max_registration_retries: u32) -> Self {
        let masters = masters.iter().map(|host| Address::new(*host, 7077)).collect();
        let description = description();
        let config = Config {
            description,
            masters,
            max_registration_retries,
            kill_grace: GRACE,
            driver_kill_grace: GRACE,
            cleanup: None,
            try_pause: None,
            max_disk_percent: 95,
            usage_pause: None,
            limits: Limits::default(),
            web_address: None,
            retained_executors: 1_000,
            seed: 7,
        };
        Self::of(config)
    }

    fn of(config: Config) -> Self {
        Self { worker: Worker::new(config), now: Timestamp::from_millis(1_000_000) }
    }

    /// A Worker that is registered with Master `m` as peer 1.
    fn registered() -> Self {
        Self::new(&["m"]).register()
    }

    /// A registered Worker that tries to write in its work directory.
    fn with_disk() -> Self {
        let try_pause = Some(Duration::from_secs(5));
        Self::of(Config { try_pause, ..Self::new(&["m"]).worker.config }).register()
    }

    /// Registers the Worker with Master `m` as peer 1.
    fn register(self) -> Self {
        let mut bench = self;
        bench.apply(Event::Start);
        bench.connect(1, "m");
        bench.master(1, registered("m"));
        bench
    }

    /// A registered Worker that runs executor `app-1/0` as process 70.
    fn running() -> Self {
        let mut bench = Self::registered();
        bench.master(1, launch(0));
        bench.apply(Event::RunnerStarted { executor: key(0), pid: 70 });
        bench
    }

    fn apply(&mut self, event: Event) -> Vec<Effect> {
        let effects = self.worker.apply(self.now, event);
        self.worker.check().expect("the invariants hold");
        effects
    }

    fn connect(&mut self, peer: u64, host: &str) -> Vec<Effect> {
        self.connect_to(peer, host, Leadership::ALONE)
    }

    fn connect_to(&mut self, peer: u64, host: &str, leadership: Leadership) -> Vec<Effect> {
        self.apply(Event::Connected { peer: PeerId(peer), master: Address::new(host, 7077), leadership })
    }

    /// Connects to a Master that leads with this epoch.
    fn connect_elected(&mut self, peer: u64, host: &str, epoch: u64) -> Vec<Effect> {
        let (peer, master, leadership) = (PeerId(peer), Address::new(host, 7077), Leadership::Here { epoch });
        self.apply(Event::Connected { peer, master, leadership })
    }

    fn connect_failed(&mut self, host: &str) -> Vec<Effect> {
        self.apply(Event::ConnectFailed {
            master: Address::new(host, 7077),
            error: ConnectError::unreachable("refused"),
        })
    }

    fn master(&mut self, peer: u64, message: MasterToWorker) -> Vec<Effect> {
        self.apply(Event::Received { peer: PeerId(peer), message: Inbound::Master(message) })
    }

    fn disconnect(&mut self, peer: u64) -> Vec<Effect> {
        self.apply(Event::Disconnected { peer: PeerId(peer) })
    }

    /// Advances to the next deadline. Returns its reason and its effects.
    fn deadline(&mut self) -> (Reason, Vec<Effect>) {
        let (at, reason) = self.worker.next_deadline().expect("there is a deadline");
        self.now = self.now.max(at);
        (reason, self.apply(Event::Deadline))
    }

    /// Advances until the timeout of a Master that was asked.
    fn time_out(&mut self) -> Vec<Effect> {
        loop {
            let (reason, effects) = self.deadline();
            if reason == Reason::Registration(Due::Timeout) {
                return effects;
            }
            assert_eq!(effects, [], "a connected Master is not dialled");
        }
    }

    /// The time until the next deadline.
    fn left(&self) -> Duration {
        self.worker.next_deadline().expect("there is a deadline").0.since(self.now)
    }
}

fn description() -> WorkerDescription {
    WorkerDescription::new(
        WorkerId::new("worker-1"),
        Address::new("node-7", 7078),
        Offered { cores: Cores(8), memory: MiB(4096), resources: Resources::default() },
        "/work",
    )
}

fn key(executor: u32) -> ExecutorKey {
    ExecutorKey { app: AppId::new("app-1"), executor: ExecutorId(executor) }
}

fn command(arguments: &[&str]) -> Command {
    let arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
    Command { program: "{{FIRESTEEL}}".into(), arguments, environment: BTreeMap::new() }
}

fn launch_of(executor: ExecutorKey) -> ExecutorLaunch {
    ExecutorLaunch {
        executor,
        profile: ProfileId(3),
        cores: Cores(2),
        memory: MiB(512),
        resources: Resources::default(),
        work: Shared::new(work()),
        mark: None,
    }
}

fn launch_with_files(executor: ExecutorKey, files: Option<ApplicationFiles>) -> ExecutorLaunch {
    ExecutorLaunch { work: Shared::new(ExecutorWork { files, ..work() }), ..launch_of(executor) }
}

fn work() -> ExecutorWork {
    ExecutorWork {
        app_name: "sums".into(),
        command: command(&["executor", "--id", "{{EXECUTOR_ID}}"]).into(),
        directory: TaskDirectory::Executor,
        files: None,
    }
}

fn launch(executor: u32) -> MasterToWorker {
    MasterToWorker::LaunchExecutor(launch_of(key(executor)))
}

fn start(executor: u32) -> Effect {
    Effect::StartExecutor(ExecutorPlan {
        executor: key(executor),
        profile: ProfileId(3),
        app_name: "sums".into(),
        command: command(&["executor", "--id", &executor.to_string()]).into(),
        directory: TaskDirectory::Executor,
        cores: Cores(2),
        memory: MiB(512),
        resources: Resources::default(),
        on_worker: Resources::default(),
        files: Vec::new(),
    })
}

fn kill(executor: u32) -> MasterToWorker {
    MasterToWorker::KillExecutor { executor: key(executor) }
}

fn registered(host: &str) -> MasterToWorker {
    MasterToWorker::RegisteredWorker {
        master_url: format!("spark://{host}:7077"),
        heartbeat_millis: 15_000,
        duplicate: false,
        web_address: None,
        mark: None,
    }
}

fn dial(host: &str) -> Effect {
    Effect::Connect { master: Address::new(host, 7077) }
}

fn close(peer: u64) -> Effect {
    Effect::Close { peer: PeerId(peer) }
}

fn send(peer: u64, message: WorkerToMaster) -> Effect {
    Effect::Send { peer: PeerId(peer), message: Outbound::Master(message) }
}

/// The first effect when the Worker is stopped.
fn leaving() -> Effect {
    let message = WorkerToMaster::WorkerDecommissioning { worker: description().id };
    Effect::Send { peer: PeerId(1), message: Outbound::Master(message) }
}

/// A heartbeat that answers the order to launch this executor.
fn answer(peer: u64, executor: u32) -> Effect {
    let last_order = Some(key(executor));
    send(peer, WorkerToMaster::Heartbeat { worker: WorkerId::new("worker-1"), last_order })
}

fn heartbeat(peer: u64) -> Effect {
    send(peer, WorkerToMaster::Heartbeat { worker: WorkerId::new("worker-1"), last_order: None })
}

fn register(peer: u64, executors: Vec<ExecutorReport>) -> Effect {
    send(peer, WorkerToMaster::register(description(), executors))
}

fn report(executor: u32, state: ExecutorState) -> ExecutorReport {
    ExecutorReport::new(key(executor), state)
}

fn tell(executor: u32, state: ExecutorState) -> Effect {
    send(1, WorkerToMaster::ExecutorStateChanged(report(executor, state)))
}

fn signal(executor: u32, signal: Signal) -> Effect {
    Effect::SignalExecutor { executor: key(executor), signal }
}

fn note(note: Note) -> Effect {
    Effect::Note(note)
}

fn ended(executor: u32, state: ExecutorState) -> Effect {
    note(Note::ExecutorEnded { executor: key(executor), state })
}
