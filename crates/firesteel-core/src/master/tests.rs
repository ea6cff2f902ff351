//! The Master's tables of tests: an event, and everything that it leads to.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use firesteel_placement::index::{Share, Slot};
use firesteel_placement::{Cores, Demand, ExecutorLimit, MiB, ResourceAmounts, Resources};

use super::*;
use crate::address::Address;
use crate::ids::{AppId, ExecutorId, ExecutorKey, ProfileId, WorkerId};
use crate::messages::*;
use crate::process::{Command, ExitStatus, StartFailure, StartStep};

mod clients;
mod flaws;
mod policies;

const T0: Timestamp = Timestamp::from_millis(1_795_209_755_000);
const DRIVER: PeerId = PeerId(100);

/// A Master under test, with the time.
struct Bench {
    master: Master,
    now: Timestamp,
}

impl Bench {
    fn new(config: Config) -> Self {
        Self { master: Master::new(config), now: T0 }
    }

    /// Applies an event and returns its effects without the notes.
    fn apply(&mut self, event: Event) -> Vec<Effect> {
        let effects = self.master.apply(self.now, event);
        self.master.check().expect("the invariants hold");
        effects.into_iter().filter(|effect| !matches!(effect, Effect::Note(_))).collect()
    }

    fn worker_says(&mut self, peer: u64, message: WorkerToMaster) -> Vec<Effect> {
        self.apply(Event::Received { peer: PeerId(peer), message: Inbound::Worker(message) })
    }

    fn driver_says(&mut self, message: DriverToMaster) -> Vec<Effect> {
        self.apply(Event::Received { peer: DRIVER, message: Inbound::Driver(message) })
    }

    /// Registers Worker `w<n>` on connection n.
    fn worker(&mut self, n: u64, cores: i64) -> Vec<Effect> {
        self.worker_says(n, register(n, cores, Vec::new()))
    }

    /// Registers an application with executors of so many cores.
    fn application(&mut self, max_cores: Option<i64>, cores: i64) -> Vec<Effect> {
        self.driver_says(DriverToMaster::RegisterApplication(description(max_cores, Some(cores))))
    }

    fn report(&mut self, peer: u64, executor: u32, state: ExecutorState) -> Vec<Effect> {
        let report = ExecutorReport { executor: key(executor), state };
        self.worker_says(peer, WorkerToMaster::ExecutorStateChanged(report))
    }

