//! Applications and their drivers: registration, requests and ends.

use super::*;

#[test]
fn an_application_is_placed_when_it_registers_and_again_when_a_worker_comes() {
    let mut bench = Bench::new(Config::default());
    assert_eq!(bench.worker(1, 8), [registered(1, false)]);
    let expected: Vec<_> = [confirmation(Cores(24))].into_iter().chain(launch(0, 1, 6)).collect();
    assert_eq!(bench.application(Some(24), 6), expected);
    let expected: Vec<_> = [registered(2, false)].into_iter().chain(launch(1, 2, 6)).collect();
    assert_eq!(bench.worker(2, 8), expected);
}

#[test]
fn registering_twice_gives_the_same_application() {
    let mut bench = Bench::new(Config::default());
    assert_eq!(bench.application(None, 1), [confirmation(Cores::UNLIMITED)]);
    assert_eq!(bench.application(None, 1), [confirmation(Cores::UNLIMITED)]);
    assert_eq!(bench.master.view().applications.len(), 1);
}

#[test]
fn another_drivers_application_is_out_of_reach() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.application(Some(8), 8);
    let stranger = PeerId(101);
    for (message, answer) in [
        (
            DriverToMaster::KillExecutors { app: app(), executors: vec![ExecutorId(0)] },
            Some(MasterToDriver::ExecutorsKilled { accepted: false }),
        ),
        (
            DriverToMaster::RequestExecutors { app: app(), targets: Vec::new() },
            Some(MasterToDriver::ExecutorsRequested { accepted: false }),
        ),
        (DriverToMaster::UnregisterApplication { app: app(), outcome: None }, None),
        (DriverToMaster::RequestShortfall { app: app() }, None),
    ] {
        let effects = bench.apply(Event::Received {
            peer: stranger,
            arrived: bench.now,
            message: Inbound::Driver(message),
        });
        let expected: Vec<_> = answer
            .map(|message| Effect::Send { peer: stranger, message: Outbound::Driver(message) })
            .into_iter()
            .collect();
        assert_eq!(effects, expected);
    }
    assert_eq!(bench.master.view().applications[0].executors.len(), 1);
}

#[test]
fn an_application_has_a_bounded_number_of_profiles() {
    let mut bench = Bench::new(Config::default());
    bench.application(Some(8), 8);
    let needs = ResourceProfile::default();
    let mut ask = |ids: std::ops::Range<u32>, total| {
        let target = |id| ExecutorTarget { id: ProfileId(id), profile: needs.clone(), total };
        let targets = ids.map(target).collect();
        bench.driver_says(DriverToMaster::RequestExecutors { app: app(), targets })
    };
    let answer = |accepted| {
        let message = Outbound::Driver(MasterToDriver::ExecutorsRequested { accepted });
        vec![Effect::Send { peer: DRIVER, message }]
    };
    assert_eq!(ask(1..64, 1), answer(true), "with the default one, as many as there may be");
    assert_eq!(ask(64..65, 1), answer(false));
    assert_eq!(ask(0..64, 1), answer(true), "the same ones again are no more");
    assert_eq!(ask(64..100, 0), answer(true), "those that are not wanted do not count");
    assert_eq!(ask(1..64, 0), answer(true));
    assert_eq!(ask(64..127, 1), answer(true), "those that are no longer wanted do not, either");
}

#[test]
fn a_profile_is_forgotten_when_it_is_not_wanted_and_its_last_executor_has_ended() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 5);
    bench.application(Some(5), 4);
    let needs = ResourceProfile { cores: Some(Cores(1)), ..ResourceProfile::default() };
    let target = |id, total| ExecutorTarget { id: ProfileId(id), profile: needs.clone(), total };
    let ask = |targets: &[ExecutorTarget]| DriverToMaster::RequestExecutors {
        app: app(),
        targets: targets.to_vec(),
    };
    let profiles = |bench: &Bench| {
        bench.master.applications.live(&app()).profiles.keys().map(|id| id.0).collect::<Vec<_>>()
    };
    bench.driver_says(ask(&[target(0, 0), target(7, 1)]));
    assert_eq!(profiles(&bench), [0, 7]);
    bench.driver_says(ask(&[target(7, 0), target(8, 0)]));
    assert_eq!(profiles(&bench), [0, 7], "the executor stays, as in Spark");
    bench.driver_says(DriverToMaster::KillExecutors {
        app: app(),
        executors: (0..9).map(ExecutorId).collect(),
    });
    assert_eq!(profiles(&bench), [0]);
}

