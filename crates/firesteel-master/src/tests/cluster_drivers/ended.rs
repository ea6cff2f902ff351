//! Ended cluster drivers that the Master remembers.

use super::*;

#[test]
fn ended_drivers_are_remembered_up_to_a_number_and_each_can_be_asked_for() {
    let mut bench = Bench::new(Config { retained_drivers: 20, ..Config::default() });
    bench.worker(1, 8);
    for number in 0..50 {
        bench.submit(&wanted(1, 512, false));
        bench.driver_reports(1, number, DriverState::Finished);
    }
    let drivers = bench.drivers();
    assert!((18..=20).contains(&drivers.len()), "{}", drivers.len());
    assert_eq!(drivers.last().map(|(number, ..)| number.as_str()), Some("0049"));
    let mut status = |number| match bench.client(ClientToMaster::RequestDriverStatus { driver: id(number) }).1
    {
        MasterToClient::DriverStatusResponse(view) => view.map(|view| view.state),
        other => panic!("{other:?}"),
    };
    assert_eq!([status(0), status(49)], [None, Some(DriverState::Finished)]);
}

/// Source: Spark Master, 4.0.1 (`RequestKillAllDrivers`): waiting drivers are ended at once, and Workers are ordered to
/// end the others.
#[test]
fn all_drivers_are_asked_to_end_and_ended_ones_forgotten() {
    let mut bench = Bench::new(Config::default());
    bench.sized_worker(1, 2, 4096, Vec::new());
    for cores in [2, 2, 1] {
        bench.submit(&wanted(cores, 512, true));
    }
    let by = admin("ann");
    let (effects, answer) = bench.client(ClientToMaster::RequestKillAllDrivers { by: by.clone() });
    assert_eq!(answer, MasterToClient::KillAllDriversResponse { drivers: 3 });
    assert!(effects.contains(&kill_driver(1, 0)), "{effects:?}");
    assert_eq!(bench.states(), ["RUNNING", "KILLED", "KILLED"]);
    let clear = ClientToMaster::RequestClearCompletedDriversAndApps { by };
    assert_eq!(bench.client(clear.clone()).1, MasterToClient::ClearCompletedResponse);
    assert_eq!(bench.states(), ["RUNNING"]);
    bench.driver_reports(1, 0, KILLED);
    assert_eq!(bench.states(), ["KILLED"]);
    bench.client(clear);
    assert_eq!(bench.states(), [""; 0]);
    bench.submit(&wanted(1, 512, false));
    assert_eq!(bench.drivers()[0].0, "0003", "no id is given twice");
}

#[test]
fn the_name_and_the_restarts_of_a_driver_are_known_after_its_end_and_after_a_restart_of_the_master() {
    let mut bench = Bench::new(Config { retained_drivers: 1, ..Config::default() });
    bench.worker(1, 8);
    let mut description = wanted(1, 1024, true);
    description.command.environment.insert(DRIVER_NAME.to_owned(), "nightly".to_owned());
    let last = DriverRestarts { restarts: 2, last: ExitStatus::Code(3), until: None };
    let known = (Some("nightly".to_owned()), Some(last));
    for number in 0..2 {
        bench.submit(&description);
        let (driver, restarts, last) = (id(number), last.restarts, last.last);
        bench.worker_says(
            1,
            WorkerToMaster::DriverRestarted { driver, restarts, last, pause_millis: Some(1) },
        );
        bench.driver_reports(1, number, DriverState::Finished);
    }
    let image = bench.master.image();
    let of_image = Master::recover(bench.master.config.clone(), bench.now, image).expect("it is one");
    let of_journal = bench.recovered();
    for (when, next) in
        [("then", Some(of_journal)), ("from the journal", Some(of_image)), ("from the image", None)]
    {
        let driver = bench.driver(1);
        assert_eq!((driver.name, driver.restarts), known, "{when}");
        let rows = bench.master.history_page(HistoryCursor::default()).rows;
        let named = |row: PastRow| match row {
            PastRow::Driver { view, .. } => (view.name, view.restarts),
            other => panic!("{when}: {other:?}"),
        };
        let rows: Vec<_> = rows.into_iter().map(named).collect();
        assert_eq!(rows, [known.clone(), known.clone()], "{when}: the older one is archived");
        if let Some(next) = next {
            bench.master = next;
        }
    }
}
