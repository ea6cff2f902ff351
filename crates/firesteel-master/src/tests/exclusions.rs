//! Workers that are excluded for an application because its executors end there too early.

use super::*;

const SUCCESS: ExecutorState = ExecutorState::Exited(ExitStatus::SUCCESS);

/// A Master whose Workers have these numbers of cores, and an application with executors of one core.
fn cluster(config: Config, cores: &[i64], most: i64) -> Bench {
    let mut bench = Bench::new(config);
    for (worker, cores) in (1..).zip(cores) {
        bench.worker(worker, *cores);
    }
    bench.application(Some(most), 1);
    bench
}

impl Bench {
    /// The live executors by Worker.
    fn held(&self) -> BTreeMap<String, Vec<u32>> {
        let mut held: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for application in self.master.view().applications {
            for executor in application.executors.iter().filter(|executor| !executor.state.is_finished()) {
                held.entry(executor.worker.to_string()).or_default().push(executor.id.0);
            }
        }
        held
    }

    /// Reports this end for every executor on a Worker.
    fn end_all(&mut self, worker: u64, end: &ExecutorState) {
        for executor in self.held().remove(&format!("w{worker}")).unwrap_or_default() {
            self.report(worker, executor, end.clone());
        }
    }

    fn run_all(&mut self, worker: u64) {
        for executor in self.held().remove(&format!("w{worker}")).unwrap_or_default() {
            self.report(worker, executor, ExecutorState::Running);
        }
    }

    fn lives(&self) -> bool {
        !self.master.view().applications.is_empty()
    }

    fn failures(&mut self) -> u32 {
        self.scheduling().failures
    }

    fn scheduling(&mut self) -> SchedulingStatus {
        let request =
            ClientToMaster::RequestApplication { app: app().to_string(), executors_from: ExecutorId(0) };
        let event =
            Event::Received { peer: PeerId(500), arrived: self.now, message: Inbound::Client(request) };
        let effects = self.apply(event);
        let [
            Effect::Send {
                message:
                    Outbound::Client(MasterToClient::ApplicationResponse(ApplicationAnswer::Known(detail))),
                ..
            },
        ] = &effects[..]
        else {
            panic!("{effects:?}");
        };
        detail.scheduling.clone().expect("the application is live")
    }
}

#[test]
fn one_worker_that_cannot_start_executors_never_ends_an_application_that_can_run_elsewhere() {
    let mut bench = cluster(Config { retries: Retries::AtMost(2), ..Config::default() }, &[4, 4, 4, 4], 16);
    // Five executors fail, and between the failures both pauses end.
    for _ in 0..9 {
        bench.end_all(4, &CRASH);
        assert!(bench.lives());
        bench.deadline();
    }
    assert_eq!(bench.failures(), 5);
    assert_eq!(bench.held().values().map(Vec::len).sum::<usize>(), 16, "the Worker is tried again");
}

#[test]
fn executors_of_one_pass_on_one_worker_fail_once() {
    let mut bench = cluster(Config::default(), &[4, 4], 8);
    bench.end_all(2, &CRASH);
    assert_eq!(bench.failures(), 1);
    bench.end_all(1, &CRASH);
    assert_eq!(bench.failures(), 2);
}

#[test]
fn several_bad_workers_do_not_end_an_application_while_its_executors_are_on_trial_elsewhere() {
    let mut bench = cluster(Config { retries: Retries::AtMost(3), ..Config::default() }, &[1; 8], 8);
    for worker in 1..=7 {
        bench.end_all(worker, &CRASH);
        assert!(bench.lives(), "w{worker}");
    }
    bench.end_all(8, &CRASH);
    assert!(!bench.lives(), "it has failed everywhere");
}

#[test]
fn an_application_that_fails_on_as_many_workers_as_it_may_have_failures_ends() {
    let mut bench = cluster(Config { retries: Retries::AtMost(3), ..Config::default() }, &[1; 8], 1);
    for failures in 1..=3 {
        assert!(bench.lives(), "before failure {failures}");
        for worker in 1..=8 {
            bench.end_all(worker, &CRASH);
        }
        if bench.lives() && bench.held().is_empty() {
            bench.deadline();
        }
    }
    assert!(!bench.lives());
}