    /// Moves on to the next deadline.
    fn deadline(&mut self) -> Vec<Effect> {
        let (time, _) = self.master.next_deadline().expect("something is to come");
        self.now = self.now.max(time);
        self.apply(Event::Deadline)
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
        Address::new(format!("host{n}"), 7078),
        Offered { cores: Cores(cores), memory: MiB(8192), resources: Resources::default() },
        "/var/spark",
    );
    WorkerToMaster::RegisterWorker { worker, executors }
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

fn to_driver(message: MasterToDriver) -> Effect {
    Effect::Send { peer: DRIVER, message: Outbound::Driver(message) }
}

fn registered(peer: u64, duplicate: bool) -> Effect {
    let master_url = "spark://localhost:7077".to_owned();
    to_worker(peer, MasterToWorker::RegisteredWorker { master_url, heartbeat_millis: 15_000, duplicate })
}

fn welcome(max_cores: Cores) -> Effect {
    to_driver(MasterToDriver::RegisteredApplication {
        app: app(),
        master_url: "spark://localhost:7077".to_owned(),
        max_cores,
        first_executor: ExecutorId(0),
    })
}

/// The two effects of a launch.
fn launch(executor: u32, worker: u64, cores: i64) -> [Effect; 2] {
    let order = ExecutorLaunch {
        executor: key(executor),
        profile: ProfileId::DEFAULT,
        app_name: "test".to_owned(),
        command: command(),
        directory: TaskDirectory::Executor,
        cores: Cores(cores),
        memory: MiB(1024),
        resources: Resources::default(),
        files: None,
    };
    let added = MasterToDriver::ExecutorAdded {
        executor: ExecutorId(executor),
        profile: ProfileId::DEFAULT,
        worker: WorkerId::new(format!("w{worker}")),
        host: format!("host{worker}"),
        cores: Cores(cores),
        memory: MiB(1024),
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
fn an_application_is_placed_when_it_registers_and_again_when_a_worker_comes() {
    let mut bench = Bench::new(Config::default());
    assert_eq!(bench.worker(1, 8), [registered(1, false)]);
    let expected: Vec<_> = [welcome(Cores(24))].into_iter().chain(launch(0, 1, 6)).collect();
    assert_eq!(bench.application(Some(24), 6), expected);
    let expected: Vec<_> = [registered(2, false)].into_iter().chain(launch(1, 2, 6)).collect();
    assert_eq!(bench.worker(2, 8), expected);
}

#[test]
fn a_worker_that_is_about_to_end_is_given_no_more_executors_until_it_comes_back() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.application(Some(24), 6);
    let worker = WorkerId::new("w1");
    assert_eq!(bench.worker_says(1, WorkerToMaster::WorkerDecommissioning { worker: worker.clone() }), []);
    assert_eq!(bench.worker_says(1, WorkerToMaster::WorkerDecommissioning { worker: worker.clone() }), []);
    assert_eq!(bench.master.view().workers[0].state, WorkerState::Decommissioned);
    let killed = ExecutorState::Killed(Some(ExitStatus::Signal(15)));
    assert_eq!(bench.report(1, 0, killed.clone()), [updated(0, killed), noted(1, 0)]);
    assert_eq!(bench.master.view().workers[0].cores_used, Cores(0));
    // Nobody else can say so of it.
    bench.worker(2, 5);
    assert_eq!(bench.worker_says(2, WorkerToMaster::WorkerDecommissioning { worker }), []);
    assert_eq!(bench.master.view().workers[1].state, WorkerState::Alive);
    let back: Vec<_> = bench.worker_says(3, register(1, 8, Vec::new()));
    assert!(back.contains(&launch(1, 3, 6)[0]), "{back:?}");
}

#[test]
fn registering_twice_gives_the_same_application() {
    let mut bench = Bench::new(Config::default());
    assert_eq!(bench.application(None, 1), [welcome(Cores::UNLIMITED)]);
    assert_eq!(bench.application(None, 1), [welcome(Cores::UNLIMITED)]);
    assert_eq!(bench.master.view().applications.len(), 1);
}

#[test]
fn a_killed_executor_is_replaced_while_the_target_stays() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.application(Some(8), 8);
    let request = DriverToMaster::KillExecutors { app: app(), executors: vec![ExecutorId(0), ExecutorId(7)] };
    let expected: Vec<_> = [
        kill(1, 0),
        updated(0, ExecutorState::Killed(None)),
        to_driver(MasterToDriver::ExecutorsKilled { accepted: true }),
    ]
    .into_iter()
    .chain(launch(1, 1, 8))
    .collect();
    assert_eq!(bench.driver_says(request), expected);
    // The Worker's own report comes late and changes nothing.
    assert_eq!(bench.report(1, 0, ExecutorState::Killed(Some(ExitStatus::Signal(15)))), [noted(1, 0)]);
}

#[test]
fn another_drivers_application_is_out_of_reach() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.application(Some(8), 8);
    let stranger = PeerId(101);
    for (message, answer) in [
        (
            DriverToMaster::KillExecutors { app: app(), executors: vec![ExecutorId(0)] },
            Some(MasterToDriver::ExecutorsKilled { accepted: false }),
        ),
        (
            DriverToMaster::RequestExecutors { app: app(), targets: Vec::new() },
            Some(MasterToDriver::ExecutorsRequested { accepted: false }),
        ),
        (DriverToMaster::UnregisterApplication { app: app(), outcome: None }, None),
        (DriverToMaster::RequestShortfall { app: app() }, None),
    ] {
        let effects = bench.apply(Event::Received { peer: stranger, message: Inbound::Driver(message) });
        let expected: Vec<_> = answer
            .map(|message| Effect::Send { peer: stranger, message: Outbound::Driver(message) })
            .into_iter()
            .collect();
        assert_eq!(effects, expected);
    }
    assert_eq!(bench.master.view().applications[0].executors.len(), 1);
}

