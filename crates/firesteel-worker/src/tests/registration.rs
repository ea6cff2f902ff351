use super::*;
use crate::Exit;
use firesteel_protocol::master_search::connect_error::ConnectError;
use firesteel_protocol::master_search::leadership::LeaderConflict;
use firesteel_protocol::messages::{
    ClientToWorker, GivenNumbers, RefusedRegistration, RunId, RunningExecutor, StateId, StateMark,
    WorkerToClient, WorkerViewOfItself,
};
use firesteel_protocol::process::ExitStatus;

fn taken(peer: u64, host: &str) -> Vec<Effect> {
    let master_url = format!("spark://{host}:7077");
    vec![note(Note::Registered { master_url, duplicate: false }), heartbeat(peer)]
}

fn unreachable(host: &str) -> Effect {
    note(Note::MasterUnreachable { master: Address::new(host, 7077), error: "refused".into() })
}

#[test]
fn a_worker_dials_registers_and_beats_at_once_and_then_at_the_masters_pace() {
    let mut bench = Bench::new(&["m"]);
    assert_eq!(bench.worker.next_deadline(), None);
    assert_eq!(bench.apply(Event::Start), [dial("m")]);
    assert_eq!(bench.connect(1, "m"), [register(1, vec![])]);
    assert_eq!(bench.master(1, registered("m")), taken(1, "m"));
    for _ in 0..3 {
        assert_eq!(bench.left(), Duration::from_secs(15));
        assert_eq!(bench.deadline(), (Reason::Heartbeat, vec![heartbeat(1)]));
    }
}

#[test]
fn an_early_deadline_does_nothing_and_a_late_one_beats_once() {
    let mut bench = Bench::registered();
    assert_eq!(bench.apply(Event::Deadline), []);
    bench.now = bench.now + Duration::from_secs(600);
    assert_eq!(bench.apply(Event::Deadline), [heartbeat(1)]);
    assert_eq!(bench.left(), Duration::from_secs(15));
}

#[test]
fn of_several_masters_the_first_to_answer_wins_and_the_others_are_closed() {
    let mut bench = Bench::new(&["a", "b", "c", "a"]);
    assert_eq!(bench.apply(Event::Start), [dial("a"), dial("b"), dial("c")]);
    assert_eq!(bench.connect_to(1, "a", Leadership::Here { epoch: 1 }), [register(1, vec![])]);
    assert_eq!(bench.connect_to(2, "b", Leadership::Here { epoch: 1 }), [register(2, vec![])]);
    let [won, beat] = taken(2, "b").try_into().expect("two effects");
    assert_eq!(bench.master(2, registered("b")), [won, close(1), beat]);
    // The answers of the other Masters come too late.
    let late = Note::NotMyMaster { peer: PeerId(1), message: "RegisteredWorker" };
    assert_eq!(bench.master(1, registered("a")), [note(late)]);
    assert_eq!(bench.disconnect(1), []);
    assert_eq!(bench.connect_to(3, "c", Leadership::Here { epoch: 1 }), [close(3)]);
}

fn deposed(host: &str) -> Effect {
    let master = Address::new(host, 7077);
    note(Note::LeaderConflict(LeaderConflict::Deposed { master, epoch: 1, latest: 2 }))
}

fn lost_a() -> Effect {
    note(Note::MasterLost { master_url: "spark://a:7077".into(), executors: 1 })
}

/// A Worker that knows the Masters a and b. Master a was elected first, and has launched an executor on the Worker.
fn running_at_the_first_of_two() -> Bench {
    let mut bench = Bench::new(&["a", "b"]);
    bench.apply(Event::Start);
    bench.connect_elected(1, "a", 1);
    bench.master(1, registered("a"));
    bench.master(1, launch(0));
    bench.apply(Event::RunnerStarted { executor: key(0), pid: 70 });
    bench
}

#[test]
fn a_master_that_answers_after_a_later_one_was_met_is_too_late() {
    let mut bench = Bench::new(&["a", "b"]);
    bench.apply(Event::Start);
    assert_eq!(bench.connect_elected(1, "a", 1), [register(1, vec![])]);
    assert_eq!(bench.connect_elected(2, "b", 2), [deposed("a"), close(1), register(2, vec![])]);
    let late = Note::NotMyMaster { peer: PeerId(1), message: "RegisteredWorker" };
    assert_eq!(bench.master(1, registered("a")), [note(late)]);
    assert_eq!(bench.master(2, registered("b")), taken(2, "b"));
}

