//! Tests of cluster drivers: how they are started, started again with growing pauses, and ended.

use super::*;
use crate::{DriverPlan, LogRead};
use firesteel_placement::ResourceAmounts;
use firesteel_protocol::ids::DriverId;
use firesteel_protocol::messages::{
    ClientToWorker, DriverDescription, DriverError, DriverLaunch, DriverLogRequest, DriverReport,
    DriverState, LogStart, RefusedLog, Stream, WorkerToClient,
};
use firesteel_protocol::process::{ExitStatus, Fault, NotStarted, StartFailure, StartStep};

const FAILURE: ExitStatus = ExitStatus::Code(3);

fn driver() -> DriverId {
    DriverId::new("driver-20261120212235-0000")
}

fn launch_driver(supervise: bool) -> MasterToWorker {
    let (cores, memory) = (Cores(2), MiB(512));
    let (user, command, resources) = ("me".to_owned(), Command::of("app"), ResourceAmounts::new());
    let description = DriverDescription { user, command, cores, memory, supervise, resources };
    let resources = Resources::default();
    MasterToWorker::LaunchDriver(Box::new(DriverLaunch { driver: driver(), description, resources }))
}

fn start(is_first: bool) -> Effect {
    let (cores, memory, master_url) = (Cores(2), MiB(512), "spark://m:7077".to_owned());
    Effect::StartDriver(DriverPlan {
        driver: driver(),
        command: Command::of("app"),
        cores,
        memory,
        resources: Resources::default(),
        on_worker: Resources::default(),
        master_url,
        is_first,
    })
}

fn report(state: DriverState) -> Effect {
    let message = WorkerToMaster::DriverStateChanged(DriverReport::new(driver(), state));
    Effect::Send { peer: MASTER, message: Outbound::Master(message) }
}

fn signal(signal: Signal) -> Effect {
    Effect::SignalDriver { driver: driver(), signal }
}

impl Bench {
    /// Applies an event, and returns its effects without the notes.
    fn tell(&mut self, event: Event) -> Vec<Effect> {
        let mut effects = self.apply(event);
        effects.retain(|effect| !matches!(effect, Effect::Note(_)));
        effects
    }

    fn order(&mut self, message: MasterToWorker) -> Vec<Effect> {
        self.tell(Event::Received { peer: MASTER, message: Inbound::Master(message) })
    }

    fn started(&mut self) -> Vec<Effect> {
        self.tell(Event::DriverStarted { driver: driver(), pid: 70 })
    }

    fn exited(&mut self, status: ExitStatus) -> Vec<Effect> {
        self.tell(Event::DriverExited { driver: driver(), status })
    }

    /// A registered Worker that runs one cluster driver.
    fn with_driver(supervise: bool) -> Self {
        let mut bench = Self::registered();
        assert_eq!(bench.order(launch_driver(supervise)), [start(true), report(DriverState::Running)]);
        assert_eq!(bench.started(), []);
        bench
    }

    /// Lets the pause pass, and returns its length in seconds.
    fn pass_pause(&mut self) -> u64 {
        let before = self.now;
        loop {
            let (reason, effects) = self.deadline();
            if reason == Reason::DriverPause(driver()) {
                assert!(effects.contains(&start(false)), "{effects:?}");
                return self.now.since(before).as_secs();
            }
        }
    }
}

/// The same behaviour as in Spark's tests of its DriverRunner.
#[test]
fn a_supervised_driver_is_started_again_after_1_2_4_seconds() {
    let mut bench = Bench::with_driver(true);
    let mut pauses = Vec::new();
    let restarted = |restarts, pause_millis| {
        let message =
            WorkerToMaster::DriverRestarted { driver: driver(), restarts, last: FAILURE, pause_millis };
        Effect::Send { peer: MASTER, message: Outbound::Master(message) }
    };
    for restarts in 0..3 {
        assert_eq!(bench.exited(FAILURE), [restarted(restarts, Some(1000 << restarts))]);
        pauses.push(bench.pass_pause());
        assert_eq!(bench.started(), [restarted(restarts + 1, None)]);
    }
    assert_eq!(pauses, [1, 2, 4]);
    assert_eq!(bench.exited(ExitStatus::SUCCESS), [report(DriverState::Finished)]);
}

#[test]
fn the_pause_begins_anew_after_a_run_of_more_than_five_seconds() {
    let mut bench = Bench::with_driver(true);
    let mut pauses = Vec::new();
    for millis in [100, 5000, 5001, 0] {
        bench.now = bench.now + Duration::from_millis(millis);
        bench.exited(FAILURE);
        pauses.push(bench.pass_pause());
        bench.started();
    }
    assert_eq!(pauses, [1, 2, 1, 2]);
}