#[test]
fn an_application_has_a_bounded_number_of_profiles() {
    let mut bench = Bench::new(Config::default());
    bench.application(Some(8), 8);
    let needs = ResourceProfile::default();
    let mut ask = |ids: std::ops::Range<u32>| {
        let target = |id| ExecutorTarget { id: ProfileId(id), profile: needs.clone(), total: 0 };
        let targets = ids.map(target).collect();
        bench.driver_says(DriverToMaster::RequestExecutors { app: app(), targets })
    };
    let answer = |accepted| {
        let message = Outbound::Driver(MasterToDriver::ExecutorsRequested { accepted });
        vec![Effect::Send { peer: DRIVER, message }]
    };
    assert_eq!(ask(1..64), answer(true), "with the default one, as many as there may be");
    assert_eq!(ask(64..65), answer(false));
    assert_eq!(ask(0..64), answer(true), "the same ones again are no more");
}

#[test]
fn with_a_probation_of_zero_running_resets_the_count_as_in_spark() {
    let mut bench = Bench::new(Config { proven_after: Duration::ZERO, ..Config::default() });
    bench.worker(1, 8);
    bench.application(Some(8), 8);
    for n in 0..50 {
        assert_eq!(bench.report(1, n, ExecutorState::Running), [updated(n, ExecutorState::Running)]);
        let expected: Vec<_> =
            [updated(n, CRASH), noted(1, n)].into_iter().chain(launch(n + 1, 1, 8)).collect();
        assert_eq!(bench.report(1, n, CRASH), expected, "failure {n}");
    }
}

#[test]
fn executors_that_cannot_start_end_the_application_after_exactly_ten() {
    let failed =
        || ExecutorState::Failed(StartFailure { step: StartStep::Program, error: "no such file".to_owned() });
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.application(Some(8), 8);
    for n in 0..9 {
        bench.report(1, n, failed());
        if n > 0 {
            assert_eq!(bench.deadline(), launch(n + 1, 1, 8), "after failure {n}");
        }
    }
    let end = ApplicationEnd::ExecutorsFailed { failures: 10, last: failed() };
    let expected = [
        updated(9, failed()),
        to_worker(1, MasterToWorker::ApplicationFinished { app: app() }),
        to_driver(MasterToDriver::ApplicationRemoved(end)),
        to_driver(MasterToDriver::ExecutorsGone { app: app() }),
        noted(1, 9),
    ];
    assert_eq!(bench.report(1, 9, failed()), expected);
}

#[test]
fn an_executor_that_crashes_at_once_is_not_restarted_for_ever() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.application(Some(8), 8);
    for n in 0..10 {
        assert_eq!(bench.master.view().applications.len(), 1, "alive before crash {n}");
        bench.report(1, n, ExecutorState::Running);
        bench.now = bench.now + Duration::from_millis(10);
        bench.report(1, n, CRASH);
        if (1..9).contains(&n) {
            assert_eq!(bench.deadline(), launch(n + 1, 1, 8), "after crash {n}");
        }
    }
    assert_eq!(bench.master.view().applications, []);
    let end = bench.master.view().completed[0].end.clone();
    assert_eq!(end.as_deref(), Some("10 executors failed in a row, the last with EXITED (exit code 1)"));
}

#[test]
fn an_executor_that_ran_for_a_while_starts_the_count_anew() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.application(Some(8), 8);
    for n in 0..30 {
        bench.report(1, n, ExecutorState::Running);
        bench.now = bench.now + Duration::from_secs(5);
        let expected: Vec<_> =
            [updated(n, CRASH), noted(1, n)].into_iter().chain(launch(n + 1, 1, 8)).collect();
        assert_eq!(bench.report(1, n, CRASH), expected, "failure {n}");
    }
}

