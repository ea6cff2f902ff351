use std::time::Duration;

use bytes::Bytes;
use firesteel_protocol::executor_trouble::ExecutorTrouble;
use firesteel_protocol::ids::{AppId, ExecutorId, PeerId, ProfileId, TaskId, WorkerId};
use firesteel_protocol::messages::{HeartbeatRules, RefusedExecutor, Stream, TaskDirectory};
use firesteel_protocol::process::{Command, ExitStatus, Fault, NotStarted};
use firesteel_protocol::secret::Secret;

use super::*;

mod away;

const GRACE: Duration = Duration::from_secs(10);

/// Intervals that are longer than any test.
const NO_HEARTBEATS: HeartbeatRules =
    HeartbeatRules { interval_millis: 1 << 40, patience_millis: 1 << 40, away_millis: 0 };

/// A heartbeat every 10 s; the driver may be silent for 30 s.
const HEARTBEATS: HeartbeatRules =
    HeartbeatRules { interval_millis: 10_000, patience_millis: 30_000, away_millis: 0 };

/// An executor of four cores, and the current time.
#[derive(Clone)]
struct Bench {
    executor: Executor,
    now: Timestamp,
}

impl Bench {
    fn new() -> Self {
        let config = Config {
            app: AppId::new("app-1"),
            executor: ExecutorId(3),
            profile: ProfileId(2),
            worker: WorkerId::new("worker-1"),
            host: "h1".to_owned(),
            cores: Cores(4),
            resources: gpu(&["0", "1"]),
            secret: Secret::new("hush"),
            kill_grace: GRACE,
        };
        Self { executor: Executor::new(config), now: Timestamp::from_millis(1_000) }
    }

    fn registered() -> Self {
        let mut bench = Self::new();
        bench.apply(Event::Start);
        bench.apply(Event::Connected { peer: PeerId(1) });
        bench.receive(DriverToExecutor::RegisteredExecutor { rules: NO_HEARTBEATS, received: 0 });
        bench
    }

    fn apply(&mut self, event: Event) -> Vec<Effect> {
        let effects = self.executor.apply(self.now, event);
        self.executor.check().expect("the invariants hold");
        effects
    }

    fn receive(&mut self, message: DriverToExecutor) -> Vec<Effect> {
        self.apply(Event::Received { message })
    }

    fn launch(&mut self, attempt: AttemptId) -> Vec<Effect> {
        self.receive(DriverToExecutor::LaunchTask {
            attempt,
            spec: spec(1),
            resources: gpu(&["1"]),
            credit: 100,
        })
    }

    fn run(&mut self, attempt: AttemptId) {
        self.launch(attempt);
        self.apply(Event::TaskStarted { attempt, pid: 7 });
    }

    fn pass(&mut self, time: Duration) -> Vec<Effect> {
        self.now = self.now + time;
        self.apply(Event::Deadline)
    }
}

fn attempt(task: u64) -> AttemptId {
    AttemptId { task: TaskId(task), attempt: 0 }
}

fn spec(cores: i64) -> TaskSpec {
    let command = Command::of("true");
    TaskSpec { command, directory: TaskDirectory::Executor, stdin: Bytes::new(), cores: Cores(cores) }
}

fn gpu(addresses: &[&str]) -> Resources {
    Resources::from_iter([("gpu", addresses.iter().copied())])
}

fn reported(attempt: AttemptId, state: TaskState) -> Effect {
    Effect::Send(ExecutorToDriver::StatusUpdate { attempt, state })
}

fn ended(attempt: AttemptId, end: TaskEnd) -> Effect {
    reported(attempt, TaskState::Ended(end))
}

fn signal(attempt: AttemptId, signal: Signal) -> Effect {
    Effect::SignalTask { attempt, signal }
}

fn drain(attempt: AttemptId) -> Effect {
    Effect::DrainOutput { attempt }
}

