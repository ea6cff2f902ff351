//! Cluster drivers: submitted, placed before executors, ended, and relaunched elsewhere.

use firesteel_placement::Strategy;
use firesteel_protocol::ids::DriverId;

use super::*;

mod addresses;
mod ended;

const CLIENT: PeerId = PeerId(200);
pub(super) const KILLED: DriverState = DriverState::Killed(Some(ExitStatus::Signal(15)));

pub(super) fn id(number: u64) -> DriverId {
    DriverId::new(format!("driver-20261120212235-{number:04}"))
}

pub(super) fn wanted(cores: i64, memory: i64, supervise: bool) -> DriverDescription {
    let (user, command, resources) = ("me@here".to_owned(), command(), ResourceAmounts::new());
    DriverDescription { user, command, cores: Cores(cores), memory: MiB(memory), supervise, resources }
}

pub(super) fn with(description: &DriverDescription, resources: ResourceAmounts) -> DriverDescription {
    DriverDescription { resources, ..description.clone() }
}

pub(super) fn launch_driver(peer: u64, number: u64, description: &DriverDescription) -> Effect {
    launch_driver_with(peer, number, description, Resources::default())
}

pub(super) fn launch_driver_with(
    peer: u64,
    number: u64,
    description: &DriverDescription,
    resources: Resources,
) -> Effect {
    let (driver, description) = (id(number), description.clone());
    to_worker(peer, MasterToWorker::LaunchDriver(Box::new(DriverLaunch { driver, description, resources })))
}

pub(super) fn kill_driver(peer: u64, number: u64) -> Effect {
    to_worker(peer, MasterToWorker::KillDriver { driver: id(number) })
}

pub(super) fn noted_driver(peer: u64, number: u64) -> Effect {
    to_worker(peer, MasterToWorker::DriverEndNoted { driver: id(number) })
}

impl Bench {
    pub(super) fn sized_worker(
        &mut self,
        n: u64,
        cores: i64,
        memory: i64,
        drivers: Vec<DriverReport>,
    ) -> Vec<Effect> {
        self.sized_worker_on(n, n, cores, memory, drivers)
    }

    fn sized_worker_on(
        &mut self,
        peer: u64,
        n: u64,
        cores: i64,
        memory: i64,
        drivers: Vec<DriverReport>,
    ) -> Vec<Effect> {
        let WorkerToMaster::RegisterWorker { mut worker, executors, .. } = register(n, cores, Vec::new())
        else {
            unreachable!("it is one");
        };
        worker.memory = MiB(memory);
        self.worker_says(peer, WorkerToMaster::RegisterWorker { worker, executors, drivers })
    }

