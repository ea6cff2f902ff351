//! Tests of the Master's tables: they apply an event and check all its consequences.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use firesteel_placement::advanced::index::{Share, Slot};
use firesteel_placement::{Cores, Demand, ExecutorLimit, MiB, Policy, ResourceAmounts, Resources};
use firesteel_protocol::Mentions;
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{AppId, DriverId, ExecutorId, ExecutorKey, ProfileId, WorkerId};
use firesteel_protocol::messages::*;
use firesteel_protocol::process::{Command, ExitStatus, StartFailure, StartStep};

use super::*;

mod absences;
mod applications;
mod audit;
mod clients;
mod cluster_drivers;
mod exclusions;
mod executors;
mod flaws;
mod global_exclusion;
mod impairments;
mod labels;
mod memory;
mod nights;
mod policies;
mod recovery;
mod reports;
mod shares;
mod users;
mod workers;

const T0: Timestamp = Timestamp::from_millis(1_795_209_755_000);
/// The port of all Workers.
const PORT: u16 = 7078;
const DRIVER: PeerId = PeerId(100);

/// Somebody with this name who may do everything.
fn admin(name: &str) -> Requester {
    Requester::new(name, Rights::Admin)
}

/// A Master under test, with the present time.
struct Bench {
    master: Master,
    now: Timestamp,
    /// The records of all events so far.
    journal: Vec<Record>,
}

impl Bench {
    fn new(config: Config) -> Self {
        let config = Config { durability: Durability::Durable, ..config };
        let master = Master::new(config);
        let journal = master.image();
        Self { master, now: T0, journal }
    }

    /// Applies an event and returns its effects, without the records and the notes. Also checks that a Master recovered
    /// from the records has the same tables.
    fn apply(&mut self, event: Event) -> Vec<Effect> {
        let mut effects = self.master.apply(self.now, event);
        self.master.check().expect("the invariants hold");
        for effect in &mut effects {
            if let Effect::Persist(records) = effect {
                self.journal.append(records);
            }
        }
        assert_eq!(self.recovered().image(), self.master.image());
        effects.retain(|effect| !matches!(effect, Effect::Persist(_) | Effect::Note(_)));
        effects
    }

    /// A Master that is recovered from the records.
    fn recovered(&self) -> Master {
        let recovered = Master::recover(self.master.config.clone(), self.now, self.journal.clone());
        let recovered = recovered.expect("the records fit each other");
        recovered.check_tables_before_the_pass().expect("the invariants hold");
        recovered
    }

    fn worker_says(&mut self, peer: u64, message: WorkerToMaster) -> Vec<Effect> {
        self.apply(Event::Received {
            peer: PeerId(peer),
            arrived: self.now,
            message: Inbound::Worker(message),
        })
    }

    fn driver_says(&mut self, message: DriverToMaster) -> Vec<Effect> {
        self.apply(Event::Received { peer: DRIVER, arrived: self.now, message: Inbound::Driver(message) })
    }

    /// Registers Worker `w<n>` on connection n.
    fn worker(&mut self, n: u64, cores: i64) -> Vec<Effect> {
        self.worker_says(n, register(n, cores, Vec::new()))
    }

    /// Registers an application with executors of this number of cores.
    fn application(&mut self, max_cores: Option<i64>, cores: i64) -> Vec<Effect> {
        self.driver_says(DriverToMaster::RegisterApplication(Box::new(description(max_cores, Some(cores)))))
    }

    fn report(&mut self, peer: u64, executor: u32, state: ExecutorState) -> Vec<Effect> {
        let report = ExecutorReport::new(key(executor), state);
        self.worker_says(peer, WorkerToMaster::ExecutorStateChanged(report))
    }

    /// Advances to the next deadline.
    fn deadline(&mut self) -> Vec<Effect> {
        let (time, _) = self.master.next_deadline().expect("something is to come");
        self.now = self.now.max(time);
        self.apply(Event::Deadline { heard_until: self.now })
    }
}

fn app() -> AppId {
    AppId::new("app-20261120212235-0000")
}

fn key(executor: u32) -> ExecutorKey {
    ExecutorKey { app: app(), executor: ExecutorId(executor) }
}

fn register(n: u64, cores: i64, executors: Vec<ExecutorReport>) -> WorkerToMaster {
    let worker = WorkerDescription::new(
        WorkerId::new(format!("w{n}")),
        Address::new(format!("host{n}"), PORT),
        Offered { cores: Cores(cores), memory: MiB(8192), resources: Resources::default() },
        "/var/spark",
    );
    WorkerToMaster::register(worker, executors)
}

fn command() -> Command {
    Command::of("true")
}

fn description(max_cores: Option<i64>, cores: Option<i64>) -> ApplicationDescription {
    ApplicationDescription::new(
        Submitter::new("test", "me"),
        WantedExecutors {
            profile: ResourceProfile {
                cores: cores.map(Cores),
                memory: Some(MiB(1024)),
                resources: ResourceAmounts::new(),
            },
            max_cores: max_cores.map(Cores),
            ..WantedExecutors::default()
        },
        Placing::default(),
        Work::of(command()),
    )
}

fn to_worker(peer: u64, message: MasterToWorker) -> Effect {
    Effect::Send { peer: PeerId(peer), message: Outbound::Worker(message) }
}

/// The remarks about Workers that have one.
fn remarks(master: &Master) -> BTreeMap<WorkerId, WorkerRemark> {
    let workers = master.view().workers.into_iter();
    workers.filter_map(|worker| Some((worker.id, worker.remark?))).collect()
}

fn to_driver(message: MasterToDriver) -> Effect {
    Effect::Send { peer: DRIVER, message: Outbound::Driver(message) }
}