#[test]
fn a_worker_leaves_its_master_for_a_later_one_that_it_meets() {
    let mut bench = running_at_the_first_of_two();
    let effects = bench.connect_elected(2, "b", 2);
    let [left, closed, lost, asked] = effects.try_into().expect("four effects");
    assert_eq!([left, closed, lost], [deposed("a"), close(1), lost_a()]);
    let runs = ExecutorReport::new(key(0), ExecutorState::Running);
    assert_eq!(asked, register(2, vec![runs]), "the executor lives on");
    let late = Note::NotMyMaster { peer: PeerId(1), message: "LaunchExecutor" };
    assert_eq!(bench.master(1, launch(1)), [note(late)]);
    // When this connection ends, nothing is lost.
    assert_eq!(bench.disconnect(1), []);
    assert_eq!(bench.master(2, registered("b")), taken(2, "b"));
    // A later leader at the same address also counts, and an earlier one is not asked.
    assert_eq!(bench.connect_elected(3, "a", 1), [deposed("a"), close(3)]);
}

#[test]
fn a_worker_that_ends_has_no_master_when_it_meets_a_later_one() {
    let mut bench = running_at_the_first_of_two();
    bench.apply(Event::Shutdown);
    assert_eq!(bench.connect_elected(2, "b", 2), [deposed("a"), close(1), lost_a(), close(2)]);
}

#[test]
fn a_repeated_answer_does_not_multiply_heartbeats() {
    let mut bench = Bench::registered();
    let due = bench.worker.next_deadline();
    bench.now = bench.now + Duration::from_secs(5);
    assert_eq!(bench.master(1, registered("m")), []);
    assert_eq!(bench.worker.next_deadline(), due);
    assert_eq!(bench.deadline().1, [heartbeat(1)]);
}

#[test]
fn a_master_that_asks_for_no_pause_between_heartbeats_gets_one_every_10_ms() {
    let mut bench = Bench::new(&["m"]);
    bench.apply(Event::Start);
    bench.connect(1, "m");
    let master_url = "spark://m:7077".to_owned();
    let (heartbeat_millis, web_address) = (0, None);
    let confirmation = MasterToWorker::RegisteredWorker {
        master_url,
        heartbeat_millis,
        duplicate: true,
        web_address,
        mark: None,
    };
    bench.master(1, confirmation);
    assert_eq!(bench.left(), Duration::from_millis(10));
}

#[test]
fn rounds_that_fail_come_again_after_pauses_that_double_up_to_a_minute() {
    let mut bench = Bench::with_retries(&["m"], 1000);
    assert_eq!(bench.apply(Event::Start), [dial("m")]);
    for (failed, seconds) in (1..).zip([1, 2, 4, 8, 16, 32, 60, 60, 60]) {
        let effects = bench.connect_failed("m");
        let pause = bench.left();
        assert_eq!(effects, [unreachable("m"), note(Note::NextRound { failed, pause })]);
        let range = Duration::from_millis(seconds * 500)..Duration::from_millis(seconds * 1500);
        assert!(range.contains(&pause), "{pause:?} is not around {seconds} s");
        assert_eq!(bench.deadline(), (Reason::Registration(Due::Round), vec![dial("m")]));
    }
}

#[test]
fn pauses_differ_from_seed_to_seed() {
    let pause_of = |seed| {
        let mut bench = Bench::new(&["m"]);
        bench.worker = Worker::new(Config { seed, ..bench.worker.config.clone() });
        bench.apply(Event::Start);
        bench.connect_failed("m");
        bench.left()
    };
    let pauses: std::collections::BTreeSet<Duration> = (0..100).map(pause_of).collect();
    assert!(pauses.len() > 80, "100 Workers draw {} pauses", pauses.len());
    assert_eq!(pause_of(3), pause_of(3));
}

#[test]
fn a_round_fails_only_with_its_last_master() {
    let mut bench = Bench::new(&["a", "b", "c"]);
    bench.apply(Event::Start);
    assert_eq!(bench.connect_failed("a"), [unreachable("a")]);
    bench.connect(2, "b");
    bench.connect(3, "c");
    assert_eq!(bench.disconnect(2), [note(Note::MasterHungUp { master: Address::new("b", 7077) })]);
    let effects = bench.disconnect(3);
    let hung_up = note(Note::MasterHungUp { master: Address::new("c", 7077) });
    assert_eq!(effects, [hung_up, note(Note::NextRound { failed: 1, pause: bench.left() })]);
}