#[test]
fn a_task_goes_from_its_launch_to_its_end() {
    let mut bench = Bench::new();
    let a = attempt(1);
    assert_eq!(bench.apply(Event::Start), [Effect::Connect]);
    let hello = ExecutorToDriver::RegisterExecutor {
        app: AppId::new("app-1"),
        executor: ExecutorId(3),
        profile: ProfileId(2),
        worker: WorkerId::new("worker-1"),
        host: "h1".to_owned(),
        cores: Cores(4),
        resources: gpu(&["0", "1"]),
        secret: Secret::new("hush"),
        received: Some(0),
    };
    assert_eq!(bench.apply(Event::Connected { peer: PeerId(1) }), [Effect::Send(hello)]);
    assert_eq!(
        bench.receive(DriverToExecutor::RegisteredExecutor { rules: NO_HEARTBEATS, received: 0 }),
        [Effect::Note(Note::Registered)]
    );
    let (spec, resources) = (spec(1), gpu(&["1"]));
    assert_eq!(bench.launch(a), [Effect::StartTask { attempt: a, spec, resources, allowed: 100 }]);
    let running = bench.apply(Event::TaskStarted { attempt: a, pid: 7 });
    assert_eq!(running, [reported(a, TaskState::Running)]);
    let (stream, bytes) = (Stream::Stdout, Bytes::from_static(b"hi"));
    let output = bench.apply(Event::TaskOutput { attempt: a, stream, bytes: bytes.clone() });
    assert_eq!(output, [Effect::Send(ExecutorToDriver::TaskOutput { attempt: a, stream, bytes })]);
    let more = bench.receive(DriverToExecutor::OutputCredit { attempt: a, bytes: 2 });
    assert_eq!(more, [Effect::AllowOutput { attempt: a, bytes: 2 }]);
    let end = bench.apply(Event::TaskExited { attempt: a, status: ExitStatus::Code(3) });
    assert_eq!(end, [ended(a, TaskEnd::Exited(ExitStatus::Code(3)))]);
    assert_eq!(bench.executor.attempts().count(), 0);
}

#[test]
fn a_task_that_cannot_start_is_reported_with_its_reason() {
    let mut bench = Bench::registered();
    let failure = StartFailure { step: StartStep::Program, error: "nonesuch: not found".to_owned() };
    bench.launch(attempt(1));
    let effects = bench.apply(Event::TaskNotStarted { attempt: attempt(1), why: failure.clone().into() });
    assert_eq!(effects, [ended(attempt(1), TaskEnd::NotStarted(failure))]);
}

#[test]
fn a_task_that_meets_a_shortage_is_given_back() {
    let mut bench = Bench::registered();
    let failure = StartFailure { step: StartStep::Program, error: "sh: try again".to_owned() };
    let why = NotStarted { failure: failure.clone(), fault: Fault::Shortage };
    bench.launch(attempt(1));
    let effects = bench.apply(Event::TaskNotStarted { attempt: attempt(1), why: why.clone() });
    let given_back = ExecutorToDriver::TaskGivenBack { attempt: attempt(1), failure };
    assert_eq!(effects, [Effect::Send(given_back)]);
    // The attempt that was told to end has ended.
    bench.launch(attempt(2));
    bench.receive(DriverToExecutor::KillTask { attempt: attempt(2) });
    let effects = bench.apply(Event::TaskNotStarted { attempt: attempt(2), why });
    assert_eq!(effects, [ended(attempt(2), TaskEnd::Killed)]);
}

#[test]
fn a_task_for_which_there_is_no_room_is_refused() {
    let mut bench = Bench::registered();
    bench.run(attempt(1));
    let too_large = attempt(2);
    let resources = Resources::default();
    let launch = DriverToExecutor::LaunchTask { attempt: too_large, spec: spec(4), resources, credit: 1 };
    let error = "the task takes 4 cores, and the executor has 3 free".to_owned();
    let failure = StartFailure { step: StartStep::Program, error };
    let note = Note::TooFewCores { attempt: too_large, cores: Cores(4), free: Cores(3) };
    assert_eq!(bench.receive(launch), [Effect::Note(note), ended(too_large, TaskEnd::NotStarted(failure))]);
}

#[test]
fn a_repeated_launch_is_ignored() {
    let mut bench = Bench::registered();
    bench.run(attempt(1));
    assert_eq!(bench.launch(attempt(1)), [Effect::Note(Note::RepeatedLaunch { attempt: attempt(1) })]);
}

#[test]
fn a_killed_task_has_its_grace_and_is_reported_as_killed() {
    let mut bench = Bench::registered();
    let a = attempt(1);
    bench.run(a);
    let kill = DriverToExecutor::KillTask { attempt: a };
    assert_eq!(bench.receive(kill.clone()), [drain(a), signal(a, Signal::Terminate)]);
    assert_eq!(bench.receive(kill), []);
    assert_eq!(bench.executor.next_deadline(), Some((bench.now + GRACE, Reason::KillGrace(a))));
    assert_eq!(bench.pass(GRACE - Duration::from_millis(1)), []);
    let over = bench.pass(Duration::from_millis(1));
    assert_eq!(over, [Effect::Note(Note::GraceOver { attempt: a }), signal(a, Signal::Kill)]);
    let (_, next) = bench.executor.next_deadline().expect("heartbeats go on");
    assert_eq!(next, Reason::Heartbeat);
    let late = Event::TaskOutput { attempt: a, stream: Stream::Stdout, bytes: Bytes::from_static(b"x") };
    assert_eq!(bench.apply(late), []);
    let end = bench.apply(Event::TaskExited { attempt: a, status: ExitStatus::Signal(9) });
    assert_eq!(end, [ended(a, TaskEnd::Killed)]);
}

