//! What each user may have at the same time.

use super::audit::submission;
use super::*;
use crate::PerUser;

fn limited(per_user: PerUser) -> Bench {
    let limits = Limits { per_user, ..Limits::default() };
    Bench::new(Config { limits, ..Config::default() })
}

/// An application of this user with executors of one core and 1 GiB, which registers on a connection of its own.
fn register_of(bench: &mut Bench, peer: u64, user: &str, gang: u64) -> Option<ApplicationEnd> {
    let mut application = description(None, Some(1));
    user.clone_into(&mut application.user);
    application.gang = gang;
    let message = Inbound::Driver(DriverToMaster::RegisterApplication(Box::new(application)));
    let effects = bench.apply(Event::Received { peer: PeerId(peer), arrived: bench.now, message });
    effects.into_iter().find_map(|effect| match effect {
        Effect::Send { message: Outbound::Driver(MasterToDriver::ApplicationRemoved(end)), .. } => Some(end),
        _ => None,
    })
}

/// The cores of each live application, in the order of registration.
fn cores(bench: &Bench) -> Vec<i64> {
    let of = |application: &ApplicationView| {
        let live = application.executors.iter().filter(|executor| !executor.state.is_finished());
        live.map(|executor| executor.cores.0).sum::<i64>()
    };
    bench.master.view().applications.iter().filter(|app| app.ended.is_none()).map(of).collect()
}

fn refused(end: Option<ApplicationEnd>) -> Option<String> {
    end.map(|end| match end {
        ApplicationEnd::Refused { reason } => reason,
        other => panic!("{other:?}"),
    })
}

fn submit(bench: &mut Bench, user: &str, cores: i64) -> SubmitDriverAnswer {
    match bench.client(submission(user, cores)).1 {
        MasterToClient::SubmitDriverResponse(answer) => answer,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_applications_of_a_user_share_what_each_user_may_have() {
    let none = PerUser::default();
    for per_user in [
        PerUser { cores: Cores(6), ..none },
        PerUser { memory: MiB(6 << 10), ..none },
        PerUser { executors: 6, ..none },
    ] {
        let mut bench = limited(per_user);
        bench.worker(1, 8);
        bench.worker(2, 8);
        for (peer, user) in [(100, "ann"), (101, "ann"), (102, "bob")] {
            assert_eq!(register_of(&mut bench, peer, user, 0), None);
        }
        assert_eq!(cores(&bench), [6, 0, 6], "{per_user:?}");
        // What an application gives back is for the next one of its user.
        let end = DriverToMaster::UnregisterApplication { app: app(), outcome: None };
        bench.apply(Event::Received { peer: PeerId(100), arrived: bench.now, message: Inbound::Driver(end) });
        assert_eq!(cores(&bench), [6, 6], "{per_user:?}");
    }
}

#[test]
fn who_waits_for_his_own_limit_is_told_which() {
    let mut bench = limited(PerUser { cores: Cores(2), ..PerUser::default() });
    bench.worker(1, 8);
    register_of(&mut bench, 100, "ann", 0);
    register_of(&mut bench, 101, "ann", 0);
    let waiting = bench.master.view().applications[1].id.clone();
    let asked = DriverToMaster::RequestShortfall { app: waiting };
    let effects = bench.apply(Event::Received {
        peer: PeerId(101),
        arrived: bench.now,
        message: Inbound::Driver(asked),
    });
    let [Effect::Send { message: Outbound::Driver(MasterToDriver::Shortfalls(all)), .. }] = &effects[..]
    else {
        panic!("{effects:?}")
    };
    let words = all[0].1.to_string();
    assert!(words.ends_with("each user may have 2 cores (firesteel.user.maxCores) at most"), "{words}");
}

#[test]
fn a_gang_is_refused_where_users_are_limited() {
    let mut bench = limited(PerUser { cores: Cores(4), ..PerUser::default() });
    bench.worker(1, 8);
    let why = refused(register_of(&mut bench, 100, "ann", 2)).expect("it is a gang");
    assert!(why.contains("firesteel.user.maxCores"), "{why}");
    let mut bench = limited(PerUser { applications: 4, ..PerUser::default() });
    let mut gang = description(Some(4), Some(1));
    gang.gang = 2;
    let message = Inbound::Driver(DriverToMaster::RegisterApplication(Box::new(gang)));
    let effects = bench.apply(Event::Received { peer: DRIVER, arrived: bench.now, message });
    assert_eq!(effects[0], confirmation(Cores(4)));
}

#[test]
fn cluster_drivers_count_and_wait_for_the_limit() {
    let mut bench = limited(PerUser { cores: Cores(3), ..PerUser::default() });
    bench.worker(1, 8);
    for _ in 0..2 {
        assert!(matches!(submit(&mut bench, "ann", 2), SubmitDriverAnswer::Submitted { .. }));
    }
    assert!(matches!(submit(&mut bench, "bob", 2), SubmitDriverAnswer::Submitted { .. }));
    let waits: Vec<_> = bench.master.view().drivers.into_iter().map(|driver| driver.wait).collect();
    let limit = "3 cores (firesteel.user.maxCores)".to_owned();
    assert_eq!(waits, [None, Some(DriverWait::UserLimit { limit }), None]);
    register_of(&mut bench, 100, "ann", 0);
    assert_eq!(cores(&bench), [1], "one core is left to her application");
    // The driver that ends makes room for the one that waits.
    let first = bench.master.view().drivers[0].id.clone();
    let report = DriverReport::new(first, DriverState::Finished);
    bench.worker_says(1, WorkerToMaster::DriverStateChanged(report));
    let states: Vec<_> = bench.master.view().drivers.into_iter().map(|driver| driver.state).collect();
    assert_eq!(states.iter().filter(|state| **state == DriverState::Running).count(), 2, "{states:?}");
}

#[test]
fn who_has_or_submits_too_much_is_refused_with_the_setting() {
    let mut bench = limited(PerUser { applications: 2, ..PerUser::default() });
    bench.worker(1, 8);
    assert_eq!(register_of(&mut bench, 100, "ann", 0), None);
    assert!(matches!(submit(&mut bench, "ann", 1), SubmitDriverAnswer::Submitted { .. }));
    let why = refused(register_of(&mut bench, 101, "ann", 0)).expect("it is the third");
    assert!(why.contains("firesteel.user.maxApplications"), "{why}");
    assert!(matches!(submit(&mut bench, "ann", 1), SubmitDriverAnswer::Refused(_)));
    assert_eq!(register_of(&mut bench, 102, "bob", 0), None);

    let mut bench = limited(PerUser { submissions: 1, ..PerUser::default() });
    assert_eq!(register_of(&mut bench, 100, "ann", 0), None);
    let why = refused(register_of(&mut bench, 101, "ann", 0)).expect("it is the second");
    assert!(why.contains("firesteel.user.maxSubmissions"), "{why}");
    assert_eq!(register_of(&mut bench, 102, "bob", 0), None);
    bench.now = bench.now + Duration::from_secs(1);
    assert_eq!(register_of(&mut bench, 103, "ann", 0), None);
}