#[test]
fn exit_code_0_and_a_kill_neither_count_nor_reset() {
    let mut bench = Bench::new(Config { retries: Retries::AtMost(2), ..Config::default() });
    bench.worker(1, 8);
    bench.application(Some(8), 8);
    bench.report(1, 0, CRASH);
    for (n, end) in
        [ExecutorState::Exited(ExitStatus::SUCCESS), ExecutorState::Killed(None)].into_iter().enumerate()
    {
        let n = u32::try_from(n).expect("two rows") + 1;
        let expected: Vec<_> =
            [updated(n, end.clone()), noted(1, n)].into_iter().chain(launch(n + 1, 1, 8)).collect();
        assert_eq!(bench.report(1, n, end), expected);
    }
    bench.report(1, 3, CRASH);
    assert_eq!(bench.master.view().applications, []);
}

#[test]
fn a_proven_executor_keeps_its_application_alive() {
    let mut bench = Bench::new(Config { retries: Retries::AtMost(1), ..Config::default() });
    bench.worker(1, 8);
    bench.worker(2, 8);
    bench.application(Some(16), 8);
    bench.report(2, 0, ExecutorState::Running);
    bench.now = bench.now + Duration::from_secs(5);
    bench.report(1, 1, CRASH);
    assert_eq!(bench.master.view().applications.len(), 1);
    bench.report(2, 0, CRASH);
    assert_eq!(bench.master.view().applications.len(), 0);
}

#[test]
fn a_lost_worker_returns_every_core_and_its_executors_are_replaced() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.worker(2, 8);
    bench.application(Some(8), 4);
    let effects = bench.apply(Event::Disconnected { peer: PeerId(2) });
    let expected: Vec<_> =
        [lost(0, 2, LossReason::Disconnected), worker_removed(2, LossReason::Disconnected)]
            .into_iter()
            .chain(launch(2, 1, 4))
            .collect();
    assert_eq!(effects, expected);
    // It comes back with what it still runs, and is told to end that.
    let running = ExecutorReport { executor: key(0), state: ExecutorState::Running };
    assert_eq!(bench.worker_says(3, register(2, 8, vec![running])), [registered(3, false), kill(3, 0)]);
}

#[test]
fn a_silent_worker_is_removed_exactly_at_its_timeout() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.now = bench.now + Duration::from_secs(59);
    let heartbeat = WorkerToMaster::Heartbeat { worker: WorkerId::new("w1") };
    assert_eq!(bench.worker_says(1, heartbeat.clone()), []);
    assert_eq!(bench.deadline(), []);
    let expected = T0 + Duration::from_secs(59 + 60);
    assert_eq!(bench.master.next_deadline(), Some((expected, Reason::WorkerTimeout)));
    assert_eq!(bench.deadline(), [Effect::Close { peer: PeerId(1) }]);
    assert_eq!(bench.master.view().workers[0].state, WorkerState::Dead);
    assert_eq!(bench.worker_says(1, heartbeat), [to_worker(1, MasterToWorker::ReconnectWorker)]);
}

#[test]
fn a_lost_worker_is_remembered_however_long_the_settings_say() {
    let mut bench = Bench::new(Config {
        worker_timeout: Duration::MAX,
        dead_worker_persistence: u32::MAX,
        ..Config::default()
    });
    bench.worker(1, 8);
    bench.apply(Event::Disconnected { peer: PeerId(1) });
    let states: Vec<_> = bench.master.view().workers.iter().map(|worker| worker.state).collect();
    assert_eq!(states, [WorkerState::Dead]);
}

#[test]
fn a_worker_on_a_new_connection_keeps_its_executors_but_for_orders_that_were_lost() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.application(Some(8), 4);
    bench.report(1, 0, ExecutorState::Running);
    let named = |executor, state| ExecutorReport { executor: key(executor), state };
    let effects = bench.worker_says(2, {
        let WorkerToMaster::RegisterWorker { mut worker, .. } = register(1, 8, Vec::new()) else {
            unreachable!()
        };
        worker.id = WorkerId::new("w1");
        WorkerToMaster::RegisterWorker { worker, executors: vec![named(0, ExecutorState::Running)] }
    });
    let relaunched = launch(2, 1, 4).map(|effect| match effect {
        Effect::Send { message: message @ Outbound::Worker(_), .. } => {
            Effect::Send { peer: PeerId(2), message }
        }
        other => other,
    });
    let expected: Vec<_> =
        [Effect::Close { peer: PeerId(1) }, registered(2, true), lost(1, 1, LossReason::LaunchLost)]
            .into_iter()
            .chain(relaunched)
            .collect();
    assert_eq!(effects, expected);
    // The old connection's end is no news.
    assert_eq!(bench.apply(Event::Disconnected { peer: PeerId(1) }), []);
}