#[test]
fn a_master_that_does_not_answer_for_10_s_is_left() {
    let mut bench = Bench::new(&["m"]);
    bench.apply(Event::Start);
    bench.connect(1, "m");
    let asked = bench.now;
    let effects = bench.time_out();
    assert_eq!(bench.now.since(asked), Duration::from_secs(10));
    let silent = note(Note::MasterSilent { master: Address::new("m", 7077) });
    assert_eq!(effects[..2], [silent, close(1)]);
    // An answer after the timeout does not count.
    let late = Note::NotMyMaster { peer: MASTER, message: "RegisteredWorker" };
    assert_eq!(bench.master(1, registered("m")), [note(late)]);
    assert_eq!(bench.disconnect(1), []);
    assert_eq!(bench.deadline(), (Reason::Registration(Due::Round), vec![dial("m")]));
}

#[test]
fn a_master_is_not_dialled_twice_at_a_time() {
    let mut bench = Bench::new(&["m", "n"]);
    bench.apply(Event::Start);
    bench.connect_failed("n");
    // The attempt to connect to m lasts longer than the round, and into the next one.
    assert_eq!(bench.deadline(), (Reason::Registration(Due::Round), vec![dial("n")]));
    assert_eq!(bench.connect(5, "m"), [register(5, vec![])]);
    assert_eq!(bench.master(5, registered("m")), taken(5, "m"));
}

#[test]
fn a_dial_that_hangs_keeps_no_other_master_waiting_and_counts_whenever_it_succeeds() {
    let mut bench = Bench::new(&["a", "b"]);
    bench.apply(Event::Start);
    for _ in 0..3 {
        bench.connect_failed("b");
        assert_eq!(bench.deadline(), (Reason::Registration(Due::Round), vec![dial("b")]));
    }
    assert_eq!(bench.connect(1, "a"), [register(1, vec![])]);
}

#[test]
fn the_last_round_gives_a_master_the_time_to_answer() {
    let mut bench = Bench::with_retries(&["m"], 1);
    bench.apply(Event::Start);
    bench.connect(1, "m");
    let effects = bench.time_out();
    let silent = note(Note::MasterSilent { master: Address::new("m", 7077) });
    let errors = vec![(Address::new("m", 7077), ConnectError::no_answer("no answer"))];
    assert_eq!(effects, [silent, close(1), Effect::Exit(Exit::NoMaster { attempts: 1, errors })]);
}

#[test]
fn a_worker_that_was_never_registered_gives_up_after_the_last_retry() {
    let mut bench = Bench::with_retries(&["m"], 3);
    bench.apply(Event::Start);
    for _ in 0..2 {
        bench.connect_failed("m");
        bench.deadline();
    }
    let errors = vec![(Address::new("m", 7077), ConnectError::unreachable("refused"))];
    let exit = Effect::Exit(Exit::NoMaster { attempts: 3, errors });
    assert_eq!(bench.connect_failed("m"), [unreachable("m"), exit]);
    assert_eq!(bench.worker.next_deadline(), None);
    assert_eq!(bench.apply(Event::Shutdown), [], "it is over");
}

#[test]
fn a_worker_that_was_registered_never_gives_up_and_tries_every_second() {
    let mut bench = Bench::registered();
    bench.worker.config.max_registration_retries = 1;
    bench.disconnect(1);
    for failed in 1..=50_u32 {
        bench.deadline();
        let effects = bench.connect_failed("m");
        let pause = bench.left();
        assert!(pause <= Duration::from_millis(1500), "a Master that returns waits for {pause:?}");
        match failed.is_power_of_two() {
            true => assert_eq!(effects, [unreachable("m"), note(Note::NextRound { failed, pause })]),
            false => assert_eq!(effects, [], "the log is not filled"),
        }
    }
}

#[test]
fn a_refusal_ends_a_worker_that_was_never_registered() {
    let mut bench = Bench::new(&["a", "b"]);
    bench.apply(Event::Start);
    bench.connect(1, "a");
    bench.connect(2, "b");
    let refusal = RefusedRegistration::UnsoundId;
    let effects = bench.master(1, MasterToWorker::RegisterWorkerFailed(refusal.clone()));
    let refused = note(Note::Refused { master: Address::new("a", 7077), refusal: refusal.clone() });
    assert_eq!(effects, [refused, close(1), close(2), Effect::Exit(Exit::Refused(refusal))]);
}

