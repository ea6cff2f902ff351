//! Workers and drivers whose connections ended, and that may return.

use firesteel_protocol::secret::Secret;

use super::*;

const AWAY: Duration = Duration::from_secs(30);

/// A Master with Workers 1 and 2 of two cores, and an application with an executor of one core on each that runs.
/// Worker 2 and the driver are as they are; tests end the connection of Worker 1.
fn bench() -> Bench {
    let mut bench = Bench::new(Config { away_timeout: AWAY, ..Config::default() });
    bench.worker(1, 2);
    bench.worker(2, 2);
    bench.driver_says(DriverToMaster::RegisterApplication(Box::new(owned())));
    let [first, second] = [on(&bench, 0), on(&bench, 1)];
    bench.report(first, 0, ExecutorState::Running);
    bench.report(second, 1, ExecutorState::Running);
    bench
}

fn owned() -> ApplicationDescription {
    let mut owned = description(Some(2), Some(1));
    owned.token = Secret::new("token");
    owned
}

/// The number of the Worker that has an executor.
fn on(bench: &Bench, executor: u32) -> u64 {
    let app = bench.master.applications.live(&app());
    let slot = app.executors.get(ExecutorId(executor)).expect("it is live").slot;
    bench.master.workers.row(slot).description.id.as_str()[1..].parse().expect("a number")
}

/// The only executor of Worker 1.
fn executor_of_1(bench: &Bench) -> u32 {
    (0..2).find(|executor| on(bench, *executor) == 1).expect("one is there")
}

fn live(bench: &Bench) -> usize {
    bench.master.applications.live(&app()).executors.len()
}

fn lasts(bench: &mut Bench, time: Duration) {
    bench.now = bench.now + time;
}

fn gone(bench: &mut Bench, since: Timestamp) -> Vec<Effect> {
    bench.apply(Event::WorkerGone { worker: WorkerId::new("w1"), since })
}

#[test]
fn a_worker_whose_connection_ends_keeps_its_executors_until_its_time_is_over() {
    let mut bench = bench();
    let since = bench.now;
    let effects = bench.apply(Event::Disconnected { peer: PeerId(1) });
    let (worker, address) =
        (WorkerId::new("w1"), bench.master.workers.living(&WorkerId::new("w1")).address());
    assert_eq!(effects, [Effect::Probe { worker, address, since, until: since + AWAY }]);
    lasts(&mut bench, Duration::from_secs(4));
    let view = bench.master.view();
    let away = view.workers.iter().find(|worker| worker.id == WorkerId::new("w1")).expect("it is listed");
    assert_eq!((away.state, away.away_since), (WorkerState::Unknown, Some(since)));
    assert_eq!(bench.master.next_deadline(), Some((since + AWAY, Reason::Absence)));
    bench.apply(Event::Deadline { heard_until: bench.now });
    assert_eq!(live(&bench), 2, "it may still return");
    bench.deadline();
    assert_eq!(bench.now, since + AWAY);
    assert!(bench.master.workers.get(&WorkerId::new("w1")).is_none());
    assert_eq!(live(&bench), 2, "its executor is replaced on the other Worker");
}

#[test]
fn nothing_new_is_placed_on_a_worker_that_is_away() {
    let mut bench = bench();
    bench.apply(Event::Disconnected { peer: PeerId(1) });
    bench.apply(Event::Disconnected { peer: PeerId(2) });
    let launched = |effect: &&Effect| {
        matches!(effect, Effect::Send { message: Outbound::Worker(MasterToWorker::LaunchExecutor(_)), .. })
    };
    let registered = DriverToMaster::RegisterApplication(Box::new(description(None, Some(1))));
    let effects = bench.apply(Event::Received {
        peer: PeerId(101),
        arrived: bench.now,
        message: Inbound::Driver(registered),
    });
    assert_eq!(effects.iter().filter(launched).count(), 0, "nobody is there");
}

#[test]
fn a_worker_returns_with_its_token_and_what_it_runs() {
    let mut bench = bench();
    let executor = executor_of_1(&bench);
    bench.apply(Event::Disconnected { peer: PeerId(1) });
    lasts(&mut bench, Duration::from_secs(20));
    let running = vec![ExecutorReport::new(key(executor), ExecutorState::Running)];
    let effects = bench.worker_says(11, register(1, 2, running));
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Close { .. })));
    assert_eq!((live(&bench), on(&bench, executor)), (2, 1));
    assert_ne!(bench.master.next_deadline().map(|(_, reason)| reason), Some(Reason::Absence));
    let view = bench.master.view();
    assert!(
        view.workers.iter().all(|worker| worker.state == WorkerState::Alive && worker.away_since.is_none())
    );
}

#[test]
fn an_order_that_was_lost_with_the_connection_is_sent_again() {
    let mut bench = Bench::new(Config { away_timeout: AWAY, ..Config::default() });
    bench.worker(1, 2);
    bench.application(Some(1), 1);
    bench.apply(Event::Disconnected { peer: PeerId(1) });
    let effects = bench.worker_says(11, register(1, 2, Vec::new()));
    let orders = |effects: &[Effect]| {
        let order = |effect: &Effect| match effect {
            Effect::Send { peer, message: Outbound::Worker(MasterToWorker::LaunchExecutor(order)) } => {
                Some((*peer, order.executor.clone()))
            }
            _ => None,
        };
        effects.iter().filter_map(order).collect::<Vec<_>>()
    };
    assert_eq!(orders(&effects), [(PeerId(11), key(0))]);
    assert_eq!(live(&bench), 1);
    bench.report(11, 0, ExecutorState::Running);
    bench.apply(Event::Disconnected { peer: PeerId(11) });
    // A running executor that the Worker does not list has ended.
    let effects = bench.worker_says(12, register(1, 2, Vec::new()));
    assert_eq!(orders(&effects), [(PeerId(12), key(1))], "it is replaced");
}

