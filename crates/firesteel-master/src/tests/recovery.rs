//! A Master that is recovered from its journal records, and the Workers and drivers that return to it.

use bytes::Bytes;
use firesteel_protocol::machine::kind::Kind;
use firesteel_protocol::process::executor_command::{ExecutorCommand, JavaCommand};
use firesteel_protocol::scheduling::label::Label;
use firesteel_protocol::secret::Secret;

use super::*;

/// Another connection of the driver.
const AGAIN: PeerId = PeerId(200);

impl Bench {
    /// Replaces the Master by one that is recovered from the records.
    fn restart(&mut self) {
        self.master = self.recovered();
    }

    /// Registers an application that can be resumed.
    fn resumable(&mut self, max_cores: i64, cores: i64) -> Vec<Effect> {
        let description = Box::new(owned(max_cores, cores));
        self.driver_says(DriverToMaster::RegisterApplication(description))
    }

    /// Lets the driver return on another connection. It believes these executors to be live.
    fn resume(&mut self, executors: &[u32], token: &str) -> Vec<Effect> {
        let first_executor = ExecutorId(executors.last().map_or(0, |last| last + 1));
        let mut description = owned(8, 4);
        description.token = Secret::new(token);
        description.first_executor = first_executor;
        let executors = executors.iter().copied().map(ExecutorId).collect();
        let resumption = Resumption { app: app(), executors, description: Box::new(description) };
        let message = DriverToMaster::ResumeApplication(resumption);
        let arrived = self.now;
        self.apply(Event::Received { peer: AGAIN, arrived, message: Inbound::Driver(message) })
    }

    /// Lets Worker `w<n>` return on connection n + 50. These executors run on it.
    fn returns(&mut self, n: u64, executors: &[u32]) -> Vec<Effect> {
        let state = ExecutorState::Running;
        let report = |executor: &u32| ExecutorReport::new(key(*executor), state.clone());
        self.worker_says(n + 50, register(n, 8, executors.iter().map(report).collect()))
    }
}

fn owned(max_cores: i64, cores: i64) -> ApplicationDescription {
    let mut description = description(Some(max_cores), Some(cores));
    description.token = Secret::new("token");
    description
}

fn to_driver_again(message: MasterToDriver) -> Effect {
    Effect::Send { peer: AGAIN, message: Outbound::Driver(message) }
}

/// The same effect, but on the driver's other connection.
fn again(effect: Effect) -> Effect {
    match effect {
        Effect::Send { peer: DRIVER, message } => Effect::Send { peer: AGAIN, message },
        other => other,
    }
}

/// A Master with two Workers of 8 cores. A running executor of 4 cores is on each: number 0 on the second Worker,
/// number 1 on the first.
fn two_executors() -> Bench {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.worker(2, 8);
    bench.resumable(8, 4);
    bench.report(2, 0, ExecutorState::Running);
    bench.report(1, 1, ExecutorState::Running);
    bench
}

#[test]
fn executors_that_run_are_adopted_and_nobody_is_told_to_end_one() {
    let mut bench = two_executors();
    bench.restart();
    assert_eq!(bench.master.away(), Away { workers: 2, applications: 1, executors: 2 });
    assert_eq!(bench.returns(1, &[1]), [registered(51, false)]);
    let mut told = vec![again(confirmation(Cores(8)))];
    for (executor, worker) in [(0, 2), (1, 1)] {
        let [_, added] = launch(executor, worker, 4);
        told.extend([again(added), again(updated(executor, ExecutorState::Running))]);
    }
    assert_eq!(bench.resume(&[0, 1], "token"), told);
    assert_eq!(bench.returns(2, &[0]), [registered(52, false)]);
    assert_eq!(bench.master.away(), Away::default());
    assert_eq!(bench.master.next_loss(), None);
}

#[test]
fn what_ended_meanwhile_is_told_counted_and_replaced() {
    let mut bench = two_executors();
    bench.restart();
    let ended = ExecutorState::Killed(Some(ExitStatus::Signal(15)));
    let report = ExecutorReport::new(key(0), ended.clone());
    let answers = [registered(52, false), noted(52, 0)];
    assert_eq!(bench.worker_says(52, register(2, 8, vec![report])), answers);
    let told = bench.resume(&[0, 1], "token");
    assert_eq!(told[0], again(confirmation(Cores(8))));
    assert_eq!(told[1], again(updated(0, ended)));
    let [_, added] = launch(2, 2, 4);
    assert_eq!(told.last(), Some(&again(added)), "it is replaced on the Worker that is back");
}

