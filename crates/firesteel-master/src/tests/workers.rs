//! Workers: how they register, become silent and return.

use firesteel_protocol::secret::Secret;

use super::*;

#[test]
fn a_worker_that_is_about_to_end_is_given_no_more_executors_whatever_connection_it_has() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.application(Some(24), 6);
    let worker = WorkerId::new("w1");
    let leaving = to_driver(MasterToDriver::ExecutorLeaving {
        executor: ExecutorId(0),
        host: Some("host1".to_owned()),
    });
    let said = WorkerToMaster::WorkerDecommissioning { worker: worker.clone() };
    assert_eq!(bench.worker_says(1, said), [leaving]);
    assert_eq!(bench.worker_says(1, WorkerToMaster::WorkerDecommissioning { worker: worker.clone() }), []);
    assert_eq!(bench.master.view().workers[0].state, WorkerState::Decommissioned);
    let killed = ExecutorState::Killed(Some(ExitStatus::Signal(15)));
    assert_eq!(bench.report(1, 0, killed.clone()), [updated(0, killed), noted(1, 0)]);
    assert_eq!(bench.master.view().workers[0].cores_used, Cores(0));
    // The Master ignores this message about the Worker on other connections.
    bench.worker(2, 5);
    assert_eq!(bench.worker_says(2, WorkerToMaster::WorkerDecommissioning { worker }), []);
    assert_eq!(bench.master.view().workers[1].state, WorkerState::Alive);
    let back = bench.worker_says(3, register(1, 8, Vec::new()));
    assert_eq!(back.last(), Some(&registered(3, true)), "{back:?}");
    assert_eq!(bench.master.view().workers[0].state, WorkerState::Decommissioned);
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
    // The Worker returns with the executors that it still runs, and is ordered to end them.
    let running = ExecutorReport::new(key(0), ExecutorState::Running);
    assert_eq!(bench.worker_says(3, register(2, 8, vec![running])), [registered(3, false), kill(3, 0)]);
}

#[test]
fn a_master_whose_workers_all_report_is_not_woken_for_them() {
    let mut bench = Bench::new(Config::default());
    (1..=20).for_each(|number| drop(bench.worker(number, 8)));
    for beat in 0..400 {
        bench.now = bench.now + Duration::from_millis(750);
        let worker = beat % 20 + 1;
        let heartbeat =
            WorkerToMaster::Heartbeat { worker: WorkerId::new(format!("w{worker}")), last_order: None };
        assert_eq!(bench.worker_says(worker, heartbeat), []);
        let next = bench.master.next_deadline().expect("Workers may fall silent");
        assert!(next.0 > bench.now && next.1 == Reason::WorkerTimeout, "{next:?} at beat {beat}");
    }
}

#[test]
fn a_silent_worker_is_removed_exactly_at_its_timeout() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.now = bench.now + Duration::from_secs(59);
    let heartbeat = WorkerToMaster::Heartbeat { worker: WorkerId::new("w1"), last_order: None };
    assert_eq!(bench.worker_says(1, heartbeat.clone()), []);
    assert_eq!(bench.deadline(), [], "it is late first");
    let expected = T0 + Duration::from_secs(59 + 60);
    assert_eq!(bench.master.next_deadline(), Some((expected, Reason::WorkerTimeout)));
    assert_eq!(bench.deadline(), [Effect::Close { peer: PeerId(1) }]);
    assert_eq!(bench.master.view().workers[0].state, WorkerState::Dead);
    assert_eq!(bench.worker_says(1, heartbeat), [to_worker(1, MasterToWorker::ReconnectWorker)]);
}

#[test]
fn workers_get_their_time_again_once_if_the_master_itself_was_behind() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    let stood_still = |bench: &mut Bench| {
        let (due, _) = bench.master.next_deadline().expect("the Worker is looked for");
        bench.now = due + Duration::from_secs(5);
        bench.master.apply(bench.now, Event::Deadline { heard_until: bench.now })
    };
    assert_eq!(bench.deadline(), [], "it is late first");
    let excused = Effect::Note(Note::WorkersExcused { workers: 1, late: Duration::from_secs(5) });
    assert_eq!(stood_still(&mut bench), vec![excused.clone()]);
    let again = bench.now + Duration::from_secs(60);
    assert_eq!(bench.master.next_deadline(), Some((again, Reason::WorkerTimeout)));
    // A later heartbeat excuses the silence.
    bench.now = bench.now + Duration::from_secs(1);
    let heartbeat = WorkerToMaster::Heartbeat { worker: WorkerId::new("w1"), last_order: None };
    assert_eq!(bench.worker_says(1, heartbeat), []);
    assert_eq!(bench.deadline(), []);
    assert_eq!(stood_still(&mut bench), [excused]);
    // The Worker has been silent since. If the Master is behind again, this does not excuse the silence again.
    let removed = stood_still(&mut bench);
    assert!(removed.contains(&Effect::Close { peer: PeerId(1) }), "{removed:?}");
}