    pub(super) fn client(&mut self, message: ClientToMaster) -> (Vec<Effect>, MasterToClient) {
        let event = Event::Received { peer: CLIENT, arrived: self.now, message: Inbound::Client(message) };
        let mut effects = self.apply(event);
        let is_answer = |effect: &Effect| matches!(effect, Effect::Send { peer: CLIENT, .. });
        let at = effects.iter().position(is_answer).expect("a client is answered");
        match effects.remove(at) {
            Effect::Send { message: Outbound::Client(answer), .. } => (effects, answer),
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn submit(&mut self, description: &DriverDescription) -> Vec<Effect> {
        let message = ClientToMaster::RequestSubmitDriver(Box::new(description.clone()));
        let (effects, answer) = self.client(message);
        let MasterToClient::SubmitDriverResponse(SubmitDriverAnswer::Submitted { .. }) = answer else {
            panic!("{answer:?}");
        };
        effects
    }

    fn kill_driver(&mut self, number: u64) -> (Vec<Effect>, KillDriverAnswer) {
        let message = ClientToMaster::RequestKillDriver { driver: id(number), by: admin("ann") };
        match self.client(message) {
            (effects, MasterToClient::KillDriverResponse(answer)) => (effects, answer),
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn driver_reports(&mut self, peer: u64, number: u64, state: DriverState) -> Vec<Effect> {
        self.worker_says(peer, WorkerToMaster::DriverStateChanged(DriverReport::new(id(number), state)))
    }

    /// The states of all cluster drivers, with the numbers of their Workers.
    pub(super) fn drivers(&self) -> Vec<(String, &'static str, String)> {
        let row = |view: DriverView| {
            let worker = view.worker.map_or(String::new(), |place| place.worker.to_string());
            (view.id.as_str()[22..].to_owned(), view.state.name(), worker)
        };
        self.master.view().drivers.into_iter().map(row).collect()
    }

    pub(super) fn states(&self) -> Vec<&'static str> {
        self.drivers().into_iter().map(|(_, state, _)| state).collect()
    }

    /// The Workers of the cluster drivers, in the order of submission. `-`: no Worker.
    fn places(&self) -> String {
        let place = |(_, _, worker): (_, _, String)| if worker.is_empty() { "-".to_owned() } else { worker };
        self.drivers().into_iter().map(place).collect::<Vec<_>>().join(" ")
    }
}

/// As with Spark's Master: cluster drivers are placed before executors.
#[test]
fn a_driver_is_placed_before_executors() {
    let mut bench = Bench::new(Config::default());
    let driver = wanted(2, 1024, false);
    for (peer, memory) in [(100, 4096), (101, 1024)] {
        let mut application = description(None, None);
        application.profile.memory = Some(MiB(memory));
        let message = Inbound::Driver(DriverToMaster::RegisterApplication(Box::new(application)));
        bench.apply(Event::Received { peer: PeerId(peer), arrived: bench.now, message });
    }
    bench.submit(&driver);
    let effects = bench.sized_worker(1, 4, 4096, Vec::new());
    assert_eq!(effects[..2], [registered(1, false), launch_driver(1, 0, &driver)]);
    let Effect::Send { message: Outbound::Worker(MasterToWorker::LaunchExecutor(launch)), .. } = &effects[2]
    else {
        panic!("{effects:?}");
    };
    let of_b = ExecutorKey { app: AppId::new("app-20261120212235-0001"), executor: ExecutorId(0) };
    assert_eq!((&launch.executor, launch.cores), (&of_b, Cores(2)));
    assert_eq!(effects.len(), 4, "A gets nothing: {effects:?}");
}

/// As with Spark's Master (`spark.deploy.spreadOutDrivers=false`): each driver goes to the first Worker by id that has
/// room.
#[test]
fn drivers_that_are_not_spread_fill_the_workers_by_id() {
    let mut bench = Bench::new(Config { driver_strategy: Strategy::Consolidate, ..Config::default() });
    for (n, memory) in [(3, 4096), (1, 1024), (2, 4096)] {
        bench.sized_worker(n, 10, memory, Vec::new());
    }
    (0..4).for_each(|_| drop(bench.submit(&wanted(1, 512, false))));
    assert_eq!(bench.places(), "w1 w1 w2 w2");
}

/// As with Spark's Master (`spark.deploy.maxDrivers`): at most this number of drivers runs at once, and the others
/// wait.
#[test]
fn at_most_as_many_drivers_run_as_the_settings_say() {
    let mut bench = Bench::new(Config { max_drivers: 2, ..Config::default() });
    bench.worker(1, 8);
    (0..4).for_each(|_| drop(bench.submit(&wanted(1, 512, false))));
    assert_eq!(bench.states(), ["RUNNING", "RUNNING", "SUBMITTED", "SUBMITTED"]);
    let effects = bench.driver_reports(1, 0, DriverState::Finished);
    assert_eq!(effects, [noted_driver(1, 0), launch_driver(1, 2, &wanted(1, 512, false))]);
    assert_eq!(bench.states(), ["FINISHED", "RUNNING", "RUNNING", "SUBMITTED"]);
}

/// As with Spark's Master, and as in Spark's tests of SPARK-46800.
#[test]
fn drivers_are_spread_over_the_workers_and_one_without_room_blocks_no_other() {
    for one_by_one in [false, true] {
        let mut bench = Bench::new(Config::default());
        if one_by_one {
            (1..=3).for_each(|n| drop(bench.worker(n, 8)));
        }
        for memory in [512, 9999, 512, 512, 512] {
            bench.submit(&wanted(1, memory, false));
        }
        if !one_by_one {
            // The drivers are placed in one pass: the first Workers are full for a moment.
            (1..=3).for_each(|n| drop(bench.worker(n, 8)));
            assert_eq!(bench.places(), "w1 - w1 w1 w1");
            continue;
        }
        assert_eq!(bench.places(), "w1 - w2 w3 w1");
    }
    let mut bench = Bench::new(Config { driver_strategy: Strategy::Consolidate, ..Config::default() });
    (1..=3).for_each(|n| drop(bench.worker(n, 8)));
    (0..3).for_each(|_| drop(bench.submit(&wanted(1, 512, false))));
    assert_eq!(bench.places(), "w1 w1 w1");
}

#[test]
fn the_round_goes_on_after_the_last_worker_and_leaves_out_full_ones() {
    let mut bench = Bench::new(Config::default());
    for (n, cores) in [(1, 1), (2, 8), (3, 2)] {
        bench.worker(n, cores);
    }
    for cores in [1, 1, 2, 1, 3, 1] {
        bench.submit(&wanted(cores, 512, false));
    }
    assert_eq!(bench.places(), "w1 w2 w3 w2 w2 w2");
    bench.master = bench.recovered();
    for n in 1..=3 {
        let runs = |number: u64| DriverReport::new(id(number), DriverState::Running);
        let on =
            [vec![0], vec![1, 3, 4, 5], vec![2]][n as usize - 1].iter().map(|number| runs(*number)).collect();
        bench.sized_worker_on(n + 50, n, [1, 8, 2][n as usize - 1], 8192, on);
    }
    bench.submit(&wanted(1, 512, false));
    assert_eq!(bench.places(), "w1 w2 w3 w2 w2 w2 w2");
}

impl Bench {
    /// A Master with one Worker that has these addresses.
    pub(super) fn with_gpus(resources: &Resources) -> Self {
        let mut bench = Self::new(Config::default());
        let mut message = register(1, 8, Vec::new());
        if let WorkerToMaster::RegisterWorker { worker, .. } = &mut message {
            worker.resources = resources.clone();
        }
        bench.worker_says(1, message);
        bench
    }
}

#[test]
fn a_driver_ends_as_its_worker_says_and_gives_its_share_back() {
    let failure = StartFailure { step: StartStep::Lookup, error: "no such file".to_owned() };
    for (state, name) in [
        (DriverState::Finished, "FINISHED"),
        (DriverState::Failed(ExitStatus::Code(3)), "FAILED"),
        (DriverState::Error(DriverError::NotStarted(failure)), "ERROR"),
    ] {
        let mut bench = Bench::new(Config::default());
        bench.worker(1, 2);
        let driver = wanted(2, 512, true);
        bench.submit(&driver);
        bench.submit(&driver);
        assert_eq!(bench.driver_reports(1, 0, DriverState::Running), []);
        assert_eq!(
            bench.driver_reports(1, 0, state.clone()),
            [noted_driver(1, 0), launch_driver(1, 1, &driver)]
        );
        assert_eq!(bench.states(), [name, "RUNNING"]);
        assert_eq!(bench.driver_reports(1, 0, state), [noted_driver(1, 0)], "a repetition");
    }
}

#[test]
fn a_driver_that_waits_or_runs_can_be_killed_and_is_not_relaunched_then() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 1);
    let driver = wanted(1, 512, true);
    bench.submit(&driver);
    bench.submit(&driver);
    assert_eq!(bench.kill_driver(1), (vec![], KillDriverAnswer::Killed { driver: id(1) }));
    assert_eq!(bench.kill_driver(0), (vec![kill_driver(1, 0)], KillDriverAnswer::Asked { driver: id(0) }));
    assert_eq!(bench.states(), ["RUNNING", "KILLED"]);
    assert_eq!(bench.driver_reports(1, 0, KILLED), [noted_driver(1, 0)]);
    let over = KillDriverAnswer::Over { driver: id(0), state: KILLED };
    assert_eq!(bench.kill_driver(0), (vec![], over));
    assert_eq!(bench.kill_driver(7).1, KillDriverAnswer::Unknown);

    bench.submit(&driver);
    bench.kill_driver(2);
    bench.apply(Event::Disconnected { peer: PeerId(1) });
    assert_eq!(bench.states(), ["KILLED", "KILLED", "KILLED"]);
}

/// Spark's test SPARK-19900.
#[test]
fn a_supervised_driver_of_a_lost_worker_is_relaunched_under_another_id_and_another_one_is_in_error() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    let (supervised, other) = (wanted(1, 512, true), wanted(1, 512, false));
    bench.submit(&supervised);
    bench.submit(&other);
    bench.worker(2, 8);
    let effects = bench.apply(Event::Disconnected { peer: PeerId(1) });
    assert_eq!(effects, [launch_driver(2, 2, &supervised)]);
    assert_eq!(bench.states(), ["RELAUNCHING", "ERROR", "RUNNING"]);
    // The Worker returns, and its old drivers are ended there.
    let runs = |number| DriverReport::new(id(number), DriverState::Running);
    let effects = bench.sized_worker_on(51, 1, 8, 8192, vec![runs(0), runs(1)]);
    assert_eq!(effects, [registered(51, false), kill_driver(51, 0), kill_driver(51, 1)]);
    assert_eq!(bench.driver_reports(51, 0, KILLED), [noted_driver(51, 0)]);
    assert_eq!(bench.states(), ["RELAUNCHING", "ERROR", "RUNNING"]);
    // A request about the first driver applies to its successor.
    assert_eq!(bench.kill_driver(0).1, KillDriverAnswer::Asked { driver: id(2) });
}