#[test]
fn a_task_that_is_killed_while_it_starts_is_signalled_once_it_has_started() {
    let mut bench = Bench::registered();
    let a = attempt(1);
    bench.launch(a);
    assert_eq!(bench.receive(DriverToExecutor::KillTask { attempt: a }), []);
    let started = bench.apply(Event::TaskStarted { attempt: a, pid: 7 });
    assert_eq!(started, [reported(a, TaskState::Running), drain(a), signal(a, Signal::Terminate)]);
}

#[test]
fn a_stopped_executor_ends_its_tasks_first_and_takes_no_more() {
    let mut bench = Bench::registered();
    let (a, b) = (attempt(1), attempt(2));
    bench.run(a);
    assert_eq!(bench.receive(DriverToExecutor::StopExecutor), [drain(a), signal(a, Signal::Terminate)]);
    assert_eq!(bench.launch(b), [ended(b, TaskEnd::Killed)]);
    let end = bench.apply(Event::TaskExited { attempt: a, status: ExitStatus::SUCCESS });
    assert_eq!(end, [ended(a, TaskEnd::Killed), Effect::Exit(Exit::Stopped)]);
    assert_eq!(bench.apply(Event::Disconnected), []);
}

#[test]
fn the_second_shutdown_grants_no_grace() {
    let mut bench = Bench::registered();
    let a = attempt(1);
    bench.run(a);
    assert_eq!(bench.apply(Event::Shutdown), [drain(a), signal(a, Signal::Terminate)]);
    assert_eq!(bench.apply(Event::Shutdown), [signal(a, Signal::Kill)]);
    let end = bench.apply(Event::TaskExited { attempt: a, status: ExitStatus::Signal(9) });
    assert_eq!(end, [ended(a, TaskEnd::Killed), Effect::Exit(Exit::Stopped)]);
}

#[test]
fn an_executor_dies_with_its_driver_and_says_nothing_to_it() {
    let mut bench = Bench::registered();
    let a = attempt(1);
    bench.run(a);
    assert_eq!(bench.apply(Event::Disconnected), [drain(a), signal(a, Signal::Terminate)]);
    let end = bench.apply(Event::TaskExited { attempt: a, status: ExitStatus::Signal(15) });
    assert_eq!(end, [Effect::Exit(Exit::DriverLost)]);
}

#[test]
fn an_executor_without_tasks_exits_at_once() {
    let (trouble, error) = (ExecutorTrouble::NothingListens, || "refused".to_owned());
    for (event, exit) in [
        (Event::Shutdown, Exit::Stopped),
        (
            Event::ConnectFailed { trouble, error: error() },
            Exit::DriverUnreachable { trouble, error: error() },
        ),
    ] {
        let mut bench = Bench::new();
        bench.apply(Event::Start);
        assert_eq!(bench.apply(event), [Effect::Exit(exit)]);
    }
    let refused = RefusedExecutor::NumberTaken;
    for (message, exit) in [
        (DriverToExecutor::StopExecutor, Exit::Stopped),
        (DriverToExecutor::RegisterExecutorFailed(refused), Exit::Refused(refused)),
    ] {
        assert_eq!(Bench::registered().receive(message), [Effect::Exit(exit)]);
    }
}

#[test]
fn an_executor_whose_driver_goes_before_it_accepts_it_says_so() {
    let mut bench = Bench::new();
    bench.apply(Event::Start);
    bench.apply(Event::Connected { peer: PeerId(1) });
    bench.apply(Event::Disconnected);
    let (trouble, error) = (ExecutorTrouble::NothingListens, "refused".to_owned());
    let failed = bench.apply(Event::ConnectFailed { trouble, error });
    assert_eq!(failed, [Effect::Exit(Exit::DriverGone)]);
    assert_eq!(Bench::registered().apply(Event::Disconnected), [Effect::Exit(Exit::DriverLost)]);
}

