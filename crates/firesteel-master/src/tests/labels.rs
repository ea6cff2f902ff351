//! Workers that run only executors of some applications, such as Spark's, and the messages of these Workers.

use firesteel_protocol::process::executor_command::{ExecutorCommand, JavaCommand};
use firesteel_protocol::scheduling::label::Label;

use super::*;

/// Registers Worker `w<n>` with a label for these releases.
fn labelled(bench: &mut Bench, n: u64, cores: i64, releases: &[&str]) -> Vec<Effect> {
    let WorkerToMaster::RegisterWorker { worker, executors, .. } = register(n, cores, Vec::new()) else {
        unreachable!()
    };
    let worker = worker.with_label(Label::of(releases.iter().copied()));
    bench.worker_says(n, WorkerToMaster::register(worker, executors))
}

/// A Spark application with these releases, or another application if there are none. Its executors have two cores.
fn of_spark(releases: &[&str], policy: Policy) -> ApplicationDescription {
    let mut description = description(None, Some(2));
    description.policy = Some(policy);
    if !releases.is_empty() {
        let releases = releases.iter().map(|release| (*release).to_owned()).collect();
        description.command =
            ExecutorCommand::Java(Box::new(JavaCommand { releases, ..JavaCommand::default() }));
    }
    description
}

/// The Workers of an application's executors, with the number on each.
fn workers_of(bench: &Bench) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for executor in &bench.master.view().applications[0].executors {
        *counts.entry(executor.worker.to_string()).or_default() += 1;
    }
    counts
}

#[test]
fn a_worker_with_a_label_is_given_only_executors_of_applications_that_it_admits() {
    let rows: [(&[&str], &[&str]); 4] =
        [(&[], &["w1"]), (&["4.0"], &["w1", "w2"]), (&["3.4", "3.5"], &["w1", "w3"]), (&["3.3"], &["w1"])];
    for policy in Policy::ALL {
        for (releases, expected) in rows {
            let mut bench = Bench::new(Config::default());
            bench.worker(1, 4);
            labelled(&mut bench, 2, 8, &["4.0"]);
            labelled(&mut bench, 3, 6, &["3.4", "3.5"]);
            let description = of_spark(releases, policy);
            bench.driver_says(DriverToMaster::RegisterApplication(Box::new(description)));
            let used = workers_of(&bench);
            assert_eq!(used.keys().collect::<Vec<_>>(), expected, "{policy:?} {releases:?}");
            assert!(used.iter().all(|(worker, count)| match worker.as_str() {
                "w1" => *count == 2,
                "w2" => *count == 4,
                _ => *count == 3,
            }));
        }
    }
}

#[test]
fn only_workers_with_a_label_are_told_an_application_in_its_driver_s_words() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 2);
    labelled(&mut bench, 2, 2, &["4.0"]);
    let mut description = of_spark(&["4.0"], Policy::Spark);
    if let ExecutorCommand::Java(command) = &mut description.command {
        command.description = bytes::Bytes::from_static(b"words");
    }
    let effects = bench.driver_says(DriverToMaster::RegisterApplication(Box::new(description)));
    let told = effects.iter().filter_map(|effect| match effect {
        Effect::Send { peer, message: Outbound::Worker(MasterToWorker::LaunchExecutor(launch)) } => {
            let ExecutorCommand::Java(command) = &launch.work.command else { panic!("it is Spark's") };
            Some((peer.0, command.description.len()))
        }
        _ => None,
    });
    assert_eq!(told.collect::<BTreeMap<_, _>>(), BTreeMap::from([(1, 0), (2, 5)]));
}

#[test]
fn a_driver_is_told_that_workers_with_room_run_only_executors_of_others() {
    let mut bench = Bench::new(Config::default());
    labelled(&mut bench, 1, 8, &["4.0"]);
    labelled(&mut bench, 2, 8, &["4.0"]);
    labelled(&mut bench, 3, 1, &["4.3"]);
    let description = of_spark(&["3.5"], Policy::Spark);
    bench.driver_says(DriverToMaster::RegisterApplication(Box::new(description)));
    let effects = bench.driver_says(DriverToMaster::RequestShortfall { app: app() });
    let [Effect::Send { message: Outbound::Driver(MasterToDriver::Shortfalls(shortfalls)), .. }] =
        &effects[..]
    else {
        panic!("{effects:?}")
    };
    let (_, shortfall) = &shortfalls[0];
    let expected = "no executor could be placed: 2 Workers have room, but run only executors of Spark 4.0";
    assert_eq!(shortfall.to_string(), expected);
    // The first Worker that the application may use is used.
    let effects = bench.worker(4, 2);
    assert!(effects.contains(&to_driver(MasterToDriver::ExecutorAdded {
        executor: ExecutorId(0),
        profile: ProfileId::DEFAULT,
        worker: WorkerId::new("w4"),
        host: "host4".to_owned(),
        cores: Cores(2),
        memory: MiB(1024),
        port: PORT,
    })));
}

#[test]
fn a_worker_that_lists_its_executors_later_keeps_those_that_are_known() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.application(Some(4), 4);
    let running = |executor| ExecutorReport::new(key(executor), ExecutorState::Running);
    let latest = |worker: &str| WorkerToMaster::WorkerLatestState {
        worker: WorkerId::new(worker),
        executors: vec![running(0), running(7)],
    };
    assert_eq!(bench.worker_says(1, latest("w1")), [updated(0, ExecutorState::Running), kill(1, 7)]);
    assert_eq!(bench.worker_says(1, latest("w1")), [kill(1, 7)], "it may say so again");
    // The Master ignores this message about the Worker on other connections.
    bench.worker(2, 2);
    assert_eq!(bench.worker_says(2, latest("w1")), []);
    assert_eq!(bench.worker_says(9, latest("w1")), [], "a Worker that is not registered");
}

#[test]
fn the_first_report_on_an_executor_answers_its_order() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.application(Some(4), 2);
    let heartbeat = |bench: &mut Bench| {
        bench.now = bench.now + Duration::from_secs(15);
        bench.worker_says(1, WorkerToMaster::Heartbeat { worker: WorkerId::new("w1"), last_order: None })
    };
    bench.report(1, 0, ExecutorState::Running);
    assert_eq!(heartbeat(&mut bench), []);
    let repeated = to_worker(1, MasterToWorker::LaunchExecutor(order(1, 2)));
    assert_eq!(heartbeat(&mut bench), std::slice::from_ref(&repeated), "the other one is repeated alone");
    assert_eq!(heartbeat(&mut bench), [repeated]);
    heartbeat(&mut bench);
    assert_eq!(bench.master.view().workers[0].impairment, Some(Impairment::Deaf));
    // A report about an old executor does not show that orders arrive. The start of an executor does.
    bench.report(1, 0, CRASH);
    assert_eq!(bench.master.view().workers[0].impairment, Some(Impairment::Deaf));
    bench.report(1, 1, ExecutorState::Running);
    assert_eq!(bench.master.view().workers[0].impairment, None);
}

#[test]
fn a_client_is_told_that_the_master_works() {
    let mut bench = Bench::new(Config::default());
    let (peer, arrived) = (PeerId(7), bench.now);
    let message = Inbound::Client(ClientToMaster::RequestReadyz);
    let effects = bench.apply(Event::Received { peer, arrived, message });
    assert_eq!(effects, [Effect::Send { peer, message: Outbound::Client(MasterToClient::ReadyzResponse) }]);
}