#[test]
fn workers_that_cannot_be_are_refused() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    let refused = |peer, reason| to_worker(peer, MasterToWorker::RegisterWorkerFailed(reason));
    let size = |cores| RefusedRegistration::UnsoundSize { cores: Cores(cores), memory: MiB(8192) };
    assert_eq!(bench.worker(2, 0), [refused(2, size(0))]);
    assert_eq!(bench.worker(2, -4), [refused(2, size(-4))]);
    assert_eq!(bench.worker(2, 65_537), [refused(2, size(65_537))]);
    assert_eq!(bench.worker(2, i64::MAX), [refused(2, size(i64::MAX))]);
    let WorkerToMaster::RegisterWorker { mut worker, executors } = register(2, 8, Vec::new()) else {
        unreachable!()
    };
    worker.id = WorkerId::new("../w2");
    let message = WorkerToMaster::RegisterWorker { worker: worker.clone(), executors: executors.clone() };
    assert_eq!(bench.worker_says(2, message), [refused(2, RefusedRegistration::UnsoundId)]);
    worker.id = WorkerId::new("w2");
    worker.host = "host1".to_owned();
    let same =
        RefusedRegistration::SameAddress { address: "host1:7078".to_owned(), other: WorkerId::new("w1") };
    assert_eq!(
        bench.worker_says(2, WorkerToMaster::RegisterWorker { worker, executors }),
        [refused(2, same)]
    );
}

#[test]
fn an_application_that_cannot_be_is_refused() {
    let mut bench = Bench::new(Config::default());
    for (max_cores, cores) in [(Some(0), Some(1)), (Some(-1), None), (None, Some(0)), (None, Some(i64::MAX))]
    {
        let effects = bench.driver_says(DriverToMaster::RegisterApplication(description(max_cores, cores)));
        let [Effect::Send { message: Outbound::Driver(MasterToDriver::ApplicationRemoved(end)), .. }] =
            &effects[..]
        else {
            panic!("{max_cores:?} {cores:?}: {effects:?}");
        };
        assert!(matches!(end, ApplicationEnd::Refused { .. }));
    }
}

#[test]
fn resources_that_no_explanation_could_tell_are_refused_with_the_reason() {
    let refused = |resources: ResourceAmounts| {
        let mut description = description(None, Some(1));
        description.profile.resources = resources;
        let effects =
            Bench::new(Config::default()).driver_says(DriverToMaster::RegisterApplication(description));
        match &effects[..] {
            [Effect::Send { message: Outbound::Driver(MasterToDriver::ApplicationRemoved(end)), .. }] => {
                Some(end.to_string())
            }
            _ => None,
        }
    };
    let named = |length| ResourceAmounts::from([("n".repeat(length), 1)]);
    let many = |count: u32| (0..count).map(|number| (number.to_string(), 1)).collect();
    assert_eq!((refused(named(100)), refused(many(16))), (None, None));
    assert_eq!(
        refused(named(101)).as_deref(),
        Some("refused: the name of a custom resource cannot have 101 bytes: at most 100")
    );
    assert_eq!(
        refused(many(17)).as_deref(),
        Some("refused: an executor cannot have 17 custom resources: at most 16")
    );
}

#[test]
fn a_name_that_no_table_could_show_is_refused_in_a_short_line() {
    let mut master = Master::new(Config::default());
    let named = ApplicationDescription { name: "n".repeat(1 << 20), ..description(None, Some(1)) };
    let message = Inbound::Driver(DriverToMaster::RegisterApplication(named));
    let effects = master.apply(T0, Event::Received { peer: DRIVER, message });
    assert!(matches!(
        &effects[..],
        [
            Effect::Note(Note::ApplicationRefused { name, .. }),
            Effect::Send {
                message: Outbound::Driver(MasterToDriver::ApplicationRemoved(ApplicationEnd::Refused { .. })),
                ..
            },
        ] if name.len() == 100
    ));
}