fn registered(peer: u64, duplicate: bool) -> Effect {
    let master_url = "spark://localhost:7077".to_owned();
    let (heartbeat_millis, web_address) = (15_000, None);
    to_worker(
        peer,
        MasterToWorker::RegisteredWorker { master_url, heartbeat_millis, duplicate, web_address, mark: None },
    )
}

fn confirmation(max_cores: Cores) -> Effect {
    to_driver(MasterToDriver::RegisteredApplication {
        app: app(),
        master_url: "spark://localhost:7077".to_owned(),
        max_cores,
        first_executor: ExecutorId(0),
        mark: None,
    })
}

fn order(executor: u32, cores: i64) -> ExecutorLaunch {
    ExecutorLaunch {
        executor: key(executor),
        profile: ProfileId::DEFAULT,
        cores: Cores(cores),
        memory: MiB(1024),
        resources: Resources::default(),
        work: Shared::new(ExecutorWork {
            app_name: "test".to_owned(),
            command: command().into(),
            directory: TaskDirectory::Executor,
            files: None,
        }),
        mark: None,
    }
}

/// The two effects of a launch.
fn launch(executor: u32, worker: u64, cores: i64) -> [Effect; 2] {
    let order = order(executor, cores);
    let added = MasterToDriver::ExecutorAdded {
        executor: ExecutorId(executor),
        profile: ProfileId::DEFAULT,
        worker: WorkerId::new(format!("w{worker}")),
        host: format!("host{worker}"),
        cores: Cores(cores),
        memory: MiB(1024),
        port: PORT,
    };
    [to_worker(worker, MasterToWorker::LaunchExecutor(order)), to_driver(added)]
}

fn updated(executor: u32, state: ExecutorState) -> Effect {
    to_driver(MasterToDriver::ExecutorUpdated { executor: ExecutorId(executor), state, lost_host: None })
}

fn lost(executor: u32, worker: u64, reason: LossReason) -> Effect {
    let (executor, state) = (ExecutorId(executor), ExecutorState::Lost(reason));
    to_driver(MasterToDriver::ExecutorUpdated { executor, state, lost_host: Some(format!("host{worker}")) })
}

fn worker_removed(worker: u64, reason: LossReason) -> Effect {
    let (id, host) = (WorkerId::new(format!("w{worker}")), format!("host{worker}"));
    to_driver(MasterToDriver::WorkerRemoved { worker: id, host, reason })
}

fn noted(peer: u64, executor: u32) -> Effect {
    to_worker(peer, MasterToWorker::ExecutorEndNoted { executor: key(executor) })
}

fn kill(peer: u64, executor: u32) -> Effect {
    to_worker(peer, MasterToWorker::KillExecutor { executor: key(executor) })
}

const CRASH: ExecutorState = ExecutorState::Exited(ExitStatus::Code(1));

#[test]
fn histories_are_bounded() {
    let mut bench = Bench::new(Config { retained_applications: 20, ..Config::default() });
    for _ in 0..100 {
        let effects = bench.application(None, 1);
        let [
            Effect::Send {
                message: Outbound::Driver(MasterToDriver::RegisteredApplication { app, .. }), ..
            },
        ] = &effects[..]
        else {
            panic!("{effects:?}");
        };
        let app = app.clone();
        bench.driver_says(DriverToMaster::UnregisterApplication { app, outcome: None });
    }
    let completed = bench.master.view().completed;
    assert!((18..=20).contains(&completed.len()), "{}", completed.len());
    assert_eq!(completed.last().expect("some are kept").id.as_str(), "app-20261120212235-0099");
}

/// Each row corrupts the tables in one way, and `check` must detect it.
#[test]
fn the_invariants_bite() {
    type Spoil = fn(&mut Master);
    let rows: [(&str, Spoil); 11] = [
        ("a pass that was forgotten", |m| m.pass = Pass::Due),
        ("an executor that its Worker forgot", |m| {
            let slot = w1(m);
            m.workers.row_mut(slot).executors.clear();
        }),
        ("cores that were not given back", |m| {
            let _lost = m.workers.grant_at_once(w1(m), Cores(1), MiB(0), &ResourceAmounts::new());
        }),
        ("memory that was not given back", |m| {
            let _lost = m.workers.grant_at_once(w1(m), Cores(0), MiB(1), &ResourceAmounts::new());
        }),
        ("cores that the index has free and the Worker has not", |m| {
            let _lost = m.workers.grant(w1(m), &Demand::default(), Cores(1));
        }),
        ("cores that the Worker has free and the index has not", |m| {
            let share = Share::new(w1(m), 1, Cores(1));
            m.workers.claim(&Demand::default(), &[share]);
        }),
        ("a demand that is filed as waiting while a Worker has room", |m| {
            m.applications.live_mut(&app()).max_cores = Cores(8);
            m.applications.file();
        }),
        ("a number that will be given twice", |m| m.applications.live_mut(&app()).next_executor = 0),
        ("cores counted twice", |m| m.applications.live_mut(&app()).cores_granted += Cores(4)),
        ("an exclusion that will never end", |m| {
            let exclusions = &mut m.applications.live_mut(&app()).exclusions;
            exclusions.exclude(m.workers.slot(&WorkerId::new("w1")).expect("w1"), T0);
        }),
        ("a Worker forgotten by its executors", |m| {
            m.workers.remove(&WorkerId::new("w1"));
        }),
    ];
    fn w1(master: &Master) -> Slot {
        master.workers.slot(&WorkerId::new("w1")).expect("w1")
    }
    for (what, spoil) in rows {
        let mut bench = Bench::new(Config::default());
        bench.worker(1, 8);
        bench.application(Some(4), 4);
        spoil(&mut bench.master);
        assert!(bench.master.check().is_err(), "{what} was not seen");
    }
}