#[test]
fn a_driver_that_is_not_supervised_runs_once() {
    for (status, state) in [
        (FAILURE, DriverState::Failed(FAILURE)),
        (ExitStatus::Signal(9), DriverState::Failed(ExitStatus::Signal(9))),
        (ExitStatus::SUCCESS, DriverState::Finished),
    ] {
        assert_eq!(Bench::with_driver(false).exited(status), [report(state)]);
    }
}

#[test]
fn a_driver_that_cannot_be_started_is_not_tried_again() {
    let mut bench = Bench::registered();
    bench.order(launch_driver(true));
    let failure = StartFailure { step: StartStep::Lookup, error: "no app".to_owned() };
    let effects = bench.tell(Event::DriverFailed { driver: driver(), why: failure.clone().into() });
    assert_eq!(effects, [report(DriverState::Error(DriverError::NotStarted(failure)))]);
}

#[test]
fn a_driver_that_is_killed_is_not_started_again_and_exit_code_0_is_success() {
    let kill = || MasterToWorker::KillDriver { driver: driver() };
    for (status, state) in [
        (ExitStatus::Signal(15), DriverState::Killed(Some(ExitStatus::Signal(15)))),
        (ExitStatus::SUCCESS, DriverState::Finished),
    ] {
        let mut bench = Bench::with_driver(true);
        assert_eq!(bench.order(kill()), [signal(Signal::Terminate)]);
        assert_eq!(bench.exited(status), [report(state)]);
    }
    // The driver is asked to end during a pause.
    let mut bench = Bench::with_driver(true);
    bench.exited(FAILURE);
    assert_eq!(bench.order(kill()), [report(DriverState::Killed(Some(FAILURE)))]);
    // The driver is asked to end before its start.
    let mut bench = Bench::registered();
    bench.order(launch_driver(true));
    assert_eq!(bench.order(kill()), []);
    assert_eq!(bench.started(), [signal(Signal::Terminate)]);
    bench.now = bench.now + GRACE;
    assert!(bench.tell(Event::Deadline).contains(&signal(Signal::Kill)));
    assert_eq!(
        bench.exited(ExitStatus::Signal(9)),
        [report(DriverState::Killed(Some(ExitStatus::Signal(9))))]
    );
}

#[test]
fn a_repeated_order_is_answered_and_starts_nothing() {
    let mut bench = Bench::with_driver(false);
    assert_eq!(bench.order(launch_driver(false)), [report(DriverState::Running)]);
    bench.exited(FAILURE);
    assert_eq!(bench.order(launch_driver(false)), [report(DriverState::Failed(FAILURE))]);
}

#[test]
fn an_end_is_listed_until_a_master_confirms_it() {
    let listed = |effects: Vec<Effect>| {
        let drivers = effects.into_iter().find_map(|effect| match effect {
            Effect::Send {
                message: Outbound::Master(WorkerToMaster::RegisterWorker { drivers, .. }),
                ..
            } => Some(drivers),
            _ => None,
        });
        drivers.expect("it registers").into_iter().map(|report| report.state).collect::<Vec<_>>()
    };
    let mut bench = Bench::with_driver(false);
    bench.disconnect(1);
    bench.deadline();
    assert_eq!(listed(bench.connect(2, "m")), [DriverState::Running]);
    assert_eq!(bench.exited(FAILURE), []);
    let effects = bench.master(2, registered("m"));
    let message = DriverReport::new(driver(), DriverState::Failed(FAILURE));
    let message = Outbound::Master(WorkerToMaster::DriverStateChanged(message));
    assert!(effects.contains(&Effect::Send { peer: PeerId(2), message }), "{effects:?}");
    bench.disconnect(2);
    bench.deadline();
    assert_eq!(listed(bench.connect(3, "m")), [DriverState::Failed(FAILURE)]);
    bench.master(3, registered("m"));
    bench.disconnect(3);
    bench.deadline();
    assert_eq!(listed(bench.connect(4, "m")), []);
}