#[test]
fn drivers_that_a_worker_ends_with_itself_are_relaunched_or_in_error() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    let (supervised, other) = (wanted(1, 512, true), wanted(1, 512, false));
    for driver in [&supervised, &other, &other] {
        bench.submit(driver);
    }
    bench.worker_says(1, WorkerToMaster::WorkerDecommissioning { worker: WorkerId::new("w1") });
    (0..2).for_each(|number| drop(bench.driver_reports(1, number, KILLED)));
    // The driver never ran on the Worker.
    bench.driver_reports(1, 2, DriverState::Submitted);
    assert_eq!(bench.states(), ["RELAUNCHING", "ERROR", "SUBMITTED", "SUBMITTED"]);
    let effects = bench.worker(2, 8);
    assert_eq!(
        effects,
        [registered(2, false), launch_driver(2, 2, &other), launch_driver(2, 3, &supervised)]
    );
}

#[test]
fn a_recovered_master_adopts_drivers_that_run_and_keeps_those_that_wait() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 2);
    let driver = wanted(1, 512, false);
    (0..4).for_each(|_| drop(bench.submit(&driver)));
    bench.kill_driver(1);
    bench.master = bench.recovered();
    assert_eq!(bench.states(), ["UNKNOWN", "UNKNOWN", "SUBMITTED", "SUBMITTED"]);
    let runs = |number| DriverReport::new(id(number), DriverState::Running);
    let effects = bench.sized_worker_on(51, 1, 2, 8192, vec![runs(0), runs(1), runs(9)]);
    assert_eq!(effects, [registered(51, false), kill_driver(51, 1), kill_driver(51, 9)]);
    assert_eq!(bench.states(), ["RUNNING", "RUNNING", "SUBMITTED", "SUBMITTED"]);
    assert_eq!(bench.driver_reports(51, 1, KILLED), [noted_driver(51, 1), launch_driver(51, 2, &driver)]);
    // The Worker does not return.
    bench.master = bench.recovered();
    bench.deadline();
    assert_eq!(bench.states(), ["ERROR", "KILLED", "ERROR", "SUBMITTED"]);
}

