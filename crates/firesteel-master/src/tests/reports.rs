//! Workers' reports about themselves, and the usage that the Master remembers when an executor or driver ends.

use super::*;

/// A report of Worker `w<n>`: its executors have used this processor time and memory.
fn report(n: u64, executors: &[(u32, u64, u64)]) -> WorkerToMaster {
    let usage = |&(executor, cpu_millis, peak_memory): &(u32, u64, u64)| {
        (key(executor), Usage { cpu_millis, millicores: 500, memory: 1, peak_memory })
    };
    WorkerToMaster::WorkerReported(Box::new(WorkerReport {
        worker: WorkerId::new(format!("w{n}")),
        web_address: Some("http://host:8081/".to_owned()),
        master_web_address: None,
        machine: None,
        disk: None,
        executors: executors.iter().map(usage).collect(),
        drivers: Vec::new(),
    }))
}

fn reports(bench: &Bench) -> Vec<TimedReport> {
    bench.master.view().workers.into_iter().filter_map(|worker| Some(*worker.report?)).collect()
}

fn history(bench: &mut Bench) -> Vec<PastRow> {
    let (mut from, mut rows) = (HistoryCursor::default(), Vec::new());
    loop {
        let MasterToClient::HistoryResponse(page) = bench.client(ClientToMaster::RequestHistory { from }).1
        else {
            panic!("it is no answer to that")
        };
        rows.extend(page.rows);
        match page.next {
            Some(next) => from = next,
            None => return rows,
        }
    }
}

#[test]
fn the_latest_report_of_each_worker_is_handed_on_without_what_it_cannot_know() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.worker(2, 8);
    bench.application(Some(16), 8);
    // Executor 0 is on the second Worker.
    assert_eq!(bench.worker_says(1, report(1, &[(0, 1, 1), (1, 5, 7), (9, 1, 1)])), []);
    assert_eq!(bench.worker_says(1, report(2, &[])), [], "nobody reports for another one");
    let WorkerToMaster::WorkerReported(mut odd) = report(2, &[(1, 1, 1)]) else { unreachable!() };
    odd.web_address = Some("javascript:alert(1)".to_owned());
    bench.worker_says(2, WorkerToMaster::WorkerReported(odd));
    let [one, two] = &reports(&bench)[..] else { panic!("two Workers have reported") };
    let executors: Vec<&ExecutorKey> = one.report.executors.iter().map(|(executor, _)| executor).collect();
    assert_eq!((one.received, executors), (bench.now, vec![&key(1)]));
    assert_eq!(one.report.web_address.as_deref(), Some("http://host:8081/"));
    assert_eq!((&two.report.web_address, two.report.executors.len()), (&None, 0));
}

#[test]
fn a_worker_is_told_where_the_master_serves_http() {
    let address = "http://m:8080/".to_owned();
    let mut bench = Bench::new(Config { web_address: Some(address.clone()), ..Config::default() });
    let confirmation = MasterToWorker::RegisteredWorker {
        master_url: "spark://localhost:7077".to_owned(),
        heartbeat_millis: 15_000,
        duplicate: false,
        web_address: Some(address.clone()),
        mark: None,
    };
    assert_eq!(bench.worker(1, 8), [to_worker(1, confirmation)]);
    assert_eq!(bench.master.view().web_address, Some(address));
}

/// After every event, `apply` compares the image with that of a recovered Master.
#[test]
fn what_an_executor_used_is_remembered_when_it_ends_and_survives_the_master() {
    let mut bench = Bench::new(Config { retained_applications: 0, ..Config::default() });
    bench.worker(1, 8);
    bench.application(Some(8), 4);
    bench.worker_says(1, report(1, &[(0, 500, 7), (1, 100, 9)]));
    bench.report(1, 0, CRASH);
    bench.driver_says(DriverToMaster::UnregisterApplication { app: app(), outcome: None });
    bench.master = bench.recovered();
    let [PastRow::Application(past)] = &history(&mut bench)[..] else { panic!("one application has ended") };
    let [first, second] = [(0, 500, 7), (1, 100, 9)].map(|(executor, cpu_millis, peak_memory)| {
        (ExecutorId(executor), Used { cpu_millis, peak_memory, ..Used::default() })
    });
    assert_eq!(past.used, [first, second]);
    assert_eq!(past.used(), Some(Used { cpu_millis: 600, peak_memory: 9, exceeded: None }));
    assert_eq!(past.view.executors[0].state, CRASH);
}

#[test]
fn the_history_has_what_a_status_page_no_longer_lists_in_the_order_of_the_ends() {
    let history_of = |bytes: u64, page: PageSize| {
        let limits = HistoryLimits { bytes, ..HistoryLimits::default() };
        let mut bench =
            Bench::new(Config { retained_applications: 10, history: limits, page, ..Config::default() });
        for _ in 0..60 {
            bench.now = bench.now + Duration::from_secs(1);
            let effects = bench.application(None, 1);
            let Some(Effect::Send {
                message: Outbound::Driver(MasterToDriver::RegisteredApplication { app, .. }),
                ..
            }) = effects.into_iter().next()
            else {
                panic!("it is welcome")
            };
            bench.driver_says(DriverToMaster::UnregisterApplication { app, outcome: None });
        }
        let number = |row: &PastRow| match row {
            PastRow::Application(past) => past.number,
            PastRow::Driver { .. } => panic!("there are none"),
        };
        history(&mut bench).iter().map(number).collect::<Vec<u64>>()
    };
    let all: Vec<u64> = (0..60).collect();
    assert_eq!(history_of(1 << 20, PageSize::default()), all);
    assert_eq!(history_of(1 << 20, PageSize { rows: 7, bytes: 1 << 20 }), all, "page by page");
    let short = history_of(1000, PageSize::default());
    assert!(short.len() < 40 && short.ends_with(&all[50..]), "{short:?}");
    assert_eq!(
        history_of(0, PageSize::default()),
        all[60 - short.iter().rev().take(10).count()..],
        "the latest are always there"
    );
}