#[test]
fn every_end_before_the_driver_accepts_the_executor_has_its_trouble_and_an_orderly_end_has_none() {
    let unreachable = Exit::DriverUnreachable { trouble: ExecutorTrouble::Mute, error: String::new() };
    for (exit, trouble) in [
        (Exit::Stopped, None),
        (Exit::DriverLost, None),
        (Exit::DriverSilent { patience: Duration::ZERO }, None),
        (Exit::Refused(RefusedExecutor::Stopping), None),
        (unreachable, Some(ExecutorTrouble::Mute)),
        (Exit::DriverGone, Some(ExecutorTrouble::DriverGone)),
        (Exit::Refused(RefusedExecutor::WrongSecret), Some(ExecutorTrouble::AnotherDriver)),
        (Exit::Refused(RefusedExecutor::OtherApplication), Some(ExecutorTrouble::AnotherDriver)),
        (Exit::Refused(RefusedExecutor::NumberTaken), Some(ExecutorTrouble::Rejected)),
        (Exit::Refused(RefusedExecutor::TooManyAddresses), Some(ExecutorTrouble::Rejected)),
        (Exit::Refused(RefusedExecutor::Unannounced), Some(ExecutorTrouble::Rejected)),
    ] {
        assert_eq!(exit.trouble(), trouble, "{exit:?}");
    }
}

#[test]
fn words_about_unknown_tasks_change_nothing() {
    let mut bench = Bench::registered();
    let a = attempt(9);
    for event in [
        Event::Received { message: DriverToExecutor::KillTask { attempt: a } },
        Event::Received { message: DriverToExecutor::OutputCredit { attempt: a, bytes: 5 } },
        Event::TaskStarted { attempt: a, pid: 1 },
        Event::TaskExited { attempt: a, status: ExitStatus::SUCCESS },
        Event::Deadline,
    ] {
        assert_eq!(bench.apply(event), []);
    }
}

#[test]
fn an_executor_sends_heartbeats_while_its_driver_has_accepted_it() {
    let mut bench = Bench::new();
    bench.apply(Event::Start);
    bench.apply(Event::Connected { peer: PeerId(1) });
    assert_eq!(bench.executor.next_deadline(), None, "the driver says how often");
    bench.receive(DriverToExecutor::RegisteredExecutor { rules: HEARTBEATS, received: 0 });
    let second = Duration::from_secs(1);
    for _ in 0..10 {
        let (at, reason) = bench.executor.next_deadline().expect("heartbeats are due");
        assert_eq!((at.since(bench.now), reason), (10 * second, Reason::Heartbeat));
        assert_eq!(bench.pass(9 * second), []);
        assert_eq!(
            bench.pass(second),
            [Effect::Send(ExecutorToDriver::Heartbeat { received: 0, ends: false })]
        );
        assert_eq!(bench.receive(DriverToExecutor::Heartbeat { received: 0 }), []);
    }
    assert_eq!(bench.apply(Event::Disconnected), [Effect::Exit(Exit::DriverLost)]);
    assert_eq!(bench.executor.next_deadline(), None);
}

#[test]
fn an_executor_whose_driver_is_silent_ends_with_its_tasks() {
    let mut bench = Bench::new();
    bench.apply(Event::Start);
    bench.apply(Event::Connected { peer: PeerId(1) });
    bench.receive(DriverToExecutor::RegisteredExecutor { rules: HEARTBEATS, received: 0 });
    let (a, second) = (attempt(1), Duration::from_secs(1));
    bench.pass(9 * second);
    bench.run(a);
    bench.pass(20 * second);
    // The launch was the driver's latest sign of life.
    assert_eq!(bench.pass(9 * second), []);
    let end = bench.pass(second);
    let beat = Effect::Send(ExecutorToDriver::Heartbeat { received: 0, ends: false });
    assert_eq!(end, [beat, drain(a), signal(a, Signal::Terminate)]);
    let exited = bench.apply(Event::TaskExited { attempt: a, status: ExitStatus::Signal(15) });
    let patience = 30 * second;
    assert_eq!(exited, [ended(a, TaskEnd::Killed), Effect::Exit(Exit::DriverSilent { patience })]);
}

#[test]
fn an_executor_that_stood_still_itself_gives_its_driver_the_time_again() {
    let mut bench = Bench::new();
    bench.apply(Event::Start);
    bench.apply(Event::Connected { peer: PeerId(1) });
    bench.receive(DriverToExecutor::RegisteredExecutor { rules: HEARTBEATS, received: 0 });
    let second = Duration::from_secs(1);
    let beat = || Effect::Send(ExecutorToDriver::Heartbeat { received: 0, ends: false });
    assert_eq!(bench.pass(3600 * second), [beat()]);
    assert_eq!(bench.pass(29 * second), [beat()]);
    let end = bench.pass(second);
    assert_eq!(end, [Effect::Exit(Exit::DriverSilent { patience: 30 * second })]);
}
