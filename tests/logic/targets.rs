//! A driver requests and ends executors, with a real Master.
//!
//! Source: Spark 4.0.1, `StandaloneDynamicAllocationSuite`: the same numbers after the same steps, on the same two
//! Workers of 10 cores.

use std::collections::VecDeque;
use std::time::Duration;

use firesteel_engine::driver::{self, Driver, Replacement};
use firesteel_master::{self as master, Master};
use firesteel_placement::advanced::locality::Topology;
use firesteel_placement::{Cores, ExecutorLimit, MiB, Resources};
use firesteel_protocol::Leadership;
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{ExecutorId, PeerId, ProfileId, WorkerId};
use firesteel_protocol::messages::{
    ApplicationDescription, DriverToExecutor, ExecutorToDriver, MasterToWorker, Offered, Placing,
    ResourceProfile, Submitter, WantedExecutors, Work, WorkerDescription, WorkerToMaster,
};
use firesteel_protocol::process::Command;
use firesteel_protocol::secret::Secret;
use firesteel_protocol::{Machine, Timestamp};

/// The number of every connection to the driver, and of the driver's to the Master.
const DRIVER: PeerId = PeerId(100);
const WORKERS: u64 = 2;

/// A Master and a driver with the messages between them. Workers and executors obey at once.
struct Pair {
    master: Master,
    driver: Driver,
    to_driver: VecDeque<driver::Event>,
    to_master: VecDeque<master::Event>,
}

impl Pair {
    fn new(max_cores: Option<i64>, executor_cores: Option<i64>, initial_limit: ExecutorLimit) -> Self {
        let description = ApplicationDescription::new(
            Submitter::new("test", "me"),
            WantedExecutors {
                profile: ResourceProfile {
                    cores: executor_cores.map(Cores),
                    memory: Some(MiB(256)),
                    ..ResourceProfile::default()
                },
                max_cores: max_cores.map(Cores),
                limit: initial_limit,
                ..WantedExecutors::default()
            },
            Placing::default(),
            Work::of(Command::of("true")),
        );
        let config = driver::Config {
            masters: vec![address()],
            description,
            secret: Secret::default(),
            max_task_failures: 4,
            fatal_exit_codes: Default::default(),
            allocation: driver::Allocation::Fixed,
            output_credit: 1000,
            registration_timeout: Duration::from_secs(60),
            starvation_timeout: Duration::from_secs(15),
            loss_delay: Duration::from_secs(5),
            away_timeout: Duration::from_secs(30),
            executor_timeout: Duration::from_secs(120),
            heartbeats: driver::Heartbeats::default(),
            topology: Topology::default(),
            locality_wait: driver::LocalityWait { node: Duration::ZERO, rack: Duration::ZERO },
            exclusion: driver::ExclusionPolicy::default(),
            seed: 1,
        };
        let mut pair = Self {
            master: Master::new(master::Config::default()),
            driver: Driver::new(config),
            to_driver: VecDeque::from([driver::Event::Start]),
            to_master: VecDeque::new(),
        };
        for number in 0..WORKERS {
            let worker = WorkerDescription::new(
                WorkerId::new(format!("w{number}")),
                Address::new(format!("host{number}"), 7078),
                Offered { cores: Cores(10), memory: MiB(2048), resources: Resources::default() },
                "/work",
            );
            let message = WorkerToMaster::register(worker, Vec::new());
            pair.to_master.push_back(master::Event::Received {
                peer: PeerId(number),
                arrived: now(),
                message: master::Inbound::Worker(message),
            });
        }
        pair.settle();
        pair
    }

    fn tell(&mut self, event: driver::Event) {
        self.to_driver.push_back(event);
        self.settle();
    }

    /// Delivers all messages.
    fn settle(&mut self) {
        loop {
            if let Some(event) = self.to_master.pop_front() {
                let effects = self.master.apply(now(), event);
                self.master.check().expect("the Master's invariants hold");
                effects.into_iter().for_each(|effect| self.perform_master(effect));
            } else if let Some(event) = self.to_driver.pop_front() {
                let effects = self.driver.apply(now(), event);
                self.driver.check().expect("the driver's invariants hold");
                effects.into_iter().for_each(|effect| self.perform_driver(effect));
            } else {
                return;
            }
        }
    }