#[test]
fn a_launch_that_never_left_is_given_elsewhere() {
    let mut bench = two_executors();
    bench.restart();
    bench.resume(&[1], "token");
    let told = bench.returns(2, &[]);
    let [_, added] = launch(2, 2, 4);
    let lost = ExecutorState::Lost(LossReason::LaunchLost);
    assert!(told.contains(&again(updated(0, lost))), "{told:?}");
    assert_eq!(told.last(), Some(&again(added)));
}

#[test]
fn a_worker_that_lists_nothing_when_it_registers_says_afterwards_what_runs_there() {
    let mut bench = Bench::new(Config::default());
    let label = Label::of(&["4.0".to_owned()]);
    let spark_worker = |executors| {
        let WorkerToMaster::RegisterWorker { worker, .. } = register(1, 8, Vec::new()) else {
            unreachable!("it is one")
        };
        WorkerToMaster::register(worker.with_label(label.clone()), executors)
    };
    bench.worker_says(1, spark_worker(Vec::new()));
    let java = JavaCommand { releases: vec!["4.0".to_owned()], ..JavaCommand::default() };
    let mut description = owned(8, 4);
    description.command = ExecutorCommand::Java(Box::new(java));
    bench.driver_says(DriverToMaster::RegisterApplication(Box::new(description)));
    bench.report(1, 0, ExecutorState::Running);
    bench.report(1, 1, ExecutorState::Running);
    bench.restart();
    assert_eq!(
        bench.worker_says(51, spark_worker(Vec::new())),
        [registered(51, false)],
        "nothing is lost yet"
    );
    let executors = vec![ExecutorReport::new(key(1), ExecutorState::Running)];
    let worker = WorkerId::new("w1");
    assert_eq!(bench.worker_says(51, WorkerToMaster::WorkerLatestState { worker, executors }), []);
    let view = bench.master.view();
    let live = |executor: &&ExecutorView| !executor.state.is_finished();
    assert_eq!(
        view.applications[0].executors.iter().filter(live).map(|row| row.id.0).collect::<Vec<_>>(),
        [1]
    );
}

#[test]
fn a_driver_that_was_called_hears_of_ends_that_it_may_have_missed_and_of_no_older_ones() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    let mut called = owned(8, 4);
    called.callback = Bytes::from_static(b"driver:1");
    bench.driver_says(DriverToMaster::RegisterApplication(Box::new(called)));
    let ended = ExecutorState::Killed(Some(ExitStatus::Signal(15)));
    bench.report(1, 0, ended.clone());
    bench.now = bench.now + Duration::from_secs(20);
    bench.report(1, 1, ended.clone());
    bench.restart();
    let [resumption] = &bench.master.to_call()[..] else { panic!("one waits") };
    let message = Inbound::Driver(DriverToMaster::ResumeApplication(resumption.clone()));
    let told = bench.apply(Event::Received { peer: AGAIN, arrived: bench.now, message });
    assert_eq!(told[..2], [again(confirmation(Cores(8))), again(updated(1, ended))]);
    assert_eq!(told.len(), 4, "and of the two that live: {told:?}");
    assert_eq!(bench.master.to_call(), []);
}

#[test]
fn an_executor_that_was_taken_back_is_ended_when_its_worker_returns() {
    let mut bench = two_executors();
    bench.driver_says(DriverToMaster::KillExecutors { app: app(), executors: vec![ExecutorId(0)] });
    bench.restart();
    assert!(bench.returns(2, &[0]).contains(&kill(52, 0)));
}

#[test]
fn a_worker_that_was_asked_to_leave_is_asked_again_when_it_returns_and_by_the_same_time() {
    for is_restarted in [false, true] {
        let mut bench = Bench::new(Config::default());
        bench.worker(1, 8);
        let (which, within_millis) = ("w1".to_owned(), Some(5_000));
        bench.client_says(ClientToMaster::DecommissionWorkers { which, within_millis, by: admin("ann") });
        if is_restarted {
            bench.restart();
        }
        bench.now = T0 + Duration::from_secs(2);
        let again = to_worker(51, MasterToWorker::DecommissionWorker { within_millis: Some(3_000) });
        let told = bench.returns(1, &[]);
        assert!(told.ends_with(&[registered(51, !is_restarted), again]), "{told:?}");
        assert_eq!(bench.resumable(4, 4).len(), 1, "nothing is launched there");
    }
}

