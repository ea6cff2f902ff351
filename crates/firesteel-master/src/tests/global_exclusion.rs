//! Workers that are excluded for all applications.

use super::*;

/// A Master with Workers of four cores, and with applications whose executors have one core.
struct Several {
    bench: Bench,
    apps: u64,
}

impl Several {
    fn new(workers: u64) -> Self {
        let worker_timeout = Duration::from_secs(3_600);
        let mut bench = Bench::new(Config { worker_timeout, ..Config::default() });
        for worker in 1..=workers {
            bench.worker(worker, 4);
        }
        Self { bench, apps: 0 }
    }

    /// Registers an application with this number of executors.
    fn application(&mut self, executors: i64) {
        let peer = PeerId(200 + self.apps);
        self.apps += 1;
        let description = description(Some(executors), Some(1));
        let message = Inbound::Driver(DriverToMaster::RegisterApplication(Box::new(description)));
        self.bench.apply(Event::Received { peer, arrived: self.bench.now, message });
    }

    /// Reports this state for every live executor on a Worker.
    fn report_all(&mut self, worker: u64, state: &ExecutorState) {
        let id = WorkerId::new(format!("w{worker}"));
        for application in self.bench.master.view().applications {
            let here = application.executors.into_iter();
            for executor in here.filter(|executor| executor.worker == id && !executor.state.is_finished()) {
                let executor = ExecutorKey { app: application.id.clone(), executor: executor.id };
                let report = ExecutorReport::new(executor, state.clone());
                self.bench.worker_says(worker, WorkerToMaster::ExecutorStateChanged(report));
            }
        }
    }

    fn pass(&mut self, seconds: u64) {
        let end = self.bench.now + Duration::from_secs(seconds);
        while self.bench.master.next_deadline().is_some_and(|(time, _)| time <= end) {
            self.bench.deadline();
        }
        self.bench.now = end;
    }

    fn is_excluded(&self, worker: usize) -> bool {
        self.bench.master.view().workers[worker - 1].excluded_until.is_some()
    }

    /// The number of executors on a Worker.
    fn on(&self, worker: usize) -> i64 {
        self.bench.master.view().workers[worker - 1].cores_used.0
    }
}

/// All executors on w1 and w2 run and are proven. The executors on w3 have failed once.
fn with_a_bad_worker(apps: usize) -> Several {
    let mut several = Several::new(3);
    (0..apps).for_each(|_| several.application(6));
    several.report_all(1, &ExecutorState::Running);
    several.report_all(2, &ExecutorState::Running);
    several.report_all(3, &CRASH);
    several.pass(5);
    several
}

#[test]
fn a_worker_is_excluded_for_all_once_different_applications_fail_there_and_run_elsewhere() {
    let mut several = with_a_bad_worker(2);
    assert!(!several.is_excluded(3), "nothing was proven when they failed");
    several.report_all(3, &CRASH);
    assert!(several.is_excluded(3));
    several.application(4);
    assert_eq!(several.on(3), 0, "a third application is not given the Worker");
    several.pass(1);
    assert_eq!((several.is_excluded(3), several.on(3)), (false, 4), "it is tried again");
}

#[test]
fn one_application_that_fails_on_a_worker_excludes_it_for_itself_only() {
    let mut several = with_a_bad_worker(1);
    for _ in 0..5 {
        several.report_all(3, &CRASH);
        assert!(!several.is_excluded(3));
        several.pass(30);
    }
}

#[test]
fn at_most_half_of_the_workers_are_excluded_for_all() {
    let mut several = Several::new(3);
    (0..2).for_each(|_| several.application(6));
    several.report_all(1, &ExecutorState::Running);
    several.pass(5);
    let mut excluded = 0;
    for _ in 0..4 {
        several.report_all(2, &CRASH);
        several.report_all(3, &CRASH);
        let both = [several.is_excluded(2), several.is_excluded(3)];
        assert_ne!(both, [true, true]);
        excluded += both.into_iter().filter(|excluded| *excluded).count();
        several.pass(3);
    }
    assert!(excluded > 0, "one of them is");
}

#[test]
fn a_worker_that_leaves_or_is_lost_is_no_longer_excluded() {
    let mut several = with_a_bad_worker(2);
    several.report_all(3, &CRASH);
    assert!(several.is_excluded(3));
    let worker = WorkerId::new("w3");
    several.bench.worker_says(3, WorkerToMaster::WorkerDecommissioning { worker });
    assert!(!several.is_excluded(3));
    several.bench.apply(Event::Disconnected { peer: PeerId(3) });
    several.bench.worker(3, 4);
    assert!(several.on(3) > 0);
}
