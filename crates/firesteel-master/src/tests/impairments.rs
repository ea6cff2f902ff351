//! Workers that do not answer orders, or cannot start executors.

use super::*;

#[test]
fn an_order_that_a_worker_does_not_answer_is_repeated_then_given_elsewhere_and_the_worker_gets_nothing_new() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.application(Some(8), 8);
    let heartbeat = |bench: &mut Bench, last_order: Option<u32>| {
        bench.now = bench.now + Duration::from_secs(15);
        let last_order = last_order.map(key);
        bench.worker_says(1, WorkerToMaster::Heartbeat { worker: WorkerId::new("w1"), last_order })
    };
    let [order, _] = launch(0, 1, 8);
    assert_eq!(heartbeat(&mut bench, None), [], "it may have crossed the order");
    assert_eq!(heartbeat(&mut bench, None), std::slice::from_ref(&order));
    assert_eq!(heartbeat(&mut bench, None), [order]);
    assert_eq!(bench.worker(2, 8), [registered(2, false)]);
    let end = ExecutorState::Lost(LossReason::Unanswered);
    let elsewhere: Vec<_> = [kill(1, 0), updated(0, end)].into_iter().chain(launch(1, 2, 8)).collect();
    assert_eq!(heartbeat(&mut bench, None), elsewhere);
    assert_eq!(bench.master.view().workers[0].impairment, Some(Impairment::Deaf));
    // The Worker has room, but gets no executors until it answers.
    bench.apply(Event::Disconnected { peer: PeerId(2) });
    assert_eq!(bench.master.view().applications[0].cores_granted, Cores(0));
    assert_eq!(heartbeat(&mut bench, None), []);
    assert_eq!(heartbeat(&mut bench, Some(0)), launch(2, 1, 8));
    assert_eq!(bench.master.view().workers[0].impairment, None);
    assert_eq!(heartbeat(&mut bench, Some(2)), []);
    assert_eq!(heartbeat(&mut bench, None), []);
}

/// A Master with a Worker whose heartbeats have answered no orders for a minute.
fn with_deaf_worker() -> Bench {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.application(Some(8), 8);
    for _ in 0..4 {
        bench.now = bench.now + Duration::from_secs(15);
        bench.worker_says(1, WorkerToMaster::Heartbeat { worker: WorkerId::new("w1"), last_order: None });
    }
    assert_eq!(bench.master.view().workers[0].impairment, Some(Impairment::Deaf));
    bench
}

#[test]
fn a_deaf_worker_that_ends_what_was_given_elsewhere_hears_again() {
    let mut bench = with_deaf_worker();
    bench.report(1, 0, ExecutorState::Killed(None));
    assert_eq!(bench.master.view().workers[0].impairment, None);
}

#[test]
fn a_deaf_worker_hears_again_on_a_new_connection() {
    let mut bench = with_deaf_worker();
    let effects = bench.worker_says(2, register(1, 8, Vec::new()));
    assert!(effects.contains(&to_worker(2, MasterToWorker::LaunchExecutor(order(1, 8)))), "{effects:?}");
    assert_eq!(bench.master.view().workers[0].impairment, None);
}

#[test]
fn a_worker_with_two_things_wrong_has_recovered_when_both_are_over() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.application(Some(8), 8);
    let worker = || WorkerId::new("w1");
    let mut notes = |message: WorkerToMaster| -> Vec<Note> {
        bench.now = bench.now + Duration::from_secs(15);
        let event =
            Event::Received { peer: PeerId(1), arrived: bench.now, message: Inbound::Worker(message) };
        let effects = bench.master.apply(bench.now, event).into_iter();
        effects.filter_map(|effect| if let Effect::Note(note) = effect { Some(note) } else { None }).collect()
    };
    let heartbeat = |last_order: Option<u32>| WorkerToMaster::Heartbeat {
        worker: worker(),
        last_order: last_order.map(key),
    };
    let writes = |error: Option<&str>| WorkerToMaster::StartsChecked {
        worker: worker(),
        error: error.map(str::to_owned),
    };
    let impaired = |impairment| Note::WorkerImpaired { worker: worker(), impairment };
    let recovered = Note::WorkerRecovered { worker: worker() };
    let cannot_start = impaired(Impairment::CannotStart("no space".to_owned()));
    for _ in 0..3 {
        notes(heartbeat(None));
    }
    assert!(notes(heartbeat(None)).contains(&impaired(Impairment::Deaf)));
    assert_eq!(notes(writes(Some("no space"))), std::slice::from_ref(&cannot_start));
    assert_eq!(notes(writes(None)), [impaired(Impairment::Deaf)]);
    assert_eq!(notes(writes(Some("no space"))), std::slice::from_ref(&cannot_start));
    assert_eq!(notes(heartbeat(Some(0))), [cannot_start]);
    assert_eq!(notes(writes(None))[0], recovered);
}

#[test]
fn a_worker_that_cannot_start_gets_nothing_and_what_fails_there_counts_for_nobody() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.application(Some(8), 8);
    let says = |bench: &mut Bench, error: Option<&str>| {
        let (worker, error) = (WorkerId::new("w1"), error.map(str::to_owned));
        bench.worker_says(1, WorkerToMaster::StartsChecked { worker, error })
    };
    assert_eq!(says(&mut bench, Some("no space")), []);
    let failure = StartFailure { step: StartStep::Directory, error: "no space".to_owned() };
    let why = failure.to_string();
    let lost = ExecutorState::Lost(LossReason::CannotStart { why });
    let effects = bench.report(1, 0, ExecutorState::Failed(failure.clone()));
    assert_eq!(effects, [updated(0, lost), noted(1, 0)]);
    let impairment = Some(Impairment::CannotStart("no space".to_owned()));
    assert_eq!(bench.master.view().workers[0].impairment, impairment);
    assert_eq!(says(&mut bench, Some("no space")), [], "it was said before");
    assert_eq!(says(&mut bench, None), launch(1, 1, 8));
    // Now the same failure counts against the application, or against the Worker.
    let effects = bench.report(1, 1, ExecutorState::Failed(failure.clone()));
    assert_eq!(effects[0], updated(1, ExecutorState::Failed(failure)));
    // The Master ignores this message about the Worker on other connections.
    bench.worker(2, 8);
    let message = WorkerToMaster::StartsChecked { worker: WorkerId::new("w1"), error: Some("x".into()) };
    assert_eq!(bench.worker_says(2, message), []);
    assert_eq!(bench.master.view().workers[0].impairment, None);
}