#[test]
fn nothing_is_launched_for_an_application_or_on_a_worker_that_is_away() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.worker(2, 8);
    bench.resumable(4, 4);
    bench.restart();
    assert_eq!(bench.returns(2, &[]), [registered(52, false)]);
    let other = PeerId(101);
    let message = Inbound::Driver(DriverToMaster::RegisterApplication(Box::new(owned(16, 4))));
    let effects = bench.apply(Event::Received { peer: other, arrived: bench.now, message });
    let orders = effects.iter().filter(|effect| {
        matches!(
            effect,
            Effect::Send { peer: PeerId(52), message: Outbound::Worker(MasterToWorker::LaunchExecutor(_)) }
        )
    });
    assert_eq!(orders.count(), 2, "{effects:?}");
    assert_eq!(effects.len(), 5, "{effects:?}");
}

#[test]
fn those_who_do_not_return_are_lost_when_their_time_is_over() {
    let mut bench = two_executors();
    bench.restart();
    bench.returns(1, &[1]);
    bench.resume(&[0, 1], "token");
    bench.now = bench.now + Duration::from_secs(60);
    let heartbeat = WorkerToMaster::Heartbeat { worker: WorkerId::new("w1"), last_order: None };
    bench.worker_says(51, heartbeat);
    let told = bench.apply(Event::Deadline { heard_until: bench.now });
    let lost = ExecutorState::Lost(LossReason::NotBack);
    let (executor, state, host) = (ExecutorId(0), lost, "host2".to_owned());
    let update = MasterToDriver::ExecutorUpdated { executor, state, lost_host: Some(host) };
    let [order, added] = launch(2, 1, 4);
    let Effect::Send { message: order, .. } = order else { unreachable!("it is one") };
    let order = Effect::Send { peer: PeerId(51), message: order };
    let removed = again(worker_removed(2, LossReason::NotBack));
    assert_eq!(told, [to_driver_again(update), removed, order, again(added)]);
}

#[test]
fn nobody_is_lost_while_what_they_sent_may_wait() {
    let mut bench = two_executors();
    bench.restart();
    bench.now = bench.now + Duration::from_secs(61);
    let heard_until = T0 + Duration::from_secs(50);
    assert_eq!(bench.apply(Event::Deadline { heard_until }), []);
    let (next, _) = bench.master.next_deadline().expect("it waits on");
    assert_eq!(next.since(bench.now), Duration::from_secs(10));
}

#[test]
fn an_application_whose_driver_does_not_return_ends_with_its_executors() {
    let mut bench = two_executors();
    bench.restart();
    bench.returns(1, &[1]);
    bench.returns(2, &[0]);
    bench.now = bench.now + Duration::from_secs(60);
    for (peer, worker) in [(51, "w1"), (52, "w2")] {
        bench
            .worker_says(peer, WorkerToMaster::Heartbeat { worker: WorkerId::new(worker), last_order: None });
    }
    let told = bench.apply(Event::Deadline { heard_until: bench.now });
    let over = |peer| to_worker(peer, MasterToWorker::ApplicationFinished { app: app() });
    assert_eq!(told, [kill(52, 0), kill(51, 1), over(51), over(52)]);
    let ended = &bench.master.view().completed[0];
    assert_eq!(
        (ended.state, &ended.outcome),
        (ApplicationState::Unknown, &None),
        "nobody knows how its work ended"
    );
}

#[test]
fn who_does_not_show_the_token_is_another_application() {
    let mut bench = two_executors();
    bench.restart();
    let told = bench.resume(&[0, 1], "guessed");
    let Effect::Send {
        message: Outbound::Driver(MasterToDriver::RegisteredApplication { app: new, .. }),
        ..
    } = &told[0]
    else {
        panic!("{told:?}")
    };
    assert_ne!(*new, app());
    assert_eq!(bench.master.away().applications, 1);
}

