//! Workers: how they register, fall silent and come back.

use super::*;

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
fn workers_get_their_time_again_once_if_the_master_itself_was_behind() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    let stood_still = |bench: &mut Bench| {
        let (due, _) = bench.master.next_deadline().expect("the Worker is looked for");
        bench.now = due + Duration::from_secs(5);
        bench.master.apply(bench.now, Event::Deadline)
    };
    let excused = Effect::Note(Note::WorkersExcused { workers: 1, late: Duration::from_secs(5) });
    assert_eq!(stood_still(&mut bench), vec![excused.clone()]);
    let again = bench.now + Duration::from_secs(60);
    assert_eq!(bench.master.next_deadline(), Some((again, Reason::WorkerTimeout)));
    // A heartbeat makes up for it.
    bench.now = bench.now + Duration::from_secs(1);
    let heartbeat = WorkerToMaster::Heartbeat { worker: WorkerId::new("w1") };
    assert_eq!(bench.worker_says(1, heartbeat), []);
    assert_eq!(bench.deadline(), []);
    assert_eq!(stood_still(&mut bench), [excused]);
    // It is silent since: that the Master is behind once more does not excuse it again.
    let removed = stood_still(&mut bench);
    assert!(removed.contains(&Effect::Close { peer: PeerId(1) }), "{removed:?}");
}

#[test]
fn a_master_that_is_hardly_late_excuses_nobody() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.now = T0 + Duration::from_millis(60_100);
    assert_eq!(bench.apply(Event::Deadline), [Effect::Close { peer: PeerId(1) }]);
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