#[test]
fn an_order_that_did_not_come_is_given_again() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    let driver = wanted(1, 512, false);
    bench.submit(&driver);
    let beat = |bench: &mut Bench| {
        bench.now = bench.now + Duration::from_secs(15);
        bench.worker_says(1, WorkerToMaster::Heartbeat { worker: WorkerId::new("w1"), last_order: None })
    };
    assert_eq!(beat(&mut bench), []);
    assert_eq!(beat(&mut bench), [launch_driver(1, 0, &driver)]);
    bench.driver_reports(1, 0, DriverState::Running);
    assert_eq!(beat(&mut bench), []);
    assert_eq!(beat(&mut bench), []);
    // On a new connection the Worker lists the drivers that it has.
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    (0..2).for_each(|_| drop(bench.submit(&driver)));
    let runs = DriverReport::new(id(0), DriverState::Running);
    let effects = bench.sized_worker_on(51, 1, 8, 8192, vec![runs]);
    assert_eq!(
        effects,
        [Effect::Close { peer: PeerId(1) }, registered(51, true), launch_driver(51, 1, &driver)]
    );
}

#[test]
fn a_driver_that_cannot_be_is_refused() {
    let mut bench = Bench::new(Config::default());
    let sound = wanted(1, 512, false);
    let nothing = DriverDescription { command: Command::of(""), ..sound.clone() };
    let long = DriverDescription { user: "x".repeat(200 << 10), ..sound };
    for (driver, words) in [
        (nothing, "a driver needs a program"),
        (wanted(0, 512, false), "a driver has 1 to 65,536 cores and at least 1 MiB, not 0 cores and 512 MiB"),
        (wanted(1, 0, false), "a driver has 1 to 65,536 cores and at least 1 MiB, not 1 cores and 0 MiB"),
        (long, "its command and variables take 204819 bytes, and the Master takes at most 131072"),
    ] {
        let (_, answer) = bench.client(ClientToMaster::RequestSubmitDriver(Box::new(driver)));
        let MasterToClient::SubmitDriverResponse(SubmitDriverAnswer::Refused(refusal)) = answer else {
            panic!("{answer:?}");
        };
        assert_eq!(refusal.to_string(), words);
    }
}

