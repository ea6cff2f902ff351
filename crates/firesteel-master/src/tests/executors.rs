//! Executors: where they start, and how their failures are counted.

use firesteel_protocol::executor_trouble::ExecutorTrouble;
use firesteel_protocol::process::Placeholder;

use super::*;

#[test]
fn a_killed_executor_is_replaced_while_the_target_stays() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.application(Some(8), 8);
    let request = DriverToMaster::KillExecutors { app: app(), executors: vec![ExecutorId(0), ExecutorId(7)] };
    let expected: Vec<_> = [
        kill(1, 0),
        updated(0, ExecutorState::Killed(None)),
        to_driver(MasterToDriver::ExecutorsKilled { accepted: true }),
    ]
    .into_iter()
    .chain(launch(1, 1, 8))
    .collect();
    assert_eq!(bench.driver_says(request), expected);
    // The Worker's own report comes late and changes nothing.
    assert_eq!(bench.report(1, 0, ExecutorState::Killed(Some(ExitStatus::Signal(15)))), [noted(1, 0)]);
}

#[test]
fn an_executor_that_starts_although_the_master_gave_it_up_is_ended() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.application(Some(8), 8);
    let request = DriverToMaster::KillExecutors { app: app(), executors: vec![ExecutorId(0)] };
    bench.driver_says(request);
    assert_eq!(bench.report(1, 0, ExecutorState::Running), [kill(1, 0)]);
}

#[test]
fn with_a_probation_of_zero_running_resets_the_count_as_in_spark() {
    let mut bench = Bench::new(Config { proven_after: Duration::ZERO, ..Config::default() });
    bench.worker(1, 8);
    bench.application(Some(8), 8);
    for n in 0..50 {
        assert_eq!(bench.report(1, n, ExecutorState::Running), [updated(n, ExecutorState::Running)]);
        let expected: Vec<_> =
            [updated(n, CRASH), noted(1, n)].into_iter().chain(launch(n + 1, 1, 8)).collect();
        assert_eq!(bench.report(1, n, CRASH), expected, "failure {n}");
    }
}

#[test]
fn executors_that_cannot_start_end_the_application_after_exactly_ten() {
    let failed =
        || ExecutorState::Failed(StartFailure { step: StartStep::Program, error: "no such file".to_owned() });
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.application(Some(8), 8);
    for n in 0..9 {
        bench.report(1, n, failed());
        if n > 0 {
            assert_eq!(bench.deadline(), launch(n + 1, 1, 8), "after failure {n}");
        }
    }
    let end = ApplicationEnd::ExecutorsFailed { failures: 10, last: failed() };
    let expected = [
        updated(9, failed()),
        to_worker(1, MasterToWorker::ApplicationFinished { app: app() }),
        to_driver(MasterToDriver::ApplicationRemoved(end)),
        to_driver(MasterToDriver::ExecutorsGone { app: app() }),
        noted(1, 9),
    ];
    assert_eq!(bench.report(1, 9, failed()), expected);
}

/// What a Worker says of an executor that it killed: what exceeded a limit is a failure of the application's, and an
/// executor that ended well meanwhile is none.
#[test]
fn an_executor_that_used_more_than_its_worker_allows_is_lost_with_the_reason_and_counts_as_a_failure() {
    let exceeded = ExceededLimit::Memory { mib: 1408 };
    let why = "it used more memory than its Worker allows: 1408 MiB; it used 3 GiB".to_owned();
    let lost = ExecutorState::Lost(LossReason::OverLimit { why });
    let used = Some(Used { cpu_millis: 1, peak_memory: 3 << 30, exceeded: Some(exceeded) });
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.application(Some(8), 8);
    for n in 0..10 {
        let said = ExecutorReport { executor: key(n), state: CRASH, used };
        let effects = bench.worker_says(1, WorkerToMaster::ExecutorStateChanged(said));
        assert!(effects.contains(&updated(n, lost.clone())), "{effects:?}");
        match n {
            0 => {}
            9 => {
                let last = lost.clone();
                let end = ApplicationEnd::ExecutorsFailed { failures: 10, last };
                assert!(effects.contains(&to_driver(MasterToDriver::ApplicationRemoved(end))), "{effects:?}");
            }
            _ => assert_eq!(bench.deadline(), launch(n + 1, 1, 8), "after failure {n}"),
        }
    }
    for (state, told) in [
        (ExecutorState::Exited(ExitStatus::SUCCESS), ExecutorState::Exited(ExitStatus::SUCCESS)),
        (
            ExecutorState::Killed(Some(ExitStatus::Signal(15))),
            ExecutorState::Killed(Some(ExitStatus::Signal(15))),
        ),
    ] {
        let mut bench = Bench::new(Config::default());
        bench.worker(1, 8);
        bench.application(Some(8), 8);
        let said = ExecutorReport { executor: key(0), state, used };
        let effects = bench.worker_says(1, WorkerToMaster::ExecutorStateChanged(said));
        assert!(effects.contains(&updated(0, told)), "{effects:?}");
    }
}