    fn perform_master(&mut self, effect: master::Effect) {
        match effect {
            master::Effect::Persist(_) => {}
            master::Effect::Send { peer: _, message: master::Outbound::Driver(message) } => {
                let message = driver::Inbound::Master(message);
                self.to_driver.push_back(driver::Event::Received { peer: DRIVER, message });
            }
            master::Effect::Send {
                peer,
                message: master::Outbound::Worker(MasterToWorker::LaunchExecutor(launch)),
            } => {
                let executor = launch.executor.executor;
                let message = driver::Inbound::Executor(ExecutorToDriver::RegisterExecutor {
                    app: launch.executor.app,
                    executor,
                    profile: launch.profile,
                    worker: WorkerId::new(format!("w{peer}")),
                    host: format!("host{peer}"),
                    cores: launch.cores,
                    resources: launch.resources,
                    secret: Secret::default(),
                    received: Some(0),
                });
                let peer = PeerId(1000 + u64::from(executor.0));
                self.to_driver.push_back(driver::Event::Received { peer, message });
            }
            master::Effect::Send { .. }
            | master::Effect::Close { .. }
            | master::Effect::Probe { .. }
            | master::Effect::ReadLog { .. }
            | master::Effect::Note(_) => {}
        }
    }

    fn perform_driver(&mut self, effect: driver::Effect) {
        match effect {
            driver::Effect::Connect { master } => {
                self.to_driver.push_back(driver::Event::Connected {
                    peer: DRIVER,
                    master,
                    leadership: Leadership::ALONE,
                });
            }
            driver::Effect::Send { peer: _, message: driver::Outbound::Master(message) } => {
                let message = master::Inbound::Driver(message);
                self.to_master.push_back(master::Event::Received { peer: DRIVER, arrived: now(), message });
            }
            driver::Effect::Send { message: driver::Outbound::Executor(message), .. } => {
                assert!(!matches!(message, DriverToExecutor::LaunchTask { .. }), "there is no task");
            }
            driver::Effect::Close { .. }
            | driver::Effect::Output { .. }
            | driver::Effect::DiscardOutput { .. }
            | driver::Effect::TaskEnded { .. }
            | driver::Effect::Answer { .. }
            | driver::Effect::Done(_)
            | driver::Effect::Exit
            | driver::Effect::HandleArrived { .. }
            | driver::Effect::Note(_) => {}
        }
    }

    /// The executors' numbers, as the driver knows them.
    fn executors(&self) -> Vec<ExecutorId> {
        self.driver.view().executors.iter().map(|executor| executor.id).collect()
    }

    fn limit(&self) -> ExecutorLimit {
        let [(_, limit)] = self.driver.view().targets[..] else { panic!("there is one profile") };
        limit
    }

    fn request(&mut self, total: u64) {
        self.tell(driver::Event::RequestExecutors { profile: ProfileId::DEFAULT, total });
    }

    fn kill(&mut self, executors: Vec<ExecutorId>, replacement: Replacement) {
        self.tell(driver::Event::KillExecutors { executors, replacement });
    }

    /// The cores of the executors, largest first. Checks that Master and driver agree.
    fn cores(&self) -> Vec<i64> {
        let view = self.driver.view();
        let mine: Vec<_> = view.executors.iter().map(|executor| (executor.id, executor.cores)).collect();
        let applications = self.master.view().applications;
        let live = applications[0].executors.iter().filter(|executor| !executor.state.is_finished());
        let masters: Vec<_> = live.map(|executor| (executor.id, executor.cores)).collect();
        assert_eq!(mine, masters);
        let mut cores: Vec<i64> = mine.iter().map(|(_, cores)| cores.0).collect();
        cores.sort_unstable_by(|a, b| b.cmp(a));
        cores
    }
}

fn address() -> Address {
    Address::new("localhost", 7077)
}

fn now() -> Timestamp {
    Timestamp::from_millis(1_795_209_755_000)
}

/// An action of a driver's owner.
#[derive(Clone, Copy, Debug)]
enum Step {
    Start,
    /// Requests this many more executors. Spark's `requestExecutors`.
    More(u64),
    /// Ends this number of executors, and lowers the target.
    Kill(usize),
    KillAll,
}
use Step::{Kill, KillAll, More, Start};