#[test]
fn a_worker_without_the_token_does_not_get_the_place_of_one_that_is_away() {
    let mut bench = two_executors();
    bench.restart();
    let WorkerToMaster::RegisterWorker { worker, executors, .. } = register(1, 8, Vec::new()) else {
        unreachable!("it is one")
    };
    let stranger = worker.with_token(Secret::new("guessed"));
    let told = bench.worker_says(51, WorkerToMaster::register(stranger, executors));
    assert_eq!(told, [to_worker(51, MasterToWorker::RegisterWorkerFailed(RefusedRegistration::IdTaken))]);
}

#[test]
fn a_worker_at_the_address_of_one_that_is_away_replaces_it() {
    let mut bench = two_executors();
    bench.restart();
    let WorkerToMaster::RegisterWorker { mut worker, executors, drivers } = register(1, 8, Vec::new()) else {
        unreachable!("it is one")
    };
    worker.id = WorkerId::new("w1-restarted");
    bench.worker_says(51, WorkerToMaster::RegisterWorker { worker, executors, drivers });
    assert_eq!(bench.master.away(), Away { workers: 1, applications: 1, executors: 1 });
}

#[test]
fn an_application_that_was_killed_while_its_driver_was_away_does_not_begin_again() {
    let mut bench = two_executors();
    bench.restart();
    let (which, by) = (app().to_string(), admin("ann@host"));
    let message = Inbound::Client(ClientToMaster::KillApplication { app: which, by: by.clone() });
    bench.apply(Event::Received { peer: PeerId(300), arrived: bench.now, message });
    let removed = MasterToDriver::ApplicationRemoved(ApplicationEnd::Killed { by: by.to_string() });
    assert_eq!(bench.resume(&[0, 1], "token"), [to_driver_again(removed)]);
}

#[test]
fn a_driver_hears_of_executors_in_the_order_of_their_numbers() {
    let mut bench = two_executors();
    // Executor 0 is live, executor 1 has ended, and executor 2 has replaced it.
    bench.report(1, 1, ExecutorState::Exited(ExitStatus::SUCCESS));
    bench.deadline();
    let told = bench.resume(&[], "token");
    let added = told.iter().filter_map(|effect| match effect {
        Effect::Send {
            message: Outbound::Driver(MasterToDriver::ExecutorAdded { executor, .. }), ..
        } => Some(executor.0),
        _ => None,
    });
    assert_eq!(added.collect::<Vec<_>>(), [0, 1, 2]);
}

#[test]
fn a_driver_on_another_connection_has_its_application_before_the_old_one_ends() {
    let mut bench = two_executors();
    let told = bench.resume(&[0, 1], "token");
    assert_eq!(told[0], Effect::Close { peer: DRIVER });
    assert_eq!(told[1], again(confirmation(Cores(8))));
    assert_eq!(bench.apply(Event::Disconnected { peer: DRIVER }), []);
    assert_eq!(bench.master.view().applications.len(), 1);
}

#[test]
fn ids_count_on_and_targets_and_failures_are_kept() {
    let mut bench = two_executors();
    let target = ExecutorTarget { id: ProfileId::DEFAULT, profile: ResourceProfile::default(), total: 1 };
    bench.driver_says(DriverToMaster::RequestExecutors { app: app(), targets: vec![target] });
    bench.report(2, 0, CRASH);
    bench.report(1, 1, CRASH);
    bench.restart();
    bench.returns(1, &[]);
    bench.returns(2, &[]);
    let told = bench.resume(&[0, 1], "token");
    assert_eq!(told[1..], [again(updated(0, CRASH)), again(updated(1, CRASH))], "it waits after failures");
    let told = bench.deadline();
    let added = |effect: &&Effect| {
        matches!(effect, Effect::Send { message: Outbound::Driver(MasterToDriver::ExecutorAdded { .. }), .. })
    };
    let [Effect::Send { message: Outbound::Driver(MasterToDriver::ExecutorAdded { executor, .. }), .. }] =
        told.iter().filter(added).collect::<Vec<_>>()[..]
    else {
        panic!("{told:?}")
    };
    assert_eq!(*executor, ExecutorId(2));
}