#[test]
fn a_worker_is_silent_only_when_all_that_arrived_in_time_has_been_handled() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    let timeout = bench.master.config.worker_timeout;
    assert_eq!(bench.deadline(), [], "it is late first");
    let (due, _) = bench.master.next_deadline().expect("the Worker is looked for");
    assert_eq!(due, T0 + timeout);
    // A heartbeat waits, with everything else that arrived in the last minute.
    bench.now = due;
    assert_eq!(bench.apply(Event::Deadline { heard_until: T0 + Duration::from_secs(1) }), []);
    assert_eq!(bench.master.next_deadline(), Some((due + Duration::from_secs(59), Reason::WorkerTimeout)));
    // Now the heartbeat is handled. It counts from its arrival, not from now.
    let heartbeat = WorkerToMaster::Heartbeat { worker: WorkerId::new("w1"), last_order: None };
    bench.now = due + Duration::from_secs(5);
    let arrived = T0 + Duration::from_secs(15);
    let event = Event::Received { peer: PeerId(1), arrived, message: Inbound::Worker(heartbeat) };
    let lag = bench.now.since(arrived);
    let heard = Note::WorkerHeard { worker: WorkerId::new("w1") };
    assert_eq!(bench.master.apply(bench.now, event), [Note::Behind { lag }, heard].map(Effect::Note));
    let still_waiting = arrived + timeout - Duration::from_millis(1);
    bench.now = due + timeout;
    assert_eq!(bench.apply(Event::Deadline { heard_until: still_waiting }), []);
    assert_eq!(bench.deadline(), [], "it is late first");
    assert_eq!(bench.deadline(), [Effect::Close { peer: PeerId(1) }]);
}

#[test]
fn a_master_that_is_hardly_late_excuses_nobody() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    assert_eq!(bench.deadline(), [], "it is late first");
    bench.now = T0 + Duration::from_millis(60_100);
    assert_eq!(bench.apply(Event::Deadline { heard_until: bench.now }), [Effect::Close { peer: PeerId(1) }]);
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
fn a_worker_on_a_new_connection_keeps_its_executors_and_gets_lost_orders_again() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.application(Some(8), 4);
    bench.report(1, 0, ExecutorState::Running);
    let named = |executor, state| ExecutorReport::new(key(executor), state);
    let effects = bench.worker_says(2, {
        let WorkerToMaster::RegisterWorker { mut worker, .. } = register(1, 8, Vec::new()) else {
            unreachable!()
        };
        worker.id = WorkerId::new("w1");
        WorkerToMaster::RegisterWorker {
            worker,
            drivers: Vec::new(),
            executors: vec![named(0, ExecutorState::Running)],
        }
    });
    let repeated = launch(1, 1, 4).into_iter().find_map(|effect| match effect {
        Effect::Send { message: message @ Outbound::Worker(_), .. } => {
            Some(Effect::Send { peer: PeerId(2), message })
        }
        _ => None,
    });
    let expected: Vec<_> =
        [Effect::Close { peer: PeerId(1) }, registered(2, true)].into_iter().chain(repeated).collect();
    assert_eq!(effects, expected);
    // The end of the old connection changes nothing.
    assert_eq!(bench.apply(Event::Disconnected { peer: PeerId(1) }), []);
}