/// The end of an executor whose exit code means this trouble.
fn says(trouble: ExecutorTrouble) -> ExecutorState {
    ExecutorState::Exited(ExitStatus::Code(trouble.exit_code().into()))
}

/// Registers an application of Firesteel's own executors, with this number of cores.
fn own_application(bench: &mut Bench, cores: i64) {
    let mut description = description(Some(cores), Some(8));
    let words = ["executor", "--driver-url", "jupyter-7f3a:7100"].map(str::to_owned);
    let mut command = Command::of(Placeholder::Firesteel.word());
    command.arguments = words.into();
    description.command = command.into();
    bench.driver_says(DriverToMaster::RegisterApplication(Box::new(description)));
}

#[test]
fn a_driver_that_surely_cannot_be_reached_ends_the_application_after_three_failures_in_words() {
    let told = |trouble: ExecutorTrouble| {
        let error = trouble.sentence("jupyter-7f3a:7100");
        ExecutorState::Failed(StartFailure { step: StartStep::Program, error })
    };
    for trouble in ExecutorTrouble::ALL {
        let mut bench = Bench::new(Config::default());
        bench.worker(1, 8);
        own_application(&mut bench, 8);
        let failures = if trouble.is_certain() { 3 } else { 10 };
        for n in 0..failures {
            assert_eq!(bench.master.view().applications.len(), 1, "{trouble:?}: alive before {n}");
            let effects = bench.report(1, n, says(trouble));
            assert_eq!(effects[0], updated(n, told(trouble)), "the driver is told the reason");
            if (1..failures - 1).contains(&n) {
                bench.deadline();
            }
        }
        let end = bench.master.view().completed[0].end.clone();
        let expected = format!("{failures} executors failed in a row, the last with {}", told(trouble));
        assert_eq!(end, Some(expected));
    }
}

#[test]
fn a_driver_that_some_workers_reach_keeps_its_application() {
    let mut bench = Bench::new(Config::default());
    for worker in 1..=5 {
        bench.worker(worker, 8);
    }
    own_application(&mut bench, 40);
    for n in 0..4 {
        let worker = 5 - u64::from(n);
        bench.report(worker, n, says(ExecutorTrouble::UnknownHost));
    }
    assert_eq!(bench.master.view().applications.len(), 1, "one is on trial on a Worker that is not blamed");
    bench.report(1, 4, ExecutorState::Running);
    bench.now = bench.now + Duration::from_secs(5);
    for _ in 0..20 {
        let live = bench.master.view().applications[0].executors.iter().map(|executor| executor.id).max();
        bench.report(5, live.expect("it has executors").0, says(ExecutorTrouble::UnknownHost));
    }
    assert_eq!(bench.master.view().applications.len(), 1, "one is proven");
}

#[test]
fn without_a_limit_of_failures_no_failure_ends_an_application() {
    let mut bench = Bench::new(Config { retries: Retries::Unlimited, ..Config::default() });
    bench.worker(1, 8);
    own_application(&mut bench, 8);
    for n in 0..12 {
        let state = bench.report(1, n, says(ExecutorTrouble::NothingListens));
        assert!(!state.is_empty(), "executor {n} was launched");
        while bench.master.view().applications[0].executors.is_empty() {
            bench.deadline();
        }
    }
    assert_eq!(bench.master.view().applications.len(), 1);
}

#[test]
fn the_exit_code_of_another_program_keeps_its_number() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.application(Some(8), 8);
    let state = says(ExecutorTrouble::UnknownHost);
    assert_eq!(bench.report(1, 0, state.clone())[0], updated(0, state));
}