#[test]
fn records_that_contradict_each_other_are_refused() {
    let bench = two_executors();
    let refused = |change: &dyn Fn(&mut Vec<Record>)| {
        let mut records = bench.journal.clone();
        change(&mut records);
        let recovered = Master::recover(bench.master.config.clone(), bench.now, records);
        recovered.err().map(|error| (error.kind, error.contradiction))
    };
    assert_eq!(refused(&|_| {}), None);
    let rows = [
        ("WorkerRegistered", "ExecutorLaunched", Contradiction::NoWorker(1)),
        ("ApplicationRegistered", "ExecutorLaunched", Contradiction::NoApplication(0)),
        ("ExecutorLaunched", "ExecutorStarted", Contradiction::NoExecutor(0, ExecutorId(0))),
    ];
    for (missing, kind, contradiction) in rows {
        let without = |records: &mut Vec<Record>| records.retain(|record| record.kind() != missing);
        assert_eq!(refused(&without), Some((kind, contradiction)));
    }
    let twice = |records: &mut Vec<Record>| records.extend(records.clone());
    assert_eq!(refused(&twice), Some(("WorkerRegistered", Contradiction::Twice)));
}

#[test]
fn most_records_take_some_ten_bytes() {
    let bench = two_executors();
    let lengths = |kind: &str| -> Vec<usize> {
        let all = bench.journal.iter().filter(|record| firesteel_protocol::Kind::kind(*record) == kind);
        all.map(firesteel_protocol::wire::length).collect()
    };
    assert_eq!(lengths("ExecutorLaunched"), [10, 10]);
    assert_eq!(lengths("ExecutorStarted"), [4, 4]);
    assert_eq!(lengths("Time").last(), Some(&8));
}

/// A Master with a new state that no Worker or driver has contacted yet.
fn new_state(foreign: UnknownExecutors) -> Bench {
    let mut bench = Bench::new(Config { foreign, first_application: 10, ..Config::default() });
    bench.journal.clear();
    bench.restart();
    bench.journal = bench.master.image();
    bench
}

fn to_kill(peer: u64, executor: u32) -> Effect {
    to_worker(peer, MasterToWorker::KillExecutor { executor: key(executor) })
}

#[test]
fn a_master_with_new_state_leaves_executors_that_it_does_not_know_alone_for_the_recovery_time() {
    let mut bench = new_state(UnknownExecutors::Held);
    assert_eq!(bench.returns(1, &[0, 1]), [registered(51, false)]);
    assert_eq!(bench.master.view().workers[0].state, WorkerState::Unknown);
    assert_eq!(bench.resume(&[0, 1], "token"), [], "its driver waits for the Master that it had");
    let other = Box::new(description(Some(4), Some(4)));
    let told = bench.driver_says(DriverToMaster::RegisterApplication(other));
    assert!(matches!(told[..], [Effect::Send { peer: DRIVER, .. }]), "nobody knows what is free: {told:?}");
    bench.restart();
    assert_eq!(bench.returns(1, &[0, 1]), [registered(51, false)], "it does so after a restart, too");
    assert_eq!(bench.report(51, 0, ExecutorState::Running), []);
    bench.now = bench.master.next_foreign_end().expect("the hold has an end");
    let told = bench.apply(Event::Deadline { heard_until: bench.now });
    assert_eq!(told[..2], [to_kill(51, 0), to_kill(51, 1)]);
    let view = bench.master.view();
    assert_eq!(view.workers[0].state, WorkerState::Alive);
    let told = bench.resume(&[0, 1], "token");
    assert!(matches!(told[0], Effect::Send { peer: AGAIN, .. }), "the driver registers anew: {told:?}");
}

#[test]
fn a_worker_is_given_executors_again_when_the_last_unknown_one_has_ended() {
    let mut bench = new_state(UnknownExecutors::Held);
    bench.returns(1, &[0]);
    let other = Box::new(description(Some(4), Some(4)));
    bench.driver_says(DriverToMaster::RegisterApplication(other));
    let told = bench.report(51, 7, ExecutorState::Exited(ExitStatus::SUCCESS));
    assert_eq!(told, [noted(51, 7)], "another one still runs");
}

#[test]
fn a_master_that_is_told_to_begin_anew_ends_unknown_executors_at_once() {
    let mut bench = new_state(UnknownExecutors::Ended);
    assert_eq!(bench.returns(1, &[0]), [registered(51, false), to_kill(51, 0)]);
}

#[test]
fn a_master_whose_state_is_not_new_ends_unknown_executors_at_once() {
    let mut bench = Bench::new(Config::default());
    bench.restart();
    assert_eq!(bench.returns(1, &[0]), [registered(51, false), to_kill(51, 0)]);
}