#[test]
fn who_claims_more_than_the_settings_allow_is_refused_with_the_settings_name() {
    let limits = Limits {
        workers: 2,
        cores: Cores(16),
        memory: MiB(8192),
        addresses: 3,
        executors: 1,
        text: 20,
        ..Limits::default()
    };
    let mut bench = Bench::new(Config { limits, ..Config::default() });
    let WorkerToMaster::RegisterWorker { worker: sound, .. } = register(1, 16, Vec::new()) else {
        unreachable!("it registers")
    };
    let mut many = sound.clone();
    many.resources = Resources::from_iter([("gpu", ["0", "1"]), ("nic", ["a", "b"])]);
    let mut cores = sound.clone();
    cores.cores = Cores(17);
    let mut memory = sound.clone();
    memory.memory = MiB(8193);
    let mut host = sound.clone();
    host.host = "h".repeat(21);
    let mut address = sound.clone();
    address.resources = Resources::from_iter([("gpu", ["0".repeat(21)])]);
    let reports = |count| (0..count).map(|n| ExecutorReport::new(key(n), ExecutorState::Running)).collect();
    for (worker, executors, sentence) in [
        (cores, 0, "17 cores are more than the Master takes: firesteel.master.maxWorkerCores is 16"),
        (
            memory,
            0,
            "8193 MiB of memory are more than the Master takes: firesteel.master.maxWorkerMemory is 8192",
        ),
        (
            many,
            0,
            "4 addresses of custom resources are more than the Master takes: firesteel.master.maxWorkerAddresses is 3",
        ),
        (
            sound.clone(),
            2,
            "2 executors are more than the Master takes: firesteel.master.maxWorkerExecutors is 1",
        ),
        (
            host,
            0,
            "21 bytes in one text are more than the Master takes: firesteel.master.maxTextLength is 20",
        ),
        (
            address,
            0,
            "21 bytes in one text are more than the Master takes: firesteel.master.maxTextLength is 20",
        ),
    ] {
        let message =
            WorkerToMaster::RegisterWorker { worker, drivers: Vec::new(), executors: reports(executors) };
        check_refused(&bench.worker_says(1, message), sentence);
    }
    let message =
        WorkerToMaster::RegisterWorker { worker: sound, drivers: Vec::new(), executors: reports(1) };
    assert!(bench.worker_says(1, message).contains(&registered(1, false)));
    assert!(bench.worker(2, 16).contains(&registered(2, false)));
    check_refused(
        &bench.worker(3, 16),
        "3 Workers are more than the Master takes: firesteel.master.maxWorkers is 2",
    );
    assert!(bench.worker(2, 16).contains(&registered(2, true)), "it is one of the two");
}

fn check_refused(effects: &[Effect], sentence: &str) {
    let [Effect::Send { message: Outbound::Worker(MasterToWorker::RegisterWorkerFailed(reason)), .. }] =
        effects
    else {
        panic!("{effects:?}")
    };
    assert_eq!(reason.to_string(), sentence);
}

#[test]
fn an_application_that_is_one_too_many_or_has_a_long_name_is_refused() {
    let limits = Limits { applications: 1, text: 10, ..Limits::default() };
    let mut bench = Bench::new(Config { limits, ..Config::default() });
    let mut long = description(Some(1), Some(1));
    long.name = "n".repeat(11);
    for (peer, description, words) in [
        (11, long, Some("firesteel.master.maxTextLength")),
        (12, description(Some(1), Some(1)), None),
        (13, description(Some(1), Some(1)), Some("firesteel.master.maxApplications")),
    ] {
        let message = Inbound::Driver(DriverToMaster::RegisterApplication(Box::new(description)));
        let effects = bench.apply(Event::Received { peer: PeerId(peer), arrived: bench.now, message });
        let refusal = effects.iter().find_map(|effect| match effect {
            Effect::Send { message: Outbound::Driver(MasterToDriver::ApplicationRemoved(end)), .. } => {
                Some(end.to_string())
            }
            _ => None,
        });
        match words {
            Some(words) => {
                assert!(refusal.as_ref().is_some_and(|refusal| refusal.contains(words)), "{refusal:?}")
            }
            None => assert_eq!(refusal, None),
        }
    }
}

#[test]
fn a_second_worker_of_one_id_is_refused_unless_it_shows_the_token() {
    let mut bench = Bench::new(Config::default());
    let with_token = |token: &str| match register(1, 8, Vec::new()) {
        WorkerToMaster::RegisterWorker { worker, executors, .. } => {
            WorkerToMaster::register(worker.with_token(Secret::new(token)), executors)
        }
        other => unreachable!("{other:?}"),
    };
    assert!(bench.worker_says(1, with_token("mine")).contains(&registered(1, false)));
    for token in ["", "his", "mine "] {
        let refused = MasterToWorker::RegisterWorkerFailed(RefusedRegistration::IdTaken);
        assert_eq!(bench.worker_says(2, with_token(token)), [to_worker(2, refused)], "{token:?}");
    }
    assert!(bench.worker_says(3, with_token("mine")).contains(&registered(3, true)));
    // A Worker that is not connected cannot be distinguished from another one.
    bench.apply(Event::Disconnected { peer: PeerId(3) });
    assert!(bench.worker_says(4, with_token("new")).contains(&registered(4, false)));
}