#[test]
fn a_refusal_of_a_worker_that_was_registered_is_one_more_failed_round() {
    let mut bench = Bench::running();
    bench.disconnect(1);
    bench.deadline();
    bench.connect(2, "m");
    let refusal = RefusedRegistration::UnsoundId;
    let effects = bench.master(2, MasterToWorker::RegisterWorkerFailed(refusal.clone()));
    let refused = note(Note::Refused { master: Address::new("m", 7077), refusal });
    let next = note(Note::NextRound { failed: 1, pause: bench.left() });
    assert_eq!(effects, [refused, close(2), next]);
}

#[test]
fn a_refusal_from_the_master_that_took_the_worker_does_nothing() {
    let mut bench = Bench::registered();
    let effects = bench.master(1, MasterToWorker::RegisterWorkerFailed(RefusedRegistration::UnsoundId));
    let dropped = Note::NotMyMaster { peer: MASTER, message: "RegisterWorkerFailed" };
    assert_eq!(effects, [note(dropped)]);
}

#[test]
fn executors_survive_the_loss_of_the_master_and_are_listed_to_the_next() {
    let mut bench = Bench::running();
    bench.master(1, launch(1));
    let effects = bench.disconnect(1);
    let lost = note(Note::MasterLost { master_url: "spark://m:7077".into(), executors: 2 });
    assert_eq!(effects, [lost, note(Note::NextRound { failed: 0, pause: bench.left() })]);
    assert!(bench.left() <= Duration::from_millis(1500), "a lost Master is dialled again soon");
    assert_eq!(bench.deadline(), (Reason::Registration(Due::Round), vec![dial("m")]));
    let listed = vec![report(0, ExecutorState::Running), report(1, ExecutorState::Launching)];
    assert_eq!(bench.connect(2, "m"), [register(2, listed)]);
    assert_eq!(bench.master(2, registered("m")), taken(2, "m"));
}

#[test]
fn an_end_is_listed_until_a_master_that_saw_it_takes_the_worker() {
    let exited = ExecutorState::Exited(ExitStatus::Code(1));
    let mut bench = Bench::running();
    bench.disconnect(1);
    let status = ExitStatus::Code(1);
    let effects = bench.apply(Event::RunnerExited { executor: key(0), status });
    assert_eq!(effects, [ended(0, exited.clone())], "there is nobody to tell");
    for peer in 2..4 {
        bench.deadline();
        assert_eq!(bench.connect(peer, "m"), [register(peer, vec![report(0, exited.clone())])]);
        bench.disconnect(peer);
    }
    bench.deadline();
    assert_eq!(bench.connect(4, "m"), [register(4, vec![report(0, exited)])]);
    bench.master(4, registered("m"));
    bench.disconnect(4);
    bench.deadline();
    assert_eq!(bench.connect(5, "m"), [register(5, vec![])], "the end was confirmed");
}

#[test]
fn what_changes_between_question_and_answer_is_told_after_the_answer() {
    let mut bench = Bench::running();
    bench.master(1, launch(1));
    bench.disconnect(1);
    bench.deadline();
    bench.connect(2, "m");
    bench.apply(Event::RunnerStarted { executor: key(1), pid: 71 });
    bench.apply(Event::RunnerExited { executor: key(0), status: ExitStatus::SUCCESS });
    let exited = ExecutorState::Exited(ExitStatus::SUCCESS);
    let told = |executor, state| send(2, WorkerToMaster::ExecutorStateChanged(report(executor, state)));
    let mut expected = taken(2, "m");
    expected.extend([told(1, ExecutorState::Running), told(0, exited.clone())]);
    assert_eq!(bench.master(2, registered("m")), expected);
    // The end was reported but not confirmed: a broken connection may have lost the message.
    bench.disconnect(2);
    bench.deadline();
    let listed = vec![report(1, ExecutorState::Running), report(0, exited)];
    assert_eq!(bench.connect(3, "m"), [register(3, listed)]);
}

#[test]
fn a_master_that_forgot_the_worker_is_registered_with_again_on_the_same_connection() {
    let mut bench = Bench::running();
    let effects = bench.master(1, MasterToWorker::ReconnectWorker);
    let asked = note(Note::AskedToReconnect { master_url: "spark://m:7077".into() });
    assert_eq!(effects, [asked, register(1, vec![report(0, ExecutorState::Running)])]);
    assert_eq!(bench.master(1, MasterToWorker::ReconnectWorker), [], "it is on its way");
    let [registered_note, _] = &taken(1, "m")[..] else { panic!("it is registered and sends a heartbeat") };
    assert_eq!(bench.master(1, registered("m")), [registered_note.clone(), answer(1, 0)]);
}