#[test]
fn an_executor_that_crashes_at_once_is_not_restarted_for_ever() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.application(Some(8), 8);
    for n in 0..10 {
        assert_eq!(bench.master.view().applications.len(), 1, "alive before crash {n}");
        bench.report(1, n, ExecutorState::Running);
        bench.now = bench.now + Duration::from_millis(10);
        bench.report(1, n, CRASH);
        if (1..9).contains(&n) {
            assert_eq!(bench.deadline(), launch(n + 1, 1, 8), "after crash {n}");
        }
    }
    assert_eq!(bench.master.view().applications, []);
    let end = bench.master.view().completed[0].end.clone();
    assert_eq!(end.as_deref(), Some("10 executors failed in a row, the last with EXITED (exit code 1)"));
}

#[test]
fn an_executor_that_ran_for_a_while_starts_the_count_anew() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.application(Some(8), 8);
    for n in 0..30 {
        bench.report(1, n, ExecutorState::Running);
        bench.now = bench.now + Duration::from_secs(5);
        let expected: Vec<_> =
            [updated(n, CRASH), noted(1, n)].into_iter().chain(launch(n + 1, 1, 8)).collect();
        assert_eq!(bench.report(1, n, CRASH), expected, "failure {n}");
    }
}

#[test]
fn exit_code_0_and_a_kill_neither_count_nor_reset() {
    let mut bench = Bench::new(Config { retries: Retries::AtMost(2), ..Config::default() });
    bench.worker(1, 8);
    bench.application(Some(8), 8);
    bench.report(1, 0, CRASH);
    let success = ExecutorState::Exited(ExitStatus::SUCCESS);
    assert_eq!(bench.report(1, 1, success.clone()), [updated(1, success), noted(1, 1)]);
    assert_eq!(bench.deadline(), launch(2, 1, 8), "the Worker was excluded, and is tried again");
    let killed = ExecutorState::Killed(None);
    let expected: Vec<_> =
        [updated(2, killed.clone()), noted(1, 2)].into_iter().chain(launch(3, 1, 8)).collect();
    assert_eq!(bench.report(1, 2, killed), expected);
    bench.report(1, 3, CRASH);
    assert_eq!(bench.master.view().applications, []);
}

#[test]
fn a_proven_executor_keeps_its_application_alive() {
    let mut bench = Bench::new(Config { retries: Retries::AtMost(1), ..Config::default() });
    bench.worker(1, 8);
    bench.worker(2, 8);
    bench.application(Some(16), 8);
    bench.report(2, 0, ExecutorState::Running);
    bench.now = bench.now + Duration::from_secs(5);
    bench.report(1, 1, CRASH);
    assert_eq!(bench.master.view().applications.len(), 1);
    bench.report(2, 0, CRASH);
    assert_eq!(bench.master.view().applications.len(), 0);
}

#[test]
fn executors_go_to_preferred_hosts_then_to_their_racks_then_anywhere_and_not_to_avoided_ones() {
    let mut bench = Bench::new(Config::default());
    for worker in 1..=5 {
        bench.worker(worker, 4);
    }
    let mut wanted = description(None, Some(4));
    wanted.initial_limit = ExecutorLimit::AtMost(0);
    bench.driver_says(DriverToMaster::RegisterApplication(Box::new(wanted)));
    let preferences = HostPreferences {
        tasks: 14,
        preferred: BTreeMap::from([("host2".to_owned(), 5), ("host4".to_owned(), 9)]),
        racks: BTreeMap::from(
            [("host2", "/r1"), ("host1", "/r1")].map(|(h, r)| (h.to_owned(), r.to_owned())),
        ),
        avoided: BTreeSet::from(["host5".to_owned()]),
    };
    assert_eq!(
        bench.driver_says(DriverToMaster::PreferHosts { app: app(), preferences: Box::new(preferences) }),
        []
    );
    let target = ExecutorTarget { id: ProfileId::DEFAULT, profile: ResourceProfile::default(), total: 5 };
    let effects = bench.driver_says(DriverToMaster::RequestExecutors { app: app(), targets: vec![target] });
    // Without preferences, Workers with the same number of cores are used in descending order of their ids.
    let expected = [launch(0, 4, 4), launch(1, 2, 4), launch(2, 1, 4), launch(3, 3, 4)].concat();
    assert_eq!(effects[1..], expected);
    let none = DriverToMaster::PreferHosts { app: app(), preferences: Box::default() };
    assert_eq!(bench.driver_says(none), launch(4, 5, 4));
}