#[test]
fn a_lost_worker_is_remembered_without_its_addresses() {
    let mut bench = Bench::new(Config::default());
    let WorkerToMaster::RegisterWorker { mut worker, executors, drivers } = register(1, 8, Vec::new()) else {
        unreachable!("it registers")
    };
    worker.resources = Resources::from_iter([("gpu", ["0", "1"])]);
    bench.worker_says(1, WorkerToMaster::RegisterWorker { worker, executors, drivers });
    assert_eq!(bench.master.view().workers[0].resources.count("gpu"), 2);
    bench.apply(Event::Disconnected { peer: PeerId(1) });
    let workers = bench.master.view().workers;
    assert_eq!((workers[0].state, workers[0].resources.count("gpu")), (WorkerState::Dead, 0));
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
    let WorkerToMaster::RegisterWorker { mut worker, executors, drivers } = register(2, 8, Vec::new()) else {
        unreachable!()
    };
    worker.id = WorkerId::new("../w2");
    let message = WorkerToMaster::RegisterWorker {
        worker: worker.clone(),
        executors: executors.clone(),
        drivers: drivers.clone(),
    };
    assert_eq!(bench.worker_says(2, message), [refused(2, RefusedRegistration::UnsoundId)]);
    worker.id = WorkerId::new("w2");
    worker.host = "host1".to_owned();
    let same =
        RefusedRegistration::SameAddress { address: "host1:7078".to_owned(), other: WorkerId::new("w1") };
    assert_eq!(
        bench.worker_says(2, WorkerToMaster::RegisterWorker { worker, executors, drivers }),
        [refused(2, same)]
    );
}

fn heartbeat(n: u64) -> WorkerToMaster {
    WorkerToMaster::Heartbeat { worker: WorkerId::new(format!("w{n}")), last_order: None }
}

#[test]
fn a_worker_that_said_that_it_would_end_and_has_nothing_left_has_left_and_is_not_dead() {
    for (executors, state) in [(0, WorkerState::Left), (1, WorkerState::Dead)] {
        let mut bench = Bench::new(Config::default());
        bench.worker(1, 8);
        bench.application(Some(executors), 1);
        bench.worker_says(1, WorkerToMaster::WorkerDecommissioning { worker: WorkerId::new("w1") });
        if executors == 0 {
            bench.report(1, 0, ExecutorState::Killed(Some(ExitStatus::Signal(15))));
        }
        bench.apply(Event::Disconnected { peer: PeerId(1) });
        let view = bench.master.view();
        assert_eq!(view.workers[0].state, state, "with {executors} executors");
        let cause = match state {
            WorkerState::Left => DepartureCause::Stopped,
            _ => DepartureCause::Lost(LossReason::Disconnected),
        };
        let gone = WorkerRemark::Gone(Departure { at: bench.now, cause });
        assert_eq!(view.workers[0].remark, Some(gone));
        let page = bench.master.state_page(&StateCursor::beginning());
        assert_eq!(page.rows[0], StateRow::Worker(Box::new(view.workers[0].clone())));
    }
}

#[test]
fn a_worker_of_which_two_heartbeats_are_missing_is_served_last_until_it_is_heard() {
    let mut bench = Bench::new(Config::default());
    // Worker 1 has the most free cores, and would be first.
    bench.worker(1, 16);
    bench.worker(2, 8);
    bench.now = bench.now + Duration::from_secs(30);
    bench.worker_says(2, heartbeat(2));
    assert_eq!(bench.deadline(), []);
    assert_eq!(bench.now, T0 + Duration::from_millis(33_750));
    let view = bench.master.view();
    assert_eq!(remarks(&bench.master), [(WorkerId::new("w1"), WorkerRemark::Late)].into());
    assert_eq!(view.workers[0].state, WorkerState::Alive);
    let told = bench.application(Some(12), 4);
    let on = |effect: &Effect| match effect {
        Effect::Send { peer, message: Outbound::Worker(MasterToWorker::LaunchExecutor(_)) } => Some(peer.0),
        _ => None,
    };
    let launched: Vec<u64> = told.iter().filter_map(on).collect();
    assert_eq!(launched, [2, 2, 1], "the late one comes last in each round");
    bench.worker_says(1, heartbeat(1));
    assert_eq!(remarks(&bench.master), BTreeMap::new());
}

#[test]
fn a_master_that_stood_still_itself_calls_no_worker_late() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.now = bench.now + Duration::from_secs(50);
    bench.apply(Event::Deadline { heard_until: bench.now });
    assert_eq!(remarks(&bench.master), BTreeMap::new());
}

#[test]
fn of_an_executor_that_a_lost_worker_brings_back_it_is_said_how_it_was_lost() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.application(Some(4), 4);
    bench.report(1, 0, ExecutorState::Running);
    bench.apply(Event::Disconnected { peer: PeerId(1) });
    let ended = bench.now;
    bench.now = bench.now + Duration::from_secs(5);
    let running = ExecutorReport::new(key(0), ExecutorState::Running);
    let message = Inbound::Worker(register(1, 8, vec![running]));
    let arrived = bench.now;
    let effects = bench.master.apply(bench.now, Event::Received { peer: PeerId(2), arrived, message });
    let state = ExecutorState::Lost(LossReason::Disconnected);
    let note = Note::EndedExecutorReturned { executor: key(0), worker: WorkerId::new("w1"), state, ended };
    assert!(effects.contains(&Effect::Note(note)), "{effects:?}");
}