/// A step, the executors after it, and the target after it; `None` means no target.
type Row = (Step, &'static [i64], Option<u64>);

fn check(max_cores: Option<i64>, executor_cores: Option<i64>, rows: &[Row]) {
    let mut pair = Pair::new(max_cores, executor_cores, ExecutorLimit::Unlimited);
    for (number, (step, cores, limit)) in rows.iter().enumerate() {
        match *step {
            Start => {}
            More(more) => {
                let before = match pair.limit() {
                    ExecutorLimit::Unlimited => 0,
                    ExecutorLimit::AtMost(limit) => limit,
                };
                pair.request(before + more);
            }
            Kill(count) => {
                let some = pair.executors().into_iter().take(count).collect();
                pair.kill(some, Replacement::Unwanted);
            }
            KillAll => {
                let all = pair.executors();
                pair.kill(all, Replacement::Unwanted);
            }
        }
        let limit = limit.map_or(ExecutorLimit::Unlimited, ExecutorLimit::AtMost);
        assert_eq!((pair.cores().as_slice(), pair.limit()), (*cores, limit), "step {number}, {step:?}");
    }
}

const TWOS: [i64; 10] = [2; 10];

#[test]
fn executors_come_and_go_as_asked() {
    let rows: [Row; 8] = [
        (Start, &[10, 10], None),
        (KillAll, &[], Some(0)),
        (More(1), &[10], Some(1)),
        (More(1), &[10, 10], Some(2)),
        (More(1), &[10, 10], Some(3)),
        (KillAll, &[10], Some(1)),
        (KillAll, &[], Some(0)),
        (More(1000), &[10, 10], Some(1000)),
    ];
    check(None, None, &rows);
}

#[test]
fn fewer_cores_than_a_worker_has_are_spread_only_in_one_placement() {
    let rows: [Row; 8] = [
        (Start, &[4, 4], None),
        (KillAll, &[], Some(0)),
        (More(1), &[8], Some(1)),
        (More(1), &[8], Some(2)),
        (More(1), &[8], Some(3)),
        (KillAll, &[4, 4], Some(2)),
        (KillAll, &[], Some(0)),
        (More(1000), &[4, 4], Some(1000)),
    ];
    check(Some(8), None, &rows);
}

#[test]
fn more_cores_than_a_worker_has_are_dealt_as_they_come() {
    let rows: [Row; 8] = [
        (Start, &[8, 8], None),
        (KillAll, &[], Some(0)),
        (More(1), &[10], Some(1)),
        (More(1), &[10, 6], Some(2)),
        (More(1), &[10, 6], Some(3)),
        (KillAll, &[10], Some(1)),
        (KillAll, &[], Some(0)),
        (More(1000), &[8, 8], Some(1000)),
    ];
    check(Some(16), None, &rows);
}

#[test]
fn a_kill_lowers_the_target_and_not_always_the_number() {
    let rows: [Row; 9] = [
        (Start, &TWOS, None),
        (KillAll, &[], Some(0)),
        (More(1), &TWOS[..1], Some(1)),
        (More(3), &TWOS[..4], Some(4)),
        (More(10), &TWOS, Some(14)),
        (Kill(2), &TWOS, Some(12)),
        (Kill(4), &TWOS[..8], Some(8)),
        (KillAll, &[], Some(0)),
        (More(1000), &TWOS, Some(1000)),
    ];
    check(None, Some(2), &rows);
}

#[test]
fn cores_bound_the_executors_and_targets_count_on() {
    let rows: [Row; 9] = [
        (Start, &TWOS[..4], None),
        (KillAll, &[], Some(0)),
        (More(1), &TWOS[..1], Some(1)),
        (More(3), &TWOS[..4], Some(4)),
        (More(10), &TWOS[..4], Some(14)),
        (KillAll, &TWOS[..4], Some(10)),
        (KillAll, &TWOS[..4], Some(6)),
        (KillAll, &TWOS[..2], Some(2)),
        (KillAll, &[], Some(0)),
    ];
    check(Some(8), Some(2), &rows);
}

/// SPARK-9795.
#[test]
fn killing_an_executor_twice_lowers_the_target_once() {
    let mut pair = Pair::new(None, None, ExecutorLimit::Unlimited);
    let one = vec![pair.executors()[0]];
    let event = driver::Event::KillExecutors { executors: one, replacement: Replacement::Unwanted };
    pair.to_driver.push_back(event.clone());
    pair.tell(event);
    assert_eq!((pair.executors().len(), pair.limit()), (1, ExecutorLimit::AtMost(1)));
}

/// SPARK-10515.
#[test]
fn a_killed_executor_that_is_to_be_replaced_is() {
    let mut pair = Pair::new(None, None, ExecutorLimit::Unlimited);
    let old = pair.executors();
    pair.kill(vec![old[0]], Replacement::Wanted);
    let new = pair.executors();
    assert_eq!((new.len(), new.contains(&old[0]), new.contains(&old[1])), (2, false, true));
}

#[test]
fn an_application_starts_with_its_initial_limit() {
    let mut pair = Pair::new(None, None, ExecutorLimit::AtMost(1));
    assert_eq!(pair.cores(), [10]);
    pair.request(2);
    assert_eq!(pair.cores(), [10, 10]);
}