#[test]
fn an_order_that_crosses_the_range_to_reconnect_counts() {
    let mut bench = Bench::running();
    bench.master(1, MasterToWorker::ReconnectWorker);
    assert_eq!(bench.master(1, launch(1)), [start(1)]);
    let [registered_note, _] = &taken(1, "m")[..] else { panic!("it is registered and sends a heartbeat") };
    let expected = [registered_note.clone(), answer(1, 1), tell(1, ExecutorState::Launching)];
    assert_eq!(bench.master(1, registered("m")), expected);
}

#[test]
fn a_master_that_asks_to_reconnect_and_then_falls_silent_is_left() {
    let mut bench = Bench::running();
    bench.master(1, MasterToWorker::ReconnectWorker);
    let effects = bench.time_out();
    let silent = note(Note::MasterSilent { master: Address::new("m", 7077) });
    assert_eq!(effects[..2], [silent, close(1)]);
    assert_eq!(bench.deadline(), (Reason::Registration(Due::Round), vec![dial("m")]));
}

#[test]
fn orders_count_only_from_the_master_that_took_the_worker() {
    let app = AppId::new("app-1");
    for (message, name) in [
        (launch(1), "LaunchExecutor"),
        (kill(0), "KillExecutor"),
        (MasterToWorker::ApplicationFinished { app }, "ApplicationFinished"),
        (MasterToWorker::ExecutorEndNoted { executor: key(0) }, "ExecutorEndNoted"),
        (MasterToWorker::ReconnectWorker, "ReconnectWorker"),
    ] {
        let dropped = note(Note::NotMyMaster { peer: PeerId(9), message: name });
        assert_eq!(Bench::running().master(9, message), [dropped]);
    }
}

#[test]
fn a_status_client_is_told_the_tables() {
    let mut bench = Bench::running();
    bench.master(1, launch(1));
    let ask = Inbound::Client(ClientToWorker::RequestWorkerState);
    let effects = bench.apply(Event::Received { peer: PeerId(8), message: ask });
    let row = |executor, state, pid| RunningExecutor {
        executor: key(executor),
        cores: Cores(2),
        memory: MiB(512),
        state,
        pid,
    };
    let view = WorkerViewOfItself {
        id: WorkerId::new("worker-1"),
        master_url: Some("spark://m:7077".into()),
        cores: Cores(8),
        memory: MiB(4096),
        executors: vec![row(0, ExecutorState::Running, Some(70)), row(1, ExecutorState::Launching, None)],
        drivers: Vec::new(),
        ended: vec![],
    };
    assert_eq!((bench.worker.cores_used(), bench.worker.memory_used()), (Cores(4), MiB(1024)));
    let message = Outbound::Client(WorkerToClient::WorkerStateResponse(view));
    assert_eq!(effects, [Effect::Send { peer: PeerId(8), message }]);
    assert_eq!(bench.disconnect(8), [], "a client that leaves is not a Master that is lost");
}

#[test]
fn a_worker_shows_the_latest_mark_of_each_state_when_it_registers_again() {
    let mut bench = Bench::registered();
    let given = GivenNumbers::default();
    let mark = |state: u64, second: u64| {
        let at = Timestamp::from_millis(second * 1000);
        StateMark { state: StateId(state), run: RunId(state), at, given }
    };
    let mut shown_after = |mark: Option<StateMark>| {
        let (heartbeat_millis, duplicate, web_address) = (15_000, false, None);
        let master_url = "spark://m:7077".to_owned();
        let registered =
            MasterToWorker::RegisteredWorker { master_url, heartbeat_millis, duplicate, web_address, mark };
        bench.master(1, registered);
        let effects = bench.master(1, MasterToWorker::ReconnectWorker);
        let seen = effects.into_iter().find_map(|effect| match effect {
            Effect::Send {
                message: Outbound::Master(WorkerToMaster::RegisterWorker { worker, .. }), ..
            } => Some(worker.seen),
            _ => None,
        });
        seen.expect("it registers again")
    };
    assert_eq!(shown_after(None), []);
    assert_eq!(shown_after(Some(mark(7, 1))), [mark(7, 1)]);
    assert_eq!(shown_after(Some(mark(7, 2))), [mark(7, 2)]);
    assert_eq!(shown_after(Some(mark(8, 3))), [mark(7, 2), mark(8, 3)]);
    // A Master without a state changes nothing.
    assert_eq!(shown_after(None), [mark(7, 2), mark(8, 3)]);
    for state in 9..=11 {
        shown_after(Some(mark(state, 4)));
    }
    assert_eq!(shown_after(None), [mark(8, 3), mark(9, 4), mark(10, 4), mark(11, 4)]);
}