#[test]
fn an_application_that_cannot_be_is_refused() {
    let mut bench = Bench::new(Config::default());
    for (max_cores, cores) in [(Some(0), Some(1)), (Some(-1), None), (None, Some(0)), (None, Some(i64::MAX))]
    {
        let effects =
            bench.driver_says(DriverToMaster::RegisterApplication(Box::new(description(max_cores, cores))));
        let [Effect::Send { message: Outbound::Driver(MasterToDriver::ApplicationRemoved(end)), .. }] =
            &effects[..]
        else {
            panic!("{max_cores:?} {cores:?}: {effects:?}");
        };
        assert!(matches!(end, ApplicationEnd::Refused { .. }));
    }
}

#[test]
fn resources_that_no_explanation_could_tell_are_refused_with_the_reason() {
    let refused = |resources: ResourceAmounts| {
        let mut description = description(None, Some(1));
        description.profile.resources = resources;
        let effects = Bench::new(Config::default())
            .driver_says(DriverToMaster::RegisterApplication(Box::new(description)));
        match &effects[..] {
            [Effect::Send { message: Outbound::Driver(MasterToDriver::ApplicationRemoved(end)), .. }] => {
                Some(end.to_string())
            }
            _ => None,
        }
    };
    let named = |length| ResourceAmounts::from([("n".repeat(length), firesteel_placement::Amount::Whole(1))]);
    let many = |count: u32| {
        (0..count).map(|number| (number.to_string(), firesteel_placement::Amount::Whole(1))).collect()
    };
    assert_eq!((refused(named(100)), refused(many(16))), (None, None));
    assert_eq!(
        refused(named(101)).as_deref(),
        Some("refused: the name of a custom resource has 101 bytes; at most 100 are allowed")
    );
    assert_eq!(
        refused(many(17)).as_deref(),
        Some("refused: a resource profile has 17 custom resources; at most 16 are allowed")
    );
}

#[test]
fn a_name_that_no_table_could_show_is_refused_in_a_short_line() {
    let mut master = Master::new(Config::default());
    let mut named = description(None, Some(1));
    named.name = "n".repeat(1 << 20);
    let message = Inbound::Driver(DriverToMaster::RegisterApplication(Box::new(named)));
    let effects = master.apply(T0, Event::Received { peer: DRIVER, arrived: T0, message });
    assert!(matches!(
        &effects[..],
        [
            Effect::Note(Note::Audited(_)),
            Effect::Note(Note::ApplicationRefused { name, .. }),
            Effect::Send {
                message: Outbound::Driver(MasterToDriver::ApplicationRemoved(ApplicationEnd::Refused { .. })),
                ..
            },
        ] if name.len() == 100
    ));
}

#[test]
fn a_driver_that_vanishes_fails_its_application_and_one_that_says_so_finishes_it() {
    for (unregister, state) in [(false, ApplicationState::Failed), (true, ApplicationState::Finished)] {
        let mut bench = Bench::new(Config::default());
        bench.worker(1, 8);
        bench.application(Some(8), 8);
        let effects = match unregister {
            true => bench.driver_says(DriverToMaster::UnregisterApplication { app: app(), outcome: None }),
            false => bench.apply(Event::Disconnected { peer: DRIVER }),
        };
        let finished = to_worker(1, MasterToWorker::ApplicationFinished { app: app() });
        assert_eq!(effects, [kill(1, 0), finished]);
        assert_eq!(bench.master.view().completed[0].state, state);
        assert_eq!(bench.master.view().workers[0].cores_used, Cores(0));
    }
}

#[test]
fn a_driver_learns_why_no_executor_comes() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.application(Some(16), 16);
    let effects = bench.driver_says(DriverToMaster::RequestShortfall { app: app() });
    let [Effect::Send { message: Outbound::Driver(MasterToDriver::Shortfalls(shortfalls)), .. }] =
        &effects[..]
    else {
        panic!("{effects:?}");
    };
    let words: Vec<_> = shortfalls.iter().map(|(_, shortfall)| shortfall.to_string()).collect();
    assert_eq!(words.len(), 1);
    assert!(words[0].contains("16 cores") && words[0].contains('8'), "{words:?}");
}