#[test]
fn a_driver_has_its_addresses_at_every_start() {
    let mut bench = Bench::registered();
    let MasterToWorker::LaunchDriver(mut launch) = launch_driver(true) else { unreachable!("it is one") };
    let resources = Resources::from_iter([("gpu", ["1"])]);
    launch.resources = resources.clone();
    let order = MasterToWorker::LaunchDriver(launch);
    let started = |effects: &[Effect]| {
        effects.iter().find_map(|effect| match effect {
            Effect::StartDriver(plan) => Some((plan.resources.clone(), plan.is_first)),
            _ => None,
        })
    };
    assert_eq!(started(&bench.order(order)), Some((resources.clone(), true)));
    bench.started();
    bench.exited(FAILURE);
    assert_eq!(started(&bench.deadline().1), Some((resources, false)));
}

#[test]
fn a_worker_that_leaves_waits_for_its_drivers_and_gives_new_ones_back() {
    let mut bench = Bench::with_driver(true);
    bench.order(MasterToWorker::DecommissionWorker { within_millis: None });
    let MasterToWorker::LaunchDriver(mut other) = launch_driver(false) else { unreachable!("it is one") };
    other.driver = DriverId::new("driver-1");
    let effects = bench.order(MasterToWorker::LaunchDriver(other.clone()));
    let given_back = DriverReport::new(other.driver, DriverState::Submitted);
    let given_back = Outbound::Master(WorkerToMaster::DriverStateChanged(given_back));
    assert_eq!(effects, [Effect::Send { peer: MASTER, message: given_back }]);
    // The supervised driver fails, so the Master has it started elsewhere. Then the Worker ends.
    let effects = bench.exited(FAILURE);
    assert_eq!(effects[0], report(DriverState::Killed(Some(FAILURE))));
    assert!(matches!(effects.last(), Some(Effect::Exit(_))), "{effects:?}");
}

#[test]
fn a_log_of_a_cluster_driver_is_over_once_it_has_ended_for_good() {
    let mut bench = Bench::with_driver(true);
    let request = |driver| DriverLogRequest { driver, stream: Stream::Stdout, from: LogStart::LastBytes(10) };
    let ask = |bench: &mut Bench, wanted: DriverLogRequest| {
        let message = Inbound::Client(ClientToWorker::RequestDriverLog(wanted));
        bench.tell(Event::Received { peer: PeerId(7), message })
    };
    let is_over = |bench: &mut Bench| {
        let range = request(driver()).into();
        assert_eq!(ask(bench, request(driver())), [Effect::ReadLog { peer: PeerId(7), range }]);
        let outcome = LogRead::Piece { start: 0, bytes: bytes::Bytes::new(), length: 0 };
        match &bench.tell(Event::LogRead { peer: PeerId(7), outcome })[..] {
            [Effect::Send { message: Outbound::Client(WorkerToClient::LogResponse(piece)), .. }] => {
                piece.is_over
            }
            other => panic!("{other:?}"),
        }
    };
    assert!(!is_over(&mut bench));
    bench.exited(FAILURE);
    assert!(!is_over(&mut bench), "it will be started again");
    bench.order(MasterToWorker::KillDriver { driver: driver() });
    assert!(is_over(&mut bench));
    let message = Outbound::Client(WorkerToClient::RequestLogFailed(RefusedLog::UnsoundId));
    let refused = Effect::Send { peer: PeerId(7), message };
    assert_eq!(ask(&mut bench, request(DriverId::new("../.."))), [refused]);
}

#[test]
fn a_driver_that_a_worker_cannot_start_through_its_own_fault_is_given_back() {
    let failure = |step| StartFailure { step, error: "no".to_owned() };
    let checked = || {
        let (worker, error) = (WorkerId::new("worker-1"), Some("no room".to_owned()));
        send(1, WorkerToMaster::StartsChecked { worker, error })
    };
    // If the disk may be the cause of a failure, the failure is reported after a check.
    let mut bench = Bench::with_disk();
    bench.order(launch_driver(false));
    let failed = Event::DriverFailed { driver: driver(), why: failure(StartStep::Output).into() };
    assert_eq!(bench.tell(failed), [Effect::TryToStart { process: false }]);
    let full = StartTried { directory: Some("no room".to_owned()), ..StartTried::default() };
    assert_eq!(bench.tell(Event::StartTried(full)), [checked(), report(DriverState::Submitted)]);

    for fault in [Fault::Shortage, Fault::OwnProgram] {
        let mut bench = Bench::with_disk();
        bench.order(launch_driver(true));
        let why = NotStarted { failure: failure(StartStep::Program), fault };
        let effects = bench.tell(Event::DriverFailed { driver: driver(), why });
        assert_eq!(effects[1..], [report(DriverState::Submitted)], "{effects:?}");
    }
}