impl Bench {
    pub(super) fn driver(&self, number: u64) -> DriverView {
        let drivers = self.master.view().drivers.into_iter();
        drivers.filter(|driver| driver.id == id(number)).last().expect("it is listed")
    }
}

#[test]
fn a_cluster_driver_that_waits_says_why() {
    let config = Config { max_drivers: 1, ..Config::default() };
    let mut bench = Bench::new(config);
    let wait = |bench: &Bench, number| bench.driver(number).wait;
    bench.submit(&wanted(4, 1024, false));
    assert_eq!(wait(&bench, 0), Some(DriverWait::NoWorker));
    bench.worker(1, 2);
    let (cores, memory) = (Cores(2), MiB(8192));
    assert_eq!(wait(&bench, 0), Some(DriverWait::TooLarge { cores, memory }));
    bench.worker(2, 8);
    assert_eq!(wait(&bench, 0), None, "it runs");
    bench.submit(&wanted(8, 1024, false));
    assert_eq!(wait(&bench, 1), Some(DriverWait::Limit { most: 1 }));
    bench.master.config.max_drivers = 2;
    assert_eq!(wait(&bench, 1), Some(DriverWait::NoRoom { workers: 1 }));
}

#[test]
fn restarts_of_a_cluster_driver_are_shown_while_it_is_on_that_worker() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.submit(&wanted(1, 1024, true));
    let said = |pause_millis| WorkerToMaster::DriverRestarted {
        driver: id(0),
        restarts: 2,
        last: ExitStatus::Code(3),
        pause_millis,
    };
    bench.worker_says(1, said(Some(4_000)));
    let restarts = |bench: &Bench, number| bench.driver(number).restarts;
    let until = Some(bench.now + std::time::Duration::from_secs(4));
    let expected = DriverRestarts { restarts: 2, last: ExitStatus::Code(3), until };
    assert_eq!(restarts(&bench, 0), Some(expected));
    assert_eq!(expected.at(bench.now), "2 restarts, last exit code 3, next start in 4.0 s");
    bench.worker_says(1, said(None));
    assert_eq!(restarts(&bench, 0), Some(DriverRestarts { until: None, ..expected }));
    bench.worker(2, 8);
    bench.worker_says(2, said(None));
    bench.apply(Event::Disconnected { peer: PeerId(1) });
    assert_eq!(restarts(&bench, 1), None, "the one that takes its place begins anew");
}

#[test]
fn a_cluster_driver_goes_to_a_late_worker_only_if_no_other_has_room() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.worker(2, 8);
    bench.now = bench.now + std::time::Duration::from_secs(30);
    bench.worker_says(2, WorkerToMaster::Heartbeat { worker: WorkerId::new("w2"), last_order: None });
    assert_eq!(bench.deadline(), []);
    assert_eq!(remarks(&bench.master), [(WorkerId::new("w1"), WorkerRemark::Late)].into());
    let description = wanted(4, 512, false);
    for worker in [2, 2, 1] {
        let effects = bench.submit(&description);
        let [Effect::Send { peer, message: Outbound::Worker(_) }] = &effects[..] else {
            panic!("{effects:?}")
        };
        assert_eq!(peer.0, worker);
    }
}