#[test]
fn a_driver_that_vanishes_fails_its_application_and_one_that_says_so_finishes_it() {
    for (unregister, state) in [(false, ApplicationState::Failed), (true, ApplicationState::Finished)] {
        let mut bench = Bench::new(Config::default());
        bench.worker(1, 8);
        bench.application(Some(8), 8);
        let effects = match unregister {
            true => bench.driver_says(DriverToMaster::UnregisterApplication { app: app(), outcome: None }),
            false => bench.apply(Event::Disconnected { peer: DRIVER }),
        };
        let finished = to_worker(1, MasterToWorker::ApplicationFinished { app: app() });
        assert_eq!(effects, [kill(1, 0), finished]);
        assert_eq!(bench.master.view().completed[0].state, state);
        assert_eq!(bench.master.view().workers[0].cores_used, Cores(0));
    }
}

#[test]
fn executors_go_to_preferred_hosts_then_to_their_racks_then_anywhere_and_not_to_avoided_ones() {
    let mut bench = Bench::new(Config::default());
    for worker in 1..=5 {
        bench.worker(worker, 4);
    }
    let mut wanted = description(None, Some(4));
    wanted.initial_limit = ExecutorLimit::AtMost(0);
    bench.driver_says(DriverToMaster::RegisterApplication(wanted));
    let wishes = HostWishes {
        tasks: 14,
        preferred: BTreeMap::from([("host2".to_owned(), 5), ("host4".to_owned(), 9)]),
        racks: BTreeMap::from(
            [("host2", "/r1"), ("host1", "/r1")].map(|(h, r)| (h.to_owned(), r.to_owned())),
        ),
        avoided: BTreeSet::from(["host5".to_owned()]),
    };
    assert_eq!(bench.driver_says(DriverToMaster::PreferHosts { app: app(), wishes }), []);
    let target = ExecutorTarget { id: ProfileId::DEFAULT, profile: ResourceProfile::default(), total: 5 };
    let effects = bench.driver_says(DriverToMaster::RequestExecutors { app: app(), targets: vec![target] });
    // Without wishes, Workers of as many cores are taken from the highest id down.
    let expected = [launch(0, 4, 4), launch(1, 2, 4), launch(2, 1, 4), launch(3, 3, 4)].concat();
    assert_eq!(effects[1..], expected);
    let none = DriverToMaster::PreferHosts { app: app(), wishes: HostWishes::default() };
    assert_eq!(bench.driver_says(none), launch(4, 5, 4));
}

#[test]
fn a_driver_learns_why_no_executor_comes() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.application(Some(16), 16);
    let effects = bench.driver_says(DriverToMaster::RequestShortfall { app: app() });
    let [Effect::Send { message: Outbound::Driver(MasterToDriver::Shortfalls(shortfalls)), .. }] =
        &effects[..]
    else {
        panic!("{effects:?}");
    };
    let words: Vec<_> = shortfalls.iter().map(|(_, shortfall)| shortfall.to_string()).collect();
    assert_eq!(words.len(), 1);
    assert!(words[0].contains("16 cores") && words[0].contains('8'), "{words:?}");
}

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

/// Each row spoils the tables in one way; `check` must see it.
#[test]
fn the_invariants_bite() {
    type Spoil = fn(&mut Master);
    let rows: [(&str, Spoil); 10] = [
        ("a pass that was forgotten", |m| m.pass = Pass::Due),
        ("an executor that its Worker forgot", |m| {
            m.workers.living_mut(&WorkerId::new("w1")).executors.clear();
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
            let share = Share { slot: w1(m), executors: 1, cores: Cores(1) };
            m.workers.claim(&Demand::default(), &[share]);
        }),
        ("a demand that is filed as waiting while a Worker has room", |m| {
            m.applications.live_mut(&app()).max_cores = Cores(8);
            m.applications.file();
        }),
        ("a number that will be given twice", |m| m.applications.live_mut(&app()).next_executor = 0),
        ("cores counted twice", |m| m.applications.live_mut(&app()).cores_granted += Cores(4)),
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