#[test]
fn a_worker_whose_process_has_ended_is_lost_at_once() {
    let mut bench = bench();
    let since = bench.now;
    bench.apply(Event::Disconnected { peer: PeerId(1) });
    lasts(&mut bench, Duration::from_secs(1));
    gone(&mut bench, since + Duration::from_millis(1));
    assert!(bench.master.workers.get(&WorkerId::new("w1")).is_some(), "the answer is about another absence");
    gone(&mut bench, since);
    assert!(bench.master.workers.get(&WorkerId::new("w1")).is_none());
    gone(&mut bench, since);
    let mut returned = self::bench();
    let since = returned.now;
    returned.apply(Event::Disconnected { peer: PeerId(1) });
    let executor = executor_of_1(&returned);
    let running = vec![ExecutorReport::new(key(executor), ExecutorState::Running)];
    returned.worker_says(11, register(1, 2, running));
    gone(&mut returned, since);
    assert!(returned.master.workers.get(&WorkerId::new("w1")).is_some(), "it has returned");
}

#[test]
fn a_driver_that_is_away_keeps_its_executors_and_gets_no_new_ones() {
    let mut bench = bench();
    let since = bench.now;
    bench.apply(Event::Disconnected { peer: DRIVER });
    let view = bench.master.view();
    assert_eq!(
        (view.applications[0].state, view.applications[0].away_since),
        (ApplicationState::Unknown, Some(since))
    );
    let executor = executor_of_1(&bench);
    bench.report(1, executor, ExecutorState::Exited(ExitStatus::SUCCESS));
    assert_eq!(live(&bench), 1, "it is not replaced now");
    lasts(&mut bench, Duration::from_secs(20));
    let executors = vec![ExecutorId(0), ExecutorId(1)];
    let resumption = Resumption { app: app(), executors, description: Box::new(owned()) };
    let effects = bench.apply(Event::Received {
        peer: PeerId(101),
        arrived: bench.now,
        message: Inbound::Driver(DriverToMaster::ResumeApplication(resumption)),
    });
    let told = effects.iter().any(|effect| matches!(effect,
        Effect::Send { peer, message: Outbound::Driver(MasterToDriver::ExecutorUpdated { executor: ended, state, .. }) }
            if *peer == PeerId(101) && ended.0 == executor && state.is_finished()));
    assert!(told, "the end that it missed");
    assert_eq!(live(&bench), 2, "now it is replaced");
    bench.apply(Event::Disconnected { peer: PeerId(101) });
    lasts(&mut bench, AWAY);
    bench.apply(Event::Deadline { heard_until: bench.now });
    assert!(bench.master.applications.get(&app()).is_none());
    assert_eq!(
        bench.master.applications.ended().get(&app()).map(|ended| &ended.end),
        Some(&ApplicationEnd::DriverLost)
    );
}

#[test]
fn nobody_is_lost_while_messages_wait_that_may_bring_them_back() {
    let mut bench = bench();
    bench.apply(Event::Disconnected { peer: PeerId(1) });
    bench.apply(Event::Disconnected { peer: DRIVER });
    lasts(&mut bench, AWAY);
    bench.apply(Event::Deadline { heard_until: bench.now - Duration::from_secs(2) });
    assert!(bench.master.workers.get(&WorkerId::new("w1")).is_some());
    assert!(bench.master.applications.get(&app()).is_some());
    assert_eq!(bench.master.next_deadline().map(|(at, _)| at), Some(bench.now + Duration::from_secs(2)));
}

#[test]
fn spark_s_workers_and_drivers_and_a_zero_keep_spark_s_rule() {
    for (timeout, callback) in [(AWAY, &b"spark"[..]), (Duration::ZERO, b"")] {
        let mut bench = Bench::new(Config { away_timeout: timeout, ..Config::default() });
        let WorkerToMaster::RegisterWorker { mut worker, executors, drivers } = register(1, 2, Vec::new())
        else {
            unreachable!("it is a registration")
        };
        worker.callback = callback.to_vec().into();
        bench.worker_says(1, WorkerToMaster::RegisterWorker { worker, executors, drivers });
        let mut description = description(Some(1), Some(1));
        description.callback = callback.to_vec().into();
        bench.driver_says(DriverToMaster::RegisterApplication(Box::new(description)));
        bench.apply(Event::Disconnected { peer: PeerId(1) });
        assert!(bench.master.workers.get(&WorkerId::new("w1")).is_none());
        bench.apply(Event::Disconnected { peer: DRIVER });
        assert!(bench.master.applications.get(&app()).is_none());
    }
}

#[test]
fn a_worker_that_has_left_in_order_is_not_away() {
    let mut bench = Bench::new(Config { away_timeout: AWAY, ..Config::default() });
    bench.worker(1, 2);
    bench.worker_says(1, WorkerToMaster::WorkerDecommissioning { worker: WorkerId::new("w1") });
    assert_eq!(bench.apply(Event::Disconnected { peer: PeerId(1) }), []);
    assert!(bench.master.workers.get(&WorkerId::new("w1")).is_none());
}