#[test]
fn what_executors_and_cluster_drivers_used_until_their_end_is_remembered_with_them() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.worker(2, 8);
    bench.application(Some(8), 4);
    let wanted = DriverDescription {
        user: "ann".to_owned(),
        command: command(),
        cores: Cores(1),
        memory: MiB(512),
        supervise: false,
        resources: ResourceAmounts::new(),
    };
    let submitted = bench.client(ClientToMaster::RequestSubmitDriver(Box::new(wanted))).1;
    let MasterToClient::SubmitDriverResponse(SubmitDriverAnswer::Submitted { driver }) = submitted else {
        panic!("{submitted:?}")
    };
    let on = |bench: &Bench, id: &DriverId| {
        let drivers = bench.master.view().drivers;
        let row = drivers.iter().find(|row| row.id == *id).expect("it is listed");
        row.worker.as_ref().expect("it was given to a Worker").worker.clone()
    };
    let home = if on(&bench, &driver).as_str() == "w1" { 1 } else { 2 };
    let used = Used { cpu_millis: 70, peak_memory: 9, exceeded: None };
    let executors = bench.master.view().applications[0].executors.clone();
    let (id, worker) = (executors[0].id.0, if executors[0].worker.as_str() == "w1" { 1 } else { 2 });
    let said = |executor: u32, state| {
        WorkerToMaster::ExecutorStateChanged(ExecutorReport {
            executor: key(executor),
            state,
            used: Some(used),
        })
    };
    bench.worker_says(worker, said(id, CRASH));
    // Two executors: one that the Master had taken back, and one that was on another Worker.
    let taken = executors[1].id.0;
    let home_of_taken = if executors[1].worker.as_str() == "w1" { 1 } else { 2 };
    bench.driver_says(DriverToMaster::UnregisterApplication { app: app(), outcome: None });
    let used_of = |bench: &mut Bench| match &history(bench)[..] {
        [PastRow::Application(past), ..] => past.used.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(used_of(&mut bench), [(ExecutorId(id), used)]);
    let killed = ExecutorState::Killed(Some(ExitStatus::Signal(15)));
    bench.worker_says(3 - home_of_taken, said(taken, killed.clone()));
    assert_eq!(used_of(&mut bench), [(ExecutorId(id), used)]);
    bench.worker_says(home_of_taken, said(taken, killed));
    let mut both = [(ExecutorId(id), used), (ExecutorId(taken), used)];
    both.sort_by_key(|(id, _)| *id);
    assert_eq!(used_of(&mut bench), both);

    let report = DriverReport { driver, state: DriverState::Finished, used: Some(used) };
    bench.worker_says(3 - home, WorkerToMaster::DriverStateChanged(report.clone()));
    assert!(matches!(&history(&mut bench)[..], [PastRow::Application(_)]), "it was another Worker's");
    bench.worker_says(home, WorkerToMaster::DriverStateChanged(report));
    let past_driver = |bench: &mut Bench| match &history(bench)[..] {
        [_, PastRow::Driver { used, .. }] => *used,
        other => panic!("{other:?}"),
    };
    assert_eq!(past_driver(&mut bench), Some(used));
    // The usage is kept with the cluster driver when the driver leaves the list.
    bench.client(ClientToMaster::RequestClearCompletedDriversAndApps { by: admin("ann") });
    assert_eq!(past_driver(&mut bench), Some(used));
}

#[test]
fn the_custom_resources_that_executors_need_are_told_also_after_the_application_has_ended() {
    let mut bench = Bench::new(Config::default());
    let WorkerToMaster::RegisterWorker { mut worker, executors, drivers } = register(1, 8, Vec::new()) else {
        unreachable!("it registers")
    };
    worker.resources = Resources::from_iter([("gpu", ["0", "1", "2"])]);
    bench.worker_says(1, WorkerToMaster::RegisterWorker { worker, executors, drivers });
    bench.application(Some(1), 1);
    bench.driver_says(DriverToMaster::UnregisterApplication { app: app(), outcome: None });
    let mut wants = description(Some(1), Some(1));
    wants.profile.resources = [("gpu".to_owned(), firesteel_placement::Amount::Whole(2))].into();
    bench.driver_says(DriverToMaster::RegisterApplication(Box::new(wants)));
    let applications = bench.master.view().applications;
    let app = applications.iter().map(|application| &application.id).max().expect("there are two").clone();
    let expected: ResourceAmounts = [("gpu".to_owned(), firesteel_placement::Amount::Whole(2))].into();
    assert_eq!(applications[0].resources_per_executor, expected);
    bench.driver_says(DriverToMaster::UnregisterApplication { app, outcome: None });
    let completed = bench.master.view().completed;
    assert_eq!(completed[1].resources_per_executor, expected);
    assert_eq!(completed[0].resources_per_executor, ResourceAmounts::new());
}