#[test]
fn an_application_that_has_no_other_worker_ends_after_the_limit() {
    let mut bench = cluster(Config { retries: Retries::AtMost(4), ..Config::default() }, &[4], 4);
    for failures in 1..=4 {
        assert!(bench.lives(), "before failure {failures}");
        bench.end_all(1, &CRASH);
        if bench.lives() && bench.held().is_empty() {
            bench.deadline();
        }
    }
    assert!(!bench.lives());
}

#[test]
fn a_worker_is_tried_again_after_its_time_and_is_not_blamed_once_an_executor_is_proven_there() {
    let mut bench = cluster(Config::default(), &[2, 1], 2);
    bench.end_all(1, &CRASH);
    let excluded = |bench: &mut Bench| {
        let all = bench.scheduling().excluded;
        all.into_iter().map(|it| (it.worker.to_string(), it.times)).collect::<Vec<_>>()
    };
    assert_eq!(excluded(&mut bench), [("w1".to_owned(), 1)]);
    assert_eq!(bench.master.view().workers[0].excluded_for, 1);
    bench.run_all(2);
    assert_eq!(bench.deadline(), launch(2, 1, 1));
    assert_eq!(excluded(&mut bench), []);
    bench.run_all(1);
    bench.now = bench.now + Duration::from_secs(5);
    // A proven executor that fails excludes no Worker, and clears the Worker's history.
    bench.report(1, 2, CRASH);
    assert_eq!(excluded(&mut bench), []);
    bench.report(1, 3, CRASH);
    assert_eq!(excluded(&mut bench), [("w1".to_owned(), 1)]);
}

#[test]
fn executors_that_end_at_once_with_exit_code_0_are_started_at_a_bounded_pace() {
    let mut bench = cluster(Config::default(), &[16], 16);
    let start = bench.now;
    let mut rounds = 0;
    while bench.now < start + Duration::from_secs(20) {
        bench.end_all(1, &SUCCESS);
        assert_eq!((bench.lives(), bench.failures()), (true, 0));
        rounds += 1;
        bench.deadline();
    }
    assert_eq!(rounds, 5, "at 0, 1, 3, 7 and 15 s");
}

#[test]
fn every_policy_leaves_out_the_excluded_worker() {
    for policy in [Policy::Spark, Policy::BestFit, Policy::LeastFragmentation, Policy::SpreadHeld] {
        let mut bench = cluster(Config { rule: policy.into(), ..Config::default() }, &[4, 4, 4], 4);
        let worker = bench.held().keys().next().cloned().expect("it has executors");
        let number = worker[1..].parse().expect("a number");
        bench.end_all(number, &CRASH);
        let held = bench.held();
        assert_eq!(held.get(&worker), None, "{policy:?}: {held:?}");
        assert_eq!(held.values().map(Vec::len).sum::<usize>(), 4, "{policy:?}: {held:?}");
    }
}

#[test]
fn a_worker_is_excluded_for_the_application_that_failed_there_and_for_no_other() {
    let mut bench = cluster(Config::default(), &[2, 1], 1);
    bench.end_all(1, &CRASH);
    let peer = PeerId(101);
    let message =
        Inbound::Driver(DriverToMaster::RegisterApplication(Box::new(description(Some(2), Some(1)))));
    bench.apply(Event::Received { peer, arrived: bench.now, message });
    assert_eq!(bench.held().get("w1").map(Vec::len), Some(2));
}

#[test]
fn the_shortfall_names_excluded_workers_with_room() {
    let mut bench = cluster(Config::default(), &[2, 1], 3);
    bench.end_all(1, &CRASH);
    let effects = bench.driver_says(DriverToMaster::RequestShortfall { app: app() });
    let [Effect::Send { message: Outbound::Driver(MasterToDriver::Shortfalls(shortfalls)), .. }] =
        &effects[..]
    else {
        panic!("{effects:?}");
    };
    let words: Vec<String> = shortfalls.iter().map(|(_, shortfall)| shortfall.to_string()).collect();
    let expected = "2 of 3 executors are missing: 1 Worker has room, but is excluded for a while because executors \
                    end too early there";
    assert_eq!(words, [expected]);
}
